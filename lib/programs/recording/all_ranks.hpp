// Lists of all ranks, which every rank may have. They share memory, by which they are recognised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace offramp::recording {

/// As many ranks as a recording may have.
inline constexpr std::size_t kMostOfAllRanks = std::size_t{1} << 20;

/// The numbers 0 to count - 1, up to kMostOfAllRanks, valid until the process ends. Any thread may call it.
std::span<const std::uint64_t> all_ranks(std::size_t count);

/// Returns true if the list comes from all_ranks(). False does not exclude equal values.
bool is_all_ranks(std::span<const std::uint64_t> list);

}  // namespace offramp::recording
