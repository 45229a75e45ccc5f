// Reading accepts every wire type but the deprecated groups, and rejects varints beyond 64 bits and fields
// beyond their message, since the bytes come from a file. Writing needs varints and bytes only.
#include "lib/programs/import/protobuf.hpp"

namespace offramp::trace {

using recording::ByteSpan;

std::optional<std::uint64_t> read_varint(ByteSpan& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < recording::kMostVarintBytes; ++i) {
    const std::uint64_t part = bytes[i] & 0x7FU;
    // The tenth byte has a single bit of a 64-bit number.
    if (i + 1 == recording::kMostVarintBytes && part > 1) return std::nullopt;
    value |= part << (7 * i);
    if (bytes[i] >= 0x80) continue;
    bytes = bytes.subspan(i + 1);
    return value;
  }
  return std::nullopt;
}

bool Fields::next(Field& field) {
  if (!good_ || left_.empty()) return false;
  const auto tag = read_varint(left_);
  // Field numbers begin at 1. The tag has 32 bits: the format's specification.
  good_ = tag && *tag >> 3U != 0 && *tag <= UINT32_MAX;
  if (!good_) return false;
  field = {static_cast<std::uint32_t>(*tag >> 3U), static_cast<Wire>(*tag & 7U), 0, {}};
  switch (field.wire) {
    case Wire::kVarint: {
      const auto value = read_varint(left_);
      good_ = value.has_value();
      field.value = value.value_or(0);
      return good_;
    }
    case Wire::kWord64:
    case Wire::kWord32: {
      const std::size_t size = field.wire == Wire::kWord64 ? 8 : 4;
      good_ = left_.size() >= size;
      if (!good_) return false;
      // Little-endian, on any host.
      field.value = size == 8 ? recording::get_word<std::uint64_t>(left_.data())
                              : recording::get_word<std::uint32_t>(left_.data());
      left_ = left_.subspan(size);
      return true;
    }
    case Wire::kBytes: {
      const auto size = read_varint(left_);
      good_ = size && *size <= left_.size();
      if (!good_) return false;
      field.bytes = left_.first(static_cast<std::size_t>(*size));
      left_ = left_.subspan(static_cast<std::size_t>(*size));
      return true;
    }
  }
  // A deprecated group, or an unknown wire type.
  good_ = false;
  return false;
}

bool add_numbers(const Field& field, std::vector<std::uint64_t>& values) {
  // Writers may choose either form; parsers must accept both.
  if (field.wire != Wire::kBytes) {
    values.push_back(field.value);
    return true;
  }
  for (ByteSpan left = field.bytes; !left.empty();) {
    const auto value = read_varint(left);
    if (!value) return false;
    values.push_back(*value);
  }
  return true;
}

void put_varint(std::string& bytes, std::uint64_t value) {
  // Seven bits a byte, the lowest first; the top bit means that more follow.
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>(value | 0x80U);
  bytes += static_cast<char>(value);
}

void put_number(std::string& message, std::uint32_t field, std::uint64_t value) {
  // The wire type of varints is 0.
  put_varint(message, std::uint64_t{field} << 3U);
  put_varint(message, value);
}

void put_bytes(std::string& message, std::uint32_t field, std::string_view value) {
  put_varint(message, std::uint64_t{field} << 3U | static_cast<std::uint64_t>(Wire::kBytes));
  put_varint(message, value.size());
  message += value;
}

}  // namespace offramp::trace
