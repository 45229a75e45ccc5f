// Setup: endpoint caches of communicators, connections of ranks; and fetched notifications, which
// are posted in limited numbers.
#include "simulators/dpu/population.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "simulators/world/world.hpp"
#include "tests/dpu/support.hpp"

namespace offramp::dpu {
namespace {

PlatformSpec platform(int ranks, int ranks_per_node, int processes) {
  PlatformSpec spec;
  spec.ranks = ranks;
  spec.ranks_per_node = ranks_per_node;
  spec.processes = processes;
  return spec;
}

struct Times final : Population::Observer {
  void populated(int member, Time at) override { EXPECT_TRUE(by_member.emplace(member, at).second); }
  std::map<int, Time> by_member;
};

/// All members register at once.
Times populate(const PlatformSpec& spec, const std::vector<int>& world_ranks, WireCounters& wire) {
  std::vector<Member> members;
  for (const int rank : world_ranks) members.push_back({rank, {}, {}});
  Times times;
  Machine machine(spec, members, std::vector<bool>(members.size()), 0, nullptr);
  Population population(spec, members, machine, times);
  for (int i = 0; i < static_cast<int>(members.size()); ++i) population.add(i, {});
  while (!machine.idle()) {
    const auto [at, order, event] = machine.next();
    EXPECT_TRUE(machine.handle(event, at) || population.handle(event, at));
  }
  wire = machine.wire();
  return times;
}

// A trace derived from the source of dpu_offload_service: 2 hosts x 2 service processes, 4 ranks on each
// host. Each service process has 2 messages for each of 3 others, 24 in all, and a table of 8 entries for
// each of its 2 ranks.
TEST(DpuPopulation, SendsTheMessagesOfTheWorkedTrace) {
  WireCounters wire;
  const Times times = populate(platform(8, 4, 2), {0, 1, 2, 3, 4, 5, 6, 7}, wire);
  EXPECT_EQ(times.by_member.size(), 8U);
  const std::uint64_t additions = 8 * (56 + 72 + 8 * 8);
  const std::uint64_t entries = 24 * (56 + 2264);
  const std::uint64_t tables = 8 * (56 + 8 * 2264);
  EXPECT_EQ(wire.payload_bytes, additions + entries + tables);
}

// A single service process has consecutive ranks: one message for each other service process.
TEST(DpuPopulation, SendsRanksThatFollowEachOtherTogether) {
  WireCounters wire;
  populate(platform(8, 4, 1), {0, 1, 2, 3, 4, 5, 6, 7}, wire);
  EXPECT_EQ(wire.payload_bytes, 8U * (56 + 72 + 8 * 8) + 2 * (56 + 4 * 2264) + 8 * (56 + 8 * 2264));
}

TEST(DpuPopulation, AdvertisesTheWholeJobToServiceProcesses) {
  WireCounters wire;
  const Time few = populate(platform(4, 2, 1), {0, 2}, wire).by_member.at(0);
  const Time many = populate(platform(400, 2, 1), {0, 2}, wire).by_member.at(0);
  EXPECT_GT(many, few + CardSpec().step() * 100);
}

TEST(DpuPopulation, WaitsForTheLastRank) {
  const PlatformSpec spec = platform(4, 2, 1);
  CollectiveRequest request = request_of(spec, OperationKind::kBcast, 4, 8);
  request.populates = true;
  const CollectiveResult punctual = run_collective(spec, request);
  request.members[3].posted += Time::ms(1);
  const CollectiveResult late = run_collective(spec, request);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_GT(late.members[i].done, punctual.members[i].done + Time::us(900));
  request.populates = false;
  EXPECT_LT(run_collective(spec, request).members[1].done, late.members[1].done);
}

TEST(DpuStart, ConnectsRanksOneAfterTheOther) {
  const PlatformSpec spec = platform(8, 4, 1);
  const Start start = start_service(spec);
  ASSERT_EQ(start.connected.size(), 8U);
  for (std::size_t rank = 0; rank < 8; ++rank) EXPECT_GT(start.populated[rank], start.connected[rank]);
  // The Arm core accepts each connection and makes its endpoint.
  const Time last = *std::max_element(start.connected.begin(), start.connected.end());
  EXPECT_GT(last, spec.card.connect * 8);
  PlatformSpec two = spec;
  two.processes = 2;
  const Start shared = start_service(two);
  EXPECT_LT(*std::max_element(shared.connected.begin(), shared.connected.end()), last);
}

struct Spans final : SpanSink {
  void record(const Span& span) override { all.push_back(span); }
  [[nodiscard]] Time total(std::string_view unit) const {
    Time sum;
    for (const Span& span : all) sum += span.unit == unit ? span.end - span.begin : Time();
    return sum;
  }
  std::vector<Span> all;
};

/// Times of rank 0 for a broadcast and for a second one, on all ranks or on a communicator of its own.
std::pair<Time, Time> two_broadcasts(const std::string& setup, bool own, Spans* spans = nullptr) {
  WorldOptions options;
  options.ranks = 4;
  options.machine.ranks_per_node = 2;
  options.check = true;
  options.spans = spans;
  World world(options, WorldBackend(dpu_backend(), settings_with({{"setup", {0, setup}}})));
  std::pair<Time, Time> times;
  EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> {
    Communicator communicator = rank.world_communicator();
    if (own) communicator = co_await rank.duplicate(rank.world_communicator());
    Operation operation;
    operation.kind = OperationKind::kBcast;
    operation.ranks = 4;
    operation.bytes = 8;
    const Time begin = rank.clock();
    (void)co_await rank.collective(communicator, operation);
    const Time between = rank.clock();
    (void)co_await rank.collective(communicator, operation);
    if (rank.rank() == 0) times = {between - begin, rank.clock() - between};
  }),
            "");
  EXPECT_EQ(world.violations(), std::vector<std::string>());
  return times;
}

TEST(DpuSetup, TheFirstCollectiveOfACommunicatorFillsItsCache) {
  Spans spans;
  const auto [first, second] = two_broadcasts("communicators", true, &spans);
  EXPECT_GT(first, second + Time::us(10));
  EXPECT_GT(spans.total("endpoint cache"), Time::us(40));  // of four ranks
  EXPECT_EQ(spans.total("bootstrap"), Time());
  // The cache of MPI_COMM_WORLD is filled before time 0.
  const auto [world, further] = two_broadcasts("communicators", false);
  EXPECT_LT(world, first);
  EXPECT_NEAR(microseconds(world), microseconds(further), 3.0);
  EXPECT_EQ(two_broadcasts("none", true), two_broadcasts("none", false));
}

TEST(DpuSetup, TheFirstOperationWaitsForTheBootstrap) {
  Spans spans;
  const auto [first, second] = two_broadcasts("all", false, &spans);
  const Start start = start_service(platform(4, 2, 1));
  const auto [running, further] = two_broadcasts("none", false);
  EXPECT_GT(first, start.populated[0]);
  EXPECT_LT(first, *std::max_element(start.populated.begin(), start.populated.end()) + running + Time::us(5));
  EXPECT_NEAR(microseconds(second), microseconds(further), 5.0);
  EXPECT_EQ(spans.total("bootstrap"),
            start.connected[0] + start.connected[1] + start.connected[2] + start.connected[3]);
  EXPECT_GT(spans.total("endpoint cache"), Time());
}

TEST(DpuSetup, SaysWhichOfItsParametersHaveNoEffect) {
  const auto without = [](const char* setup) {
    std::vector<std::string_view> names;
    for (const WithoutEffect& parameter :
         dpu_backend().without_effect(settings_with({{"setup", {0, setup}}})))
      names.push_back(parameter.parameter);
    return names;
  };
  EXPECT_EQ(without("all"), std::vector<std::string_view>());
  EXPECT_EQ(without("communicators"), (std::vector<std::string_view>{"connect", "tcp_latency"}));
  EXPECT_EQ(without("none"), (std::vector<std::string_view>{"connect", "tcp_latency", "cache_entry"}));
}

TEST(DpuSetup, APlatformByItselfFillsTheSameCache) {
  const PlatformSpec spec = platform(4, 2, 1);
  CollectiveRequest request = request_of(spec, OperationKind::kBcast, 4, 8);
  request.populates = true;
  EXPECT_EQ(run_collective(spec, request).members[0].done, two_broadcasts("communicators", true).first);
}

Time exchange(int posted_sends, std::int64_t notification_limit) {
  PlatformSpec spec = platform(32, 16, 1);
  spec.posted_sends = posted_sends;
  spec.notification_limit = notification_limit;
  Time last;
  for (const MemberResult& member :
       run_collective(spec, request_of(spec, OperationKind::kAlltoall, 32, 8)).members)
    last = later(last, member.done);
  return last;
}

TEST(DpuNotifications, ThatAreFetchedWaitForThoseThatHaveNotLeft) {
  const Time short_ones = exchange(8, 8192);
  EXPECT_EQ(short_ones, exchange(1, 8192));  // they leave at once
  const Time fetched = exchange(1000, 100);  // the RTS, not the ACK
  EXPECT_GT(fetched, short_ones);
  EXPECT_GE(exchange(8, 100), fetched);
  EXPECT_GT(exchange(1, 100), exchange(8, 100));
}

}  // namespace
}  // namespace offramp::dpu
