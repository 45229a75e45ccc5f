// Departures and steps that a world may simulate when they are known, instead of by an event at their time.
#pragma once

#include "offramp/model/message.hpp"
#include "offramp/model/resource.hpp"
#include "offramp/model/team.hpp"

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

/// A world's WorldDevices derive from this class, for hardware whose collectives run on each rank's own units
/// and exchange tokens that cross the network.
class OwnSteps {
 public:
  /// Returns whether a step of the team's collective at `at` gives the same times now as by an event. The
  /// step may then also send its tokens. Its units are used by the rank's operations and by arriving tokens
  /// only. latency: the shortest time from a step to the arrival of its token.
  [[nodiscard]] virtual bool steps_now(const Team& team, Time at, Time latency) const = 0;

 protected:
  ~OwnSteps() = default;
};

}  // namespace offramp
