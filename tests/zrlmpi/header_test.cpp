#include "simulators/zrlmpi/header.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/zrlmpi/support.hpp"

namespace offramp::zrlmpi {
namespace {

struct Vector {
  std::string_view name;
  Header header;
  std::string_view hex;
};

// Test vectors. The headers of a message of four INT words are those that the library and the engine of
// [zrlmpi-src] send; the others follow from [zrlmpi-protocol].
std::vector<Vector> vectors() {
  Header tagged(0, 1, MpiCall::kSendInt, PacketType::kSendRequest);
  tagged.set(Field::kTagLow, 5);
  return {
      {"SEND_REQUEST of INT",
       {0, 1, MpiCall::kSendInt, PacketType::kSendRequest},
       "96969696 00000000 01000000 00000000 00010000 00000000 00000000 96969696"},
      {"CLEAR_TO_SEND of INT",
       {1, 0, MpiCall::kReceiveInt, PacketType::kClearToSend},
       "96969696 01000000 00000000 00000000 01020000 00000000 00000000 96969696"},
      {"DATA of 4 words",
       {0, 1, MpiCall::kSendInt, PacketType::kData, 4},
       "96969696 00000000 01000000 04000000 00030000 00000000 00000000 96969696"},
      {"ACK of INT",
       {1, 0, MpiCall::kReceiveInt, PacketType::kAck},
       "96969696 01000000 00000000 00000000 01040000 00000000 00000000 96969696"},
      {"ERROR",
       {0, 1, MpiCall::kSendInt, PacketType::kError},
       "96969696 00000000 01000000 00000000 00050000 00000000 00000000 96969696"},
      {"SEND_REQUEST of FLOAT",
       {0, 1, MpiCall::kSendFloat, PacketType::kSendRequest},
       "96969696 00000000 01000000 00000000 02010000 00000000 00000000 96969696"},
      {"CLEAR_TO_SEND of FLOAT",
       {1, 0, MpiCall::kReceiveFloat, PacketType::kClearToSend},
       "96969696 01000000 00000000 00000000 03020000 00000000 00000000 96969696"},
      {"DATA of FLOAT",
       {0, 1, MpiCall::kSendFloat, PacketType::kData, 2},
       "96969696 00000000 01000000 02000000 02030000 00000000 00000000 96969696"},
      {"ACK of FLOAT",
       {1, 0, MpiCall::kReceiveFloat, PacketType::kAck},
       "96969696 01000000 00000000 00000000 03040000 00000000 00000000 96969696"},
      {"DATA to rank 63",
       {63, 0, MpiCall::kSendInt, PacketType::kData, 0x01020304},
       "96969696 3f000000 00000000 04030201 00030000 00000000 00000000 96969696"},
      {"DATA of 3 words",
       {0, 1, MpiCall::kSendInt, PacketType::kData, 3},
       "96969696 00000000 01000000 03000000 00030000 00000000 00000000 96969696"},
      {"DATA of 1054 words",
       {0, 1, MpiCall::kSendInt, PacketType::kData, 1054},
       "96969696 00000000 01000000 1e040000 00030000 00000000 00000000 96969696"},
      {"tagged", tagged, "96969696 00000000 01000000 00000000 00010500 00000000 00000000 96969696"},
      {"DATA of no words",
       {0, 1, MpiCall::kSendInt, PacketType::kData, 0},
       "96969696 00000000 01000000 00000000 00030000 00000000 00000000 96969696"},
  };
}

HeaderImage valid() {
  return encode(Header(0, 1, MpiCall::kSendInt, PacketType::kSendRequest));
}

HeaderError decode_error(std::span<const std::byte> bytes, Format format = Format::kStrict) {
  Header ignored;
  return decode(bytes, format, ignored);
}

TEST(ZrlmpiHeader, FieldsCoverAll32BytesOnceAndInOrder) {
  std::size_t next = 0;
  for (const FieldSpec& spec : kFields) {
    EXPECT_EQ(spec.offset, next) << spec.name;
    next += spec.width;
  }
  EXPECT_EQ(next, kHeaderBytes);
}

TEST(ZrlmpiHeader, VectorsEncodeToTheirBytes) {
  for (const Vector& v : vectors()) EXPECT_EQ(hex(encode(v.header)), without_spaces(v.hex)) << v.name;
}

TEST(ZrlmpiHeader, VectorsDecodeToTheirFields) {
  for (const Vector& v : vectors()) {
    Header header;
    EXPECT_EQ(decode(unhex(v.hex), Format::kExtended, header), HeaderError::kNone) << v.name;
    EXPECT_EQ(header, v.header) << v.name;
    const HeaderError strict = v.name == "tagged" ? HeaderError::kReserved : HeaderError::kNone;
    EXPECT_EQ(decode_error(unhex(v.hex)), strict) << v.name;
  }
}

TEST(ZrlmpiHeader, EveryMagicByteIsChecked) {
  for (const std::size_t i : {0U, 1U, 2U, 3U, 28U, 29U, 30U, 31U}) {
    HeaderImage image = valid();
    image[i] ^= std::byte{1};
    EXPECT_EQ(decode_error(image), i < 4 ? HeaderError::kStart : HeaderError::kEnd) << i;
    EXPECT_EQ(decode_error(image, Format::kExtended), i < 4 ? HeaderError::kStart : HeaderError::kEnd) << i;
  }
}

TEST(ZrlmpiHeader, ReservedBytesMustBeZeroInTheStrictFormat) {
  for (std::size_t i = 18; i <= 27; ++i) {
    HeaderImage image = valid();
    image[i] = std::byte{1};
    EXPECT_EQ(decode_error(image), HeaderError::kReserved) << i;
  }
}

TEST(ZrlmpiHeader, ReservedBytesNeedAVersionInTheExtendedFormat) {
  for (std::size_t i = 19; i <= 27; ++i) {
    HeaderImage image = valid();
    image[i] = std::byte{1};
    EXPECT_EQ(decode_error(image, Format::kExtended), HeaderError::kReserved) << i;
  }
}

TEST(ZrlmpiHeader, SourceRank64IsRejectedAnd63IsNot) {
  EXPECT_EQ(decode_error(encode(Header(0, 64, MpiCall::kSendInt, PacketType::kSendRequest))),
            HeaderError::kSource);
  EXPECT_EQ(decode_error(encode(Header(0, 63, MpiCall::kSendInt, PacketType::kSendRequest))),
            HeaderError::kNone);
}

TEST(ZrlmpiHeader, ShortPacketsAreRejectedAtEveryLength) {
  const HeaderImage image = valid();
  for (std::size_t n = 0; n < kHeaderBytes; ++n) {
    EXPECT_EQ(decode_error(std::span(image).first(n)), HeaderError::kShort) << n;
  }
}

TEST(ZrlmpiHeader, UnassignedCodesAreRejected) {
  for (int code = 0; code < 256; ++code) {
    HeaderImage image = valid();
    image[16] = static_cast<std::byte>(code);
    EXPECT_EQ(decode_error(image) == HeaderError::kNone, code <= 4) << code;
    image = valid();
    image[17] = static_cast<std::byte>(code);
    EXPECT_EQ(decode_error(image) == HeaderError::kNone, code >= 1 && code <= 5) << code;
  }
}

TEST(ZrlmpiHeader, ExtensionCarriesEveryTagContextSequenceAndByteCount) {
  Header header(3, 2, MpiCall::kSendInt, PacketType::kData);
  header.extend(0xfedcba98, 0xbeef, 0x123456);
  header.set_payload_bytes(4097);
  Header read;
  ASSERT_EQ(decode(encode(header), Format::kExtended, read), HeaderError::kNone);
  EXPECT_EQ(read.tag(), 0xfedcba98U);
  EXPECT_EQ(read.context(), 0xbeefU);
  EXPECT_EQ(read.sequence(), 0x123456U);
  EXPECT_EQ(read.words(), 1025U);
  EXPECT_EQ(read.payload_bytes(), 4097U);
  EXPECT_EQ(decode_error(encode(header)), HeaderError::kReserved)
      << "strict nodes drop it without remembering it";
}

TEST(ZrlmpiHeader, AnotherVersionIsRejected) {
  Header header(0, 1, MpiCall::kSendInt, PacketType::kSendRequest);
  header.set(Field::kFlags, 0x20);
  EXPECT_EQ(decode_error(encode(header), Format::kExtended), HeaderError::kVersion);
}

TEST(ZrlmpiHeader, RandomBytesNeverDecodeToSomethingOutOfRange) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    HeaderImage image = valid();
    const int changes = 1 + static_cast<int>(random() % 6);
    for (int c = 0; c < changes; ++c)
      image[random() % image.size()] = static_cast<std::byte>(random() & 0xff);
    Header header;
    if (decode(image, Format::kExtended, header) != HeaderError::kNone) continue;
    EXPECT_LT(header.source(), 64U);
    EXPECT_LE(header.payload_bytes(), kMaximumMessageBytes);
    EXPECT_EQ(encode(header), image);
  }
}

TEST(ZrlmpiErrorBody, NamesExactlyTheKnownCodes) {
  for (const auto& [code, name] : kErrorCodes) {
    EXPECT_EQ(decode_error_body(encode(code)), code);
    EXPECT_FALSE(name.empty());
  }
  EXPECT_EQ(hex(encode(ErrorCode::kWrongType)), "05000000");
  EXPECT_EQ(decode_error_body({}), ErrorCode::kUnnamed) << "a body is optional";
  EXPECT_EQ(decode_error_body(unhex("0500 00")), ErrorCode::kUnnamed);
  EXPECT_EQ(decode_error_body(unhex("0700 0000")), ErrorCode::kUnnamed) << "not assigned";
  EXPECT_EQ(decode_error_body(unhex("0d00 0000 ffff")), ErrorCode::kBadDestination);
}

}  // namespace
}  // namespace offramp::zrlmpi
