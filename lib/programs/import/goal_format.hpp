// The binary form of GOAL schedules: packed, little-endian; from LogGOPSim's Goal.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace offramp::trace {

inline constexpr std::uint64_t kGoalMagic = 4223;
/// LogGOPSim's --save-mem overwrites the file.
inline constexpr std::uint64_t kGoalUsedUp = 2342;
inline constexpr std::size_t kGoalHeader = 14;
inline constexpr std::size_t kGoalRankEntry = 16;
/// Offsets in the table of ranks count from here.
inline constexpr std::size_t kGoalBase = 8;
inline constexpr std::size_t kGoalNode = 39;
inline constexpr std::uint32_t kGoalAny = 0xffffffff;

}  // namespace offramp::trace
