// The host backend's collectives give MPI's results: for every kind, root and number of ranks, for zero bytes
// and odd sizes, reductions that depend on the order, and results in place of the operands.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cluster.hpp"
#include "tests/engine/support.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;

Buffer joined(const std::vector<Buffer>& parts) {
  Buffer all;
  for (const Buffer& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
Buffer part_of(const Buffer& all, std::size_t block, int index) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(block * static_cast<std::size_t>(index));
  return {begin, begin + static_cast<std::ptrdiff_t>(block)};
}

/// Every test runs for every number of ranks, with payloads that the fabric copies and with payloads that
/// stay at the sender.
class HostCollectives : public testing::TestWithParam<std::tuple<int, std::size_t>> {
 protected:
  static constexpr std::size_t kBlocks[] = {0, 1, 7, 1000, 70001};
  int ranks() const { return std::get<0>(GetParam()); }

  void run(const Cluster::Program& program) {
    ClusterOptions options;
    options.eager_limit = std::get<1>(GetParam());
    Cluster cluster(ranks(), test::backend_named("host"), options);
    const std::string deadlock = cluster.run(program);
    EXPECT_EQ(deadlock, "");
    for (int rank = 0; rank < ranks(); ++rank) {
      EXPECT_EQ(cluster.engine(rank).malformed(), 0U);
      EXPECT_EQ(cluster.engine(rank).sends_in_flight(), 0U);
    }
  }
  /// The contribution of each rank.
  std::vector<Buffer> contributions(std::size_t bytes) const {
    std::vector<Buffer> all;
    for (int rank = 0; rank < ranks(); ++rank)
      all.push_back(pattern(bytes, static_cast<std::uint32_t>(rank) + 1));
    return all;
  }
  /// All contributions combined in the order of ranks.
  static Buffer combined(std::vector<Buffer> parts, Reducer& reducer) {
    Buffer sum = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) {
      reducer.combine(sum, parts[i]);
      sum = parts[i];
    }
    return sum;
  }
  template <typename Body>
  static void with_reducers(Body body) {
    Int32Sum sum;
    AffineComposition composition;
    for (ElementReducer* reducer :
         {static_cast<ElementReducer*>(&sum), static_cast<ElementReducer*>(&composition)}) {
      for (const std::size_t count : {0, 1, 3, 1001, 9000})
        body(*reducer, count * reducer->kind().element_bytes);
    }
  }
};

TEST_P(HostCollectives, BcastGivesEveryRankTheRootsBytes) {
  run([](ClusterRank& rank) -> Task<void> {
    for (const std::size_t bytes : kBlocks) {
      for (int root = 0; root < rank.size(); ++root) {
        const Buffer expected = pattern(bytes, static_cast<std::uint32_t>(root));
        Buffer buffer = rank.rank() == root ? expected : Buffer(bytes);
        EXPECT_EQ(co_await rank.bcast(buffer, root), Outcome::kOk);
        EXPECT_TRUE(buffer == expected);
      }
    }
  });
}

TEST_P(HostCollectives, ReduceCombinesInTheOrderOfRanks) {
  with_reducers([&](ElementReducer& reducer, std::size_t bytes) {
    const auto parts = contributions(bytes);
    const Buffer expected = combined(parts, reducer);
    run([&](ClusterRank& rank) -> Task<void> {
      const Buffer& own = parts[static_cast<std::size_t>(rank.rank())];
      for (int root = 0; root < rank.size(); ++root) {
        for (const bool in_place : {false, true}) {
          Buffer result = in_place ? own : Buffer(bytes);
          const Bytes data = in_place && rank.rank() == root ? result : own;
          EXPECT_EQ(co_await rank.reduce(data, result, root, reducer), Outcome::kOk);
          if (rank.rank() != root) continue;
          EXPECT_TRUE(result == expected) << bytes << " bytes, root " << root;
        }
      }
    });
  });
}

TEST_P(HostCollectives, AllreduceGivesEveryRankTheSameCombination) {
  with_reducers([&](ElementReducer& reducer, std::size_t bytes) {
    const auto parts = contributions(bytes);
    const Buffer expected = combined(parts, reducer);
    run([&](ClusterRank& rank) -> Task<void> {
      const Buffer& own = parts[static_cast<std::size_t>(rank.rank())];
      for (const bool in_place : {false, true}) {
        Buffer result = own;
        EXPECT_EQ(co_await rank.allreduce(in_place ? Bytes(result) : Bytes(own), result, reducer),
                  Outcome::kOk);
        EXPECT_TRUE(result == expected);
      }
    });
  });
}

TEST_P(HostCollectives, ReduceScatterGivesEachRankItsBlockOfTheCombination) {
  with_reducers([&](ElementReducer& reducer, std::size_t block) {
    const auto parts = contributions(block * static_cast<std::size_t>(ranks()));
    const Buffer expected = combined(parts, reducer);
    run([&](ClusterRank& rank) -> Task<void> {
      const Buffer& own = parts[static_cast<std::size_t>(rank.rank())];
      for (const bool in_place : {false, true}) {
        Buffer result = own;
        EXPECT_EQ(co_await rank.reduce_scatter(in_place ? Bytes(result) : Bytes(own), result, reducer),
                  Outcome::kOk);
        EXPECT_TRUE(part_of(result, block, 0) == part_of(expected, block, rank.rank()));
      }
    });
  });
}

TEST_P(HostCollectives, GatherPutsTheBlocksInTheOrderOfRanks) {
  run([this](ClusterRank& rank) -> Task<void> {
    for (const std::size_t block : kBlocks) {
      const auto parts = contributions(block);
      const Buffer expected = joined(parts);
      const Buffer own = parts[static_cast<std::size_t>(rank.rank())];
      for (int root = 0; root < rank.size(); ++root) {
        for (const bool in_place : {false, true}) {
          const bool here = in_place && rank.rank() == root;
          Buffer all = here ? expected : Buffer(expected.size());
          if (here) {  // before the call only the root's own block is right
            for (int other = 0; other < rank.size(); ++other) {
              if (other != root)
                std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(block) * other, block, std::byte{});
            }
          }
          const Bytes data =
              here ? Bytes(all).subspan(block * static_cast<std::size_t>(root), block) : Bytes(own);
          EXPECT_EQ(co_await rank.gather(data, all, root), Outcome::kOk);
          if (rank.rank() != root) continue;
          EXPECT_TRUE(all == expected) << block << " bytes, root " << root;
        }
      }
    }
  });
}

TEST_P(HostCollectives, ScatterGivesEachRankItsBlock) {
  run([this](ClusterRank& rank) -> Task<void> {
    for (const std::size_t block : kBlocks) {
      const Buffer all = joined(contributions(block));
      for (int root = 0; root < rank.size(); ++root) {
        Buffer own(block);
        EXPECT_EQ(co_await rank.scatter(all, own, root), Outcome::kOk);
        EXPECT_TRUE(own == part_of(all, block, rank.rank()));
      }
    }
  });
}

TEST_P(HostCollectives, AllgatherGivesEveryRankAllBlocks) {
  run([this](ClusterRank& rank) -> Task<void> {
    for (const std::size_t block : kBlocks) {
      const auto parts = contributions(block);
      for (const bool in_place : {false, true}) {
        Buffer all(block * parts.size());
        const Buffer& own = parts[static_cast<std::size_t>(rank.rank())];
        const MutableBytes place =
            MutableBytes(all).subspan(block * static_cast<std::size_t>(rank.rank()), block);
        if (in_place) std::copy(own.begin(), own.end(), place.begin());
        EXPECT_EQ(co_await rank.allgather(in_place ? Bytes(place) : Bytes(own), all), Outcome::kOk);
        EXPECT_TRUE(all == joined(parts));
      }
    }
  });
}

TEST_P(HostCollectives, AlltoallTransposesTheBlocks) {
  run([this](ClusterRank& rank) -> Task<void> {
    for (const std::size_t block : {std::size_t{0}, std::size_t{5}, std::size_t{1000}, std::size_t{20011}}) {
      const auto rows = contributions(block * static_cast<std::size_t>(ranks()));
      std::vector<Buffer> column;
      for (const Buffer& row : rows) column.push_back(part_of(row, block, rank.rank()));
      for (const bool in_place : {false, true}) {
        const Buffer& own = rows[static_cast<std::size_t>(rank.rank())];
        Buffer result = own;
        EXPECT_EQ(co_await rank.alltoall(in_place ? Bytes(result) : Bytes(own), result), Outcome::kOk);
        EXPECT_TRUE(result == joined(column)) << block;
      }
    }
  });
}

TEST_P(HostCollectives, BarrierReleasesNoRankBeforeTheLastEnters) {
  TimedCluster cluster(ranks(), test::backend_named("host"));
  const std::string stuck = cluster.run([](TimedRank& rank) -> Task<void> {
    for (int late = 0; late < rank.size(); ++late) {
      const Time before = rank.clock();
      if (rank.rank() == late) rank.compute(Time::ms(1));
      EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
      EXPECT_GE(rank.clock(), before + (rank.size() == 1 ? Time() : Time::ms(1) - Time::us(100)));
    }
  });
  EXPECT_EQ(stuck, "");
}

INSTANTIATE_TEST_SUITE_P(On, HostCollectives,
                         testing::Combine(testing::Range(1, 10),
                                          testing::Values(std::size_t{8192}, std::size_t{0})),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) + "Ranks" +
                                  (std::get<1>(each.param) == 0 ? "Rendezvous" : "Eager");
                         });

}  // namespace
}  // namespace offramp
