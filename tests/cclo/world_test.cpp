// Calls and messages share an engine, in a world: they are never faster than its link, and keep it
// busy while there is work.
#include "simulators/world/world.hpp"

#include <gtest/gtest.h>

#include "simulators/cclo/calendar.hpp"
#include "tests/cclo/support.hpp"

namespace offramp::cclo {
namespace {

constexpr std::size_t kMebibyte = 1 << 20;

/// In microseconds.
double end_of(int ranks, const World::Program& program, const Values& values = on_device(),
              std::uint64_t shuffle = 0) {
  WorldOptions options;
  options.shuffle_seed = shuffle;
  options.ranks = ranks;
  options.check = true;
  World world(options, WorldBackend(cclo_backend(), settings_with(values)));
  EXPECT_EQ(world.run(program), "");
  EXPECT_TRUE(world.violations().empty());
  return world.end().seconds() * 1e6;
}

/// Time of `messages` of a mebibyte through the TCP engine, in microseconds.
double engine_bound(int messages) {
  return static_cast<double>(kMebibyte) * 8 / 91.5e9 * 1e6 * messages;
}

Operation bcast_of(int ranks, std::size_t bytes) {
  Operation operation;
  operation.kind = OperationKind::kBcast;
  operation.bytes = bytes;
  operation.ranks = ranks;
  return operation;
}

Operation bcast_from(int root, int ranks, std::size_t bytes) {
  Operation operation = bcast_of(ranks, bytes);
  operation.root = root;
  return operation;
}

Operation allreduce_of(int ranks, std::size_t bytes) {
  Operation operation = bcast_of(ranks, bytes);
  operation.kind = OperationKind::kAllreduce;
  operation.element = ElementType::kFloat64;
  operation.function = ReduceFunction::kSum;
  operation.elements = bytes / 8;
  return operation;
}

Task<void> start_16(RankHandle& rank, Operation operation) {
  std::vector<RankRequest> requests;
  for (int i = 0; i < 16; ++i) requests.push_back(rank.start(rank.world_communicator(), operation));
  co_await rank.wait_all(requests);
}

void expect_near(double time, double bound) {
  std::printf("figure | %s, us | %.1f | %.1f |\n",
              testing::UnitTest::GetInstance()->current_test_info()->name(), bound, time);
  EXPECT_GE(time, bound);
  EXPECT_LT(time, 1.03 * bound);
}

TEST(CcloWorld, ConcurrentBroadcastsShareTheEngine) {
  expect_near(end_of(2, [](RankHandle& rank) { return start_16(rank, bcast_of(2, kMebibyte)); }),
              engine_bound(16));
}

// In each of them a rank sends and receives a mebibyte. The DMAs' streams, which also sum and copy, take
// longer than the link: a faster data plane brings the time down to the link's.
TEST(CcloWorld, ConcurrentReductionsShareTheDataPlane) {
  const auto many = [](RankHandle& rank) { return start_16(rank, allreduce_of(2, kMebibyte)); };
  const auto one = [](RankHandle& rank) -> Task<void> {
    co_await rank.collective(allreduce_of(2, kMebibyte));
  };
  const double time = end_of(2, many);
  std::printf("figure | 16 allreduces, us | %.1f | %.1f |\n", 16 * end_of(2, one), time);
  EXPECT_GE(time, 14.5 * end_of(2, one)) << "a call's streams run while another one's firmware waits";
  EXPECT_LE(time, 16 * end_of(2, one));
  EXPECT_GT(
      end_of(2, many, on_device({{"fw_fetch", number(0)}, {"fw_word", number(0)}, {"fw_axi", number(0)}})),
      0.95 * time)
      << "it is not the firmware";
  // The next limit is the transmit buffer of the single connection, for which all calls wait.
  const Values fast = on_device({{"clock", number(1000)}, {"memory_bandwidth", number(944)}});
  EXPECT_LT(end_of(2, many, fast), 1.2 * engine_bound(16));
  Values buffered = fast;
  buffered.emplace_back("tcp_buffer", number(1 << 24));
  expect_near(end_of(2, many, buffered), engine_bound(16));
}

TEST(CcloWorld, BroadcastsInARowDoNotOutrunTheEngine) {
  expect_near(end_of(2,
                     [](RankHandle& rank) -> Task<void> {
                       for (int i = 0; i < 16; ++i) co_await rank.bcast(kMebibyte, 0);
                     }),
              engine_bound(16));
}

TEST(CcloWorld, MessagesAndABroadcastShareTheEngine) {
  expect_near(
      end_of(2,
             [](RankHandle& rank) -> Task<void> {
               std::vector<RankRequest> requests;
               for (int i = 0; i < 16; ++i)
                 requests.push_back(rank.rank() == 0 ? rank.isend(1, kMebibyte) : rank.irecv(0, kMebibyte));
               requests.push_back(rank.start(rank.world_communicator(), bcast_of(2, kMebibyte)));
               co_await rank.wait_all(requests);
             }),
      engine_bound(17));
}

Task<void> incast(RankHandle& rank, Time late) {
  if (rank.rank() == 0) {
    std::vector<RankRequest> requests;
    for (int peer = 1; peer < rank.size(); ++peer) requests.push_back(rank.irecv(peer, kMebibyte));
    co_await rank.wait_all(requests);
    co_return;
  }
  if (rank.rank() == 1) rank.compute(late);
  co_await rank.send(0, kMebibyte);
}

TEST(CcloWorld, AnIncastTakesTheTimeOfTheReceiversEngineAlsoIfTheFirstReceiveIsForALateSender) {
  for (const Time late : {Time(), Time::ms(1)})
    expect_near(end_of(16, [late](RankHandle& rank) { return incast(rank, late); }), engine_bound(15));
  // Here the late message is the last one, on an idle link.
  const double alone = end_of(2, [](RankHandle& rank) { return incast(rank, {}); });
  EXPECT_NEAR(end_of(4, [](RankHandle& rank) { return incast(rank, Time::us(500)); }), 500 + alone, 0.1);
}

// The receiver of an incast is also a leaf of a broadcast: its link carries one message more.
TEST(CcloWorld, ABroadcastBesideAnIncastSharesTheReceiversLink) {
  for (const bool collective_first : {true, false}) {
    const auto both = [collective_first](RankHandle& rank) -> Task<void> {
      std::vector<RankRequest> requests;
      if (collective_first)
        requests.push_back(rank.start(rank.world_communicator(), bcast_from(15, 16, kMebibyte)));
      for (int peer = 1; peer < rank.size() && rank.rank() == 0; ++peer) {
        for (int i = 0; i < 2; ++i) requests.push_back(rank.irecv(peer, kMebibyte));
      }
      for (int i = 0; i < 2 && rank.rank() > 0; ++i) requests.push_back(rank.isend(0, kMebibyte));
      if (!collective_first)
        requests.push_back(rank.start(rank.world_communicator(), bcast_from(15, 16, kMebibyte)));
      co_await rank.wait_all(requests);
    };
    const double time = end_of(16, both);
    expect_near(time, engine_bound(31));
  }
}

// Segments of many calls and messages reach the same units at the same time.
TEST(CcloWorld, DoesNotDependOnTheOrderInWhichSimultaneousEventsAreInserted) {
  const auto many = [](RankHandle& rank) -> Task<void> {
    std::vector<RankRequest> requests;
    for (int root = 0; root < rank.size(); ++root) {
      requests.push_back(rank.start(rank.world_communicator(), bcast_from(root, rank.size(), 300000)));
      requests.push_back(rank.start(rank.world_communicator(), allreduce_of(rank.size(), 65536)));
      if (root == rank.rank()) continue;
      requests.push_back(rank.irecv(root, 100000));
      requests.push_back(rank.isend(root, 100000));
    }
    co_await rank.wait_all(requests);
  };
  for (const char* const profile : {"seed", "gen2"}) {
    const Values values = {{"profile", word(profile)}};
    const double time = end_of(8, many, values);
    for (const std::uint64_t shuffle : {1, 2, 3})
      EXPECT_EQ(end_of(8, many, values, shuffle), time) << profile;
  }
}

// A world that stops at some time makes an event of each step. In slow memory, a step waits for a message
// that arrives before it.
TEST(CcloWorld, AStepWithoutAnEventHasTheTimesOfOneWithAnEvent) {
  const auto program = [](RankHandle& rank) -> Task<void> {
    for (int round = 0; round < 24; ++round) {
      rank.compute(Time::ns(rank.rank() * 7919 * (round + 1) % 30000));
      const std::size_t bytes = std::size_t{8} << round % 8 * 2;
      if (round % 3 == 0) {
        (void)co_await rank.collective(allreduce_of(rank.size(), bytes));
      } else {
        (void)co_await rank.collective(bcast_from(round % rank.size(), rank.size(), bytes));
      }
      if (round % 3 == 2) (void)co_await rank.gather(bytes, round % rank.size());
    }
  };
  for (const char* const profile : {"seed", "gen2"}) {
    for (const double latency : {1362.0, 30000.0}) {
      std::vector<std::vector<Time>> clocks;
      std::vector<std::uint64_t> events;
      for (const Time stop : {Time::never(), Time::ps(std::int64_t{1} << 62)}) {
        WorldOptions options;
        options.ranks = 5;
        options.stop_at = stop;
        World world(options, WorldBackend(cclo_backend(),
                                          settings_with(on_device({{"profile", word(profile)},
                                                                   {"latency", number(latency)},
                                                                   {"rx_buffer_bytes", number(2048)},
                                                                   {"memory_bandwidth", number(1)}}))));
        EXPECT_EQ(world.run(program), "");
        std::vector<Time>& all = clocks.emplace_back();
        for (int rank = 0; rank < options.ranks; ++rank) all.push_back(world.clock(rank));
        events.push_back(world.events());
      }
      EXPECT_EQ(clocks[0], clocks[1]) << profile << ", " << latency;
      EXPECT_LT(events[0], events[1] * 3 / 4) << profile << ", " << latency;
    }
  }
}

TEST(CcloWorld, AlltoallKeepsAllLinksBusy) {
  // Ranks whose addresses arrive together are served in different orders. Before the messages, the firmware
  // copies the rank's own block.
  const double copy = static_cast<double>(kMebibyte) * 8 / 118e9 * 1e6;
  const auto alltoall = [](RankHandle& rank) -> Task<void> { co_await rank.alltoall(kMebibyte); };
  for (const int ranks : {8, 15}) {
    const double bound = static_cast<double>(kMebibyte) * 8 / 95e9 * 1e6 * (ranks - 1);
    const double time = end_of(ranks, alltoall, on_device({{"profile", word("gen2")}}));
    EXPECT_GE(time, bound);
    EXPECT_LT(time, 1.07 * (bound + copy)) << ranks;
  }
}

TEST(CcloWorld, LongerMessagesTakeLongerInTheSecondGeneration) {
  double before = 0;
  for (const std::size_t bytes : {64, 1023, 1024, 1025, 4096, 65535, 65536, 65537, 131072}) {
    const auto message = [bytes](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) co_await rank.send(1, bytes);
      if (rank.rank() == 1) co_await rank.receive(0, bytes);
    };
    const double time = end_of(2, message, on_device({{"profile", word("gen2")}}));
    EXPECT_GT(time, before) << bytes;
    before = time;
  }
}

TEST(CcloWorld, SendsUpTo64KiBEndBeforeTheirReceive) {
  for (const auto& [bytes, waits] : {std::pair(65536, false), std::pair(65537, true)}) {
    const auto late = [bytes = bytes, waits = waits](RankHandle& rank) -> Task<void> {
      const auto size = static_cast<std::size_t>(bytes);
      if (rank.rank() == 0) {
        co_await rank.send(1, size);
        EXPECT_EQ(rank.clock() > Time::ms(1), waits);
      } else {
        rank.compute(Time::ms(1));
        co_await rank.receive(0, size);
      }
    };
    EXPECT_GT(end_of(2, late, on_device({{"profile", word("gen2")}})), 1000);
  }
}

TEST(CcloWorld, AWiderGatherNeedsFewerRounds) {
  const auto gather = [](RankHandle& rank) -> Task<void> { co_await rank.gather(65536, 0); };
  const auto with = [&](const char* name, double value) {
    return end_of(8, gather, on_device({{"profile", word("gen2")}, {name, number(value)}}));
  };
  EXPECT_GT(with("gather_fan_in", 1), with("gather_fan_in", 2));
  EXPECT_GT(with("gather_fan_in", 1), with("gather_fan_in", 8));
  EXPECT_EQ(with("gather_fan_in", 8), with("gather_flat_bytes", 65536));
  // Two peers keep the link busy if their data takes longer than an announcement and its answer.
  for (const std::size_t bytes : {2048, 32768, 65536, 262144}) {
    const auto blocks = [bytes](RankHandle& rank) -> Task<void> { co_await rank.gather(bytes, 0); };
    const auto time = [&](int fan_in) {
      return end_of(8, blocks,
                    on_device({{"profile", word("gen2")},
                               {"gather_flat_bytes", number(0)},
                               {"gather_fan_in", number(fan_in)}}));
    };
    EXPECT_LE(time(8), time(2)) << bytes;
    EXPECT_EQ(time(8) == time(2), bytes == 262144) << bytes;
  }
}

/// Time of `messages` of a mebibyte over PCIe in one direction, with the latency.
double pcie_bound(int messages) {
  return static_cast<double>(kMebibyte) * 8 / 97e9 * 1e6 * messages + 1.55;
}

TEST(CcloHostData, IsCopiedToTheCardBeforeACallAndBackBehindIt) {
  const auto bcast = [](RankHandle& rank) -> Task<void> { co_await rank.bcast(kMebibyte, 0); };
  const double engine = end_of(2, bcast);
  EXPECT_NEAR(end_of(2, bcast, {}), engine + 2 * pcie_bound(1), 0.1);
  // Coyote's engine reads the host's memory itself, beside the message, but the firmware waits for the read
  // of each of the 16 segments.
  const double direct = end_of(2, bcast, {{"driver", word("coyote")}}) - 78.7;
  EXPECT_GT(direct, engine + 16 * 1.5);
  EXPECT_LT(direct, engine + 18 * 1.6);
}

TEST(CcloHostData, SharesPcieAmongConcurrentCalls) {
  const auto slow = [](const char* driver) { return Values{{"pcie", number(20)}, {"driver", word(driver)}}; };
  const double bytes = static_cast<double>(kMebibyte) * 8 / 20e9 * 1e6 * 16;
  const auto bcasts = [](RankHandle& rank) { return start_16(rank, bcast_of(2, kMebibyte)); };
  const auto messages = [](RankHandle& rank) -> Task<void> {
    std::vector<RankRequest> requests;
    for (int i = 0; i < 16; ++i)
      requests.push_back(rank.rank() == 0 ? rank.isend(1, kMebibyte) : rank.irecv(0, kMebibyte));
    co_await rank.wait_all(requests);
  };
  for (const char* driver : {"mapped", "coyote"}) {
    for (const World::Program& program : {World::Program(bcasts), World::Program(messages)}) {
      const double time = end_of(2, program, slow(driver));
      EXPECT_GE(time, bytes) << driver;
      EXPECT_LT(time, 1.5 * bytes) << driver;
    }
  }
}

/// An incast whose senders begin one after the other, in rising or falling order.
double incast_of_senders_apart(Time apart, bool first_to_last, const Values& values) {
  return end_of(
      16,
      [=](RankHandle& rank) -> Task<void> {
        const int place = first_to_last ? rank.rank() : rank.size() - rank.rank();
        if (rank.rank() > 0) rank.compute(apart * place);
        co_await incast(rank, {});
      },
      values);
}

TEST(CcloHostData, IsCopiedFromTheCardInTheOrderInWhichMessagesAreReady) {
  for (const Time apart : {Time::ns(10), Time::us(1), Time::us(10)}) {
    const double one = incast_of_senders_apart(apart, true, {});
    const double other = incast_of_senders_apart(apart, false, {});
    EXPECT_NEAR(one, other, 0.01 * one) << apart.count() << " ps apart";
    EXPECT_LT(other, incast_of_senders_apart(apart, false, on_device()) + 2.5 * pcie_bound(1));
  }
}

TEST(CcloHostData, IsCopiedFromTheCardInTheCallThatWaits) {
  constexpr std::size_t kBytes = 8 * kMebibyte;
  const Time computing = Time::ms(5);
  double waited = 0;
  const auto overlapped = [&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) co_await rank.send(1, kBytes);
    if (rank.rank() == 0) co_return;
    RankRequest request = rank.irecv(0, kBytes);
    rank.compute(computing);
    const Time before = rank.clock();
    co_await rank.wait(request);
    waited = (rank.clock() - before).seconds() * 1e6;
  };
  (void)end_of(2, overlapped, {});
  EXPECT_NEAR(waited, pcie_bound(8), 1);
  const auto broadcast = [&](RankHandle& rank) -> Task<void> {
    RankRequest request = rank.start(rank.world_communicator(), bcast_of(2, kBytes));
    rank.compute(computing);
    const Time before = rank.clock();
    co_await rank.wait(request);
    if (rank.rank() == 1) waited = (rank.clock() - before).seconds() * 1e6;
  };
  (void)end_of(2, broadcast, {});
  EXPECT_NEAR(waited, pcie_bound(8), 1);
  (void)end_of(2, overlapped);  // on the card there is nothing to copy
  EXPECT_LT(waited, 1);
}

TEST(CcloWorld, ABlockingSendEndsOnceAllButTheTransmitBufferHasLeft) {
  const auto sender_is_free = [](std::size_t bytes, Values values) {
    double free = 0;
    values.emplace_back("rx_buffers", number(200));
    values.emplace_back("exchange_memory", number(65536));
    (void)end_of(
        2,
        [&](RankHandle& rank) -> Task<void> {
          if (rank.rank() == 0) co_await rank.send(1, bytes);
          if (rank.rank() == 1) co_await rank.receive(0, bytes);
          if (rank.rank() == 0) free = rank.clock().seconds() * 1e6;
        },
        on_device(values));
    return free;
  };
  const double buffer = 65536 * 8 / 91.5e9 * 1e6;
  EXPECT_GE(sender_is_free(8 * kMebibyte, {}), engine_bound(8) - buffer);
  EXPECT_LT(sender_is_free(8 * kMebibyte, {}), engine_bound(8) + 10);
  EXPECT_NEAR(sender_is_free(8 * kMebibyte, {{"tcp_buffer", number(0)}}),
              sender_is_free(8 * kMebibyte, {}) + buffer, 2);
  // UDP has no such buffer: a link of 100 Gb/s behind a data plane of 128 Gb/s.
  EXPECT_GE(sender_is_free(8 * kMebibyte, {{"transport", word("udp")}}), 8 * kMebibyte * 8 / 100e9 * 1e6);
}

TEST(CcloMemory, LimitsTheEnginesStreams) {
  const auto time = [](int channels, double bandwidth) {
    return end_of(
        2, [](RankHandle& rank) { return start_16(rank, bcast_of(2, kMebibyte)); },
        on_device({{"memory_channels", number(channels)}, {"memory_bandwidth", number(bandwidth)}}));
  };
  EXPECT_NEAR(time(3, 118), time(64, 1000), 0.01 * time(64, 1000)) << "the link is slower";
  // Into an RX buffer, out of it, and to its destination: three times over the one channel.
  const double thrice = 3 * 16 * static_cast<double>(kMebibyte) * 8 / 118e9 * 1e6;
  EXPECT_GE(time(1, 118), thrice);
  EXPECT_LT(time(1, 118), 1.1 * thrice);
  // A stream is at most as fast as a channel.
  EXPECT_GE(time(64, 50), 16 * static_cast<double>(kMebibyte) * 8 / 50e9 * 1e6);
}

TEST(CcloDriver, PresetsAddTheirSoftwareToEachCall) {
  const auto receive = [](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) co_await rank.send(1, 0);
    if (rank.rank() == 1) co_await rank.receive(0, 0);
  };
  EXPECT_EQ(Settings::defaults(cclo_backend().parameters).choice("driver"), "xrt")
      << "that of [accl], unless another one is asked for";
  const double mapped = end_of(2, receive, {});
  EXPECT_NEAR(end_of(2, receive, {{"driver", word("xrt")}}), mapped + 75, 2.5);
  EXPECT_NEAR(end_of(2, receive, {{"driver", word("coyote")}}), mapped + 78.7, 2.5);
  EXPECT_NEAR(end_of(2, receive, {{"driver", word("xrt")}, {"call", number(20)}}), mapped + 20, 2.5);
}

TEST(CcloCalendar, GivesEachUserTheIdleTimeFromItsArrivalOn) {
  Calendar calendar;
  const auto at = [&](int from, int duration) {
    const Arbiter::Grant grant = calendar.acquire(Time::us(from), Time::us(duration));
    return std::pair(grant.begin, grant.end);
  };
  EXPECT_EQ(at(100, 10), std::pair(Time::us(100), Time::us(110)));
  EXPECT_EQ(at(0, 20), std::pair(Time::us(0), Time::us(20))) << "before it";
  EXPECT_EQ(at(10, 10), std::pair(Time::us(20), Time::us(30))) << "behind the first";
  EXPECT_EQ(at(90, 15), std::pair(Time::us(90), Time::us(115))) << "around the other";
  EXPECT_EQ(at(0, 70), std::pair(Time::us(30), Time::us(125))) << "all that is left, and 10 behind";
  EXPECT_EQ(at(124, 0), std::pair(Time::us(125), Time::us(125)));
  for (int i = 1; i <= 1000; ++i) (void)at(1000 * i, 1);
  const Time forgotten = at(500, 1).first;
  EXPECT_GT(forgotten, Time::ms(850)) << "gaps of long ago are forgotten";
  EXPECT_LT(forgotten, Time::ms(950)) << "later ones are not";
}

}  // namespace
}  // namespace offramp::cclo
