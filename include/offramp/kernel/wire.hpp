// Wire: a timed link from one device to another.
//
// A wire serialises packets at its bandwidth, and adds the latency and the framing overhead per packet.
// Packets are limited to the maximum packet size. They are tokens of a Channel, so a full receiver exerts
// back-pressure. Faults (fault.hpp) are optional. Used by the scheduler's thread.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "offramp/kernel/arbiter.hpp"
#include "offramp/kernel/channel.hpp"
#include "offramp/kernel/counter_field.hpp"
#include "offramp/kernel/fault.hpp"

namespace offramp {

/// The constants of a wire, which keeps a copy of them.
struct WireSpec {
  Time latency;  // first bit in to first bit out
  Bandwidth bandwidth;
  std::uint32_t overhead_bytes = 0;    // framing of every packet
  std::uint32_t max_packet_bytes = 0;  // without framing; 0: no limit
};

/// Packets that senders put on the wire; a duplicate caused by a fault counts once.
struct WireCounters {
  std::uint64_t packets = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t wire_bytes = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t lost = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t reordered = 0;
  std::uint64_t rerouted = 0;
  std::uint64_t corrupted = 0;
  std::uint64_t delayed = 0;

  WireCounters& operator+=(const WireCounters& other);
};

inline constexpr CounterField<WireCounters> kWireFields[] = {
    {"packets", "packets", "put on the wires", &WireCounters::packets},
    {"payload_bytes", "bytes", "of the packets without their framing", &WireCounters::payload_bytes},
    {"wire_bytes", "bytes", "of the packets with their framing", &WireCounters::wire_bytes},
    {"retransmissions", "packets", "that a protocol sent again", &WireCounters::retransmissions},
    {"lost", "packets", "that a fault lost", &WireCounters::lost},
    {"duplicated", "packets", "that a fault sent twice", &WireCounters::duplicated},
    {"reordered", "packets", "that a fault delivered after the next one", &WireCounters::reordered},
    {"rerouted", "operations", "that went past hardware that had failed", &WireCounters::rerouted},
    {"corrupted", "packets", "that a fault damaged", &WireCounters::corrupted},
    {"delayed", "packets", "that a fault held up", &WireCounters::delayed},
};

inline WireCounters& WireCounters::operator+=(const WireCounters& other) {
  add_fields(*this, other, kWireFields);
  return *this;
}

/// Has one sending and one receiving process at a time, of one scheduler. Packet is movable; it must be
/// copyable if faults duplicate.
template <typename Packet>
class Wire {
 public:
  /// id (see Link) and first_packet select the packets' fates; a new wire of the same link continues at the
  /// last wire's packet number. epoch: the modelled time at which this network's clocks are zero.
  Wire(Scheduler& scheduler, const WireSpec& spec, std::size_t receiver_slots, std::uint64_t id = 0,
       const FaultRates& faults = {}, std::uint64_t first_packet = 0, Time epoch = {})
      : spec_(spec),
        channel_(scheduler, receiver_slots),
        id_(id),
        faults_(faults),
        faulty_(faults.any()),
        number_(first_packet),
        epoch_(epoch) {}

  /// co_await send(packet, bytes): advances the clock by the time for which the packet occupies the link, and
  /// further while the receiver has no free slot. bytes: without framing, at most max_packet_bytes.
  ///
  /// Effects of faults:
  /// - A lost or corrupted packet occupies the link, but no slot.
  /// - A delayed packet, and everything behind it, arrives later.
  /// - A duplicated packet arrives twice at the same time.
  /// - A reordered packet arrives after the next one (even if that is lost); without a next packet it is
  ///   lost.
  Task<void> send(Packet packet, std::uint32_t bytes) {
    Time visible = occupy(co_await this_process(), bytes);
    // A fault with a time window refers to the departure of the last bit.
    const Fault fault =
        faulty_ ? fault_of(faults_, id_, number_, epoch_ + visible - spec_.latency) : Fault::kNone;
    ++number_;
    if (fault == Fault::kReordered) {
      ++counters_.reordered;
      // Only one packet is held. An earlier one that is still held goes now, since the packet that overtakes
      // it has left.
      std::optional<Packet> earlier = std::exchange(held_, std::optional<Packet>(std::move(packet)));
      if (earlier) co_await channel_.write_at(std::move(*earlier), visible);
      co_return;
    }
    if (fault == Fault::kDelayed) {
      ++counters_.delayed;
      visible += faults_.delay_time;
    }
    if constexpr (std::is_copy_constructible_v<Packet>) {
      if (fault == Fault::kDuplicated) {
        ++counters_.duplicated;
        co_await channel_.write_at(packet, visible);
      }
    } else {
      assert(fault != Fault::kDuplicated && "these packets cannot be copied");
    }
    if (fault == Fault::kLost) {
      ++counters_.lost;
    } else if (fault == Fault::kCorrupted) {
      ++counters_.corrupted;
    } else {
      co_await channel_.write_at(std::move(packet), visible);
    }
    if (held_) {
      std::optional<Packet> late = std::exchange(held_, std::nullopt);
      co_await channel_.write_at(std::move(*late), visible);
    }
  }

  /// co_await receive(): the next packet; see Channel::read().
  auto receive() { return channel_.read(); }
  /// co_await receive_until(t): the next packet, or nullopt; see Channel::read_until().
  auto receive_until(Time deadline) { return channel_.read_until(deadline); }

  [[nodiscard]] const WireCounters& counters() const { return counters_; }
  [[nodiscard]] const WireSpec& spec() const { return spec_; }

 private:
  /// Puts a packet on the link; returns the time at which it reaches the receiver.
  Time occupy(Process& sender, std::uint32_t bytes) {
    assert(spec_.max_packet_bytes == 0 || bytes <= spec_.max_packet_bytes);
    const std::uint64_t framed = std::uint64_t{bytes} + spec_.overhead_bytes;
    const Time end =
        link_.acquire(sender.clock, spec_.bandwidth.bytes(static_cast<std::int64_t>(framed))).end;
    sender.clock = end;
    ++counters_.packets;
    counters_.payload_bytes += bytes;
    counters_.wire_bytes += framed;
    return end + spec_.latency;
  }

  WireSpec spec_;
  Channel<Packet> channel_;
  Arbiter link_;
  std::uint64_t id_;
  FaultRates faults_;
  bool faulty_;
  std::uint64_t number_;  // number of the next packet
  Time epoch_;
  std::optional<Packet> held_;
  WireCounters counters_;
};

}  // namespace offramp
