// Tables in DRAM: the builder's rules, chains, memory, and lookups of any contents.
#include "simulators/tinsel/table.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/tinsel/support.hpp"

namespace offramp::tinsel {
namespace {

std::vector<Record> urm1_list(std::uint32_t count) {
  std::vector<Record> records;
  for (std::uint32_t i = 0; i < count; ++i) records.push_back(Record::urm1(i / 64 % 16, i % 64, i));
  return records;
}

TEST(TinselTables, ListsOfEveryLengthComeBackAsTheyWere) {
  for (const std::uint32_t count :
       {1U, 2U, 5U, 6U, 149U, 150U, 151U, 154U, 155U, 156U, 300U, 305U, 308U, 310U, 462U, 1024U, 20000U}) {
    Tables tables;
    const std::vector<Record> records = urm1_list(count);
    const Placed placed = tables.place(records);
    ASSERT_EQ(placed.trap, Trap::kNone) << count;
    const Expansion all = expand(tables, placed.key);
    EXPECT_EQ(all.trap, Trap::kNone) << count << " " << to_string(all.trap);
    EXPECT_EQ(all.records, records) << count;
    EXPECT_EQ(all.beats, placed.beats);
    EXPECT_EQ(tables.used(placed.key.ram), placed.beats);
  }
}

// Counted from the format of [pip-0024]: 1024 one-chunk records are six blocks of 31 beats and a tail of 20.
TEST(TinselTables, AFullBoardOfUnicastRecordsTakes206Beats) {
  Tables tables;
  const Placed placed = tables.place(urm1_list(1024));
  EXPECT_EQ(placed.beats, 206U);
  EXPECT_EQ(expand(tables, placed.key).blocks, 7U);
  EXPECT_TRUE(placed.key.maximal());
}

TEST(TinselTables, MixedSizesChainToo) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    Tables tables;
    std::vector<Record> records;
    const std::uint32_t count = 1 + static_cast<std::uint32_t>(random()) % 400;
    for (std::uint32_t i = 0; i < count; ++i) {
      switch (random() % 4) {
        case 0:
          records.push_back(Record::urm1(i % 16, i % 64, i));
          break;
        case 1:
          records.push_back(Record::urm2(i % 16, i % 64, i));
          break;
        case 2:
          records.push_back(Record::rr(static_cast<Direction>(i % 4), i));
          break;
        default:
          records.push_back(Record::mrm(i % 16, static_cast<std::uint16_t>(i), i + 1));
      }
    }
    const Placed placed = tables.place(records);
    ASSERT_EQ(placed.trap, Trap::kNone);
    const Expansion all = expand(tables, placed.key);
    EXPECT_EQ(all.trap, Trap::kNone) << count << " " << to_string(all.trap);
    EXPECT_EQ(all.records, records);
  }
}

TEST(TinselTables, RefuseInvalidRecords) {
  Tables tables;
  EXPECT_EQ(tables.place(std::vector{Record::mrm(0, 1, 0)}).trap, Trap::kEmptyMask);
  EXPECT_EQ(tables.place(std::vector{Record::ind(0x01804001)}).trap, Trap::kShortIndirect);
  const std::vector back = {Record::rr(Direction::kWest, 1)};
  EXPECT_EQ(tables.place(back, Direction::kWest).trap, Trap::kUTurn);
  EXPECT_EQ(tables.place(back, Direction::kEast).trap, Trap::kNone);
  EXPECT_EQ(tables.place({}).key, Key());
}

/// One block unchanged, whatever it refers to.
Trap lookup_of(const std::vector<std::vector<Record>>& beats, std::uint8_t count) {
  Tables tables;
  for (std::size_t i = 0; i < beats.size(); ++i)
    tables.poke(0, kFirstBeat + static_cast<std::uint32_t>(i), encode_beat(beats[i]));
  return tables.read({0, kFirstBeat, count}).trap;
}

TEST(TinselTables, LookupsTrapOnInvalidRecords) {
  const std::vector<Record> one = {Record::urm1(0, 0, 0)};
  std::vector<std::vector<Record>> full(31, one);
  EXPECT_EQ(lookup_of(full, 30), Trap::kNone);
  EXPECT_EQ(lookup_of(full, 31), Trap::kNoIndirect);
  full[3] = {Record::ind(Key{0, kFirstBeat, 1}.encode())};
  EXPECT_EQ(lookup_of(full, 31), Trap::kNone);
  EXPECT_EQ(lookup_of(full, 30), Trap::kShortIndirect);
  full[9] = full[3];
  EXPECT_EQ(lookup_of(full, 31), Trap::kTwoIndirect);
  full[9] = one;
  full[3] = {Record::ind(Key{0, kFirstBeat, 0}.encode())};
  EXPECT_EQ(lookup_of(full, 31), Trap::kEmptyIndirect);
  full[3] = {Record::ind(Key{1, kFirstBeat, 1}.encode())};
  EXPECT_EQ(lookup_of(full, 31), Trap::kOtherRam);
  EXPECT_EQ(lookup_of({{Record::mrm(0, 0, 0)}}, 1), Trap::kEmptyMask);
  Tables tables;
  EXPECT_EQ(tables.read({0, kFirstBeat, 1}).trap, Trap::kAddress);
  EXPECT_EQ(tables.read({0, 5, 1}).trap, Trap::kAddress);
  EXPECT_EQ(tables.read(Key()).trap, Trap::kNone);
}

TEST(TinselTables, AChainInACircleTraps) {
  Tables tables;
  const Key self{0, kFirstBeat, 31};
  tables.poke(0, kFirstBeat, encode_beat(std::vector{Record::ind(self.encode())}));
  for (std::uint32_t i = 1; i < 31; ++i)
    tables.poke(0, kFirstBeat + i, encode_beat(std::vector{Record::urm1(0, 0, i)}));
  EXPECT_EQ(expand(tables, self).trap, Trap::kLoop);
  Machine machine(small_machine());
  machine.tables(0) = tables;
  machine.send({}, {}, keyed(self));
  EXPECT_FALSE(machine.run());
  EXPECT_EQ(machine.trap(), Trap::kLoop);
}

TEST(TinselTables, KeepTheirDramsBalancedAndGiveMemoryBack) {
  Tables tables;
  std::vector<Placed> placed;
  for (int i = 0; i < 40; ++i) placed.push_back(tables.place(urm1_list(static_cast<std::uint32_t>(20 + i))));
  EXPECT_LT(
      tables.used(0) > tables.used(1) ? tables.used(0) - tables.used(1) : tables.used(1) - tables.used(0),
      20U);
  const std::size_t memory = tables.memory(0).size() + tables.memory(1).size();
  for (int round = 0; round < 50; ++round) {
    for (const Placed& each : placed) tables.release(each);
    EXPECT_EQ(tables.used(0) + tables.used(1), 0U);
    placed.clear();
    for (int i = 0; i < 40; ++i)
      placed.push_back(tables.place(urm1_list(static_cast<std::uint32_t>(20 + i))));
  }
  EXPECT_EQ(tables.memory(0).size() + tables.memory(1).size(), memory);
}

TEST(TinselTables, AnyMemoryIsReadOrTraps) {
  std::mt19937_64 random(11);
  int good = 0;
  for (int round = 0; round < 2000; ++round) {
    Tables tables;
    std::vector<std::byte> noise(64 * kBeatBytes);
    for (std::byte& b : noise) b = static_cast<std::byte>(random() & 0xff);
    for (std::size_t beat = 0; beat < 64; ++beat) {
      noise[beat * kBeatBytes + 30] = static_cast<std::byte>(random() % 4);
      noise[beat * kBeatBytes + 31] = {};
    }
    tables.poke(0, kFirstBeat, noise);
    for (int i = 0; i < 20; ++i) {
      const Key key{static_cast<std::uint8_t>(random() % 8 == 0),
                    kFirstBeat + static_cast<std::uint32_t>(random() % 80),
                    static_cast<std::uint8_t>(random() % 32)};
      good += expand(tables, key).trap == Trap::kNone ? 1 : 0;
    }
  }
  EXPECT_GT(good, 0);
}

}  // namespace
}  // namespace offramp::tinsel
