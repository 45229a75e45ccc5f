// The model against published figures: fitted figures are marked, all others are held out.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "backends/cclo/plans.hpp"
#include "tests/cclo/support.hpp"

namespace offramp::cclo {
namespace {

/// Prints a row of the validation table and returns the error in percent.
double row(const std::string& name, double published, double model) {
  const double error = (model - published) / published * 100;
  std::printf("figure | %s | %.2f | %.2f | %+.1f %%\n", name.c_str(), published, model, error);
  return std::abs(error);
}

TEST(CcloPublished, AConfigurationCallTakes235Cycles) {  // fitted
  for (const Spec& spec : {Spec(), gen2_spec()}) {
    const bool second = spec.generation == Generation::kSecond;
    MessageRunner runner(spec, layout_of(second ? Profile::kGen2 : Profile::kSeed));
    const auto packetizers = second ? static_cast<std::uint32_t>(Gen2Config::kEnginesOn)
                                    : static_cast<std::uint32_t>(Gen1Config::kPacketizersOn);
    const Time call = runner.call(Scenario::kConfig, packetizers);
    EXPECT_EQ(row("CONFIG packetizers on, ns", 940, call.nanoseconds()), 0);
    const Time nop = runner.call(Scenario::kNop);
    std::printf("figure | NOP, ns | 100 .. 1000 | %.0f |\n", nop.nanoseconds());
    EXPECT_GT(nop, Time::ns(100));
    EXPECT_LT(nop, Time::ns(1000));
  }
}

TEST(CcloPublished, UdpReachesTheMeasuredRate) {  // held out: the framing is counted, not fitted
  const Spec spec = udp_spec();
  const std::pair<int, double> table[] = {{64, 49.23},   {192, 74.42},  {256, 79.50}, {320, 82.90},
                                          {384, 85.33},  {448, 87.16},  {512, 88.58}, {576, 89.72},
                                          {640, 90.65},  {768, 92.09},  {896, 93.14}, {1024, 93.95},
                                          {1216, 94.85}, {1408, 95.52}, {1472, 95.71}};
  for (const auto& [bytes, published] : table) {
    // The rate of a stream of datagrams of this size; the time includes all framing.
    const double model = bytes * 8 / (spec.link_time(static_cast<std::uint64_t>(bytes)).seconds() * 1e9);
    EXPECT_LT(row("UDP datagrams of " + std::to_string(bytes) + " B, Gb/s", published, model), 0.3);
  }
}

TEST(CcloPublished, UdpTakes1380NanosecondsOneWay) {  // fitted: the latency
  const Spec spec = udp_spec();
  EngineUnits transmitter_units;
  Transmitter transmitter(spec, transmitter_units);
  EngineUnits receiver_units;
  Receiver receiver(spec, receiver_units);
  // 64 bytes at the application: one word in, one word out of the depacketizer.
  const Flow in{Time::us(1), Time::us(1)};
  const Crossing passage = transmitter.send(in, 0);
  const Time there = receiver.land(passage.first, passage.last, 0) - spec.cycles(spec.memory_cycles);
  EXPECT_LT(row("64 B over UDP and one switch, one way, ns", 1380, (there - Time::us(1)).nanoseconds()), 1);
}

/// Rate of consecutive long messages between two engines, in Gb/s.
double plateau(const Spec& spec, Profile profile, bool rendezvous) {
  const std::uint64_t bytes = 16 << 20;
  Plans plans(spec, layout_of(profile));
  const Time time =
      rendezvous ? plans.rendezvous(bytes).received : plans.eager(bytes).first + plans.eager(bytes).waiting;
  return static_cast<double>(bytes) * 8 / (time.seconds() * 1e9);
}

TEST(CcloPublished, SendAndReceiveComeNear95GigabitsPerSecond) {
  EXPECT_LT(row("send/recv plateau, RDMA, Gb/s (fitted)", 95, plateau(gen2_spec(), Profile::kGen2, true)), 2);
  EXPECT_LT(row("send/recv plateau, first generation over UDP, Gb/s (proxy)", 95,
                plateau(udp_spec(), Profile::kSeed, false)),
            4);
  EXPECT_LT(row("TCP between two FPGAs, Gb/s (fitted)", 91.5, plateau(Spec(), Profile::kSeed, false)), 3);
}

Time collective(const Values& values, int ranks, OperationKind kind, std::size_t count) {
  TimedCluster cluster(ranks, cclo_backend(), settings_with(values));
  const std::string stuck = cluster.run([&](TimedRank& rank) -> Task<void> {
    const auto size = static_cast<std::size_t>(rank.size());
    const std::size_t bytes = 4 * count;
    Buffer one(bytes);
    Buffer other(bytes);
    Buffer all(bytes * size);
    Int32Sum sum;
    switch (kind) {
      case OperationKind::kBcast:
        co_await rank.bcast(one, 0);
        break;
      case OperationKind::kScatter:
        co_await rank.scatter(all, one, 0);
        break;
      case OperationKind::kGather:
        co_await rank.gather(one, all, 0);
        break;
      case OperationKind::kAllgather:
        co_await rank.allgather(one, all);
        break;
      case OperationKind::kReduce:
        co_await rank.reduce(one, other, 0, sum);
        break;
      case OperationKind::kReduceScatter:
        co_await rank.reduce_scatter(all, one, sum);
        break;
      case OperationKind::kAllreduce:
        co_await rank.allreduce(one, other, sum);
        break;
      default:
        break;
    }
  });
  EXPECT_EQ(stuck, "");
  Time last;
  for (const Time clock : cluster.clocks()) last = later(last, clock);
  return last;
}

/// The ideal durations of the benchmark parser of [accl-2025]: m bytes, rtt 500 ns, 100 Gb/s.
Time ideal(OperationKind kind, int ranks, std::size_t m, std::size_t segment) {
  const Time latency = Time::ns(250);
  const Time one = Bandwidth::gigabits_per_second(100).bytes(static_cast<std::int64_t>(m));
  const std::int64_t p = ranks;
  // A ring that forwards segments ends when the last one has passed: the bound counts one segment per hop.
  const Time hop = Bandwidth::gigabits_per_second(100).bytes(static_cast<std::int64_t>(std::min(m, segment)));
  switch (kind) {
    case OperationKind::kBcast:
    case OperationKind::kScatter:
      return one * (p - 1);
    case OperationKind::kGather:
      return one * (p - 1) + latency;
    case OperationKind::kReduce:
      return one + (latency + hop) * (p - 2);
    case OperationKind::kAllgather:
    case OperationKind::kReduceScatter:
      return (latency + one) * (p - 1);
    default:
      return (latency + Bandwidth::gigabits_per_second(100).bytes(static_cast<std::int64_t>(m) / p)) *
             (2 * (p - 1));
  }
}

TEST(CcloPublished, CollectivesAreNeverFasterThanTheIdealOfTheBenchmark) {
  const OperationKind kinds[] = {OperationKind::kBcast,     OperationKind::kScatter,
                                 OperationKind::kGather,    OperationKind::kReduce,
                                 OperationKind::kAllgather, OperationKind::kReduceScatter,
                                 OperationKind::kAllreduce};
  for (const OperationKind kind : kinds) {
    for (const std::size_t count : {16U, 2048U, 32768U, 262144U}) {
      const Time model = collective(on_device({{"transport", word("udp")}}), 8, kind, count);
      const Time bound = ideal(kind, 8, 4 * count, 65536);
      std::printf("ideal | %s | %zu B | %.1f us | %.1f us | %.2f\n", std::string(to_string(kind)).c_str(),
                  4 * count, bound.seconds() * 1e6, model.seconds() * 1e6, model.seconds() / bound.seconds());
      EXPECT_GE(model, bound);
      if (count >= 262144U) {
        EXPECT_LT(model.seconds() / bound.seconds(), 3) << to_string(kind);
      }
    }
  }
}

TEST(CcloPublished, ReduceScalesAsPublished) {  // Second generation: shapes of the published plots, held out
  const Values values = on_device({{"profile", word("gen2")}});
  const double at2 = collective(values, 2, OperationKind::kReduce, 2048).seconds();
  const double at8 = collective(values, 8, OperationKind::kReduce, 2048).seconds();
  std::printf("figure | reduce 8 KiB, 8 ranks over 2 ranks | ~1 | %.2f |\n", at8 / at2);
  EXPECT_LT(at8 / at2, 1.6) << "8 KiB all to one: nearly flat";
  const double tree4 = collective(values, 4, OperationKind::kReduce, 32768).seconds();
  const double tree5 = collective(values, 5, OperationKind::kReduce, 32768).seconds();
  const double tree8 = collective(values, 8, OperationKind::kReduce, 32768).seconds();
  std::printf("figure | reduce 128 KiB, 5 over 4 ranks | > 1 | %.2f |\n", tree5 / tree4);
  std::printf("figure | reduce 128 KiB, 8 over 5 ranks | ~1 | %.2f |\n", tree8 / tree5);
  EXPECT_LT(std::abs(tree8 / tree5 - 1), 0.1) << "the same depth from 5 ranks to 8";
}

TEST(CcloPublished, EagerBeatsRendezvousForSmallBroadcasts) {
  const double eager = collective(on_device({{"profile", word("gen2")}, {"max_eager", number(4096)}}), 4,
                                  OperationKind::kBcast, 256)
                           .seconds();
  const double rendezvous =
      collective(
          on_device({{"profile", word("gen2")}, {"rx_buffer_bytes", number(64)}, {"max_eager", number(64)}}),
          4, OperationKind::kBcast, 256)
          .seconds();
  EXPECT_LT(eager, rendezvous);
}

}  // namespace
}  // namespace offramp::cclo
