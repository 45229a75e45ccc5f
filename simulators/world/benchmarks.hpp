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

/// Half of the time in which a message of so many bytes goes from a rank to its partner and one comes back,
/// as osu_latency has it, and with several pairs osu_multi_lat. All ranks of the world are pairs: a rank of
/// the first half with the one as far into the second half. The mean over the pairs.
Time half_round_trip(World& world, std::size_t bytes);

/// The time of one message among many, as osu_bw has it: 64 sends that do not block, and then a message of 4
/// bytes back. With several pairs the messages of all count, as osu_mbw_mr has it; both_ways: those of both
/// directions, as osu_bibw has it.
Time message_in_window(World& world, std::size_t bytes, bool both_ways = false);

/// As OSU's benchmarks of collectives have it: the mean over the ranks of the time that one call takes. Rank
/// 0 is the root. After each call comes a barrier, in which ranks part: one that leaves it sooner waits in
/// the next call. members: the world ranks, in the order of the communicator; sizes: of each of its ranks.
Time mean_of_calls(World& world, std::span<const int> members, const Operation& operation,
                   const std::function<CollectiveSizes(int rank)>& sizes);

}  // namespace offramp
