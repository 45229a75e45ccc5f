// Collectives with blocks of different sizes: MPI's results on every platform, and times that follow the
// sizes.
#include <gtest/gtest.h>

#include <numeric>

#include "backends/host/host.hpp"
#include "tests/cluster.hpp"
#include "tests/dpu/support.hpp"
#include "tests/engine/support.hpp"

namespace offramp {
namespace {

using dpu::nodes_of;
using dpu::request_of;
using dpu::settings_with;
using test::Buffer;
using test::pattern;

/// The block of one rank for another: of unequal sizes, some of them empty.
std::size_t size_of(int from, int to, std::size_t unit) {
  const auto mixed = static_cast<std::size_t>(from * 7 + to * 3);
  return mixed % 4 == 0 ? 0 : mixed % 5 * unit + 1;
}
std::uint32_t seed_of(int from, int to) {
  return static_cast<std::uint32_t>(from * 100 + to);
}

Operation vector_operation(OperationKind kind, int ranks, int root = 0) {
  Operation operation;
  operation.kind = kind;
  operation.ranks = ranks;
  operation.root = root;
  return operation;
}

/// Buffers of blocks, and a collective's views of them.
struct RankBlocks {
  std::vector<Buffer> memory;
  std::vector<Bytes> sent;
  std::vector<MutableBytes> received;
  void add(Buffer block) { memory.push_back(std::move(block)); }
  void view() {
    for (Buffer& block : memory) {
      sent.emplace_back(block);
      received.emplace_back(block);
    }
  }
};

Task<void> gather_and_scatter(ClusterRank& rank, std::size_t unit, int root) {
  const int ranks = rank.size();
  const int own = rank.rank();
  const Buffer mine = pattern(size_of(own, 0, unit), seed_of(own, 0));
  RankBlocks all;
  if (own == root) {
    for (int r = 0; r < ranks; ++r) all.add(Buffer(size_of(r, 0, unit)));
  }
  all.view();
  CollectiveBuffers gathering;
  gathering.send = mine;
  gathering.receive_blocks = all.received;
  EXPECT_EQ(co_await rank.collective(vector_operation(OperationKind::kGatherv, ranks, root), gathering),
            Outcome::kOk);
  for (int r = 0; own == root && r < ranks; ++r)
    EXPECT_EQ(all.memory[static_cast<std::size_t>(r)], pattern(size_of(r, 0, unit), seed_of(r, 0)));
  Buffer back(mine.size());
  CollectiveBuffers scattering;
  scattering.receive = back;
  scattering.send_blocks = all.sent;
  EXPECT_EQ(co_await rank.collective(vector_operation(OperationKind::kScatterv, ranks, root), scattering),
            Outcome::kOk);
  EXPECT_EQ(back, mine);
}

Task<void> all_to_all(ClusterRank& rank, std::size_t unit) {
  const int ranks = rank.size();
  const int own = rank.rank();
  const Buffer mine = pattern(size_of(own, 0, unit), seed_of(own, 0));
  RankBlocks everybodys;
  for (int r = 0; r < ranks; ++r) everybodys.add(Buffer(size_of(r, 0, unit)));
  everybodys.view();
  CollectiveBuffers gathering;
  gathering.send = mine;
  gathering.receive_blocks = everybodys.received;
  gathering.block = mine.size();
  EXPECT_EQ(co_await rank.collective(vector_operation(OperationKind::kAllgatherv, ranks), gathering),
            Outcome::kOk);
  RankBlocks out;
  RankBlocks in;
  for (int r = 0; r < ranks; ++r) {
    EXPECT_EQ(everybodys.memory[static_cast<std::size_t>(r)], pattern(size_of(r, 0, unit), seed_of(r, 0)));
    out.add(pattern(size_of(own, r, unit), seed_of(own, r)));
    in.add(Buffer(size_of(r, own, unit)));
  }
  out.view();
  in.view();
  CollectiveBuffers exchange;
  exchange.send_blocks = out.sent;
  exchange.receive_blocks = in.received;
  EXPECT_EQ(co_await rank.collective(vector_operation(OperationKind::kAlltoallv, ranks), exchange),
            Outcome::kOk);
  for (int r = 0; r < ranks; ++r)
    EXPECT_EQ(in.memory[static_cast<std::size_t>(r)], pattern(size_of(r, own, unit), seed_of(r, own)));
}

Task<void> reduce_and_scatter(ClusterRank& rank, std::size_t unit) {
  Int32Sum sum;
  std::vector<std::size_t> counts;
  for (int r = 0; r < rank.size(); ++r) counts.push_back(size_of(r, 0, unit));
  const std::vector<std::int32_t> data(std::accumulate(counts.begin(), counts.end(), std::size_t{0}),
                                       rank.rank() + 1);
  std::vector<std::int32_t> result(counts[static_cast<std::size_t>(rank.rank())]);
  std::vector<Bytes> parts;
  std::size_t offset = 0;
  for (const std::size_t count : counts) {
    parts.push_back(std::as_bytes(std::span(data).subspan(offset, count)));
    offset += count;
  }
  Operation operation = vector_operation(OperationKind::kReduceScatterv, rank.size());
  operation.element = sum.kind().element;
  operation.function = sum.kind().function;
  CollectiveBuffers buffers;
  buffers.send = std::as_bytes(std::span(data));
  buffers.receive = std::as_writable_bytes(std::span(result));
  buffers.send_blocks = parts;
  EXPECT_EQ(co_await rank.collective(operation, buffers, &sum), Outcome::kOk);
  const int total = rank.size() * (rank.size() + 1) / 2;
  EXPECT_EQ(result, std::vector<std::int32_t>(result.size(), total));
}

Task<void> every_vector_collective(ClusterRank& rank) {
  for (const std::size_t unit : {1, 500, 30000}) {
    for (int root = 0; root < rank.size(); ++root) co_await gather_and_scatter(rank, unit, root);
    co_await all_to_all(rank, unit);
    co_await reduce_and_scatter(rank, unit);
  }
}

TEST(DpuVector, CollectivesAreRightForEveryRootAndPlatform) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const double processes : {1.0, 2.0, 4.0}) {
      const Settings settings = settings_with({{"service_processes", {processes, {}}}});
      Cluster cluster(ranks, dpu_backend(), settings, nodes_of(4));
      EXPECT_EQ(cluster.run(every_vector_collective), "");
      EXPECT_EQ(cluster.engine(0).lane().counters.calls[0].declined, 0U);
      EXPECT_EQ(cluster.engine(0).malformed(), 0U);
    }
  }
}

TEST(DpuVector, EqualBlocksTakeAsLongAsTheRegularCollective) {
  dpu::PlatformSpec spec;
  spec.ranks_per_node = 2;
  for (const auto& [kind, plain] : {std::pair{OperationKind::kAllgatherv, OperationKind::kAllgather},
                                    {OperationKind::kAlltoallv, OperationKind::kAlltoall}}) {
    const dpu::CollectiveResult one = run_collective(spec, request_of(spec, kind, 7, 3000));
    const dpu::CollectiveResult other = run_collective(spec, request_of(spec, plain, 7, 3000));
    for (std::size_t i = 0; i < one.members.size(); ++i) {
      EXPECT_EQ(one.members[i].done, other.members[i].done);
      EXPECT_EQ(one.members[i].host_work, other.members[i].host_work);
    }
  }
}

TEST(DpuVector, EmptyPairsCostTheServiceProcessesNoTime) {
  dpu::PlatformSpec spec;
  spec.ranks_per_node = 1;
  dpu::CollectiveRequest request = request_of(spec, OperationKind::kAlltoallv, 8, 100);
  const dpu::CollectiveResult dense = run_collective(spec, request);
  for (int from = 0; from < 8; ++from) {
    for (int to = 0; to < 8; ++to) {
      if (to != (from + 1) % 8) request.sizes[static_cast<std::size_t>(from * 8 + to)] = 0;
    }
  }
  const dpu::CollectiveResult ring = run_collective(spec, request);
  EXPECT_LT(ring.wire.packets, dense.wire.packets / 3);
  EXPECT_LT(ring.members[0].done, dense.members[0].done);
  std::fill(request.sizes.begin(), request.sizes.end(), 0);
  const dpu::CollectiveResult nothing = run_collective(spec, request);
  EXPECT_LT(nothing.members[0].done, ring.members[0].done);
  EXPECT_GT(nothing.members[0].done, spec.card.import);  // each rank still arrives and is notified
}

TEST(DpuVector, ALargeBlockDelaysThoseWhoReadIt) {
  dpu::PlatformSpec spec;
  spec.ranks_per_node = 1;
  dpu::CollectiveRequest request = request_of(spec, OperationKind::kScatterv, 4, 100);
  request.sizes[2] = 10'000'000;
  const dpu::CollectiveResult result = run_collective(spec, request);
  EXPECT_GT(result.members[2].done, spec.card.link.bytes(10'000'000));
  EXPECT_LT(result.members[1].done, Time::us(100));
}

}  // namespace
}  // namespace offramp
