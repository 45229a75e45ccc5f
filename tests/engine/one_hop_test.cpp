// Small collectives through shared slots. Their results have the bytes of the algorithm itself, for all
// backends, kinds, and numbers of ranks; and ranks may run ahead, free communicators, or disagree.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "tests/cluster.hpp"
#include "tests/engine/support.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;

/// Numbers whose sum depends on the order of additions.
Buffer uneven_numbers(std::size_t count, int rank) {
  Buffer buffer(count * sizeof(double));
  for (std::size_t i = 0; i < count; ++i) {
    const double value = ((i + static_cast<std::size_t>(rank)) % 3 == 0 ? 1e16 : 1.0) /
                         static_cast<double>(1 + (i * 7 + static_cast<std::size_t>(rank) * 13) % 11) *
                         ((i + static_cast<std::size_t>(rank)) % 2 == 0 ? 1 : -1);
    std::memcpy(buffer.data() + i * sizeof value, &value, sizeof value);
  }
  return buffer;
}

/// Composes maps of one byte: x -> scale * x + offset modulo 16. Depends on the order of operands.
struct ComposeSmall {
  std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const {
    const int scale = (a >> 4) * (b >> 4) % 16;
    const int offset = ((a & 15) * (b >> 4) + (b & 15)) % 16;
    return static_cast<std::uint8_t>(scale << 4 | offset);
  }
};
struct SmallComposition final : PlainReducer<std::uint8_t, ComposeSmall> {
  SmallComposition() : PlainReducer({ElementType::kMixed, 1, ReduceFunction::kUser, false}) {}
};

Operation prefix(OperationKind kind, int ranks, std::size_t bytes, const ElementReducer& reducer) {
  Operation operation;
  operation.kind = kind;
  operation.element = reducer.kind().element;
  operation.function = reducer.kind().function;
  operation.commutative = reducer.kind().commutative;
  operation.bytes = bytes;
  operation.elements = bytes / reducer.kind().element_bytes;
  operation.ranks = ranks;
  return operation;
}

/// Number of collectives of a communicator before it uses slots.
constexpr int kBeforeSlots = 3;

/// Runs all kinds of collectives with so many elements once. Appends this rank's results to `seen`.
Task<void> all_kinds(ClusterRank& rank, std::size_t count, int root, Buffer& seen) {
  const auto keep = [&seen](const Buffer& got) { seen.insert(seen.end(), got.begin(), got.end()); };
  const bool is_root = rank.rank() == root;
  const auto size = static_cast<std::size_t>(rank.size());
  const auto own_rank = static_cast<std::uint32_t>(rank.rank());
  const std::size_t bytes = count * sizeof(double);
  const Buffer own = uneven_numbers(count, rank.rank());
  const Buffer many = uneven_numbers(count * size, rank.rank());
  const Buffer maps = pattern(bytes, own_rank);
  DoubleSum sum;
  AffineComposition compose;
  SmallComposition compose_small;
  Buffer one(bytes);
  Buffer blocks(bytes * size);
  const std::array<ElementReducer*, 3> reducers = {&sum, &compose, &compose_small};
  for (ElementReducer* const reducer : reducers) {
    const Buffer& data = reducer == &sum ? own : maps;
    one.assign(bytes, std::byte());
    EXPECT_EQ(co_await rank.reduce(data, one, root, *reducer), Outcome::kOk);
    keep(one);
    EXPECT_EQ(co_await rank.allreduce(data, one, *reducer), Outcome::kOk);
    keep(one);
    one = data;  // in place
    EXPECT_EQ(co_await rank.allreduce(one, one, *reducer), Outcome::kOk);
    keep(one);
    one = data;
    EXPECT_EQ(co_await rank.reduce(one, is_root ? MutableBytes(one) : MutableBytes(), root, *reducer),
              Outcome::kOk);
    keep(one);
    EXPECT_EQ(co_await rank.reduce_scatter(many, one, *reducer), Outcome::kOk);
    keep(one);
    for (const OperationKind kind : {OperationKind::kScan, OperationKind::kExscan}) {
      const bool has_result = kind == OperationKind::kScan || rank.rank() > 0;
      one.assign(bytes, std::byte());
      const Operation operation = prefix(kind, rank.size(), bytes, *reducer);
      const CollectiveBuffers buffers{data, has_result ? MutableBytes(one) : MutableBytes(), bytes};
      EXPECT_EQ(co_await rank.collective(operation, buffers, reducer), Outcome::kOk);
      keep(one);
    }
  }
  one = is_root ? own : Buffer(bytes);
  EXPECT_EQ(co_await rank.bcast(one, root), Outcome::kOk);
  keep(one);
  EXPECT_EQ(co_await rank.gather(own, blocks, root), Outcome::kOk);
  if (is_root) keep(blocks);
  EXPECT_EQ(co_await rank.allgather(own, blocks), Outcome::kOk);
  keep(blocks);
  EXPECT_EQ(co_await rank.scatter(many, one, root), Outcome::kOk);
  keep(one);
  EXPECT_EQ(co_await rank.alltoall(many, blocks), Outcome::kOk);
  keep(blocks);
  EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
}
constexpr std::uint64_t kAllKinds = 3 * 7 + 6;

/// Wires that may lose messages, but with a negligible probability: collectives use their algorithms.
ClusterOptions along_the_algorithm() {
  ClusterOptions options;
  options.faults.seed = 1;
  options.faults.loss = 1e-300;
  return options;
}

struct Results {
  std::vector<Buffer> seen;
  std::uint64_t carried = 0;  // through slots, by rank 0
};
Results run_all_kinds(const BackendDescription& backend, const Settings& settings, int ranks,
                      std::vector<std::size_t> counts, const ClusterOptions& options) {
  Results results;
  results.seen.resize(static_cast<std::size_t>(ranks));
  Cluster cluster(ranks, backend, settings, options);
  EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
    Buffer& seen = results.seen[static_cast<std::size_t>(rank.rank())];
    for (int i = 0; i < kBeforeSlots; ++i) (void)co_await rank.barrier();
    for (const std::size_t count : counts)
      co_await all_kinds(rank, count, static_cast<int>(count) % ranks, seen);
  }),
            "");
  results.carried = cluster.engine(0).one_hop().carried();
  return results;
}

TEST(OneHop, GivesTheBytesOfEveryAlgorithm) {
  const std::vector<std::size_t> counts = {1, 0, 5, 7};
  for (const BackendDescription* backend : built_in_backends()) {
    const Settings settings = Settings::defaults(backend->parameters);
    for (int ranks = 2; ranks <= 16; ++ranks) {
      const Results slots = run_all_kinds(*backend, settings, ranks, counts, {});
      const Results algorithm = run_all_kinds(*backend, settings, ranks, counts, along_the_algorithm());
      EXPECT_EQ(slots.seen, algorithm.seen) << backend->name << ", " << ranks << " ranks";
      EXPECT_EQ(slots.carried, kAllKinds * counts.size()) << backend->name << ", " << ranks << " ranks";
      EXPECT_EQ(algorithm.carried, 0U);
    }
  }
}

TEST(OneHop, LeavesLargePayloadsToTheAlgorithm) {
  const BackendDescription& host = test::backend_named("host");
  const Settings settings = Settings::defaults(host.parameters);
  const Results large = run_all_kinds(host, settings, 3, {1000}, {});
  EXPECT_EQ(large.seen, run_all_kinds(host, settings, 3, {1000}, along_the_algorithm()).seen);
  EXPECT_EQ(large.carried, 1U);  // the barrier
}

/// A rank that only contributes goes on, and its contributions wait for their readers.
TEST(OneHop, LetsContributorsGoOn) {
  Cluster cluster(3, test::backend_named("host"));
  int left = 0;
  const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
    for (int i = 0; i < kBeforeSlots; ++i) (void)co_await rank.barrier();
    Int32Sum sum;
    Buffer data(4);
    Buffer into(4);
    if (rank.rank() == 2) co_return;  // the root, which never comes
    for (int i = 0; i < 5; ++i) EXPECT_EQ(co_await rank.reduce(data, into, 2, sum), Outcome::kOk);
    ++left;
  });
  EXPECT_EQ(stuck, "");
  EXPECT_EQ(left, 2);
}

/// No rank leaves a barrier before all have entered it. Each rank is the last one once.
TEST(OneHop, KeepsRanksTogetherInABarrier) {
  for (int late = 0; late < 3; ++late) {
    Cluster cluster(3, test::backend_named("host"));
    int left = 0;
    const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
      for (int i = 0; i < kBeforeSlots; ++i) (void)co_await rank.barrier();
      if (rank.rank() == late) co_return;
      (void)co_await rank.barrier();
      ++left;
    });
    EXPECT_NE(stuck.find("barrier of 0 bytes"), std::string::npos) << stuck;
    EXPECT_EQ(left, 0);
  }
}

/// More operations in progress than there are slots, completed in another order than they started.
TEST(OneHop, CarriesManyAtOnce) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    ClusterOptions options;
    options.shuffle_seed = seed;
    Cluster cluster(4, test::backend_named("cclo"), options);
    EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
      constexpr int kMany = 50;
      Int32Sum sum;
      std::array<std::int32_t, kMany> own{};
      std::array<std::int32_t, kMany> total{};
      std::vector<ClusterRequestPointer> requests;
      Operation operation = prefix(OperationKind::kAllreduce, 4, 4, sum);
      operation.nonblocking = true;
      for (std::size_t i = 0; i < kMany; ++i) {
        own[i] = rank.rank() + static_cast<std::int32_t>(i);
        const CollectiveBuffers buffers{std::as_bytes(std::span(&own[i], 1)),
                                        std::as_writable_bytes(std::span(&total[i], 1)), 4};
        requests.push_back(rank.start(operation, buffers, &sum));
      }
      for (std::size_t i = kMany; i-- > 0;) {
        EXPECT_EQ((co_await rank.wait(requests[i])).outcome, Outcome::kOk);
        EXPECT_EQ(total[i], 6 + 4 * static_cast<std::int32_t>(i));
      }
    }),
              "");
    EXPECT_EQ(cluster.engine(0).one_hop().carried(), 50U - kBeforeSlots);
  }
}

/// Contributions travel as messages if their slots stay in use for long.
TEST(OneHop, SendsContributionsWithoutASlot) {
  test::Ranks ranks(2);
  constexpr std::uint64_t kId = kCollectiveContext | 9;
  std::array<Context*, 2> contexts = {&ranks.open(0, kId), &ranks.open(1, kId)};
  constexpr std::size_t kMany = 30;
  Operation operation;
  operation.kind = OperationKind::kBcast;
  std::array<std::array<Buffer, kMany>, 2> buffers;
  std::array<std::vector<std::unique_ptr<Collective>>, 2> all;
  const auto start = [&](std::size_t rank) {
    for (std::size_t i = 0; i < kMany; ++i) {
      operation.bytes = i % 3 == 0 ? 4096 : 8;
      Buffer& buffer = buffers[rank][i];
      buffer = rank == 0 ? pattern(operation.bytes, static_cast<std::uint32_t>(i)) : Buffer(operation.bytes);
      all[rank].push_back(std::make_unique<Collective>(ranks[static_cast<int>(rank)], *contexts[rank]));
      all[rank].back()->start(operation, {buffer, buffer, operation.bytes}, nullptr);
    }
  };
  start(0);
  for (int turn = 0; turn < 2000; ++turn) ranks[0].progress();
  for (const auto& one : all[0]) EXPECT_TRUE(one->done());
  start(1);
  ranks.settle();
  for (const auto& one : all[1]) EXPECT_TRUE(one->done() && one->outcome() == Outcome::kOk);
  EXPECT_EQ(buffers[1], buffers[0]);
}

TEST(OneHop, UsesTheMemoryOfFreedCommunicatorsAgain) {
  test::Ranks ranks(2);
  for (std::uint64_t id = 1; id < 200; ++id) {
    std::array<Context*, 2> contexts = {&ranks.open(0, kCollectiveContext | id),
                                        &ranks.open(1, kCollectiveContext | id)};
    Operation operation;
    operation.kind = OperationKind::kBarrier;
    for (int i = 0; i < kBeforeSlots + 2; ++i) {
      std::array<std::unique_ptr<Collective>, 2> both;
      for (std::size_t rank = 0; rank < 2; ++rank) {
        both[rank] = std::make_unique<Collective>(ranks[static_cast<int>(rank)], *contexts[rank]);
        both[rank]->start(operation, {}, nullptr);
      }
      ranks.settle();
      EXPECT_TRUE(both[0]->done() && both[1]->done());
    }
    for (int rank = 0; rank < 2; ++rank) ranks[rank].close_context(*contexts[static_cast<std::size_t>(rank)]);
  }
  EXPECT_EQ(ranks[0].one_hop().carried(), 199U * 2);
}

/// The outcomes of a collective whose ranks give different sizes. Empty if it does not end.
std::vector<Outcome> disagree(OperationKind kind, const std::vector<std::size_t>& bytes, int root,
                              const ClusterOptions& options = {}, std::string_view backend = "host") {
  const auto ranks = static_cast<int>(bytes.size());
  Cluster cluster(ranks, test::backend_named(backend), options);
  std::vector<Outcome> outcomes(bytes.size(), Outcome::kCancelled);
  const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
    for (int i = 0; i < kBeforeSlots; ++i) (void)co_await rank.barrier();
    const auto index = static_cast<std::size_t>(rank.rank());
    const std::size_t own = bytes[index];
    Int32Sum sum;
    Buffer one(own);
    Buffer many(own * bytes.size());
    Buffer result(own);
    switch (kind) {
      case OperationKind::kBcast:
        outcomes[index] = co_await rank.bcast(one, root);
        break;
      case OperationKind::kScatter:
        outcomes[index] = co_await rank.scatter(many, one, root);
        break;
      case OperationKind::kGather:
        outcomes[index] = co_await rank.gather(one, many, root);
        break;
      case OperationKind::kAllgather:
        outcomes[index] = co_await rank.allgather(one, many);
        break;
      case OperationKind::kReduce:
        outcomes[index] = co_await rank.reduce(one, result, root, sum);
        break;
      case OperationKind::kScan:
        outcomes[index] =
            co_await rank.collective(prefix(kind, rank.size(), own, sum), {one, result, own}, &sum);
        break;
      default:
        outcomes[index] = co_await rank.allreduce(one, one, sum);
    }
    EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
  });
  return stuck.empty() ? outcomes : std::vector<Outcome>();
}

/// Erroneous programs end as when the algorithm carries everything, with sizes below and above the limit of a
/// slot. If the algorithm waits for ever, every end is allowed.
TEST(OneHop, EndsAsTheAlgorithmDoesWhereSizesDiffer) {
  constexpr std::array<std::size_t, 3> kSizes = {8, 16, 4096};
  for (const OperationKind kind : {OperationKind::kBcast, OperationKind::kScatter, OperationKind::kGather,
                                   OperationKind::kAllgather, OperationKind::kAllreduce}) {
    for (const std::size_t at_root : kSizes) {
      for (const std::size_t elsewhere : kSizes) {
        const std::vector<std::size_t> bytes = {elsewhere, at_root};
        const std::vector<Outcome> algorithm = disagree(kind, bytes, 1, along_the_algorithm());
        if (algorithm.empty()) continue;
        EXPECT_EQ(disagree(kind, bytes, 1), algorithm)
            << to_string(kind) << " of " << at_root << " bytes at the root, " << elsewhere << " elsewhere";
      }
    }
  }
}

/// A rank that takes the result from the slots may be one that others wait for along the algorithm.
TEST(OneHop, GivesAllReadersTheSmallPayloadOfARoot) {
  for (const char* const backend : {"host", "cclo", "zrlmpi"}) {
    for (const OperationKind kind : {OperationKind::kBcast, OperationKind::kScatter}) {
      const std::vector<std::size_t> bytes = {8, 4096, 4096, 4096, 4096, 4096};
      EXPECT_EQ(disagree(kind, bytes, 0, {}, backend), std::vector<Outcome>(bytes.size(), Outcome::kOk))
          << backend << ", " << to_string(kind);
    }
  }
}

/// Some contributors have put their data into slots, others send it along the algorithm.
TEST(OneHop, NoticesContributorsOfBothKinds) {
  for (const OperationKind kind : {OperationKind::kGather, OperationKind::kReduce}) {
    for (const std::size_t at_root : {8, 4096})
      EXPECT_EQ(disagree(kind, {at_root, 4096, 8}, 0),
                (std::vector<Outcome>{Outcome::kTruncated, Outcome::kOk, Outcome::kOk}));
  }
}

/// A rank may learn in two ways at once that its algorithm cannot end: from a failed message, and from a
/// reader's notice. It finishes the operation once: later ones need its slots.
TEST(OneHop, FinishesOnceAfterANoticeAndAFailedMessage) {
  constexpr int kRanks = 4;
  constexpr std::uint64_t kId = kCollectiveContext | 9;
  test::Ranks ranks(kRanks);
  std::array<Context*, kRanks> contexts{};
  for (int rank = 0; rank < kRanks; ++rank) contexts[static_cast<std::size_t>(rank)] = &ranks.open(rank, kId);
  DoubleSum sum;
  std::vector<Buffer> buffers(1000);
  std::vector<std::unique_ptr<Collective>> all;
  const auto start = [&](int rank, const Operation& operation) {
    Buffer& buffer = buffers[all.size()];
    buffer.resize(operation.bytes);
    all.push_back(std::make_unique<Collective>(ranks[rank], *contexts[static_cast<std::size_t>(rank)]));
    all.back()->start(operation, {buffer, buffer, operation.bytes}, &sum);
  };
  const auto progress = [&](int rank) {
    for (int turn = 0; turn < 3000; ++turn) ranks[rank].progress();
  };
  const auto barrier = [&] {
    for (int rank = 0; rank < kRanks; ++rank) start(rank, prefix(OperationKind::kBarrier, kRanks, 0, sum));
    ranks.settle();
  };
  for (int i = 0; i < kBeforeSlots; ++i) barrier();
  for (int rank = 0; rank < kRanks; ++rank)
    start(rank, prefix(OperationKind::kScan, kRanks, rank == 0 ? 8 : 4096, sum));
  for (const int rank : {3, 1, 2, 0}) progress(rank);
  for (int round = 0; round < 10; ++round) {
    Operation from_last = prefix(OperationKind::kBcast, kRanks, 8, sum);
    from_last.root = kRanks - 1;
    for (int rank = 0; rank < kRanks; ++rank) {
      start(rank, from_last);
      start(rank, prefix(OperationKind::kBcast, kRanks, 8, sum));
      progress(rank);
    }
    barrier();
  }
  for (const auto& one : all) ASSERT_TRUE(one->done());
}

/// Ranks inside an algorithm's tree may wait for contributors that have used slots and gone on.
TEST(OneHop, ReleasesRanksThatWaitForContributorsOfTheOtherKind) {
  constexpr std::size_t kRanks = 6;
  for (const char* const backend : {"host", "cclo", "tinsel", "zrlmpi"}) {
    for (const OperationKind kind : {OperationKind::kGather, OperationKind::kReduce, OperationKind::kScan}) {
      for (unsigned large = 0; large < 1U << kRanks; ++large) {
        std::vector<std::size_t> bytes(kRanks, 8);
        for (std::size_t rank = 0; rank < kRanks; ++rank)
          if ((large >> rank & 1U) != 0) bytes[rank] = 4096;
        const unsigned contributors = kind == OperationKind::kScan ? large & 0x1fU : large >> 1U;
        const bool is_small_root = kind != OperationKind::kScan && (large & 1U) == 0;
        if (contributors == 0 || (contributors == 0x1f && !is_small_root)) continue;
        const std::vector<Outcome> outcomes = disagree(kind, bytes, 0, {}, backend);
        ASSERT_FALSE(outcomes.empty()) << backend << ", " << to_string(kind) << ", large: " << large;
        EXPECT_TRUE(kind == OperationKind::kScan || outcomes[0] != Outcome::kOk)
            << backend << ", " << to_string(kind) << ", large: " << large;
      }
    }
  }
}

}  // namespace
}  // namespace offramp
