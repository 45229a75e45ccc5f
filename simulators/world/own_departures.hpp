// Departures that a world may simulate when they are issued, instead of by an event at their time.
#pragma once

#include "offramp/model/message.hpp"
#include "offramp/model/resource.hpp"

namespace offramp {

/// A backend may derive from this class. A direct message whose units are free until it has passed then needs
/// one event in a world, its arrival.
class OwnDepartures {
 public:
  /// The time for which no operation of another rank that begins now can use the units that depart() uses.
  /// Negative if depart() at `at` would find one of them in use, or uses one that ranks share.
  [[nodiscard]] virtual Time notice(const Transfer& transfer, Time at, const Resources& sender) const = 0;

 protected:
  ~OwnDepartures() = default;
};

}  // namespace offramp
