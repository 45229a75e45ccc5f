// Shared by the fuzz targets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

namespace offramp::fuzz {

/// A condition for any input. libFuzzer keeps the input that ends the process.
inline void require(bool condition) {
  if (!condition) std::abort();
}

/// Consumes the input from its front; returns zeros at its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : bytes_(reinterpret_cast<const std::byte*>(data), size) {}

  /// The next bytes as a number. The rest of a number beyond the end is zero.
  template <typename Number>
  Number take() {
    Number value{};
    const auto part = bytes(sizeof value);
    std::memcpy(&value, part.data(), part.size());
    return value;
  }
  /// At most `count` bytes, and fewer at the end.
  std::span<const std::byte> bytes(std::size_t count) {
    const auto part = bytes_.first(std::min(count, bytes_.size()));
    bytes_ = bytes_.subspan(part.size());
    return part;
  }
  /// The bytes that are left. They are not consumed.
  [[nodiscard]] std::span<const std::byte> rest() const { return bytes_; }
  [[nodiscard]] std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace offramp::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
