// A program's results depend on the program alone, not on the order in which messages happen to arrive, nor
// on how the fabric carries them.
#include <gtest/gtest.h>

#include <random>

#include "tests/cluster.hpp"
#include "tests/engine/support.hpp"
#include "tests/seeds.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;

/// A mixture of all operations, drawn from a seed that all ranks share. digest: of the rank's data.
Task<void> mixture(ClusterRank& rank, std::uint32_t seed, std::uint64_t& digest) {
  std::mt19937 random(seed);
  const auto draw = [&random](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Int32Sum sum;
  AffineComposition composition;
  const auto ranks = static_cast<std::uint32_t>(rank.size());
  for (int step = 0; step < 60; ++step) {
    const std::uint32_t kind = draw(12);
    const int root = static_cast<int>(draw(ranks));
    const auto shift = static_cast<int>(1 + draw(ranks));
    const std::size_t sizes[] = {0, 8, 504, 8192, 40000, 65536, 65544, 200000};
    const std::size_t bytes = sizes[draw(8)];
    const bool in_place = draw(2) == 0;
    const int to = (rank.rank() + shift) % rank.size();
    const int from = (rank.rank() + rank.size() * 2 - shift) % rank.size();
    const std::size_t whole = bytes * ranks;
    Buffer own = pattern(whole, seed + static_cast<std::uint32_t>(rank.rank()));
    Buffer other(whole);
    const auto data = Bytes(in_place ? own : other);
    ElementReducer& reducer = step % 2 == 0 ? static_cast<ElementReducer&>(sum) : composition;
    switch (kind) {
      case 0:
        co_await rank.sendrecv(to, Bytes(other).first(bytes), from, MutableBytes(own).first(bytes), 1);
        break;
      case 1: {
        std::vector<ClusterRequestPointer> requests;
        for (int i = 0; i < 4; ++i) requests.push_back(rank.irecv(from, MutableBytes(own).first(bytes), i));
        for (int i = 3; i >= 0; --i)
          requests.push_back(i % 2 == 0 ? rank.isend(to, Bytes(other).first(bytes), i)
                                        : rank.issend(to, Bytes(other).first(bytes), i));
        co_await rank.wait_all(requests);
        break;
      }
      case 2: {  // a collective and messages at the same time
        ClusterRequestPointer receive = rank.irecv(from, MutableBytes(other).first(bytes), 9);
        Operation operation;
        operation.kind = OperationKind::kBcast;
        operation.bytes = bytes;
        operation.ranks = rank.size();
        operation.root = root;
        const MutableBytes buffer = MutableBytes(own).first(bytes);
        ClusterRequestPointer collective = rank.start(operation, {buffer, buffer, bytes});
        co_await rank.send(to, Bytes(other).first(bytes), 9);
        co_await rank.wait(receive);
        co_await rank.wait(collective);
        break;
      }
      case 3:
        co_await rank.bcast(MutableBytes(own).first(bytes), root);
        break;
      case 4:
        co_await rank.reduce(data.first(bytes), MutableBytes(own).first(bytes), root, reducer);
        break;
      case 5: {
        const std::size_t place = in_place ? bytes * static_cast<std::size_t>(root) : 0;
        co_await rank.gather(data.subspan(place, bytes), own, root);
        break;
      }
      case 6:
        co_await rank.allreduce(data.first(bytes), MutableBytes(own).first(bytes), reducer);
        break;
      case 7:
        co_await rank.scatter(own, MutableBytes(other).first(bytes), root);
        break;
      case 8:
        co_await rank.allgather(data.subspan(bytes * static_cast<std::size_t>(rank.rank()), bytes), own);
        break;
      case 9:
        co_await rank.reduce_scatter(data, own, reducer);
        break;
      case 10:
        co_await rank.alltoall(data, own);
        break;
      default:
        co_await rank.barrier();
    }
    digest = Certificate::digest(own, Certificate::digest(other, digest));
  }
}

std::vector<std::uint64_t> data_of(int ranks, const BackendDescription& backend,
                                   const ClusterOptions& options, std::uint32_t seed) {
  Cluster cluster(ranks, backend, options);
  std::vector<std::uint64_t> digests(static_cast<std::size_t>(ranks));
  EXPECT_EQ(cluster.run([&](ClusterRank& rank) {
    return mixture(rank, seed, digests[static_cast<std::size_t>(rank.rank())]);
  }),
            "");
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(cluster.engine(rank).lane().counters.arrival_order_dependences(), 0U);
  return digests;
}

class Data : public testing::TestWithParam<const BackendDescription*> {};

TEST_P(Data, DoesNotDependOnTheOrderOfDelivery) {
  for (const int ranks : {2, 5}) {
    const std::vector<std::uint64_t> expected = data_of(ranks, *GetParam(), {}, 1);
    for (std::uint64_t shuffle = 1; shuffle <= test::seeds(10); ++shuffle) {
      ClusterOptions options;
      options.shuffle_seed = shuffle * 0x9e3779b97f4a7c15U;
      EXPECT_EQ(data_of(ranks, *GetParam(), options, 1), expected) << shuffle;
    }
  }
}

TEST_P(Data, DoesNotDependOnHowTheFabricCarriesTheBytes) {
  const std::vector<std::uint64_t> expected = data_of(4, *GetParam(), {}, 2);
  for (const std::size_t limit : {std::size_t{0}, std::size_t{500}, std::size_t{100000}, SIZE_MAX}) {
    ClusterOptions options;
    options.eager_limit = limit;
    EXPECT_EQ(data_of(4, *GetParam(), options, 2), expected) << limit;
  }
}

/// no_result: this reduction's result is made elsewhere.
Task<void> add_up(ClusterRank& rank, std::vector<std::int32_t>& results, bool no_result) {
  Int32Sum sum;
  const std::int32_t own = rank.rank() + 1;
  std::int32_t& result = results[static_cast<std::size_t>(rank.rank())];
  Operation operation;
  operation.kind = OperationKind::kAllreduce;
  operation.element = sum.kind().element;
  operation.function = sum.kind().function;
  operation.bytes = sizeof own;
  operation.elements = 1;
  operation.ranks = rank.size();
  const CollectiveBuffers buffers{std::as_bytes(std::span(&own, 1)),
                                  std::as_writable_bytes(std::span(&result, 1)), sizeof own};
  EXPECT_EQ(co_await rank.collective(operation, buffers, no_result ? nullptr : &sum), Outcome::kOk);
}

std::vector<std::int32_t> sums_of(const BackendDescription& backend, bool no_result) {
  Cluster cluster(3, backend);
  std::vector<std::int32_t> sums(3);
  EXPECT_EQ(cluster.run([&sums, no_result](ClusterRank& rank) { return add_up(rank, sums, no_result); }), "");
  return sums;
}

TEST_P(Data, DoesNotMoveInAReductionWithoutResult) {
  EXPECT_EQ(sums_of(*GetParam(), false), std::vector<std::int32_t>(3, 1 + 2 + 3));
  EXPECT_EQ(sums_of(*GetParam(), true), std::vector<std::int32_t>(3));
}

INSTANTIATE_TEST_SUITE_P(Of, Data, testing::ValuesIn(built_in_backends().begin(), built_in_backends().end()),
                         [](const auto& each) { return std::string(each.param->name); });

}  // namespace
}  // namespace offramp
