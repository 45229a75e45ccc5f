// Headers come from a wire: decoding is safe for any bytes, and an accepted header is consistent.
#include "lib/run/engine/envelope.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace offramp {
namespace {

constexpr EnvelopeLimits kLimits{4, 2};
constexpr std::size_t kEnvelopeBytes = 100;

Envelope valid() {
  Envelope envelope;
  envelope.backend = 1;
  envelope.bytes = kEnvelopeBytes;
  envelope.source = 3;
  envelope.source_world = 3;
  envelope.tag = 7;
  envelope.element = ElementType::kInt32;
  return envelope;
}

bool accepted(const Envelope& e, std::size_t payload = kEnvelopeBytes) {
  return decode(e.encoded(), payload, kLimits).has_value();
}

TEST(AnEnvelope, IsEqualAfterDecoding) {
  const Envelope sent = valid();
  const auto got = decode(sent.encoded(), kEnvelopeBytes, kLimits);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(std::memcmp(got->encoded().data(), sent.encoded().data(), sizeof(Envelope)), 0);
}

TEST(AnEnvelope, WithAnyOtherLengthIsRefused) {
  const Envelope header = valid();
  std::vector<std::byte> bytes(header.encoded().begin(), header.encoded().end());
  bytes.resize(1000);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode({bytes.data(), size}, kEnvelopeBytes, kLimits).has_value(), size == sizeof(Envelope))
        << size;
  }
}

TEST(AnEnvelope, WithAFieldOutOfRangeIsRefused) {
  const std::vector<std::pair<const char*, std::function<void(Envelope&)>>> spoilers = {
      {"kind 0", [](Envelope& e) { e.kind = EnvelopeKind{0}; }},
      {"kind 3", [](Envelope& e) { e.kind = EnvelopeKind{3}; }},
      {"unknown flag", [](Envelope& e) { e.flags |= 128; }},
      {"element", [](Envelope& e) { e.element = static_cast<ElementType>(16); }},
      {"negative source", [](Envelope& e) { e.source = -1; }},
      {"source", [](Envelope& e) { e.source = 4; }},
      {"world source", [](Envelope& e) { e.source_world = 4; }},
      {"negative tag", [](Envelope& e) { e.tag = -1; }},
      {"more bytes than payload", [](Envelope& e) { e.bytes = kEnvelopeBytes + 1; }},
      {"all bytes", [](Envelope& e) { e.bytes = UINT64_MAX; }},
      {"backend", [](Envelope& e) { e.backend = 2; }},
  };
  for (const auto& [name, spoil] : spoilers) {
    Envelope envelope = valid();
    spoil(envelope);
    EXPECT_FALSE(accepted(envelope)) << name;
  }
  Envelope reply = valid();
  reply.kind = EnvelopeKind::kReply;
  EXPECT_TRUE(accepted(reply, 0));
  EXPECT_FALSE(accepted(reply, 1)) << "a reply with payload";
  reply.kind = EnvelopeKind::kWindow;
  EXPECT_TRUE(accepted(reply, 0));
  EXPECT_FALSE(accepted(reply, 1)) << "a piece of window with payload";
}

void expect_sound(const Envelope& e, std::size_t payload) {
  EXPECT_LT(e.backend, kLimits.backends);
  EXPECT_LT(e.source_world, kLimits.ranks);
  if (e.kind == EnvelopeKind::kReply) return;
  EXPECT_GE(e.source, 0);
  EXPECT_LT(e.source, static_cast<int>(kLimits.ranks));
  EXPECT_GE(e.tag, 0);
  EXPECT_LE(e.element, ElementType::kMixed);
  EXPECT_EQ(e.bytes, payload);
}

TEST(AnEnvelope, WithRandomBytesIsValidOrRefused) {
  std::mt19937_64 random(1);
  std::vector<std::byte> bytes(sizeof(Envelope));
  for (int round = 0; round < 100000; ++round) {
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    const std::size_t payload = random() % 4;
    if (const auto header = decode(bytes, payload, kLimits)) expect_sound(*header, payload);
  }
}

TEST(AnEnvelope, ThatWasChangedOnTheWayIsSoundOrRefused) {
  std::mt19937_64 random(2);
  const Envelope original = valid();
  int refused = 0;
  for (int round = 0; round < 200000; ++round) {
    std::vector<std::byte> bytes(original.encoded().begin(), original.encoded().end());
    for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    const auto header = decode(bytes, kEnvelopeBytes, kLimits);
    header ? expect_sound(*header, kEnvelopeBytes) : static_cast<void>(++refused);
  }
  EXPECT_GT(refused, 50000);
}

}  // namespace
}  // namespace offramp
