#include "simulators/world/rank_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace offramp {
namespace {

TEST(ARankTable, KeepsAValuePerRankWhateverItsOrderAndSpread) {
  std::mt19937 random(1);
  RankTable<int> table;
  std::map<int, int> expected;
  for (int i = 0; i < 20'000; ++i) {
    const int rank = static_cast<int>(random() % 50) * (i % 3 == 0 ? 1 : 4096) + (i % 7);
    table[rank] += i;
    expected[rank] += i;
  }
  EXPECT_EQ(table.size(), expected.size());
  for (const auto& [rank, value] : expected) EXPECT_EQ(table[rank], value) << rank;
  EXPECT_EQ(table.size(), expected.size());
}

TEST(ARankTable, KeepsReferencesValidAsItGrows) {
  RankTable<int> table;
  int& first = table[1000];
  first = 7;
  for (int rank = 0; rank < 1000; ++rank) table[rank] = rank;
  EXPECT_EQ(&first, &table[1000]);
  EXPECT_EQ(first, 7);
}

TEST(ARankTable, ListsRanksInTheOrderOfTheirFirstUse) {
  RankTable<int> table;
  for (const int rank : {90, 3, 41}) table[rank] = rank;
  std::vector<int> seen;
  std::as_const(table).for_each([&](int value) { seen.push_back(value); });
  EXPECT_EQ(seen, (std::vector{90, 3, 41}));
}

}  // namespace
}  // namespace offramp
