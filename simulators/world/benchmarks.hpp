// The measurements of common MPI benchmarks (OSU), run on a world, for comparison with published figures.
//
// Each function runs on a world of the caller and leaves the clocks where the benchmark ends.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulators/world/world.hpp"

namespace offramp {

// ValidationRow::fitted.
inline constexpr bool kHeldOut = false;
inline constexpr bool kFitted = true;

using AddRow = std::function<void(ValidationRow row)>;
/// The rows of a table's parts, in order.
ValidationRows rows_by(std::initializer_list<void (*)(const AddRow& add)> parts);

/// "16 KiB", in the names of rows.
std::string size_text(std::size_t bytes);
/// The defaults of a table, but for these values.
using Values = std::vector<std::pair<std::string_view, Settings::Value>>;
Settings settings_with(std::span<const Parameter> table, const Values& values);

/// Half of a ping-pong's round-trip time for this message size, averaged over the pairs: osu_latency, or
/// osu_multi_lat with several pairs. Ranks i and i + size / 2 are pairs.
Time half_round_trip(World& world, std::size_t bytes);

/// Time per message in a window of 64 nonblocking sends, closed by a reply of 4 bytes: osu_bw, or osu_mbw_mr
/// with several pairs. With `both_ways`, both partners send, as in osu_bibw.
Time message_in_window(World& world, std::size_t bytes, bool both_ways = false);

/// Mean time of one call over ranks and repetitions, as OSU's collective benchmarks report it. Rank 0 is the
/// root. A barrier follows each call; ranks that leave it early wait in the next call. members: world ranks,
/// in the order of the communicator. sizes: buffer sizes of each communicator rank.
Time mean_of_calls(World& world, std::span<const int> members, const Operation& operation,
                   const std::function<CollectiveSizes(int rank)>& sizes);

}  // namespace offramp
