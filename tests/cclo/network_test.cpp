// Closed forms against networks that handle every word and every packet individually; faults.
#include "simulators/cclo/network.hpp"

#include <gtest/gtest.h>

#include "offramp/kernel/channel.hpp"
#include "tests/cclo/support.hpp"

namespace offramp::cclo {
namespace {

constexpr Time kCycle = Time::ns(4);

/// A stream unit as a process: a word per cycle.
Task<void> unit(Channel<int>& in, Channel<int>& out, std::int64_t words, Time latency) {
  Process& self = co_await this_process();
  Time free;
  for (std::int64_t i = 0; i < words; ++i) {
    const int word = co_await in.read();
    self.clock = later(self.clock, free);
    free = self.clock + kCycle;
    co_await out.write_at(word, self.clock + latency);
  }
}

Task<void> source(Channel<int>& out, std::int64_t words, Time first, Time period) {
  for (std::int64_t i = 0; i < words; ++i) co_await out.write_at(0, first + period * i);
}

Task<void> sink(Channel<int>& in, std::int64_t words, Flow& seen) {
  Process& self = co_await this_process();
  for (std::int64_t i = 0; i < words; ++i) {
    (void)co_await in.read();
    if (i == 0) seen.first = self.clock;
    seen.last = self.clock;
  }
}

TEST(CcloStreamUnit, TakesTheTimeOfEveryWord) {
  for (const std::int64_t words : {1, 2, 24, 1000}) {
    for (const Time period : {Time(), Time::ns(4), Time::ns(7)}) {
      Scheduler scheduler;
      const auto slots = static_cast<std::size_t>(words) + 1;
      Channel<int> a(scheduler, slots);
      Channel<int> b(scheduler, slots);
      Channel<int> c(scheduler, slots);
      Flow seen;
      scheduler.spawn("source", source(a, words, Time::ns(30), period));
      scheduler.spawn("switch", unit(a, b, words, Time::ns(8)));
      scheduler.spawn("arithmetic", unit(b, c, words, Time::ns(40)));
      scheduler.spawn("sink", sink(c, words, seen));
      EXPECT_TRUE(scheduler.run());
      Arbiter first;
      Arbiter second;
      const Flow in{Time::ns(30), Time::ns(30) + period * (words - 1)};
      const Flow out = pass(second, pass(first, in, words, kCycle, Time::ns(8)), words, kCycle, Time::ns(40));
      EXPECT_EQ(out.first, seen.first);
      EXPECT_EQ(out.last, seen.last) << words << " words every " << period.count();
    }
  }
}

std::vector<Spec> specs() {
  Spec tcp;
  return {tcp, udp_spec(), gen2_spec()};
}

TEST(CcloTransmitter, TakesTheSameTimeForAMessageAndForItsPackets) {
  for (const Spec& spec : specs()) {
    for (const std::uint64_t bytes : {0U, 1U, 8U, 63U, 64U, 1000U, 1472U, 1473U, 4032U, 9000U, 65536U}) {
      const PacketCut cut = cut_message(spec.generation, spec.transport, spec.max_packet, bytes);
      const Time least = spec.cycles(Spec::words(cut.bytes()) - 1);
      for (const Time spread : {least, least + Time::us(1)}) {
        EngineUnits closed_units;
        Transmitter closed(spec, closed_units);
        EngineUnits packets_units;
        Transmitter packets(spec, packets_units);
        for (int message = 0; message < 3; ++message) {  // the later ones find the engine busy
          const Time begin = Time::ns(100) + Time::ns(700) * message;
          const Flow in{begin, begin + spread};
          const Crossing a = closed.send(in, bytes);
          const Crossing b = packets.send_packets(in, bytes, {});
          EXPECT_EQ(a.first, b.first) << bytes << " bytes over " << static_cast<int>(spec.transport);
          EXPECT_EQ(a.last, b.last) << bytes << " bytes over " << static_cast<int>(spec.transport);
          EXPECT_EQ(a.accepted, b.accepted);
          EXPECT_EQ(b.error, Error::kNone);
          EXPECT_EQ(a.wire.packets, b.wire.packets);
          EXPECT_EQ(a.wire.wire_bytes, b.wire.wire_bytes);
        }
      }
    }
  }
}

TEST(CcloTransmitter, ListsThePacketsOfTheClosedFormWithTheTimesOfSinglePackets) {
  for (const Spec& spec : specs()) {
    for (const std::uint64_t bytes : {0U, 64U, 1473U, 4032U, 65536U}) {
      const PacketCut cut = cut_message(spec.generation, spec.transport, spec.max_packet, bytes);
      const Flow in{Time::ns(100), Time::ns(100) + spec.cycles(3 * Spec::words(cut.bytes()))};
      EngineUnits closed_units;
      Transmitter closed(spec, closed_units);
      EngineUnits packets_units;
      Transmitter packets(spec, packets_units);
      for (int message = 0; message < 2; ++message) {  // the second one finds the engine busy
        std::vector<SentPacket> a;
        std::vector<SentPacket> b;
        const Crossing passage = closed.send(in, bytes, nullptr, &a);
        (void)packets.send_packets(in, bytes, {}, &b);
        ASSERT_EQ(a.size(), cut.packets());
        ASSERT_EQ(b.size(), a.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
          EXPECT_EQ(a[i].index, i);
          EXPECT_EQ(a[i].at, b[i].at) << bytes << " bytes, packet " << i;
        }
        EXPECT_EQ(a.back().at + spec.link_time(cut.last_bytes) + spec.latency, passage.last);
      }
    }
  }
}

/// Reassembles a message from the packets into which a tap cuts it.
struct Collector : PacketSink {
  std::vector<std::byte> stream;
  std::vector<Packet> packets;
  void record(const Packet& packet) override {
    EXPECT_EQ(packet.offset, stream.size());
    EXPECT_EQ(packet.head.size(), packet.bytes);
    stream.insert(stream.end(), packet.head.begin(), packet.head.end());
    packets.push_back(packet);
  }
};

TEST(CcloPacketTap, ShowsHeaderAndDataAndOfAWriteTheDataFirst) {
  const std::vector<std::byte> data(9000, std::byte{0x5a});
  for (const Spec& spec : specs()) {
    for (const MessageType type : {MessageType::kEager, MessageType::kRendezvousData}) {
      Collector sink;
      PacketTap tap(sink, spec);
      std::vector<SentPacket> sent;
      const PacketCut cut = cut_message(spec.generation, spec.transport, spec.max_packet, data.size());
      for (std::uint32_t i = 0; i < cut.packets(); ++i) sent.push_back({i, Time::ns(i)});
      tap.message({3, 5, data.size(), data, 77, type}, sent);
      ASSERT_EQ(sink.stream.size(), cut.bytes());
      const bool write = type == MessageType::kRendezvousData;
      const auto header = std::span(sink.stream).subspan(write ? data.size() : 0, kHeaderBytes);
      const auto payload = std::span(sink.stream).subspan(write ? 0 : kHeaderBytes, data.size());
      EXPECT_TRUE(std::equal(data.begin(), data.end(), payload.begin()));
      const auto decoded = decode(spec.generation, header);
      ASSERT_TRUE(decoded);
      EXPECT_EQ(decoded->get(HeaderField::kCount), data.size());
      EXPECT_EQ(decoded->get(HeaderField::kTag), 77U);
      EXPECT_EQ(decoded->get(HeaderField::kSource), 3U);
      EXPECT_EQ(sink.packets.back().at, Time::ns(static_cast<std::int64_t>(cut.packets()) - 1));
      EXPECT_EQ(sink.packets.back().destination_port, kFirstPort + 5);
    }
  }
}

struct Faulty {
  int repaired = 0;
  int failed = 0;
  int untouched = 0;
};

Faulty play(const Spec& spec, double loss, double duplication, double reordering) {
  Faulty count;
  const Flow in{Time::ns(100), Time::ns(100) + spec.stream_time(20000)};
  EngineUnits clean_units;
  Transmitter clean(spec, clean_units);
  const Crossing whole = clean.send(in, 20000);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    EngineUnits transmitter_units;
    Transmitter transmitter(spec, transmitter_units);
    const PacketFaults packet_faults{{seed, loss, duplication, reordering}, 0, 1, 0, {}};
    const Crossing passage = transmitter.send(in, 20000, &packet_faults);
    EXPECT_GE(passage.last, passage.first);
    const bool touched = passage.wire.lost + passage.wire.duplicated + passage.wire.reordered > 0;
    if (passage.error != Error::kNone) {
      EXPECT_TRUE(touched);
      ++count.failed;
    } else {
      EXPECT_GE(passage.last, whole.last);
      touched ? ++count.repaired : ++count.untouched;
    }
  }
  return count;
}

TEST(CcloTcp, RepairsLossDuplicationAndReordering) {
  for (const Faulty& it :
       {play({}, 0.05, 0, 0), play({}, 0, 0.1, 0), play({}, 0, 0, 0.1), play({}, 0.05, 0.05, 0.05)}) {
    EXPECT_EQ(it.failed, 0);
    EXPECT_GT(it.repaired, 100);
  }
}

TEST(CcloTcp, RepairsManyLossesInOneLongSegment) {
  const Spec spec;
  const Flow in{Time::ns(100), Time::ns(100) + spec.stream_time(65536)};
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    EngineUnits transmitter_units;
    Transmitter transmitter(spec, transmitter_units);
    const PacketFaults packet_faults{{seed, 0.1, 0.05, 0.05}, 0, 1, 0, {}};
    EXPECT_EQ(transmitter.send(in, 65536, &packet_faults).error, Error::kNone) << seed;
  }
}

TEST(CcloTcp, GivesUpAfterItsRetries) {
  Spec spec;
  spec.retries = 2;
  const Faulty it = play(spec, 1, 0, 0);
  EXPECT_EQ(it.failed, 300);
}

TEST(CcloTcp, PaysTheTimerForALostLastPacketAndLessForOneInTheMiddle) {
  const Spec spec;
  const Flow in{Time::ns(100), Time::ns(100) + spec.stream_time(20000)};
  EngineUnits clean_units;
  Transmitter clean(spec, clean_units);
  const Time whole = clean.send(in, 20000).last;
  Time shortest = Time::never();
  Time longest;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    EngineUnits transmitter_units;
    Transmitter transmitter(spec, transmitter_units);
    const PacketFaults packet_faults{{seed, 0.03, 0, 0}, 0, 1, 0, {}};
    const Crossing passage = transmitter.send(in, 20000, &packet_faults);
    if (passage.wire.lost != 1 || passage.wire.retransmissions != 1) continue;
    shortest = earlier(shortest, passage.last - whole);
    longest = later(longest, passage.last - whole);
  }
  EXPECT_LT(shortest, Time::us(20)) << "three duplicate acknowledgements repeat a packet at once";
  EXPECT_GT(longest, spec.retransmission);
}

TEST(CcloUdp, GivesLossAndDisorderAsReturnCodes) {
  const Faulty lossy = play(udp_spec(), 0.05, 0, 0);
  EXPECT_EQ(lossy.repaired, 0);
  EXPECT_GT(lossy.failed, 100);
  const Faulty doubled = play(udp_spec(), 0, 0.05, 0);
  EXPECT_EQ(doubled.repaired, 0);
  EXPECT_GT(doubled.failed, 100);
}

TEST(CcloUdp, NamesALostPacketAReceiveTimeout) {
  const Spec spec = udp_spec();
  EngineUnits transmitter_units;
  Transmitter transmitter(spec, transmitter_units);
  const PacketFaults packet_faults{{1, 1, 0, 0}, 0, 1, 0, {}};
  EXPECT_EQ(transmitter.send({Time::ns(100), Time::ns(100)}, 10, &packet_faults).error,
            Error::kReceiveTimeout);
}

TEST(CcloReceiver, TakesSendersOneAfterTheOther) {
  const Spec spec;
  EngineUnits receiver_units;
  Receiver receiver(spec, receiver_units);
  const Time first = receiver.land(Time::us(10), Time::us(15), 60000);
  const Time second = receiver.land(Time::us(10), Time::us(15), 60000);
  EXPECT_GE(second - first, spec.link.bytes(60000));
}

}  // namespace
}  // namespace offramp::cclo
