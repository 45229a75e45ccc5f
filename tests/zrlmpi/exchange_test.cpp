// A call between two engines on a wire without faults: cycles, states, bytes.
#include "simulators/zrlmpi/exchange.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/zrlmpi/support.hpp"

namespace offramp::zrlmpi {
namespace {

std::int64_t cycles_of(const MpeSpec& spec, Time span) {
  return spec.clock.cycles_in(span);
}

// The engine's source (LIB/HW/hls/mpe2/src/mpe.cpp), run without shell and wire. Tolerance: none.
TEST(ZrlmpiExchange, TakesTheCyclesOfTheReferenceEngine) {
  struct Row {
    std::uint64_t bytes;
    std::int64_t cycles;
  };
  const MpeSpec spec = bare_engine();
  ExchangeRunner runner(spec);
  for (const Row row : {Row{4, 52},
                        {16, 56},
                        {64, 68},
                        {256, 116},
                        {1024, 308},
                        {1384, 396},
                        {2800, 576},
                        {4096, 742},
                        {16384, 2304},
                        {65536, 8554},
                        {262144, 33546},
                        {1048576, 133516}}) {
    for (const bool packets : {false, true}) {
      ExchangeRequest request = request_of(row.bytes);
      request.packets = packets;
      const ExchangeResult result = runner.run(request);
      EXPECT_TRUE(result.ok());
      EXPECT_EQ(cycles_of(spec, result.complete), row.cycles) << row.bytes << " bytes, packets " << packets;
      EXPECT_EQ(result.complete - result.last, spec.cycles(4)) << "the receiver is done four cycles earlier";
    }
  }
}

TEST(ZrlmpiExchange, MovesOneWordOfTheBusPerCycle) {
  for (const int bits : {8, 32, 64}) {
    const MpeSpec spec = bare_engine(bits);
    ExchangeRunner runner(spec);
    const std::uint64_t some = 1000 * 1416;
    const Time span = runner.run(request_of(2 * some)).complete - runner.run(request_of(some)).complete;
    const double ideal = static_cast<double>(some) / (bits / 8.0);
    EXPECT_NEAR(static_cast<double>(cycles_of(spec, span)), ideal, 0.02 * ideal) << bits << " bit";
  }
}

TEST(ZrlmpiExchange, IsBoundByTheWireWhenTheBusIsFaster) {
  MpeSpec spec;
  spec.bus_bits = 64;
  ExchangeRunner runner(spec);
  // Into static memory: DRAM is slower than this wire.
  const Time span = runner.run(request_of(80 * 1416)).complete - runner.run(request_of(40 * 1416)).complete;
  EXPECT_EQ(span, Time::ps(1185600) * 40);  // derived: 1416 + 66 bytes at 0.8 ns
}

/// 131072 bytes are the largest array that the tool chain keeps out of DRAM; a full datagram takes 2300 ns to
/// reach it.
TEST(ZrlmpiExchange, IsBoundByTheRolesMemoryAbove128KiB) {
  const auto slope = [](MpeSpec spec, std::uint64_t from) {
    ExchangeRunner runner(spec);
    return runner.run(request_of(from + 100 * 1416)).last - runner.run(request_of(from)).last;
  };
  MpeSpec spec;
  spec.bus_bits = 64;
  EXPECT_EQ(slope(spec, 131073), Time::ns(2300) * 100);
  EXPECT_EQ(slope(spec, 10000000), Time::ns(2300) * 100);
  spec.dram_datagram = {};
  EXPECT_EQ(slope(spec, 131073), Time::ps(1185600) * 100) << "the wire";
  ExchangeRunner with{MpeSpec()};
  MpeSpec seed;
  seed.dram_datagram = {};
  ExchangeRunner without(seed);
  EXPECT_EQ(with.run(request_of(1 << 20)).complete, without.run(request_of(1 << 20)).complete)
      << "a bus of 8 bits is slower than DRAM";
}

TEST(ZrlmpiExchange, KeepsAMessageOf128KiBOutOfDram) {
  MpeSpec spec;
  spec.bus_bits = 64;
  MpeSpec fast = spec;
  fast.dram_datagram = {};
  for (const bool faulty : {false, true}) {
    const auto last = [&](const MpeSpec& of, std::uint64_t bytes) {
      ExchangeRequest request = request_of(bytes);
      if (faulty) request.faults = harmless();
      return ExchangeRunner(of).run(request).last;
    };
    EXPECT_EQ(last(spec, 131072), last(fast, 131072));
    EXPECT_GT(last(spec, 131076), last(fast, 131076) + Time::us(90)) << "93 datagrams, 1.1 us each";
  }
}

TEST(ZrlmpiExchange, CrossesTheWireFourTimesToTheSendersEndAndThreeToTheReceivers) {
  const auto at = [](Time latency) {
    MpeSpec spec;
    spec.line.latency = latency;
    return ExchangeRunner(spec).run(request_of(16));
  };
  const ExchangeResult near = at({});
  const ExchangeResult far = at(Time::us(7));
  EXPECT_EQ(far.complete - near.complete, Time::us(28));
  EXPECT_EQ(far.last - near.last, Time::us(21));
  EXPECT_EQ(far.data - near.data, Time::us(14));
  EXPECT_EQ(far.request - near.request, Time::us(7));
}

std::vector<int> states_of(const std::vector<StateChange>& changes, int rank) {
  std::vector<int> out;
  Time last;
  for (const StateChange& change : changes) {
    if (change.rank != rank) continue;
    EXPECT_GE(change.at, last);
    last = change.at;
    out.push_back(static_cast<int>(change.state));
    EXPECT_NE(to_string(change.state), "?");
  }
  return out;
}

TEST(ZrlmpiExchange, VisitsTheDocumentedStatesInOrder) {
  for (const std::uint64_t size : {4, 5000}) {
    std::vector<StateChange> changes;
    ExchangeRunner(bare_engine()).run(request_of(size), &changes);
    EXPECT_EQ(states_of(changes, 0), (std::vector<int>{1, 2, 4, 7, 9, 11, 12, 16, 1}));
    EXPECT_EQ(states_of(changes, 1), (std::vector<int>{18, 21, 23, 26, 28, 29, 32, 1}));
  }
}

void expect_equal(const ExchangeResult& a, const ExchangeResult& b, const std::string& where) {
  EXPECT_EQ(a.ok(), b.ok()) << where;
  EXPECT_EQ(a.request, b.request) << where;
  EXPECT_EQ(a.data, b.data) << where;
  EXPECT_EQ(a.first, b.first) << where;
  EXPECT_EQ(a.last, b.last) << where;
  EXPECT_EQ(a.complete, b.complete) << where;
  EXPECT_EQ(a.wire.packets, b.wire.packets) << where;
  EXPECT_EQ(a.wire.wire_bytes, b.wire.wire_bytes) << where;
  EXPECT_EQ(a.wire.retransmissions, b.wire.retransmissions) << where;
}

std::vector<MpeSpec> many_specs() {
  std::vector<MpeSpec> specs;
  for (const int bits : {8, 32, 64}) {
    for (const int variant : {0, 1, 2, 3, 4, 5}) {
      MpeSpec spec;
      spec.bus_bits = bits;
      if (variant == 1) spec.direct = true;
      if (variant == 2) spec.format = Format::kStrict;
      if (variant == 3) spec.clock = Frequency::hertz(233'333'333);
      if (variant == 4) spec.line.bandwidth = Bandwidth::gigabits_per_second(100);
      if (variant == 4) spec.line.latency = Time::us(500);
      if (variant == 5) spec.line.bandwidth = Bandwidth::bits_per_second(700'000'000);
      specs.push_back(spec);
    }
  }
  return specs;
}

TEST(ZrlmpiExchange, HasTheSameTimeStampsInBurstsAndPacketByPacket) {
  for (const MpeSpec& spec : many_specs()) {
    ExchangeRunner runner(spec);
    for (const std::uint64_t size :
         {0, 1, 4, 31, 32, 1383, 1384, 1385, 1392, 2799, 2800, 2801, 4216, 20000, 65536, 1000000, 5000000}) {
      ExchangeRequest request = request_of(size);
      request.begin = Time::ns(17);
      const ExchangeResult bursts = runner.run(request);
      request.packets = true;
      expect_equal(bursts, runner.run(request),
                   std::to_string(size) + " bytes, bus " + std::to_string(spec.bus_bits) + ", clock " +
                       std::to_string(spec.clock.count()) + ", latency " +
                       std::to_string(spec.line.latency.count()) + (spec.direct ? ", direct" : ""));
    }
  }
}

struct Captured : PacketSink {
  struct One {
    Time at;
    int source;
    std::uint32_t bytes;
    std::vector<std::byte> head;
  };
  std::vector<One> packets;
  void record(const Packet& p) override {
    packets.push_back({p.at, p.source, p.bytes, {p.head.begin(), p.head.end()}});
  }
};

TEST(ZrlmpiExchange, ReportsThePacketsOfEachEndWithoutChangingTimes) {
  const MpeSpec spec;
  ExchangeRunner runner(spec);
  for (const std::uint64_t bytes : {0U, 8U, 1384U, 1385U, 100000U}) {
    const ExchangeResult plain = runner.run(request_of(bytes));
    std::uint64_t count = 0;
    for (const End end : {End::kSender, End::kReceiver}) {
      Captured captured;
      ExchangeRequest request = request_of(bytes);
      request.capture = &captured;
      request.observed = end;
      const ExchangeResult result = runner.run(request);
      EXPECT_EQ(result.complete, plain.complete);
      EXPECT_EQ(result.last, plain.last);
      const int rank = end == End::kSender ? request.source : request.destination;
      for (const Captured::One& packet : captured.packets) {
        EXPECT_EQ(packet.source, rank);
        EXPECT_LE(packet.at, result.complete);
      }
      ASSERT_FALSE(captured.packets.empty());
      Header first;
      ASSERT_EQ(decode(captured.packets.front().head, Format::kExtended, first), HeaderError::kNone);
      EXPECT_EQ(first.type(), end == End::kSender ? PacketType::kSendRequest : PacketType::kClearToSend);
      count += captured.packets.size();
    }
    EXPECT_EQ(count, plain.wire.packets) << bytes << " bytes";
  }
}

TEST(ZrlmpiExchange, DoesNotDependOnTheOrderInWhichProcessesRun) {
  for (const std::uint64_t size : {0, 100, 1400, 30000}) {
    for (const FaultRates& faults : {FaultRates{}, FaultRates{5, 0.1, 0.1, 0.1}}) {
      for (const bool packets : {false, true}) {
        ExchangeRequest request = request_of(size);
        request.faults = faults;
        request.packets = packets;
        const ExchangeResult plain = ExchangeRunner(MpeSpec()).run(request);
        for (std::uint64_t seed = 1; seed <= 20; ++seed)
          expect_equal(plain, ExchangeRunner(MpeSpec(), seed).run(request), "seed " + std::to_string(seed));
      }
    }
  }
}

TEST(ZrlmpiExchange, DoesNotDependOnWhenItBegins) {
  ExchangeRunner runner{MpeSpec()};
  const ExchangeResult early = runner.run(request_of(10000));
  ExchangeRequest request = request_of(10000);
  request.begin = request.ready = Time::ms(123456);
  const ExchangeResult late = runner.run(request);
  EXPECT_EQ(late.complete - request.begin, early.complete);
  EXPECT_EQ(late.last - request.begin, early.last);
}

const std::vector<std::size_t>& sizes_at_boundaries() {
  static const std::vector<std::size_t> sizes = {0,    1,    2,    3,    4,    5,    7,    8,    1359,
                                                 1367, 1368, 1369, 1383, 1384, 1385, 1388, 1392, 1415,
                                                 1416, 1417, 2735, 2736, 2737, 2799, 2800, 2801, 4103,
                                                 4104, 4105, 4215, 4216, 4217, 8191, 8192, 65537};
  return sizes;
}

TEST(ZrlmpiExchange, DeliversEveryByteAtEveryBoundary) {
  for (const Format format : {Format::kStrict, Format::kExtended}) {
    for (const int bits : {8, 64}) {
      MpeSpec spec;
      spec.format = format;
      spec.bus_bits = bits;
      ExchangeRunner runner(spec);
      for (const FaultRates& faults : {FaultRates{}, harmless()}) {
        for (const std::size_t size : sizes_at_boundaries()) {
          const Buffer data = pattern(size, static_cast<std::uint32_t>(size));
          Buffer into(size);
          ExchangeRequest request = request_of(size);
          request.payload = data;
          request.into = into;
          request.faults = faults;
          EXPECT_TRUE(runner.run(request).ok()) << size;
          EXPECT_EQ(into, data) << size;
        }
      }
    }
  }
}

// The magic number and whole handshake packets inside a payload are treated as data.
TEST(ZrlmpiExchange, DeliversPayloadsThatLookLikeHeaders) {
  for (const Format format : {Format::kStrict, Format::kExtended}) {
    MpeSpec spec;
    spec.format = format;
    ExchangeRunner runner(spec);
    for (const FaultRates& faults : {FaultRates{}, harmless(), FaultRates{9, 0.05, 0.05, 0.05}}) {
      for (const std::size_t size : sizes_at_boundaries()) {
        ExchangeRequest request = request_of(size);
        request.tag = 7;
        request.sequence = 3;
        const Buffer fakes = fake_headers(size, request, format);
        const Buffer magic(size, std::byte{0x96});
        // A header exactly where the second datagram of a message begins.
        Buffer shifted(size, std::byte{0x96});
        if (size > 1416) {
          const Buffer header = fake_headers(32, request, format);
          std::copy(header.begin(), header.end(), shifted.begin() + 1384);
        }
        for (const Buffer& data : {fakes, magic, shifted}) {
          Buffer into(size);
          request.payload = data;
          request.into = into;
          request.faults = faults;
          EXPECT_TRUE(runner.run(request).ok()) << size;
          EXPECT_EQ(into, data) << size;
        }
      }
    }
  }
}

TEST(ZrlmpiExchange, WaitsForALateReceiverHoweverLateItIs) {
  MpeSpec spec;
  spec.retries = 3;
  ExchangeRunner runner(spec);
  for (const Time late : {Time::us(50), Time::ms(150), Time::ms(900), Time::ms(600000)}) {
    ExchangeRequest request = request_of(5000);
    request.ready = late;
    const ExchangeResult result = runner.run(request);
    EXPECT_TRUE(result.ok());
    EXPECT_GT(result.data, late);
    EXPECT_LT(result.complete, late + Time::us(200));
    EXPECT_LE(result.wire.retransmissions, 3U) << "the engine stops repeating its request";
  }
}

TEST(ZrlmpiExchange, CompletesABarrierCallWithoutData) {
  ExchangeRequest request = request_of(0);
  request.call = MpiCall::kBarrier;
  for (const FaultRates& faults : {FaultRates{}, harmless()}) {
    request.faults = faults;
    std::vector<StateChange> changes;
    const ExchangeResult result = ExchangeRunner(MpeSpec()).run(request, &changes);
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(result.wire.packets, 2U) << "SEND_REQUEST and ACK";
    EXPECT_EQ(states_of(changes, 1), (std::vector<int>{18, 21, 32, 1}));
  }
}

TEST(ZrlmpiExchange, CompletesAMessageOfNoBytes) {
  const ExchangeResult result = ExchangeRunner(MpeSpec()).run(request_of(0));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.wire.packets, 4U);
  EXPECT_EQ(result.wire.payload_bytes, 4U * 32);
}

TEST(ZrlmpiExchange, AnswersFloatAgainstIntWithAnError) {
  ExchangeRunner runner{MpeSpec()};
  for (const FaultRates& faults : {FaultRates{}, harmless()}) {
    ExchangeRequest request = request_of(100);
    request.call = MpiCall::kSendFloat;
    request.answer = MpiCall::kReceiveInt;
    request.faults = faults;
    const ExchangeResult result = runner.run(request);
    EXPECT_TRUE(result.mismatch);
    EXPECT_FALSE(result.sent);
    EXPECT_FALSE(result.delivered);
    EXPECT_EQ(result.wire.packets, 2U) << "SEND_REQUEST and ERROR";
    EXPECT_EQ(result.wire.payload_bytes, 32U + 36) << "a word behind the header names the error";
    EXPECT_EQ(result.error, ErrorCode::kWrongType);
    EXPECT_GT(result.complete, Time());
  }
  ExchangeRequest request = request_of(100);
  request.call = MpiCall::kSendFloat;
  EXPECT_TRUE(runner.run(request).ok()) << "the next call is not wedged";
}

}  // namespace
}  // namespace offramp::zrlmpi
