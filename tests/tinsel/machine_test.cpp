// The machine: deliveries with their times, and the counters of the hardware.
#include "simulators/tinsel/machine.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/tinsel/support.hpp"

namespace offramp::tinsel {
namespace {

const Payload kWords = {0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x80};

// The test of [tinsel-src] (apps/POLite/progrouters): six receipts on two boards.
TEST(TinselMachine, TheReferencesRouterTestGivesItsSixReceipts) {
  Machine machine(small_machine());
  Recorder recorder(machine);
  const Mesh& mesh = machine.spec().mesh;
  const Key east =
      machine.tables(mesh.at(1, 0))
          .place(std::vector{Record::mrm(1, 0xf0f0, 1), Record::mrm(1, 0xf0f0, 2)}, Direction::kWest)
          .key;
  const Key key =
      machine.tables(0)
          .place(std::vector{Record::mrm(1, 0xf0f0, 1), Record::mrm(1, 0xf0f0, 2), Record::mrm(5, 0xf0f0, 1),
                             Record::mrm(5, 0xf0f0, 2), Record::rr(Direction::kEast, east.encode())})
          .key;
  EXPECT_EQ(key.encode(), 0x01804002U);  // as that of [tinsel-src]
  machine.send({}, at(mesh, 0, 0), keyed(key, 2, kWords));
  ASSERT_TRUE(machine.run());
  std::set<ThreadLocation> places;
  Payload expected = kWords;
  expected[0] = 0xf0f0;
  for (const Receipt& receipt : recorder.receipts) {
    EXPECT_EQ(receipt.words, expected);
    EXPECT_EQ(receipt.flits, 2);
    EXPECT_TRUE(places.insert(receipt.at).second);
  }
  EXPECT_EQ(places, (std::set<ThreadLocation>{at(mesh, 0, 0, 1, 0, 0), at(mesh, 0, 0, 1, 0, 1),
                                              at(mesh, 0, 0, 1, 1, 0), at(mesh, 0, 0, 1, 1, 1),
                                              at(mesh, 1, 0, 1, 0, 0), at(mesh, 1, 0, 1, 0, 1)}));
  EXPECT_EQ(machine.counters().records, 7U);
  EXPECT_EQ(machine.counters().inter_records, 1U);
  EXPECT_TRUE(machine.quiescent());
}

// An earlier test of [tinsel-src] of URM1 and URM2.
TEST(TinselMachine, UnicastRecordsOverwriteOneOrTwoWords) {
  Machine machine(small_machine());
  Recorder recorder(machine);
  const Key key =
      machine.tables(0)
          .place(std::vector{Record::urm1(0, 10, 0xfff), Record::urm2(0, 60, 0xff100000ff0),
                             Record::urm2(0, 60, 0xff300000ff2), Record::urm2(0, 60, 0xff500000ff4)})
          .key;
  machine.send({}, {}, keyed(key, 2, kWords));
  ASSERT_TRUE(machine.run());
  ASSERT_EQ(recorder.receipts.size(), 4U);
  std::set<std::pair<std::uint32_t, std::uint32_t>> words;
  for (const Receipt& receipt : recorder.receipts) {
    EXPECT_EQ(receipt.words[2], 0x30U);
    if (receipt.at.thread == 10) {
      EXPECT_EQ(receipt.words[0], 0xfffU);
      EXPECT_EQ(receipt.words[1], 0x20U);
    } else {
      EXPECT_EQ(receipt.at.thread, 60);
      words.insert({receipt.words[0], receipt.words[1]});
    }
  }
  EXPECT_EQ(words.size(), 3U);
  EXPECT_TRUE(words.contains({0xff0, 0xff1}) && words.contains({0xff2, 0xff3}) &&
              words.contains({0xff4, 0xff5}));
}

TEST(TinselMachine, MailboxRecordsLeaveTheUpperHalfWord) {
  Machine machine(small_machine());
  Recorder recorder(machine);
  Payload words = kWords;
  words[0] = 0xabcd1234;
  const Key key = machine.tables(0).place(std::vector{Record::mrm(9, 0xf0f0, 1)}).key;
  for (int flits = 1; flits <= kMaximumFlits; ++flits) machine.send({}, {}, keyed(key, flits, words));
  ASSERT_TRUE(machine.run());
  ASSERT_EQ(recorder.receipts.size(), 4U);
  for (const Receipt& receipt : recorder.receipts) {
    EXPECT_EQ(receipt.words[0], 0xabcdf0f0U);
    EXPECT_EQ(receipt.words[1], 0x20U);
  }
}

TEST(TinselMachine, EveryDirectionLeadsToTheNeighbour) {
  const struct {
    Direction direction;
    int x;
    int y;
  } ways[] = {{Direction::kNorth, 1, 2},
              {Direction::kSouth, 1, 0},
              {Direction::kEast, 2, 1},
              {Direction::kWest, 0, 1}};
  for (const auto& way : ways) {
    Machine machine(small_machine(3, 4));
    Recorder recorder(machine);
    const Mesh& mesh = machine.spec().mesh;
    const Key there = machine.tables(mesh.at(way.x, way.y)).place(std::vector{Record::mrm(3, 1, 4)}).key;
    const Key key =
        machine.tables(mesh.at(1, 1)).place(std::vector{Record::rr(way.direction, there.encode())}).key;
    machine.send({}, at(mesh, 1, 1), keyed(key));
    ASSERT_TRUE(machine.run());
    ASSERT_EQ(recorder.receipts.size(), 1U);
    EXPECT_EQ(recorder.receipts[0].at, at(mesh, way.x, way.y, 3, 0, 2));
  }
}

TEST(TinselMachine, ANullKeyGoesNowhere) {
  Machine machine(small_machine());
  Recorder recorder(machine);
  machine.send({}, {}, keyed({}));
  EXPECT_TRUE(machine.run());
  EXPECT_TRUE(recorder.receipts.empty());
  EXPECT_EQ(machine.counters().dropped, 1U);
}

TEST(TinselMachine, RoutersTrapOnBadTables) {
  Machine machine(small_machine());
  machine.tables(0).poke(0, kFirstBeat, encode_beat(std::vector{Record::rr(Direction::kSouth, 0)}));
  machine.send({}, {}, keyed({0, kFirstBeat, 1}));
  EXPECT_FALSE(machine.run());
  EXPECT_EQ(machine.trap(), Trap::kEdge);
  machine.reset();
  machine.tables(0).poke(
      0, kFirstBeat, encode_beat(std::vector{Record::rr(Direction::kEast, Key{0, kFirstBeat, 1}.encode())}));
  machine.tables(1).poke(
      0, kFirstBeat, encode_beat(std::vector{Record::rr(Direction::kWest, Key{0, kFirstBeat, 1}.encode())}));
  machine.send({}, {}, keyed({0, kFirstBeat, 1}));
  EXPECT_FALSE(machine.run());
  EXPECT_EQ(machine.trap(), Trap::kUTurn);
}

TEST(TinselMachine, TwentyThousandDestinationsGetExactlyOneEach) {
  Machine machine(small_machine());
  Recorder recorder(machine);
  std::vector<Record> records;
  for (std::uint32_t i = 0; i < 20000; ++i) records.push_back(Record::urm1(i / 64 % 16, i % 64, i));
  const Placed placed = machine.tables(0).place(records);
  machine.send({}, {}, keyed(placed.key, 2, kWords));
  ASSERT_TRUE(machine.run()) << to_string(machine.trap());
  std::vector<int> seen(records.size());
  for (const Receipt& receipt : recorder.receipts) {
    ASSERT_LT(receipt.words[0], seen.size());
    ++seen[receipt.words[0]];
    EXPECT_EQ(receipt.at.mailbox, receipt.words[0] / 64 % 16);
    EXPECT_EQ(receipt.at.thread, receipt.words[0] % 64);
  }
  for (const int times : seen) EXPECT_EQ(times, 1);
  EXPECT_TRUE(machine.quiescent());
  EXPECT_EQ(machine.counters().records, 20000U + expand(machine.tables(0), placed.key).blocks - 1);
}

TEST(TinselMachine, ATreeReachesAnySetOfThreadsExactlyOnce) {
  std::mt19937 random(5);
  for (const DimensionOrder order : {DimensionOrder::kYFirst, DimensionOrder::kXFirst}) {
    for (int round = 0; round < 20; ++round) {
      Machine machine(small_machine(6, 8));
      Recorder recorder(machine);
      std::set<ThreadLocation> wanted;
      const std::size_t count = round == 0 ? 20000 : 1 + random() % 300;
      while (wanted.size() < count) {
        wanted.insert({static_cast<std::uint16_t>(random() % 48), static_cast<std::uint8_t>(random() % 16),
                       static_cast<std::uint8_t>(random() % 64)});
      }
      const auto root = static_cast<int>(random() % 48);
      const std::vector<ThreadLocation> list(wanted.begin(), wanted.end());
      const Tree tree = build_tree(machine, root, list, 77, order);
      ASSERT_EQ(tree.trap, Trap::kNone);
      machine.send({}, {static_cast<std::uint16_t>(root), 6, 0}, keyed(tree.key, 4, kWords));
      ASSERT_TRUE(machine.run());
      std::set<ThreadLocation> got;
      for (const Receipt& receipt : recorder.receipts) {
        EXPECT_TRUE(got.insert(receipt.at).second);
        EXPECT_EQ(receipt.words[0] & 0xffffU, 77U);
      }
      EXPECT_EQ(got, wanted);
      remove_tree(machine, tree);
      for (int b = 0; b < 48; ++b) EXPECT_EQ(machine.tables(b).used(0) + machine.tables(b).used(1), 0U);
    }
  }
}

TEST(TinselMachine, UnicastReachesEveryThread) {
  std::mt19937 random(6);
  Machine machine(small_machine(6, 8));
  Recorder recorder(machine);
  std::vector<ThreadLocation> sent;
  for (int i = 0; i < 2000; ++i) {
    const ThreadLocation from{static_cast<std::uint16_t>(random() % 48),
                              static_cast<std::uint8_t>(random() % 16), 0};
    const ThreadLocation to{static_cast<std::uint16_t>(random() % 48),
                            static_cast<std::uint8_t>(random() % 16),
                            static_cast<std::uint8_t>(random() % 64)};
    MailboxMessage message;
    message.to = Address::thread(to);
    message.words[1] = static_cast<std::uint32_t>(i);
    message.flits = static_cast<std::uint8_t>(1 + i % 4);
    machine.send({}, from, message);
    sent.push_back(to);
  }
  ASSERT_TRUE(machine.run());
  ASSERT_EQ(recorder.receipts.size(), sent.size());
  for (const Receipt& receipt : recorder.receipts) EXPECT_EQ(receipt.at, sent[receipt.words[1]]);
}

// Nothing orders keyed and unicast traffic, so every fragment has a number.
TEST(TinselMachine, UnicastOvertakesKeyedMessagesOfTheSameSource) {
  Machine machine(small_machine());
  Recorder recorder(machine);
  const ThreadLocation from = at(machine.spec().mesh, 0, 0, 2, 1);
  const ThreadLocation to = at(machine.spec().mesh, 2, 1, 1, 1, 7);
  const Tree tree = build_tree(machine, from.board, std::vector{to}, 1);
  MailboxMessage first = keyed(tree.key);
  first.words[1] = 0;
  MailboxMessage second;
  second.to = Address::thread(to);
  second.words[1] = 1;
  machine.send({}, from, first);
  machine.send(Time::ns(100), from, second);
  ASSERT_TRUE(machine.run());
  ASSERT_EQ(recorder.receipts.size(), 2U);
  EXPECT_EQ(recorder.receipts[0].words[1], 1U);
  EXPECT_EQ(recorder.receipts[1].words[1], 0U);
}

TEST(TinselMachine, MessagesOfOneKeyAndSourceStayInOrder) {
  Machine machine(small_machine(6, 8));
  Recorder recorder(machine);
  std::vector<ThreadLocation> all;
  for (int b = 0; b < 48; ++b)
    all.push_back({static_cast<std::uint16_t>(b), static_cast<std::uint8_t>(b % 16), 3});
  const Tree tree = build_tree(machine, 20, all, 1);
  for (std::uint32_t i = 0; i < 50; ++i) {
    MailboxMessage message = keyed(tree.key, 1 + static_cast<int>(i % 4));
    message.words[1] = i;
    machine.send({}, {20, 5, 0}, message);
  }
  ASSERT_TRUE(machine.run());
  std::map<ThreadLocation, std::uint32_t> next;
  for (const Receipt& receipt : recorder.receipts) EXPECT_EQ(receipt.words[1], next[receipt.at]++);
  EXPECT_EQ(next.size(), all.size());
  for (const auto& [place, count] : next) EXPECT_EQ(count, 50U);
}

TEST(TinselMachine, AMailboxThatIsFullMakesMessagesWait) {
  Machine machine(small_machine());
  Recorder recorder(machine);
  recorder.hold = Time::us(100);
  MailboxMessage message;
  message.to = Address::thread(at(machine.spec().mesh, 0, 0, 2, 2, 5));
  for (int i = 0; i < 1000; ++i) machine.send({}, {}, message);
  ASSERT_TRUE(machine.run());
  EXPECT_EQ(recorder.receipts.size(), 1000U);
  EXPECT_EQ(machine.counters().most_slots, static_cast<std::uint64_t>(kReceiveSlots));
  EXPECT_GT(machine.counters().slot_waits, 0U);
  EXPECT_TRUE(machine.quiescent());
}

/// Never frees a message, and counts the messages that have left their slots.
class Hoarder final : public Software {
 public:
  explicit Hoarder(Machine& machine) { machine.run_on(this); }
  void delivered(const Delivery&) override { ++received; }
  void on_sent(Time, const ThreadLocation&) override { ++sent; }
  int received = 0;
  int sent = 0;
};

TEST(TinselMachine, BuffersFillUpToTheSender) {
  constexpr int kMessages = 3000;
  for (const int boards : {1, 3}) {
    Machine machine(small_machine(boards, 1));
    Hoarder hoarder(machine);
    MailboxMessage message;
    message.flits = 4;
    message.to = Address::thread(at(machine.spec().mesh, boards - 1, 0, 2, 2, 5));
    for (int i = 0; i < kMessages; ++i) machine.send({}, {}, message);
    EXPECT_FALSE(machine.run());
    EXPECT_EQ(hoarder.received, kReceiveSlots);
    EXPECT_GT(hoarder.sent, kReceiveSlots);
    EXPECT_TRUE(machine.stuck());
    // The path has single entries, and with several boards two links with 256 flits at one end and 128 at the
    // other.
    const int in_links = boards == 1 ? 0 : (boards - 1) * (256 + 128) / 4;
    EXPECT_NEAR(hoarder.sent, kReceiveSlots + in_links, 20);
    EXPECT_EQ(machine.counters().refused > 0, boards > 1);
  }
}

TEST(TinselMachine, MessagesThatALinkHasRefusedComeInOrderAndOnce) {
  Machine machine(small_machine(3, 1));
  Recorder recorder(machine);
  const Mesh& mesh = machine.spec().mesh;
  constexpr std::uint32_t kMessages = 400;
  const std::vector<ThreadLocation> sources = {at(mesh, 0, 0), at(mesh, 2, 0), at(mesh, 1, 0, 1, 0),
                                               at(mesh, 1, 0, 0, 1)};
  MailboxMessage message;
  message.flits = 4;
  message.to = Address::thread(at(mesh, 1, 0, 0, 0, 9));
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    for (std::uint32_t s = 0; s < sources.size(); ++s) {
      message.words[1] = s;
      message.words[2] = i;
      machine.send({}, sources[s], message);
    }
  }
  ASSERT_TRUE(machine.run());
  EXPECT_GT(machine.counters().refused, 0U);
  EXPECT_GE(machine.counters().link.retransmissions, machine.counters().refused);
  std::map<std::uint32_t, std::uint32_t> next;
  for (const Receipt& receipt : recorder.receipts) EXPECT_EQ(receipt.words[2], next[receipt.words[1]]++);
  for (std::uint32_t s = 0; s < sources.size(); ++s) EXPECT_EQ(next[s], kMessages);
  EXPECT_TRUE(machine.quiescent());
}

// A fetcher has room for 8 messages and 32 beats: long lists fill the network on chip before it.
TEST(TinselMachine, KeyedMessagesWaitForAPlaceInTheFetcher) {
  Machine machine(small_machine(1, 1));
  Recorder recorder(machine);
  std::vector<Record> records;
  for (unsigned i = 0; i < 300; ++i) records.push_back(Record::urm1(i % 16, i % 64, i));
  const Key key = machine.tables(0).place(records).key;
  for (std::uint32_t i = 0; i < 40; ++i) {
    MailboxMessage message = keyed(key, 2);
    message.words[1] = i;
    machine.send({}, {0, 1, 0}, message);
  }
  ASSERT_TRUE(machine.run());
  EXPECT_GT(machine.counters().waits, 0U);
  ASSERT_EQ(recorder.receipts.size(), 40U * 300);
  std::map<std::uint32_t, std::uint32_t> next;  // by local key
  for (const Receipt& receipt : recorder.receipts) EXPECT_EQ(receipt.words[1], next[receipt.words[0]]++);
  // A record takes at least two cycles per flit.
  EXPECT_GT(recorder.last, machine.spec().cycles(40LL * 300 * 4));
  EXPECT_LT(recorder.last, machine.spec().cycles(40LL * 300 * 4 * 3 / 2));
}

TEST(TinselMachine, LostPacketsCostTimeouts) {
  const auto last_of = [](const FaultRates& faults, MachineCounters& counters) {
    Machine machine(small_machine());
    Recorder recorder(machine);
    machine.set_faults(faults, 0, {});
    MailboxMessage message;
    message.to = Address::thread(at(machine.spec().mesh, 2, 1));
    for (int i = 0; i < 200; ++i) machine.send({}, {}, message);
    EXPECT_TRUE(machine.run());
    EXPECT_EQ(recorder.receipts.size(), 200U);
    counters = machine.counters();
    return recorder.last;
  };
  MachineCounters clean;
  MachineCounters hurt;
  const Time without = last_of({}, clean);
  const Time with = last_of({3, 0.05, 0, 0}, hurt);
  EXPECT_EQ(clean.link.retransmissions, 0U);
  EXPECT_GT(hurt.link.lost, 0U);
  EXPECT_EQ(hurt.link.retransmissions, hurt.link.lost);
  EXPECT_GT(with, without + MachineSpec().cycles(1024));
}

TEST(TinselMachine, ALinkThatLosesEverythingBreaks) {
  MachineSpec spec = small_machine();
  spec.retries = 5;
  Machine machine(spec);
  machine.set_faults({1, 1, 0, 0}, 0, {});
  MailboxMessage message;
  message.to = Address::thread(at(spec.mesh, 1, 0));
  machine.send({}, {}, message);
  EXPECT_FALSE(machine.run());
  EXPECT_TRUE(machine.broken());
}

}  // namespace
}  // namespace offramp::tinsel
