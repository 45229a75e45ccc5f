// Fields are packed by one table. The order of the checks in check() decides which error a packet with
// several has. The strict format allows no byte of the extension. The extended one requires the version with
// it, except for byte 18, the optional tag of [zrlmpi-protocol].
#include "simulators/zrlmpi/header.hpp"

namespace offramp::zrlmpi {
namespace {

template <std::size_t N>
std::string_view name_in(const std::array<std::string_view, N>& names, std::size_t index) {
  return index < N ? names[index] : std::string_view("?");
}

/// In the strict format, the bytes of the extension are reserved and must be zero.
bool extension_bytes_fit(const Header& header, Format format) {
  for (const FieldSpec& spec : kFields) {
    if (!spec.extension || header.get(spec.field) == 0) continue;
    if (format == Format::kStrict) return false;
    // The optional tag of [zrlmpi-protocol] needs no extension; all others do.
    if (spec.field != Field::kTagLow && !header.extended()) return false;
  }
  return true;
}

/// The magic words first: without them, the bytes are no header at all.
HeaderError check(const Header& header, Format format) {
  if (header.get(Field::kStart) != kMagic) return HeaderError::kStart;
  if (header.get(Field::kEnd) != kMagic) return HeaderError::kEnd;
  if (header.source() >= static_cast<std::uint32_t>(kMaximumNodes)) return HeaderError::kSource;
  if (header.call() >= MpiCall::kCount) return HeaderError::kCall;
  if (header.type() == PacketType::kNone || header.type() >= PacketType::kCount) return HeaderError::kType;
  if (!extension_bytes_fit(header, format)) return HeaderError::kReserved;
  if (header.extended() && (header.get(Field::kFlags) & Header::kVersionMask) != Header::kVersion)
    return HeaderError::kVersion;
  return HeaderError::kNone;
}

}  // namespace

std::string_view to_string(MpiCall call) {
  static constexpr std::array<std::string_view, 5> kNames = {"SEND_INT", "RECV_INT", "SEND_FLOAT",
                                                             "RECV_FLOAT", "BARRIER"};
  return name_in(kNames, static_cast<std::size_t>(call));
}

std::string_view to_string(PacketType type) {
  static constexpr std::array<std::string_view, 6> kNames = {"NONE", "SEND_REQUEST", "CLEAR_TO_SEND",
                                                             "DATA", "ACK",          "ERROR"};
  return name_in(kNames, static_cast<std::size_t>(type));
}

std::string_view to_string(HeaderError error) {
  static constexpr std::array<std::string_view, 9> kNames = {"none",
                                                             "shorter than 32 bytes",
                                                             "wrong start",
                                                             "wrong end",
                                                             "source rank beyond 63",
                                                             "unknown call",
                                                             "unknown packet type",
                                                             "reserved byte not zero",
                                                             "unknown version"};
  return name_in(kNames, static_cast<std::size_t>(error));
}

MpiCall partner(MpiCall call) {
  switch (call) {
    case MpiCall::kSendInt:
      return MpiCall::kReceiveInt;
    case MpiCall::kReceiveInt:
      return MpiCall::kSendInt;
    case MpiCall::kSendFloat:
      return MpiCall::kReceiveFloat;
    case MpiCall::kReceiveFloat:
      return MpiCall::kSendFloat;
    case MpiCall::kBarrier:
    case MpiCall::kCount:
      break;
  }
  return MpiCall::kBarrier;
}

std::uint64_t read_little_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i > 0; --i)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[i - 1]);
  return value;
}

void write_little_endian(std::uint64_t value, std::span<std::byte> bytes) {
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
}

void Header::extend(std::uint32_t tag, std::uint32_t context, std::uint32_t sequence) {
  set_flag(kVersion);
  set(Field::kTagLow, tag & 0xff);
  set(Field::kTagHigh, tag >> 8);
  set(Field::kContext, context & 0xffff);
  set(Field::kSequence, sequence & 0xffffff);
}

void Header::set_payload_bytes(std::uint64_t bytes) {
  const std::uint64_t words = (bytes + 3) / 4;
  set(Field::kSize, static_cast<std::uint32_t>(words));
  // 0 to 3, which the flags have two bits for.
  const auto padding = static_cast<std::uint32_t>(words * 4 - bytes);
  set(Field::kFlags, (get(Field::kFlags) & ~kPaddingMask) | padding);
}

HeaderImage encode(const Header& header) {
  HeaderImage image{};
  for (const FieldSpec& spec : kFields) {
    const std::uint32_t mask = spec.width >= 4 ? ~std::uint32_t{0} : (1U << (8U * spec.width)) - 1;
    write_little_endian(header.get(spec.field) & mask, std::span(image).subspan(spec.offset, spec.width));
  }
  return image;
}

HeaderError decode(std::span<const std::byte> bytes, Format format, Header& header) {
  if (bytes.size() < kHeaderBytes) return HeaderError::kShort;
  Header read;
  for (const FieldSpec& spec : kFields) {
    read.set(spec.field,
             static_cast<std::uint32_t>(read_little_endian(bytes.subspan(spec.offset, spec.width))));
  }
  const HeaderError error = check(read, format);
  // The caller's header is unchanged otherwise.
  if (error == HeaderError::kNone) header = read;
  return error;
}

std::array<std::byte, FragmentBlock::kBytes> encode(const FragmentBlock& block) {
  std::array<std::byte, FragmentBlock::kBytes> image{};
  write_little_endian(block.total, std::span(image).first(8));
  write_little_endian(block.offset, std::span(image).last(8));
  return image;
}

std::optional<FragmentBlock> decode_fragment_block(std::span<const std::byte> bytes) {
  if (bytes.size() < FragmentBlock::kBytes) return std::nullopt;
  return FragmentBlock{read_little_endian(bytes.first(8)), read_little_endian(bytes.subspan(8, 8))};
}

std::array<std::byte, kErrorBytes> encode(ErrorCode code) {
  std::array<std::byte, kErrorBytes> image{};
  write_little_endian(static_cast<std::uint64_t>(code), image);
  return image;
}

ErrorCode decode_error_body(std::span<const std::byte> body) {
  if (body.size() < kErrorBytes) return ErrorCode::kUnnamed;
  const std::uint64_t read = read_little_endian(body.first(kErrorBytes));
  for (const NamedErrorCode& row : kErrorCodes) {
    if (read == static_cast<std::uint64_t>(row.code)) return row.code;
  }
  return ErrorCode::kUnnamed;
}

}  // namespace offramp::zrlmpi
