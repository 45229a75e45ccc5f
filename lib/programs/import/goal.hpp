// GOAL, the schedules of LogGOPSim and ATLAHS, as text and binary: per rank a graph of messages and
// computing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// The common part of both forms. several: uses several cpus or nics.
Program goal_program(const std::string& name, int ranks, bool several,
                     std::function<Result<Graph>(int rank)> graph);

// The binary form: packed, little-endian; from LogGOPSim's Goal.hpp.
inline constexpr std::uint64_t kGoalMagic = 4223;
/// LogGOPSim's --save-mem overwrites the file.
inline constexpr std::uint64_t kGoalUsedUp = 2342;
inline constexpr std::size_t kGoalHeader = 14;
inline constexpr std::size_t kGoalRankEntry = 16;
/// The offsets in the table of ranks are relative to this byte of the file.
inline constexpr std::size_t kGoalBase = 8;
inline constexpr std::size_t kGoalNode = 39;
inline constexpr std::uint32_t kGoalAny = 0xffffffff;

}  // namespace offramp::trace
