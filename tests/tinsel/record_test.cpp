// Keys, beats and records: vectors packed by hand from the fields of [pip-0024], and any bytes at all.
#include "simulators/tinsel/record.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/tinsel/support.hpp"

namespace offramp::tinsel {
namespace {

struct Vector {
  const char* name;
  const char* bytes;
  std::vector<Record> records;
};

std::vector<Vector> vectors() {
  std::vector<Vector> all;
  all.push_back(
      {"A",
       "00 00 00 00 00 00|00 00 00 00 00 00|01 00 00 00 00 00|00 80 f0 f0 00 62|ef be ad de 28 1d|02 00",
       {Record::urm1(14, 37, 0xdeadbeef), Record::mrm(1, 0xf0f0, 0x8000000000000001)}});
  all.push_back(
      {"B",
       "ff 00 00 00 00 00|00 00 07 00 00 70|ff ff ff ff ff ff|ff ff 34 12 00 7e|22 40 80 01 00 50|03 00",
       {Record::rr(Direction::kEast, 0x01804022), Record::mrm(15, 0x1234, ~std::uint64_t{0}),
        Record::mrm(8, 0x0007, 0xff)}});
  Vector c{"C",
           "ec 03 00 00 a0 09|eb 03 00 00 38 07|ea 03 00 00 d0 04|e9 03 00 00 68 02|e8 03 00 00 00 00|05 00",
           {}};
  for (unsigned i = 0; i < 5; ++i) c.records.push_back(Record::urm1(i / 4 * 4 + i % 4, 13 * i, 1000 + i));
  all.push_back(c);
  all.push_back(
      {"D",
       "00 00 00 00 00 00|00 00 00 00 00 00|5f 40 80 81 00 80|f0 0f 00 00 f1 0f|00 00 00 00 e0 21|02 00",
       {Record::urm2(0, 60, 0x00000ff100000ff0), Record::ind(0x8180405f)}});
  return all;
}

TEST(TinselRecords, VectorsEncodeToTheirBytes) {
  for (const Vector& v : vectors()) {
    const std::vector<std::byte> expected = unhex(v.bytes);
    ASSERT_EQ(expected.size(), kBeatBytes);
    const Beat beat = encode_beat(v.records);
    EXPECT_EQ(std::vector<std::byte>(beat.begin(), beat.end()), expected) << v.name;
  }
}

TEST(TinselRecords, VectorsDecodeToTheirRecords) {
  for (const Vector& v : vectors()) {
    const BeatRecords beat = decode_beat(unhex(v.bytes));
    EXPECT_EQ(beat.trap, Trap::kNone) << v.name;
    ASSERT_EQ(static_cast<std::size_t>(beat.count), v.records.size()) << v.name;
    for (std::size_t i = 0; i < v.records.size(); ++i)
      EXPECT_EQ(beat.records[i], v.records[i]) << v.name << i;
  }
}

// The hardware's builder leaves garbage outside of fields.
TEST(TinselRecords, IgnoreGarbageInUnusedBits) {
  for (const Vector& v : vectors()) {
    std::vector<std::byte> bytes = unhex(v.bytes);
    const Beat defined = defined_bits(v.records);
    for (std::size_t i = 0; i < kBeatBytes; ++i) bytes[i] |= ~defined[i] & std::byte{0xa5};
    const BeatRecords beat = decode_beat(bytes);
    ASSERT_EQ(static_cast<std::size_t>(beat.count), v.records.size());
    for (std::size_t i = 0; i < v.records.size(); ++i) EXPECT_EQ(beat.records[i], v.records[i]) << v.name;
  }
}

TEST(TinselRecords, FieldsOfARecordDoNotOverlap) {
  for (const RecordSpec& spec : record_specs()) {
    unsigned above = spec.chunks * 48U;
    for (const FieldSpec& field : spec.fields) {
      EXPECT_LE(field.low + field.width, above) << spec.name << " " << field.name;
      above = field.low;
    }
    EXPECT_EQ(spec.fields.front().low + spec.fields.front().width, spec.chunks * 48U);
    EXPECT_EQ(static_cast<std::size_t>(spec.type), spec.tag);
  }
}

TEST(TinselKeys, AreRamBeatAndCount) {
  EXPECT_EQ((Key{0, kFirstBeat, 1}).encode(), 0x01804001U);
  EXPECT_EQ((Key{1, kFirstBeat, 2}).encode(), 0x81804002U);
  EXPECT_EQ(Key().encode(), 0U);
  EXPECT_EQ(Key::decode(0x01804022), (Key{0, 0xc0201, 2}));
  EXPECT_EQ(Key::decode(0x8180405f), (Key{1, 0xc0202, 31}));
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    EXPECT_EQ(Key::decode(bits).encode(), bits);
  }
}

TEST(TinselRecords, AnyBytesDecodeOrTrap) {
  std::mt19937_64 random(7);
  std::array<int, static_cast<std::size_t>(Trap::kCount)> seen{};
  for (int i = 0; i < 200000; ++i) {
    Beat beat;
    for (std::byte& b : beat) b = static_cast<std::byte>(random() & 0xff);
    if (i % 2 == 0) {  // a plausible size, so that the rest is decoded
      beat[30] = static_cast<std::byte>(random() % 8);
      beat[31] = {};
    }
    const BeatRecords read = decode_beat(beat);
    ++seen[static_cast<std::size_t>(read.trap)];
    if (read.trap != Trap::kNone) continue;
    const std::span<const Record> records(read.records.data(), static_cast<std::size_t>(read.count));
    const Beat again = encode_beat(records);
    const Beat defined = defined_bits(records);
    for (std::size_t k = 0; k < kBeatBytes; ++k) EXPECT_EQ(again[k] & defined[k], beat[k] & defined[k]);
  }
  for (const Trap trap : {Trap::kNone, Trap::kSize, Trap::kTag, Trap::kStraddle})
    EXPECT_GT(seen[static_cast<std::size_t>(trap)], 0) << to_string(trap);
}

TEST(TinselRecords, ShortMemoryTraps) {
  const Beat beat{};
  EXPECT_EQ(decode_beat(std::span(beat).first(31)).trap, Trap::kAddress);
}

TEST(TinselRecords, PrintTheirFields) {
  EXPECT_EQ(print(Record::rr(Direction::kEast, 0x01804022)), "RR dir=2 newKey=01804022");
  EXPECT_EQ(print(Record::mrm(1, 0xf0f0, 1)), "MRM mbox=1 localKey=f0f0 destMask=0000000000000001");
  EXPECT_EQ(print(Key{0, 0xc0200, 1}), "ram=0 ptr=786944 numBeats=1");
}

}  // namespace
}  // namespace offramp::tinsel
