// The MPI envelope: the header of every message on the fabric.
//
// All ranks of a run use one library on one kind of machine, so the struct is sent as it is in memory. Input
// is treated as hostile: decode() checks every field that is later used as a length, an index, or an enum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "offramp/model/backend.hpp"

namespace offramp {

/// Set in the id of the context for a communicator's collectives. Its tags number the collectives.
/// kContributionTag is added for messages of OneHop: contributions without a slot, and notices.
inline constexpr std::uint64_t kCollectiveContext = std::uint64_t{1} << 63;
/// The tag of a communicator's collective: its number, without the bits that have other meanings.
constexpr std::int32_t collective_tag(std::uint32_t number) {
  return static_cast<std::int32_t>(number & 0x3fffffffU);
}
inline constexpr std::int32_t kContributionTag = std::int32_t{1} << 30;

/// What a message is for. 0 is no kind, so that zeroed memory is not credible.
enum class EnvelopeKind : std::uint8_t {
  kMessage = 1,
  kReply = 2,
  kWindow = 3,  // between ranks: `bytes` of the receiver's payload window are free again
};

enum EnvelopeFlag : std::uint8_t {
  kWantsReply = 1,  // the sender completes only after the receive was matched
  kSynchronous = 2,
  kStays = 4,   // the payload stays at the sender until the message is received
  kFailed = 8,  // the message failed, or its data depends on one that failed
};
inline constexpr std::uint8_t kKnownFlags = kWantsReply | kSynchronous | kStays | kFailed;

/// Sent as it is in memory: 48 bytes, with no padding that could carry old memory to a peer.
struct Envelope {
  EnvelopeKind kind = EnvelopeKind::kMessage;
  std::uint8_t flags = 0;
  std::uint8_t backend = 0;  // the carrier's index in the lane
  ElementType element = ElementType::kByte;
  std::uint32_t sequence = 0;  // per (source, destination, context)
  std::uint64_t context = 0;
  std::int32_t source = 0;  // rank in the communicator
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;         // identifies the sender's record in a reply
  std::uint32_t source_world = 0;  // world rank
  std::uint32_t reason = 0;        // of a message that failed: DeliveryFault::reason

  [[nodiscard]] bool failed() const { return (flags & kFailed) != 0; }
  [[nodiscard]] std::span<const std::byte> encoded() const {
    return {reinterpret_cast<const std::byte*>(this), sizeof(*this)};
  }
};
static_assert(std::is_trivially_copyable_v<Envelope> && sizeof(Envelope) == 48);

/// Exclusive bounds for the check of an envelope.
struct EnvelopeLimits {
  std::uint32_t ranks = 1;
  std::size_t backends = 1;
};

/// Returns true if all fields are valid. payload: its size on the fabric, in bytes.
inline bool credible(const Envelope& e, std::size_t payload, const EnvelopeLimits& limits) {
  if (e.source_world >= limits.ranks || e.backend >= limits.backends) return false;
  /// The other fields of these kinds are checked where they are used.
  if (e.kind == EnvelopeKind::kReply || e.kind == EnvelopeKind::kWindow) return payload == 0;
  if (e.kind != EnvelopeKind::kMessage) return false;
  if (e.source < 0 || static_cast<std::uint32_t>(e.source) >= limits.ranks || e.tag < 0) return false;
  if (e.element > ElementType::kMixed || (e.flags & ~kKnownFlags) != 0) return false;
  return payload == e.bytes;
}

/// Copies an envelope from the fabric, aligned or not. `nullopt` if a field is invalid. payload: its size on
/// the fabric, in bytes.
inline std::optional<Envelope> decode(std::span<const std::byte> bytes, std::size_t payload,
                                      const EnvelopeLimits& limits) {
  std::optional<Envelope> envelope;
  if (bytes.size() != sizeof(Envelope)) return envelope;
  std::memcpy(&envelope.emplace(), bytes.data(), sizeof(Envelope));
  if (!credible(*envelope, payload, limits)) envelope.reset();
  return envelope;
}

}  // namespace offramp
