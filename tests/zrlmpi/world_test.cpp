// Programs on many engines: the effects of their calls on each other.
#include "simulators/world/world.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/zrlmpi/zrlmpi.hpp"
#include "tests/zrlmpi/support.hpp"

namespace offramp::zrlmpi::world_test {
namespace {

constexpr Time kCommand = Time::ns(200);  // the parameter's default

struct Headers final : PacketSink {
  void record(const Packet& packet) override {
    Header header;
    ASSERT_EQ(decode(packet.head, Format::kExtended, header), HeaderError::kNone);
    headers.push_back(header);
  }
  std::vector<Header> headers;
};

Operation operation_of(OperationKind kind, int ranks, std::size_t bytes) {
  Operation operation;
  operation.kind = kind;
  operation.ranks = ranks;
  operation.bytes = bytes;
  operation.element = ElementType::kInt32;
  operation.elements = bytes / 4;
  if (reduces(kind)) operation.function = ReduceFunction::kSum;
  return operation;
}

struct Ran {
  Time end;
  WireCounters wire;
};
Ran run(const std::vector<std::pair<std::string, Settings::Value>>& values, const Operation& operation,
        WorldOptions options = {}) {
  WorldBackend backend(zrlmpi_backend());
  for (const auto& [name, value] : values) backend.settings.set(name, value);
  options.ranks = operation.ranks;
  options.check = true;
  World world(options, backend);
  EXPECT_EQ(world.run([operation](RankHandle& rank) -> Task<void> {
    EXPECT_EQ(co_await rank.collective(operation), Outcome::kOk);
  }),
            "");
  EXPECT_EQ(world.violations(), std::vector<std::string>());
  return {world.end(), world.wire()};
}

/// The root receives one block after the other: it answers a request after the block before has arrived. All
/// requests come at once, and it reads their headers, the first one while it waits for it.
TEST(ZrlmpiWorld, AGatherTakesOneHandshakeAfterTheOther) {
  constexpr int kBlocks = kMaximumNodes - 1;
  const MpeSpec spec;
  for (const std::size_t bytes : {8U, 1000U, 20000U}) {
    ExchangeRequest late = request_of(bytes);
    late.ready = Time::ms(1);
    const Time answered = ExchangeRunner(spec).run(late).last - late.ready;
    // Posting a receive takes a command, and so does reading its end.
    const Time bound =
        kBlocks * (answered + 2 * kCommand) + (kBlocks - 1) * spec.iterations(spec.header_iterations());
    const Time time =
        run({{"collectives", {0, "linear"}}}, operation_of(OperationKind::kGather, kMaximumNodes, bytes)).end;
    fmt::print("  {} bytes: {:.3f} us, bound {:.3f} us\n", bytes, time.nanoseconds() / 1e3,
               bound.nanoseconds() / 1e3);
    EXPECT_GE(time, bound);
    EXPECT_LE(time.seconds(), 1.03 * bound.seconds());
  }
}

/// The limit applies to the program's messages: engines answer those of a collective when their role reaches
/// it.
TEST(ZrlmpiWorld, GrantsNoRequestEarlyInACollective) {
  for (const OperationKind kind :
       {OperationKind::kBcast, OperationKind::kReduce, OperationKind::kGather, OperationKind::kScatter,
        OperationKind::kAllgather, OperationKind::kAllreduce, OperationKind::kBarrier}) {
    const Operation operation = operation_of(kind, 17, kind == OperationKind::kBarrier ? 0 : 4000);
    EXPECT_EQ(run({{"eager_limit", {0, {}}}}, operation).end, run({}, operation).end) << to_string(kind);
  }
}

/// [zrlmpi-protocol] mpi_call 4. In each pair of the tree, one rank reports its arrival to the other, and is
/// notified after the arrival of all.
TEST(ZrlmpiWorld, ABarrierGoesOnTheWireAsBarrierCalls) {
  Headers wire;
  WorldOptions options;
  options.packets = &wire;
  const Ran barrier = run({}, operation_of(OperationKind::kBarrier, 7, 0), options);
  EXPECT_EQ(barrier.wire.packets, 2U * 2 * 6);
  EXPECT_EQ(barrier.wire.payload_bytes, barrier.wire.packets * kHeaderBytes);
  ASSERT_EQ(wire.headers.size(), barrier.wire.packets);
  int requests = 0;
  for (const Header& header : wire.headers) {
    EXPECT_EQ(header.call(), MpiCall::kBarrier);
    EXPECT_EQ(header.words(), 0U);
    EXPECT_TRUE(header.type() == PacketType::kSendRequest || header.type() == PacketType::kAck);
    requests += header.type() == PacketType::kSendRequest ? 1 : 0;
  }
  EXPECT_EQ(requests, 12);
}

TEST(ZrlmpiWorld, OtherCollectivesOfNoBytesAreNoBarriers) {
  Headers wire;
  WorldOptions options;
  options.packets = &wire;
  run({}, operation_of(OperationKind::kBcast, 4, 0), options);
  ASSERT_EQ(wire.headers.size(), 4U * 3);
  for (const Header& header : wire.headers) EXPECT_NE(header.call(), MpiCall::kBarrier);
}

/// A barrier ends although packets are lost, by the timers of its calls.
TEST(ZrlmpiWorld, ABarrierSurvivesFaults) {
  WorldOptions options;
  int slower = 0;
  for (options.faults = {1, 0.01, 0.01, 0.01}; options.faults.seed < 20; ++options.faults.seed) {
    const Time end = run({}, operation_of(OperationKind::kBarrier, 9, 0), options).end;
    slower += end > Time::ms(200) ? 1 : 0;
  }
  EXPECT_GT(slower, 0);
  EXPECT_LT(slower, 19);
}

/// Two copies and a combination of 32 bits per cycle, and one message.
TEST(ZrlmpiWorld, TheRoleCopiesAWordPerCycle) {
  constexpr std::size_t kBytes = 1 << 20;
  const MpeSpec spec;
  ExchangeRequest late = request_of(kBytes);
  late.ready = spec.cycles(kBytes / 4);  // both copy their operand first
  late.begin = late.ready;
  const Time message = ExchangeRunner(spec).run(late).last;
  EXPECT_EQ(run({}, operation_of(OperationKind::kReduce, 2, kBytes)).end,
            message + 2 * kCommand + 2 * spec.cycles(kBytes / 4));
}

}  // namespace
}  // namespace offramp::zrlmpi::world_test
