// The concurrent operations of one rank share its hardware, which never exceeds its own rate.
#include <gtest/gtest.h>

#include <vector>

#include "tests/engine/support.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp {
namespace {

using test::Buffer;

constexpr std::size_t kMessage = 1 << 20;
constexpr int kConcurrent = 16;

Operation operation_of(OperationKind kind, int ranks) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = kMessage;
  operation.elements = kMessage / 8;
  operation.element = ElementType::kFloat64;
  operation.function = kind == OperationKind::kAllreduce ? ReduceFunction::kSum : ReduceFunction::kNone;
  operation.ranks = ranks;
  return operation;
}

class Sharing : public testing::TestWithParam<const char*> {
 protected:
  /// The latest host clock after a program on two ranks, in microseconds.
  static double clock_after(const TimedCluster::Program& program) {
    TimedCluster cluster(2, test::backend_named(GetParam()));
    EXPECT_EQ(cluster.run(program), "");
    Time latest;
    for (const Time clock : cluster.clocks()) latest = later(latest, clock);
    return static_cast<double>(latest.count()) / 1e6;
  }

  /// Collectives and messages from rank 0 to rank 1, all at once, and waited for in order.
  static double at_once(OperationKind kind, int collectives, int messages) {
    return clock_after([=](TimedRank& rank) -> Task<void> {
      std::vector<Buffer> buffers(static_cast<std::size_t>(collectives + messages), Buffer(kMessage));
      std::vector<RankRequest> requests;
      const Operation operation = operation_of(kind, rank.size());
      for (std::size_t i = 0; i < buffers.size(); ++i) {
        Buffer& buffer = buffers[i];
        if (i < static_cast<std::size_t>(collectives)) {
          requests.push_back(rank.start(operation));
        } else {
          requests.push_back(rank.rank() == 0 ? rank.isend(1, buffer) : rank.irecv(0, buffer));
        }
      }
      EXPECT_EQ(co_await rank.wait_all(requests), Outcome::kOk);
    });
  }
};

TEST_P(Sharing, ConcurrentBroadcastsTakeAsLongAsTheSharedLinkNeedsForThem) {
  const double one = at_once(OperationKind::kBcast, 1, 0);
  const double all = at_once(OperationKind::kBcast, kConcurrent, 0);
  EXPECT_GT(all, one * kConcurrent * 0.93);
  EXPECT_LT(all, one * kConcurrent * 1.02);
}

/// Each rank sends as much as the root of a broadcast; its computing overlaps with the link.
TEST_P(Sharing, ConcurrentReductionsAreNotFasterThanTheLink) {
  const double broadcasts = at_once(OperationKind::kBcast, kConcurrent, 0);
  const double one = at_once(OperationKind::kAllreduce, 1, 0);
  const double all = at_once(OperationKind::kAllreduce, kConcurrent, 0);
  EXPECT_GT(all, broadcasts);
  EXPECT_LT(all, one * kConcurrent);
}

TEST_P(Sharing, ABroadcastBesideMessagesTakesItsShareOfTheLink) {
  const double messages = at_once(OperationKind::kBcast, 0, kConcurrent);
  const double both = at_once(OperationKind::kBcast, 1, kConcurrent);
  EXPECT_NEAR(both / messages, (kConcurrent + 1.0) / kConcurrent, 0.02);
}

INSTANTIATE_TEST_SUITE_P(Backends, Sharing, testing::Values("host", "zrlmpi"),
                         [](const auto& backend) { return std::string(backend.param); });

}  // namespace
}  // namespace offramp
