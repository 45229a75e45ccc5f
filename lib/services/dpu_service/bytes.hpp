// Little-endian numbers in byte strings. The reader treats all bytes as hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "lib/services/dpu_service/transport.hpp"

namespace offramp::dpu {

class Writer {
 public:
  template <typename Number>
  Writer& put(Number value) {
    auto bits = static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<Number>>(value));
    for (std::size_t i = 0; i < sizeof(Number); ++i, bits >>= 8U)
      bytes_.push_back(static_cast<std::byte>(bits & 0xffU));
    return *this;
  }
  Writer& put(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  void fields(const auto&... numbers) { (put(numbers), ...); }
  Bytes release() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  /// Returns 0 if there are too few bytes; check is_valid().
  template <typename Number>
  Number get() {
    if (bytes_.size() < sizeof(Number)) {
      good_ = false;
      bytes_ = {};
      return Number{};
    }
    std::uint64_t bits = 0;
    for (std::size_t i = sizeof(Number); i-- > 0;)
      bits = (bits << 8U) | static_cast<std::uint64_t>(bytes_[i]);
    bytes_ = bytes_.subspan(sizeof(Number));
    return static_cast<Number>(bits);
  }
  std::span<const std::byte> get(std::size_t count) {
    if (bytes_.size() < count) {
      good_ = false;
      return {};
    }
    const auto part = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return part;
  }
  template <typename... Numbers>
  void fields(Numbers&... numbers) {
    ((numbers = get<Numbers>()), ...);
  }
  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }
  [[nodiscard]] bool is_valid() const { return good_; }
  [[nodiscard]] bool finished() const { return good_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool good_ = true;
};

/// For messages with fixed fields, which Message::fields() lists once for both directions.
template <typename Message>
Bytes encode_message(const Message& message) {
  Writer writer;
  Message::fields(writer, message);
  return writer.release();
}
/// `nullopt` unless the bytes are exactly one message.
template <typename Message>
std::optional<Message> decode_message(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Message message;
  Message::fields(reader, message);
  return reader.finished() ? std::optional(message) : std::nullopt;
}

}  // namespace offramp::dpu
