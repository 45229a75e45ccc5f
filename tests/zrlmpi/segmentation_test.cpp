#include "simulators/zrlmpi/segmentation.hpp"

#include <gtest/gtest.h>

#include "simulators/zrlmpi/header_cache.hpp"
#include "simulators/zrlmpi/path.hpp"
#include "tests/zrlmpi/support.hpp"

namespace offramp::zrlmpi {
namespace {

MpeSpec with_bus(int bits) {
  MpeSpec spec;
  spec.bus_bits = bits;
  return spec;
}

void expect_cut(int bus, std::uint64_t words, std::uint64_t datagrams, std::uint32_t last) {
  const MessageCut cut = cut_message(with_bus(bus), 4 * words);
  EXPECT_EQ(cut.datagrams, datagrams) << words << " words, " << bus << " bit";
  EXPECT_EQ(cut.last_bytes, last) << words << " words, " << bus << " bit";
}

// Observed in a run of the library of [zrlmpi-src] (LIB/SW/ZRLMPI.cpp): the engine fills up the last line.
TEST(ZrlmpiSegmentation, CutsMessagesWhereTheReferenceDoes) {
  for (const int bus : {8, 32, 64}) {
    expect_cut(bus, 0, 1, 32);
    expect_cut(bus, 346, 1, 1416);
    expect_cut(bus, 347, 2, bus == 64 ? 8 : 4);
    expect_cut(bus, 700, 2, 1416);
    expect_cut(bus, 1054, 3, 1416);
  }
}

TEST(ZrlmpiSegmentation, FillsTheLastWordOfAMessage) {
  EXPECT_EQ(cut_message(with_bus(8), 12).last_bytes, 44U);   // as the library sends it
  EXPECT_EQ(cut_message(with_bus(64), 12).last_bytes, 48U);  // as the engine sends it
  EXPECT_EQ(cut_message(with_bus(8), 1).last_bytes, 36U);
}

TEST(ZrlmpiSegmentation, HoldsTheLongestMessage) {
  const MessageCut cut = cut_message(with_bus(64), kMaximumMessageBytes);
  EXPECT_EQ((cut.datagrams - 1) * kDatagramBytes + cut.last_bytes, kMaximumMessageBytes + 4 + kHeaderBytes);
}

TEST(ZrlmpiSegmentation, FragmentsCoverAMessageExactly) {
  for (const std::uint64_t bytes : {0, 1, 1367, 1368, 1369, 2736, 2737, 100000}) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < fragment_count(bytes); ++i) {
      const std::uint32_t part = fragment_bytes(bytes, i);
      EXPECT_LE(part + kHeaderBytes + FragmentBlock::kBytes, kDatagramBytes);
      EXPECT_TRUE(part > 0 || bytes == 0);
      sum += part;
    }
    EXPECT_EQ(sum, bytes);
    EXPECT_EQ(fragment_bytes(bytes, fragment_count(bytes)), 0U);
  }
}

Task<void> put(Path& path, TransmitItem item) {
  co_await path.in.write(std::move(item));
}
Task<void> collect(Path& path, std::vector<Buffer>& out) {
  for (;;) {
    Datagram datagram = co_await path.out.read();
    EXPECT_EQ(datagram.data.size(), datagram.bytes);
    out.push_back(datagram.data);
  }
}

std::vector<Buffer> datagrams_of(int bus, const Buffer& payload) {
  const MpeSpec spec = with_bus(bus);
  Scheduler scheduler;
  std::vector<Buffer> out;
  Path path(scheduler, spec, Carriage::kPackets, {}, {});
  Header header(0, 1, MpiCall::kSendInt, PacketType::kData);
  header.set_payload_bytes(payload.size());
  const HeaderImage image = encode(header);
  TransmitItem item = TransmitItem::packet(image);
  item.kind = TransmitItem::Framing::kMessage;
  item.payload = payload;
  item.size = payload.size();
  scheduler.spawn("put", put(path, std::move(item)));
  scheduler.spawn("collect", collect(path, out));
  path.spawn(scheduler, {});
  scheduler.run();
  scheduler.clear();
  return out;
}

TEST(ZrlmpiPath, PutsVectorV11OnTheWireToTheByte) {
  const std::string header =
      without_spaces("96969696 00000000 01000000 03000000 00030000 00000000 00000000 96969696");
  const Buffer payload = unhex("01000000 02000000 03000000");
  const auto narrow = datagrams_of(8, payload);
  const auto wide = datagrams_of(64, payload);
  ASSERT_EQ(narrow.size(), 1U);
  ASSERT_EQ(wide.size(), 1U);
  EXPECT_EQ(hex(narrow[0]), header + hex(payload));
  EXPECT_EQ(hex(wide[0]), header + hex(payload) + "00000000");
}

TEST(ZrlmpiPath, PutsVectorV12OnTheWireWithOneHeader) {
  const Buffer payload = pattern(4216, 3);
  const auto datagrams = datagrams_of(8, payload);
  ASSERT_EQ(datagrams.size(), 3U);
  Buffer joined;
  for (const Buffer& datagram : datagrams) {
    EXPECT_EQ(datagram.size(), 1416U);
    joined.insert(joined.end(), datagram.begin(), datagram.end());
  }
  EXPECT_EQ(hex(Bytes(joined).first(32)),
            without_spaces("96969696 00000000 01000000 1e040000 00030000 00000000 00000000 96969696"));
  EXPECT_EQ(Buffer(joined.begin() + 32, joined.end()), payload);
}

TEST(ZrlmpiHeaderCache, HoldsOneHeaderOfEachOf64RanksAndTheNewestWins) {
  HeaderCache cache;
  for (int rank = 0; rank < kMaximumNodes; ++rank)
    cache.put(Header(0, rank, MpiCall::kSendInt, PacketType::kSendRequest));
  cache.put(Header(0, 5, MpiCall::kSendInt, PacketType::kAck));
  EXPECT_FALSE(cache.pop(5, PacketType::kSendRequest, MpiCall::kSendInt).has_value());
  EXPECT_FALSE(cache.pop(5, PacketType::kAck, MpiCall::kSendFloat).has_value())
      << "the call code is part of the key";
  EXPECT_TRUE(cache.pop(5, PacketType::kAck, MpiCall::kSendInt).has_value());
  EXPECT_FALSE(cache.pop(5, PacketType::kAck, MpiCall::kSendInt).has_value()) << "taken is gone";
  cache.drop(6);
  EXPECT_FALSE(cache.pop(6, PacketType::kSendRequest, MpiCall::kSendInt).has_value());
  const auto last = cache.pop(63, PacketType::kSendRequest, MpiCall::kSendInt);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->source(), 63U);
}

}  // namespace
}  // namespace offramp::zrlmpi
