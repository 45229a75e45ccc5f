// Helpers of the algorithms: ranks on a circle, and local work with its cost.
#pragma once

#include <string_view>

#include "offramp/model/backend.hpp"

namespace offramp::host {

/// Costs of an algorithm's local work, and the sink of its spans.
struct LocalCosts {
  Bandwidth copy;
  Bandwidth combine;
  SpanSink* spans = nullptr;
  std::string_view unit = "host.cpu";  // a literal
  Time type_block = {};                // to create a datatype, pack, and unpack it, per block
};

inline int wrap(int rank, int size) {
  return (rank % size + size) % size;
}

/// Advances the team's clock by the duration of some work. Not called without hardware.
inline void spend(Team& team, const LocalCosts& costs, std::string_view what, Time time) {
  if (costs.spans != nullptr && time > Time())
    costs.spans->record(
        {costs.unit, what, team.clock, team.clock + time, team.operation, team.world_rank(team.rank())});
  team.clock += time;
}

inline void local_copy(Team& team, const LocalCosts& costs, Bytes from, MutableBytes to) {
  if (from.data() != to.data() && team.hardware() != nullptr)
    spend(team, costs, "copy", costs.copy.bytes(static_cast<std::int64_t>(from.size())));
  team.copy(from, to);
}

/// Charges `count` copies of `bytes` each. copy(0), copy(1), ... perform them if the buffers have data.
void local_copies(Team& team, const LocalCosts& costs, int count, std::size_t bytes, auto copy) {
  if (team.hardware() != nullptr)
    spend(team, costs, "copy", costs.copy.bytes(static_cast<std::int64_t>(bytes)) * count);
  for (int i = 0; team.carries_data() && i < count; ++i) copy(i);
}

inline void local_combine(Team& team, const LocalCosts& costs, Bytes in, MutableBytes inout) {
  if (team.hardware() != nullptr)
    spend(team, costs, "combine", costs.combine.bytes(static_cast<std::int64_t>(in.size())));
  team.combine(in, inout);
}

}  // namespace offramp::host
