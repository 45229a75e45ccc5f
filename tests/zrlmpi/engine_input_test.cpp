// Requests that wait at a rank's engine: the effects of the FIFO, the shell and the header cache.
#include "simulators/zrlmpi/engine_input.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/zrlmpi/zrlmpi.hpp"
#include "simulators/world/world.hpp"
#include "simulators/zrlmpi/spec.hpp"

namespace offramp::zrlmpi {
namespace {

TEST(ZrlmpiEngineInput, ReadsUpToARequestAndKeepsTheOthersInTheCache) {
  EngineInput input;
  for (const std::uint64_t message : {10U, 11U, 12U, 13U}) input.add(message, Time::ns(1));
  EXPECT_EQ(input.headers_to_read(12, Time::ns(1)), 3);
  EXPECT_EQ(input.in_cache(), 2U);
  EXPECT_EQ(input.headers_to_read(10, Time::ns(2)), 0) << "it was read";
  EXPECT_EQ(input.headers_to_read(13, Time::ns(2)), 1) << "that of 11 is in the cache";
  EXPECT_EQ(input.headers_to_read(11, Time::ns(2)), 0);
  EXPECT_EQ(input.headers_to_read(11, Time::ns(2)), 0) << "it is gone";
  EXPECT_EQ(input.in_cache(), 0U);
}

TEST(ZrlmpiEngineInput, ReadsOnlyArrivedHeadersInTheirOrder) {
  EngineInput input;
  input.add(1, Time::ns(30));
  input.add(2, Time::ns(10));
  input.add(3, Time::ns(20));
  EXPECT_EQ(input.headers_to_read(3, Time::ns(20)), 2) << "behind 2, before 1";
}

TEST(ZrlmpiEngineInput, HoldsTheRequestsOfAllOtherRanks) {
  static_assert(kInputFifoHeaders >= kMaximumNodes - 1, "one each fits into the FIFO alone");
  EngineInput input;
  for (std::uint64_t message = 0; message < kWaitingHeaders; ++message) {
    EXPECT_FALSE(input.is_full(Time())) << message;
    input.add(message, Time());
  }
  EXPECT_TRUE(input.is_full(Time()));
  EXPECT_EQ(input.headers_to_read(kCacheSlots + 9, Time()), static_cast<std::int64_t>(kCacheSlots) + 10);
  EXPECT_EQ(input.in_cache(), kCacheSlots) << "no more slots: the others stay where they are";
  EXPECT_FALSE(input.is_full(Time()));
  EXPECT_EQ(input.headers_to_read(kCacheSlots, Time()), 1);
}

TEST(ZrlmpiEngineInput, HasRoomWhileARequestIsStillToComeAgain) {
  EngineInput input;
  for (std::uint64_t message = 0; message < kWaitingHeaders; ++message)
    input.add(message, message == 7 ? Time::ms(200) : Time());
  EXPECT_FALSE(input.is_full(Time::us(1)));
  EXPECT_TRUE(input.is_full(Time::ms(200)));
}

/// Several gathers at once, of one block from each of 64 ranks in linear order; the root comes late.
struct Gathers {
  std::string stuck;
  std::vector<std::string> violations;
  WireCounters wire;
  Time end;
};
Gathers gathers(int count, Time late) {
  WorldBackend backend(zrlmpi_backend());
  backend.settings.set("collectives", {0, "linear"});
  WorldOptions options;
  options.ranks = kMaximumNodes;
  options.check = true;
  World world(options, backend);
  Gathers result;
  result.stuck = world.run([=](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) rank.compute(late);
    Operation operation;
    operation.kind = OperationKind::kGather;
    operation.bytes = 8;
    operation.ranks = rank.size();
    std::vector<RankRequest> requests;
    for (int i = 0; i < count; ++i) requests.push_back(rank.start(rank.world_communicator(), operation));
    EXPECT_EQ(co_await rank.wait_all(requests), Outcome::kOk);
  });
  result.violations = world.violations();
  result.wire = world.wire();
  result.end = world.end();
  return result;
}

// The root comes while the requests of all others wait: it reads 63 headers, and no request is lost.
TEST(ZrlmpiEngineInput, LosesNoRequestOfABlockingProgram) {
  const MpeSpec spec;
  const Time late = Time::ms(1);
  const Gathers in_time = gathers(1, {});
  const Gathers waited = gathers(1, late);
  EXPECT_EQ(waited.stuck, "");
  EXPECT_TRUE(waited.violations.empty());
  EXPECT_EQ(waited.wire.lost, 0U);
  EXPECT_EQ(waited.wire.retransmissions, 0U);
  const Time reading = spec.iterations(spec.header_iterations()) * 62;
  EXPECT_LT(waited.end - late, in_time.end) << "the first request need not be waited for";
  EXPECT_GT(waited.end - late, in_time.end - reading - Time::us(3));
}

// More open requests than the engine and its shell have room for: the others are repeated, and nothing else
// changes.
TEST(ZrlmpiEngineInput, DropsRequestsIfAllBuffersAreFull) {
  constexpr int kFew = kWaitingHeaders / (kMaximumNodes - 1);
  const Gathers few = gathers(kFew, Time::ms(1));
  EXPECT_EQ(few.stuck, "");
  EXPECT_EQ(few.wire.lost, 0U);
  EXPECT_LT(few.end, Time::ms(20));
  const Gathers many = gathers(kFew + 1, Time::ms(1));
  EXPECT_EQ(many.stuck, "");
  EXPECT_TRUE(many.violations.empty());
  EXPECT_EQ(many.wire.lost, (kFew + 1) * (kMaximumNodes - 1) - kWaitingHeaders);
  EXPECT_GE(many.wire.retransmissions, many.wire.lost);
  EXPECT_GT(many.end, MpeSpec().timeout(1, Awaited::kAnswer, 0));
}

}  // namespace
}  // namespace offramp::zrlmpi
