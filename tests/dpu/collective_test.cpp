// Collectives of the service processes: every rank is notified, shared units delay, failures are survived.
#include <gtest/gtest.h>

#include "tests/dpu/support.hpp"

namespace offramp::dpu {
namespace {

constexpr OperationKind kKinds[] = {
    OperationKind::kBcast,     OperationKind::kReduce,        OperationKind::kGather,
    OperationKind::kAllreduce, OperationKind::kScatter,       OperationKind::kAllgather,
    OperationKind::kAlltoall,  OperationKind::kReduceScatter, OperationKind::kBarrier,
    OperationKind::kGatherv,   OperationKind::kScatterv,      OperationKind::kAllgatherv,
    OperationKind::kAlltoallv, OperationKind::kReduceScatterv};

PlatformSpec small_platform(int ranks_per_node = 2, int processes = 1) {
  PlatformSpec spec;
  spec.ranks_per_node = ranks_per_node;
  spec.processes = processes;
  return spec;
}

Time last_done(const CollectiveResult& result) {
  Time last;
  for (const MemberResult& member : result.members) last = later(last, member.done);
  return last;
}

TEST(DpuCollective, NotifiesEveryRankOnEveryPlatform) {
  for (const OperationKind kind : kKinds) {
    for (int ranks = 2; ranks <= 9; ++ranks) {
      for (const int per_node : {1, 2, 4}) {
        for (const int processes : {1, 2, 4}) {
          for (const DataPath path : {DataPath::kGvmi, DataPath::kStaging}) {
            PlatformSpec spec = small_platform(per_node, processes);
            spec.path = path;
            spec.tree = processes == 2;
            spec.dpus = per_node == 4 ? 2 : 1;
            const CollectiveRequest request = request_of(spec, kind, ranks, 100000, ranks - 1);
            for (const MemberResult& member : run_collective(spec, request).members) {
              EXPECT_GT(member.done, request.members[0].posted) << to_string(kind) << " " << ranks;
              EXPECT_GE(member.process_free, member.done - Time::us(10));
            }
          }
        }
      }
    }
  }
}

TEST(DpuCollective, ShiftsWithItsArrivals) {
  const PlatformSpec spec = small_platform(2, 2);
  for (const OperationKind kind : kKinds) {
    CollectiveRequest request = request_of(spec, kind, 5, 30000, 3);
    for (std::size_t i = 0; i < request.members.size(); ++i)
      request.members[i].posted += Time::ns(777) * static_cast<std::int64_t>(i * i % 7);
    const CollectiveResult first = run_collective(spec, request);
    for (Member& member : request.members) member.posted += Time::ms(3);
    const CollectiveResult second = run_collective(spec, request);
    for (std::size_t i = 0; i < request.members.size(); ++i)
      EXPECT_EQ(second.members[i].done, first.members[i].done + Time::ms(3)) << to_string(kind);
  }
}

TEST(DpuCollective, WaitsForALateRankWhereItNeedsIt) {
  const PlatformSpec spec = small_platform(1);
  CollectiveRequest request = request_of(spec, OperationKind::kGather, 4, 1000);
  const CollectiveResult punctual = run_collective(spec, request);
  request.members[2].posted += Time::ms(1);
  const CollectiveResult late = run_collective(spec, request);
  EXPECT_GT(late.members[0].done, Time::ms(1));               // the root
  EXPECT_EQ(late.members[1].done, punctual.members[1].done);  // has sent all its data
}

TEST(DpuCollective, MoreServiceProcessesShareTheWork) {
  Time before = Time::never();
  for (const int processes : {1, 2, 4, 8}) {
    const PlatformSpec spec = small_platform(8, processes);
    const Time time = last_done(run_collective(spec, request_of(spec, OperationKind::kAlltoall, 32, 8)));
    EXPECT_LT(time, before) << processes;
    before = time;
  }
}

TEST(DpuCollective, MoreDpusPerHostShareItsLinks) {
  // Two hosts exchange large blocks over one link each, or two.
  PlatformSpec spec = small_platform(4, 1);
  const CollectiveRequest request = request_of(spec, OperationKind::kAlltoall, 8, 4 << 20);
  const double one = last_done(run_collective(spec, request)).seconds();
  spec.dpus = 2;
  const double two = last_done(run_collective(spec, request)).seconds();
  EXPECT_NEAR(two / one, 0.5, 0.05);
  // Small blocks gain, too, from more service processes.
  const CollectiveRequest small = request_of(spec, OperationKind::kAlltoall, 8, 8);
  const Time shared = last_done(run_collective(spec, small));
  spec.dpus = 1;
  EXPECT_LT(shared, last_done(run_collective(spec, small)));
}

TEST(DpuCollective, ServiceProcessesOnTwoDpusOfAHostTalkOverTheNetworkAndReadLocally) {
  PlatformSpec spec = small_platform(2, 1);
  const CollectiveRequest request = request_of(spec, OperationKind::kGather, 2, 1 << 20);
  spec.processes = 2;  // one DPU, two service processes
  const Time near = last_done(run_collective(spec, request));
  spec.processes = 1;
  spec.dpus = 2;
  const Time far = last_done(run_collective(spec, request));
  EXPECT_GT(far, near);  // the RTS
  EXPECT_LT(far, near + spec.card.network_latency);
}

TEST(DpuCollective, StagingTakesLongerThanReadingFromHostToHost) {
  for (const OperationKind kind : {OperationKind::kBcast, OperationKind::kGather, OperationKind::kAlltoall}) {
    PlatformSpec spec = small_platform(1);
    const CollectiveRequest request = request_of(spec, kind, 4, 1 << 20);
    const Time direct = last_done(run_collective(spec, request));
    spec.path = DataPath::kStaging;
    EXPECT_GT(last_done(run_collective(spec, request)), direct) << to_string(kind);
  }
}

TEST(DpuCollective, ATreeRelievesTheRootOfALargeBroadcast) {
  PlatformSpec spec = small_platform(1);
  const CollectiveRequest request = request_of(spec, OperationKind::kBcast, 32, 8 << 20);
  const Time flat = last_done(run_collective(spec, request));
  spec.tree = true;
  EXPECT_LT(last_done(run_collective(spec, request)), flat);
}

TEST(DpuCollective, TheRootsLinkBoundsAFlatBroadcast) {
  PlatformSpec spec = small_platform(1);
  const std::int64_t bytes = 16 << 20;
  const Time time = last_done(run_collective(spec, request_of(spec, OperationKind::kBcast, 9, bytes)));
  const Time link = spec.card.link.bytes(framed(bytes)) * 8;
  EXPECT_GE(time, link);
  EXPECT_LT(time.seconds(), link.seconds() * 1.1);
}

TEST(DpuCollective, LongArrivalsAreFetched) {
  PlatformSpec spec = small_platform(1);
  const CollectiveRequest request = request_of(spec, OperationKind::kAlltoall, 8, 8);
  const Time whole = last_done(run_collective(spec, request));
  spec.notification_limit = 200;  // an RTS is shorter
  const Time fetched = last_done(run_collective(spec, request));
  const CardSpec& card = spec.card;
  const Time fetch = card.pcie_latency * 2 + card.local_latency + card.step();
  EXPECT_NEAR((fetched - whole).nanoseconds(), fetch.nanoseconds(), 50);
}

TEST(DpuCollective, ABusyServiceProcessDelays) {
  const PlatformSpec spec = small_platform(1);
  CollectiveRequest request = request_of(spec, OperationKind::kBarrier, 4, 0);
  const Time idle = last_done(run_collective(spec, request));
  request.members[1].process_free = Time::us(500);
  EXPECT_GT(last_done(run_collective(spec, request)), idle);
}

TEST(DpuFailure, HostsDoTheWorkOfAServiceProcessThatDies) {
  for (const OperationKind kind : kKinds) {
    for (const Failure failure : {Failure::kNever, Failure::kDies}) {
      PlatformSpec spec = small_platform(2, 2);
      const CollectiveRequest request = request_of(spec, kind, 6, 5000);
      const CollectiveResult whole = run_collective(spec, request);
      spec.failure = {failure, 2, {}, {}, Time::us(300)};
      const CollectiveResult hurt = run_collective(spec, request);
      EXPECT_EQ(hurt.rerouted, 1) << to_string(kind);
      EXPECT_GT(last_done(hurt), Time::us(300));
      EXPECT_LT(last_done(hurt), last_done(whole) + Time::us(310)) << to_string(kind);
      EXPECT_GT(hurt.members[2].host_work, Time());
      EXPECT_EQ(hurt.wire.rerouted, 1U);
    }
  }
}

TEST(DpuFailure, IsPaidForOnce) {
  PlatformSpec spec = small_platform(2, 2);
  spec.failure = {Failure::kDies, 0, Time::us(50), {}, Time::us(300)};
  CollectiveRequest request = request_of(spec, OperationKind::kBarrier, 4, 0);
  for (Member& member : request.members) member.posted = Time::ms(1);
  const CollectiveResult known = run_collective(spec, request);
  EXPECT_EQ(known.rerouted, 1);
  EXPECT_LT(last_done(known), Time::ms(1) + Time::us(50));
  for (Member& member : request.members) member.posted = Time::us(1);
  const CollectiveResult before = run_collective(spec, request);
  EXPECT_EQ(before.rerouted, 0);
  EXPECT_LT(last_done(before), Time::us(50));
}

TEST(DpuFailure, AShortPauseOnlyDelays) {
  PlatformSpec spec = small_platform(2, 1);
  const CollectiveRequest request = request_of(spec, OperationKind::kAlltoall, 4, 5000);
  const Time whole = last_done(run_collective(spec, request));
  spec.failure = {Failure::kStalls, 1, Time::us(20), Time::us(100), Time::us(300)};
  const CollectiveResult paused = run_collective(spec, request);
  EXPECT_EQ(paused.rerouted, 0);
  EXPECT_GT(last_done(paused), whole + Time::us(90));
  // Work that the pause interrupts starts again.
  EXPECT_LT(last_done(paused), whole + Time::us(100) + spec.card.import);
  spec.failure.stall = Time::us(1000);
  EXPECT_EQ(run_collective(spec, request).rerouted, 2);
}

TEST(DpuFaults, LostNotificationsAreRepeatedAndCostTime) {
  PlatformSpec spec = small_platform(1);
  spec.transport.retry_timeout = Time::us(500);
  spec.transport.retries = 7;
  const CollectiveRequest request = request_of(spec, OperationKind::kAlltoall, 6, 100);
  const Time whole = last_done(run_collective(spec, request));
  spec.transport.faults = {7, 0.2, 0.1, 0.1};
  const CollectiveResult hurt = run_collective(spec, request);
  EXPECT_FALSE(hurt.failed);
  EXPECT_GT(hurt.wire.lost, 0U);
  EXPECT_GT(hurt.wire.duplicated, 0U);
  EXPECT_EQ(hurt.wire.retransmissions, hurt.wire.lost + hurt.wire.reordered);
  EXPECT_GT(last_done(hurt), whole + Time::us(400));
  EXPECT_EQ(last_done(run_collective(spec, request)), last_done(hurt));
  spec.transport.faults.loss = 0.8;
  spec.transport.faults.duplication = spec.transport.faults.reordering = 0;
  EXPECT_TRUE(run_collective(spec, request).failed);
}

}  // namespace
}  // namespace offramp::dpu
