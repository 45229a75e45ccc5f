// One table per power of two, created on first use and never moved.
#include "lib/programs/recording/all_ranks.hpp"

#include <array>
#include <bit>
#include <cassert>
#include <mutex>
#include <numeric>
#include <vector>

namespace offramp::recording {

std::span<const std::uint64_t> all_ranks(std::size_t count) {
  struct Table {
    std::once_flag is_made;
    std::vector<std::uint64_t> numbers;
  };
  // Room for all powers of two up to the maximum.
  static std::array<Table, std::bit_width(kMostOfAllRanks)> tables;
  assert(count <= kMostOfAllRanks);
  const std::size_t room = std::bit_ceil(count);
  Table& table = tables[static_cast<std::size_t>(std::countr_zero(room))];
  std::call_once(table.is_made, [&] {
    table.numbers.resize(room);
    std::iota(table.numbers.begin(), table.numbers.end(), std::uint64_t{0});
  });
  return {table.numbers.data(), count};
}

// Compares addresses, which takes the same time for any length.
bool is_all_ranks(std::span<const std::uint64_t> list) {
  return !list.empty() && list.size() <= kMostOfAllRanks && list.data() == all_ranks(list.size()).data();
}

}  // namespace offramp::recording
