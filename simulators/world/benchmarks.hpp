// What benchmarks of MPI libraries measure, on a world: the figures that published ones are compared with.
//
// The world is the caller's, and is left where the benchmark ends.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "simulators/world/world.hpp"

namespace offramp {

/// Half of the time in which a message of so many bytes goes from rank 0 to rank 1 and one comes back, as
/// osu_latency has it.
Time half_round_trip(World& world, std::size_t bytes);

/// The time of one message among many, as osu_bw has it: 64 sends that do not block, and then a message of 4
/// bytes back.
Time message_in_window(World& world, std::size_t bytes);

/// As OSU's benchmarks of collectives have it: the mean over the ranks of the time that one call takes. Rank
/// 0 is the root. After each call comes a barrier, in which ranks part: one that leaves it sooner waits in
/// the next call. members: the world ranks, in the order of the communicator; sizes: of each of its ranks.
Time mean_of_calls(World& world, std::span<const int> members, const Operation& operation,
                   const std::function<CollectiveSizes(int rank)>& sizes);

}  // namespace offramp
