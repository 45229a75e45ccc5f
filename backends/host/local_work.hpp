// What the algorithms share: local work at its cost, and the outcome of several messages.
#pragma once

#include "backends/host/algorithms.hpp"

namespace offramp::host {

// A failed message does not stop an algorithm: every rank goes on, so that nobody waits for ever, and the
// failure is the operation's outcome.
inline void note(Outcome& outcome, Outcome step) {
  if (outcome == Outcome::kOk) outcome = step;
}

inline int wrap(int rank, int size) {
  return (rank % size + size) % size;
}

/// The team's clock moves on by the time that some work takes.
inline void spend(Team& team, const LocalCosts& costs, std::string_view what, Time time) {
  if (costs.spans != nullptr && time > Time())
    costs.spans->record({costs.unit, what, team.clock, team.clock + time, team.operation});
  team.clock += time;
}

inline void local_copy(Team& team, const LocalCosts& costs, Bytes from, MutableBytes to) {
  if (from.data() != to.data())
    spend(team, costs, "copy", costs.copy.bytes(static_cast<std::int64_t>(from.size())));
  team.copy(from, to);
}

inline void local_combine(Team& team, const LocalCosts& costs, Bytes in, MutableBytes inout) {
  spend(team, costs, "combine", costs.combine.bytes(static_cast<std::int64_t>(in.size())));
  team.combine(in, inout);
}

}  // namespace offramp::host
