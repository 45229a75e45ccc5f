// What precedes every message on the fabric: the MPI envelope and, per lane, what the model says of it.
//
// All ranks of a run use the same library on the same kind of machine, so the layout is the struct's own.
// What arrives is still treated as hostile: decode() checks every field that is later used as a length, an
// index or an enum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

#include "offramp/model/backend.hpp"

namespace offramp {

inline constexpr std::size_t kMaxLanes = 8;

/// Set in the id of the context that carries a communicator's collectives. Its tags name the lane whose
/// algorithm sent the message. Lane 0 carries payload unless it only watches this collective; the others
/// never do.
inline constexpr std::uint64_t kCollectiveContext = std::uint64_t{1} << 63;
constexpr std::int32_t collective_tag(std::uint32_t number, std::size_t lane, bool watched = false) {
  const std::uint64_t kind = 2 * std::uint64_t{number} + (watched ? 1 : 0);
  return static_cast<std::int32_t>((kind * kMaxLanes + lane) & 0x7fffffffU);
}
constexpr std::size_t lane_of_tag(std::int32_t tag) {
  return static_cast<std::size_t>(tag) % kMaxLanes;
}
constexpr bool tag_carries(std::int32_t tag) {
  return static_cast<std::size_t>(tag) % (2 * kMaxLanes) == 0;
}

enum class EnvelopeKind : std::uint8_t {
  kMessage = 1,
  kReply = 2,
  kWindow = 3,  // between ranks: `bytes` of the receiver's payload window are free again
};

enum EnvelopeFlag : std::uint8_t {
  kWantsReply = 1,  // the sender completes only after the receive was matched
  kNoPayload = 2,   // a lane that only watches: bytes are counted, not carried
  kSynchronous = 4,
  kStays = 8,  // the payload is to be pulled when the message is received, not before
};
inline constexpr std::uint8_t kKnownFlags = kWantsReply | kNoPayload | kSynchronous | kStays;

struct LaneStamp {
  Stamp stamp;
  std::uint32_t number = 0;  // Transfer::number
  std::uint8_t backend = 0;  // index in the lane's list
  std::uint8_t handshake = 0;
  std::uint16_t reserved = 0;
};

struct Envelope {
  EnvelopeKind kind = EnvelopeKind::kMessage;
  std::uint8_t flags = 0;
  std::uint8_t lanes = 0;
  ElementType element = ElementType::kByte;
  std::uint32_t sequence = 0;  // per (source, destination, context)
  std::uint64_t context = 0;
  std::int32_t source = 0;  // rank in the communicator
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t token = 0;         // names the sender's record in a reply
  std::uint32_t source_world = 0;  // world rank
  std::uint32_t operation = 0;     // of the sender, counted from 1; for spans
};

/// Says that a header's lanes begin without values, and beyond those of the run without memory: see Tail.
struct LanesUnset {};

struct Header {
  Envelope envelope;
  union {  // so that a constructor may leave them alone
    std::array<LaneStamp, kMaxLanes> lanes;
  };

  Header() : lanes{} {}
  explicit Header(LanesUnset) {}  // NOLINT(cppcoreguidelines-pro-type-member-init): that is its purpose

  /// Copies a header as far as it has lanes.
  static void copy(void* to, const void* from, std::size_t lanes) {
    if (lanes == 1) {  // most runs: a size that the compiler knows
      std::memcpy(to, from, size_with(1));
    } else {
      std::memcpy(to, from, size_with(lanes));
    }
  }
  /// The same; assignment would touch all lanes that there can be.
  void take(const Header& other) { copy(this, &other, other.envelope.lanes); }

  [[nodiscard]] std::size_t size() const { return size_with(envelope.lanes); }
  static constexpr std::size_t size_with(std::size_t lanes) {
    return sizeof(Envelope) + lanes * sizeof(LaneStamp);
  }
  [[nodiscard]] std::span<const std::byte> encoded() const {
    return {reinterpret_cast<const std::byte*>(this), size()};
  }
};
static_assert(std::is_trivially_copyable_v<Header> && sizeof(Envelope) == 48 && sizeof(LaneStamp) == 32);
static_assert(offsetof(Header, lanes) == sizeof(Envelope));

/// What a receiver knows when it checks a header.
struct EnvelopeLimits {
  std::size_t lanes = 1;
  std::uint32_t ranks = 1;
  std::size_t max_backends = 255;
  bool payload = true;  // false: nobody in this run has any
};

/// Positions on the modelled clock that sums with the times of a model cannot overflow: 53 days.
inline bool plausible(const Stamp& stamp) {
  constexpr Time kEnd = Time::ps(std::int64_t{1} << 62);
  return stamp.first >= Time() && stamp.first < kEnd && stamp.last >= Time() && stamp.last < kEnd;
}

/// Lanes that only watch have no memory behind their buffers, so that nobody else's payload may reach them.
inline bool carries_as_agreed(const Envelope& e, const EnvelopeLimits& limits) {
  const bool carried = (e.flags & kNoPayload) == 0;
  if (!limits.payload) return !carried;
  if ((e.context & kCollectiveContext) == 0) return carried;
  return lane_of_tag(e.tag) < e.lanes && carried == tag_carries(e.tag);
}

/// No field of a header that is in place can be wrong. payload: its size on the fabric.
inline bool credible(const Header& header, std::size_t payload, const EnvelopeLimits& limits) {
  const Envelope& e = header.envelope;
  if (e.lanes != limits.lanes || e.source_world >= limits.ranks) return false;
  for (std::size_t lane = 0; lane < e.lanes; ++lane) {
    const LaneStamp& stamp = header.lanes[lane];
    if (stamp.backend >= limits.max_backends || stamp.handshake > 1 || !plausible(stamp.stamp)) return false;
  }
  if (e.kind == EnvelopeKind::kReply || e.kind == EnvelopeKind::kWindow) return payload == 0;
  if (e.kind != EnvelopeKind::kMessage) return false;
  if (e.source < 0 || static_cast<std::uint32_t>(e.source) >= limits.ranks || e.tag < 0) return false;
  if (e.element > ElementType::kMixed || (e.flags & ~kKnownFlags) != 0) return false;
  if (!carries_as_agreed(e, limits)) return false;
  if (payload != ((e.flags & kNoPayload) == 0 ? e.bytes : 0)) return false;
  return e.bytes >> 47U == 0;  // bytes that nobody carries: still no more than fit into memory
}

/// A header from the fabric: copied, because its bytes may lie anywhere, and only as far as it has lanes.
class ReceivedHeader {
 public:
  /// Null when a byte of it cannot be right. payload: its size on the fabric. The header lives in this
  /// object.
  const Header* decode(std::span<const std::byte> bytes, std::size_t payload, const EnvelopeLimits& limits) {
    if (limits.lanes > kMaxLanes || bytes.size() != Header::size_with(limits.lanes)) return nullptr;
    Header::copy(storage_, bytes.data(), limits.lanes);
    const Header* header = std::launder(reinterpret_cast<const Header*>(storage_));
    return credible(*header, payload, limits) ? header : nullptr;
  }

 private:
  alignas(Header) std::byte storage_[sizeof(Header)];  // not initialised: most lanes are not in use
};

}  // namespace offramp
