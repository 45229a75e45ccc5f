// What precedes every message on the fabric: the MPI envelope, and in a run with a live clock a stamp.
//
// All ranks of a run use the same library on the same kind of machine, so the layout is the struct's own.
// What arrives is still treated as hostile: decode() checks every field that is later used as a length, an
// index or an enum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Set in the id of the context that carries a communicator's collectives. Its tags number them.
inline constexpr std::uint64_t kCollectiveContext = std::uint64_t{1} << 63;
constexpr std::int32_t collective_tag(std::uint32_t number) {
  return static_cast<std::int32_t>(number & 0x7fffffffU);
}

enum class EnvelopeKind : std::uint8_t {
  kMessage = 1,
  kReply = 2,
  kWindow = 3,  // between ranks: `bytes` of the receiver's payload window are free again
};

enum EnvelopeFlag : std::uint8_t {
  kWantsReply = 1,  // the sender completes only after the receive was matched
  kSynchronous = 2,
  kStays = 4,      // the payload is to be pulled when the message is received, not before
  kHandshake = 8,  // the live clock at the sender asks for the receiver's answer
  kSignal = 16,    // of a barrier
  kFailed = 32,    // what is sent descends from a message that failed
};
inline constexpr std::uint8_t kKnownFlags =
    kWantsReply | kSynchronous | kStays | kHandshake | kSignal | kFailed;

struct Envelope {
  EnvelopeKind kind = EnvelopeKind::kMessage;
  std::uint8_t flags = 0;
  std::uint8_t backend = 0;  // that carries the message: its index in the list of the live clock
  ElementType element = ElementType::kByte;
  std::uint32_t sequence = 0;  // per (source, destination, context)
  std::uint64_t context = 0;
  std::int32_t source = 0;  // rank in the communicator
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;         // names the sender's record in a reply
  std::uint32_t source_world = 0;  // world rank
  std::uint32_t number = 0;        // Transfer::number, for the live clock
};

struct Header {
  Envelope envelope;
  Stamp stamp;  // of the departure; in a reply, the receiver's answer. Only with a live clock

  [[nodiscard]] bool handshake() const { return (envelope.flags & kHandshake) != 0; }
  [[nodiscard]] bool failed() const { return (envelope.flags & kFailed) != 0 || stamp.failed(); }
  /// All ranks of a run have a live clock, or none has.
  [[nodiscard]] std::span<const std::byte> encoded(bool stamped) const {
    return {reinterpret_cast<const std::byte*>(this), bytes(stamped)};
  }
  static constexpr std::size_t bytes(bool stamped) {
    return stamped ? sizeof(Envelope) + sizeof(Stamp) : sizeof(Envelope);
  }
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Envelope) == 48 &&
              sizeof(Header) == Header::bytes(true));

/// What a receiver knows when it checks a header.
struct EnvelopeLimits {
  std::uint32_t ranks = 1;
  std::size_t backends = 1;
  bool stamped = true;  // there is a live clock
};

/// Positions on the modelled clock that sums with the times of a model cannot overflow: 53 days.
inline bool plausible(const Stamp& stamp) {
  constexpr Time kEnd = Time::ps(std::int64_t{1} << 62);
  return stamp.first >= Time() && stamp.first < kEnd && stamp.last >= Time() && stamp.last < kEnd;
}

/// No field of a header that is in place can be wrong. payload: its size on the fabric.
inline bool credible(const Header& header, std::size_t payload, const EnvelopeLimits& limits) {
  const Envelope& e = header.envelope;
  if (e.source_world >= limits.ranks || e.backend >= limits.backends) return false;
  if (!plausible(header.stamp)) return false;
  if (e.kind == EnvelopeKind::kReply || e.kind == EnvelopeKind::kWindow) return payload == 0;
  if (e.kind != EnvelopeKind::kMessage) return false;
  if (e.source < 0 || static_cast<std::uint32_t>(e.source) >= limits.ranks || e.tag < 0) return false;
  if (e.element > ElementType::kMixed || (e.flags & ~kKnownFlags) != 0) return false;
  return payload == e.bytes;
}

/// A header from the fabric, copied because its bytes may lie anywhere; nothing when one of them cannot be
/// right. payload: its size on the fabric.
inline std::optional<Header> decode(std::span<const std::byte> bytes, std::size_t payload,
                                    const EnvelopeLimits& limits) {
  std::optional<Header> header;
  if (bytes.size() != Header::bytes(limits.stamped)) return header;
  // The size is known to the compiler.
  std::memcpy(&header.emplace().envelope, bytes.data(), sizeof(Envelope));
  if (limits.stamped) std::memcpy(&header->stamp, bytes.data() + sizeof(Envelope), sizeof(Stamp));
  if (!credible(*header, payload, limits)) header.reset();
  return header;
}

}  // namespace offramp
