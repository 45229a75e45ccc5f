// The network: what lies between the devices of a world.
#pragma once

#include <cstddef>
#include <cstdint>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// One message between the ports of two devices.
struct Parcel {
  int source = 0;  // world ranks
  int destination = 0;
  std::size_t bytes = 0;
  Time leaves;  // its first and last byte at the source's port
  Time left;
  Time latency;  // of the way, as the backend's own wire has it
};

class Network {
 public:
  struct Arrival {
    Time first;
    Time last;
  };
  virtual ~Network() = default;
  /// When the bytes are at the destination's port. Asked in the order in which the messages come to the
  /// network.
  virtual Arrival carry(const Parcel& parcel) = 0;
};

/// A wire between any two devices: full bisection, and nothing is shared.
class Wires final : public Network {
 public:
  Arrival carry(const Parcel& parcel) override {
    return {parcel.leaves + parcel.latency, parcel.left + parcel.latency};
  }
};

}  // namespace offramp
