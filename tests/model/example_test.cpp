// Three tests to copy for new hardware: a time, a shared resource, and a decline.
//
// Each runs a program per rank in a world (simulators/world/world.hpp), and compares it with a formula of the
// hardware's own parameters, so that a change of a default changes both sides. Each expectation states its
// source.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/support.hpp"

namespace offramp {
namespace {

using testing::HasSubstr;

/// The end of the last rank's program.
Time end_of(int ranks, const WorldBackend& backend, const World::Program& program) {
  World world({.ranks = ranks, .check = true}, backend);
  EXPECT_EQ(world.run(program), "") << "every rank comes to its end";
  EXPECT_THAT(world.violations(), testing::IsEmpty());
  Time end;
  for (int rank = 0; rank < ranks; ++rank) end = later(end, world.clock(rank));
  return end;
}

/// The plain host with a NIC of 100 Gb/s. Other parameters do not matter here.
WorldBackend host_with_latency(double nanoseconds) {
  WorldBackend backend = test::hardware("host");
  backend.settings.set("bandwidth", {100, {}});
  backend.settings.set("latency", {nanoseconds, {}});
  return backend;
}

Task<void> ping(RankHandle& rank) {
  if (rank.rank() == 0) co_await rank.send(1, 8);
  if (rank.rank() == 1) co_await rank.receive(0, 8);
}

// A time. A message crosses the wire's latency once, so one microsecond more of latency is one more in total.
TEST(Example, AMessageCrossesTheWireOnce) {
  EXPECT_EQ(end_of(2, host_with_latency(2000), ping) - end_of(2, host_with_latency(1000), ping), Time::us(1));
}

// A shared resource. Two messages to one rank pass its one link. Physics sets the lower bound: the bytes of
// both at the link's rate. The time exceeds it by little, since everything else overlaps: 5 % cover the
// framing of packets, the overheads and the copies of such messages.
TEST(Example, TwoSendersShareTheReceiversLink) {
  constexpr std::size_t kBytes = 1 << 20;
  const Time bound = Bandwidth::gigabits_per_second(100).bytes(2 * kBytes);
  const Time end = end_of(3, host_with_latency(1000), [](RankHandle& rank) -> Task<void> {
    if (rank.rank() > 0) co_return (void) co_await rank.send(0, kBytes);
    RankRequest requests[] = {rank.irecv(1, kBytes), rank.irecv(2, kBytes)};
    for (RankRequest& request : requests) (void)co_await rank.wait(request);
  });
  EXPECT_GE(end, bound);
  EXPECT_LT(end.seconds(), bound.seconds() * 1.05);
}

// A decline. Hardware returns the reason; without a host beside it, the program ends there. The strict header
// of zrlmpi has two types, and doubles are neither (docs/backends/zrlmpi.md).
TEST(Example, HardwareDeclinesUnsupportedOperationsWithTheReason) {
  const auto reduce = [](RankHandle& rank) -> Task<void> { (void)co_await rank.reduce(8, 0); };
  WorldBackend strict = test::hardware("zrlmpi");
  strict.settings.set("strict", {1, {}});
  World alone({.ranks = 2}, strict);
  EXPECT_NE(alone.run(reduce), "");
  EXPECT_THAT(alone.declined(), HasSubstr("the strict header has only INT and FLOAT"));
  EXPECT_GT(end_of(2, test::with_host(strict), reduce), Time()) << "the host beside it carries it";
}

}  // namespace
}  // namespace offramp
