// Headers come from a wire: whatever their bytes are, decoding them is safe, and what is accepted holds
// together.
#include "lib/engine/envelope.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace offramp {
namespace {

constexpr EnvelopeLimits kLimits{4, 2};
constexpr std::size_t kBytes = 100;

Header valid() {
  Header header;
  header.envelope.backend = 1;
  header.envelope.bytes = kBytes;
  header.envelope.source = 3;
  header.envelope.source_world = 3;
  header.envelope.tag = 7;
  header.envelope.element = ElementType::kInt32;
  header.stamp = {Time::ns(1), Time::ns(2), 1};
  return header;
}

bool accepted(const Header& header, std::size_t payload = kBytes) {
  return decode(header.encoded(true), payload, kLimits).has_value();
}

TEST(AnEnvelope, IsTheSameAfterDecoding) {
  const Header sent = valid();
  const auto got = decode(sent.encoded(true), kBytes, kLimits);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(std::memcmp(got->encoded(true).data(), sent.encoded(true).data(), sizeof(Header)), 0);
}

TEST(AnEnvelope, OfAnyOtherLengthIsRefused) {
  const Header header = valid();
  std::vector<std::byte> bytes(header.encoded(true).begin(), header.encoded(true).end());
  bytes.resize(1000);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode({bytes.data(), size}, kBytes, kLimits).has_value(), size == sizeof(Header)) << size;
  }
}

TEST(AnEnvelope, WithAFieldOutOfRangeIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(Header&)>>> spoilers = {
      {"kind 0", [](Header& h) { h.envelope.kind = EnvelopeKind{0}; }},
      {"kind 3", [](Header& h) { h.envelope.kind = EnvelopeKind{3}; }},
      {"unknown flag", [](Header& h) { h.envelope.flags |= 128; }},
      {"element", [](Header& h) { h.envelope.element = static_cast<ElementType>(16); }},
      {"negative source", [](Header& h) { h.envelope.source = -1; }},
      {"source", [](Header& h) { h.envelope.source = 4; }},
      {"world source", [](Header& h) { h.envelope.source_world = 4; }},
      {"negative tag", [](Header& h) { h.envelope.tag = -1; }},
      {"more bytes than payload", [](Header& h) { h.envelope.bytes = kBytes + 1; }},
      {"all bytes", [](Header& h) { h.envelope.bytes = UINT64_MAX; }},
      {"backend", [](Header& h) { h.envelope.backend = 2; }},
      {"time before the beginning", [](Header& h) { h.stamp.first = Time::ps(-1); }},
      {"time that overflows", [](Header& h) { h.stamp.last = Time::never(); }},
  };
  for (const auto& [name, spoil] : spoilers) {
    Header header = valid();
    spoil(header);
    EXPECT_FALSE(accepted(header)) << name;
  }
  Header reply = valid();
  reply.envelope.kind = EnvelopeKind::kReply;
  EXPECT_TRUE(accepted(reply, 0));
  EXPECT_FALSE(accepted(reply, 1)) << "a reply with payload";
  reply.envelope.kind = EnvelopeKind::kWindow;
  EXPECT_TRUE(accepted(reply, 0));
  EXPECT_FALSE(accepted(reply, 1)) << "a piece of window with payload";
  reply.envelope.kind = EnvelopeKind::kReply;
  reply.stamp.first = Time::ps(-1);
  EXPECT_FALSE(accepted(reply, 0)) << "a reply's time";
}

TEST(AnEnvelope, HasNoStampWithoutALiveClock) {
  const Header sent = valid();
  EnvelopeLimits limits = kLimits;
  limits.stamped = false;
  const auto got = decode(sent.encoded(false), kBytes, limits);
  ASSERT_TRUE(got);
  EXPECT_EQ(sent.encoded(false).size(), 48U);
  EXPECT_EQ(std::memcmp(&got->envelope, &sent.envelope, sizeof(Envelope)), 0);
  EXPECT_EQ(got->stamp.first, Time());
  EXPECT_FALSE(decode(sent.encoded(true), kBytes, limits)) << "of a rank that has a live clock";
  EXPECT_FALSE(decode(sent.encoded(false), kBytes, kLimits)) << "of a rank that has none";
}

void expect_sound(const Header& header, std::size_t payload) {
  const Envelope& e = header.envelope;
  EXPECT_LT(e.backend, kLimits.backends);
  EXPECT_LT(e.source_world, kLimits.ranks);
  if (e.kind == EnvelopeKind::kReply) return;
  EXPECT_GE(e.source, 0);
  EXPECT_LT(e.source, static_cast<int>(kLimits.ranks));
  EXPECT_GE(e.tag, 0);
  EXPECT_LE(e.element, ElementType::kMixed);
  EXPECT_EQ(e.bytes, payload);
}

TEST(AnEnvelope, OfRandomBytesIsSoundOrRefused) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes(sizeof(Header));
  for (int round = 0; round < 100000; ++round) {
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    const std::size_t payload = random() % 4;
    if (const auto header = decode(bytes, payload, kLimits)) expect_sound(*header, payload);
  }
}

TEST(AnEnvelope, ThatWasChangedOnTheWayIsSoundOrRefused) {
  std::mt19937_64 random(2);
  const Header original = valid();
  int refused = 0;
  for (int round = 0; round < 200000; ++round) {
    std::vector<std::byte> bytes(original.encoded(true).begin(), original.encoded(true).end());
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    const auto header = decode(bytes, kBytes, kLimits);
    header ? expect_sound(*header, kBytes) : static_cast<void>(++refused);
  }
  EXPECT_GT(refused, 50000);
}

}  // namespace
}  // namespace offramp
