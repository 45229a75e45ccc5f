// The capture file, byte by byte, for fields that tshark does not check.
#include "lib/answers/report/capture.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

namespace offramp {
namespace {

constexpr std::size_t kFileHeader = 24;
constexpr std::size_t kRecordHeader = 16;
constexpr std::size_t kEthernet = 14;

std::uint32_t native_at(const std::string& file, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, file.data() + at, sizeof value);
  return value;
}

std::uint64_t number_at(const std::string& file, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value = value << 8 | static_cast<unsigned char>(file[at + i]);
  return value;
}

Packet packet(std::int64_t ps, std::uint32_t bytes) {
  Packet p;
  p.at = Time::ps(ps);
  p.source = 0;
  p.destination = 2;
  p.source_port = p.destination_port = 2718;
  p.bytes = bytes;
  return p;
}

TEST(Capture, IsAPcapFileWithNanosecondsEvenWhenEmpty) {
  const std::string file = CaptureRecorder().pcap();
  ASSERT_EQ(file.size(), kFileHeader);
  EXPECT_EQ(native_at(file, 0), 0xa1b23c4dU);
}

TEST(Capture, WritesPacketsInTheOrderOfTimeWithZerosForUnknownBytes) {
  CaptureRecorder capture;
  const std::array<std::byte, 2> head = {std::byte{0x12}, std::byte{0x34}};
  Packet late = packet(2'000'000'003'999, 4);
  late.head = head;
  capture.record(late);
  capture.record(packet(5'000, 1));
  const std::string file = capture.pcap();
  const std::size_t frame = kEthernet + 20 + 8;
  ASSERT_EQ(file.size(), kFileHeader + 2 * (kRecordHeader + frame) + 1 + 4);
  EXPECT_EQ(native_at(file, kFileHeader), 0U);
  EXPECT_EQ(native_at(file, kFileHeader + 4), 5U);
  const std::size_t second = kFileHeader + kRecordHeader + frame + 1;
  EXPECT_EQ(native_at(file, second), 2U);
  EXPECT_EQ(native_at(file, second + 4), 3U);
  EXPECT_EQ(native_at(file, second + 8), frame + 4);
  const std::size_t ip = second + kRecordHeader + kEthernet;
  EXPECT_EQ(number_at(file, ip + 12, 4), 0x0a0a0a01U);
  EXPECT_EQ(number_at(file, ip + 16, 4), 0x0a0a0a03U);
  EXPECT_EQ(number_at(file, ip + 28, 4), 0x12340000U);
}

TEST(Capture, NumbersTheBytesOfAConnectionAndRepeatsTheNumberOfARepeatedPacket) {
  CaptureRecorder capture;
  const auto send = [&capture](std::int64_t ps, std::uint64_t message, std::uint32_t index) {
    Packet p = packet(ps, 10);
    p.carrier = Carrier::kTcp;
    p.message = message;
    p.message_bytes = 20;
    p.offset = index * 10;
    p.index = index;
    p.count = 2;
    capture.record(p);
  };
  send(4000, 9, 0);  // a later message, reported first
  send(1000, 5, 0), send(2000, 5, 1), send(3000, 5, 0);
  const std::string file = capture.pcap();
  const std::size_t step = kRecordHeader + kEthernet + 20 + 20 + 10;
  const auto sequence = [&](std::size_t i) {
    return number_at(file, kFileHeader + i * step + kRecordHeader + kEthernet + 24, 4);
  };
  EXPECT_EQ(sequence(0), 1U);
  EXPECT_EQ(sequence(1), 11U);
  EXPECT_EQ(sequence(2), 1U);
  EXPECT_EQ(sequence(3), 21U);
}

TEST(Capture, CountsPacketsBeyondItsLimit) {
  CaptureRecorder capture;
  Packet p = packet(0, 60'000);
  for (std::uint64_t i = 0; i <= CaptureRecorder::kMostBytes / p.bytes; ++i) capture.record(p);
  EXPECT_GT(capture.dropped(), 0U);
  EXPECT_LT(capture.dropped(), 100U);
}

TEST(Capture, PutsTheRankIntoTheName) {
  EXPECT_EQ(capture_path("run.pcap", 3), "run.3.pcap");
  EXPECT_EQ(capture_path("/a.b/run", 0), "/a.b/run.0");
  EXPECT_EQ(capture_path("./.pcap", 1), "./.pcap.1");
}

}  // namespace
}  // namespace offramp
