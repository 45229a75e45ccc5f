// Lists of all ranks, which every rank of a program may have: they share one memory, and are known by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp::recording {

inline constexpr std::size_t kMostOfAllRanks = std::size_t{1} << 20;

/// The numbers from 0 on, as many as count says, up to kMostOfAllRanks. They stay until the process ends. Any
/// thread.
std::span<const std::uint64_t> all_ranks(std::size_t count);

/// The list is such a one: its values need not be looked at. False says nothing of them.
bool is_all_ranks(std::span<const std::uint64_t> list);

}  // namespace offramp::recording
