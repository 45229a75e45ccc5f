// The effect of faults on a reliable, ordered transport, in closed form.
#pragma once

#include <cstdint>

#include "offramp/kernel/fault.hpp"
#include "offramp/kernel/wire.hpp"

namespace offramp {

/// The defaults are InfiniBand's: 4.096 us x 2^14, and a counter of 3 bits.
struct ReliableTransport {
  Time retry_timeout = Time::ns(4096) * (1 << 14);  // until a packet without an acknowledgement is sent again
  Time round_trip;                                  // until a refused packet (out of sequence) arrives again
  int retries = 7;                                  // before the connection is given up

  /// Numbers of the link that one packet uses: one per attempt.
  [[nodiscard]] std::uint64_t numbers() const { return static_cast<std::uint64_t>(retries) + 1; }
};

/// The result of repair_of(). `time` is added to the packet's arrival. gave_up: the connection failed, and
/// the message with it.
struct Repair {
  Time time;
  bool gave_up = false;
};

/// The delay that faults cause for one packet whose first attempt departs at `at`. Counts them in `wire`.
/// Attempt k has the packet number first_number + k, so each attempt has a fate of its own.
inline Repair repair_of(const FaultRates& faults, const ReliableTransport& transport, std::uint64_t link,
                        std::uint64_t first_number, Time at, WireCounters& wire) {
  Repair repair;
  for (int attempt = 0;; ++attempt) {
    switch (fault_of(faults, link, first_number + static_cast<std::uint64_t>(attempt), at + repair.time)) {
      case Fault::kNone:
        return repair;
      case Fault::kDuplicated:  // detected by its sequence number
        ++wire.duplicated;
        return repair;
      case Fault::kDelayed:
        ++wire.delayed;
        repair.time += faults.delay_time;
        return repair;
      case Fault::kReordered:  // out of sequence: refused, and sent again
        ++wire.reordered;
        ++wire.retransmissions;
        repair.time += transport.round_trip;
        return repair;
      case Fault::kLost:
        ++wire.lost;
        break;
      case Fault::kCorrupted:
        ++wire.corrupted;
        break;
    }
    if (attempt == transport.retries) {
      repair.gave_up = true;
      return repair;
    }
    ++wire.retransmissions;
    repair.time += transport.retry_timeout;
  }
}

}  // namespace offramp
