// Numbers as bytes: little-endian words in headers, varints (LEB128) in payloads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace offramp::recording {

using ByteSpan = std::span<const std::uint8_t>;

/// Refers to the text, which must outlive the result.
inline ByteSpan byte_span(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
/// Refers to the bytes, which must outlive the result.
inline std::string_view text_of(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Little-endian on any machine. `at` must have room for the word.
void put_word(std::uint8_t* at, auto word) {
  for (std::size_t i = 0; i < sizeof word; ++i) at[i] = static_cast<std::uint8_t>(word >> (8 * i));
}
/// Reverses put_word(). `at` must have the bytes of a word.
template <typename Word>
Word get_word(const std::uint8_t* at) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i) word |= std::uint64_t{at[i]} << (8 * i);
  return static_cast<Word>(word);
}

/// Maps small magnitudes to small numbers: 0, -1, 1, -2, ... Modulo 2^64, as for differences.
constexpr std::uint64_t zigzag(std::uint64_t difference) {
  return difference << 1U ^ (0 - (difference >> 63U));
}
/// Reverses zigzag(), also for numbers from damaged files.
constexpr std::uint64_t unzigzag(std::uint64_t number) {
  return number >> 1U ^ (0 - (number & 1U));
}

/// Bytes. Seven bits each, for 64 bits.
inline constexpr std::size_t kMostVarintBytes = 10;

/// Returns the end of the written bytes.
inline std::uint8_t* put_varint(std::uint8_t* at, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7U) *at++ = static_cast<std::uint8_t>(number | 0x80U);
  *at++ = static_cast<std::uint8_t>(number);
  return at;
}
/// The size of the number as a varint.
constexpr std::size_t varint_bytes(std::uint64_t number) {
  std::size_t bytes = 1;
  for (; number >= 0x80; number >>= 7U) ++bytes;
  return bytes;
}

/// The bytes of an open block. A signal handler may read the committed part at any time: growing keeps the
/// old memory until the new one is in place.
class Payload {
 public:
  /// Appends a varint. Readers see it after commit().
  void put(std::uint64_t number) {
    reserve(kMostVarintBytes);
    end_ = static_cast<std::size_t>(put_varint(&data_[end_], number) - data_.get());
  }
  /// Appends bytes as they are. Readers see them after commit().
  void put(ByteSpan bytes) {
    reserve(bytes.size());
    std::copy(bytes.begin(), bytes.end(), &data_[end_]);
    end_ += bytes.size();
  }
  /// Makes the bytes put so far visible to readers, as one unit.
  void commit() {
    std::atomic_signal_fence(std::memory_order_release);
    committed_ = end_;
    std::atomic_signal_fence(std::memory_order_release);
  }
  /// Keeps the memory for the next block.
  void clear() { committed_ = end_ = 0; }
  /// Committed bytes.
  [[nodiscard]] std::size_t size() const { return committed_; }
  /// The committed part. Valid until the next put().
  [[nodiscard]] ByteSpan bytes() const { return {data_.get(), committed_}; }

 private:
  /// Makes room after what has been put.
  void reserve(std::size_t more) {
    if (end_ + more > capacity_) grow(more);
  }
  /// Swaps the memory in one step, for signal handlers.
  void grow(std::size_t more) {
    // Bytes. Doubling makes appending cheap on average.
    const std::size_t capacity = std::max({std::size_t{256}, 2 * capacity_, end_ + more});
    auto bigger = std::make_unique_for_overwrite<std::uint8_t[]>(capacity);
    std::copy_n(data_.get(), end_, bigger.get());
    std::atomic_signal_fence(std::memory_order_release);
    // The old memory is freed after this function: a handler that interrupts it still reads valid bytes.
    data_.swap(bigger);
    std::atomic_signal_fence(std::memory_order_release);
    capacity_ = capacity;
  }

  std::unique_ptr<std::uint8_t[]> data_;
  std::size_t committed_ = 0;
  /// With what has been put but not committed.
  std::size_t end_ = 0;
  std::size_t capacity_ = 0;
};

/// Reads numbers from untrusted bytes. After the first problem all values are 0.
class Cursor {
 public:
  Cursor() = default;
  explicit Cursor(ByteSpan bytes) : bytes_(bytes) {}

  /// Also true after a problem.
  [[nodiscard]] bool empty() const { return at_ == bytes_.size(); }
  /// Bytes that have not been read.
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }
  /// Bytes from the beginning.
  [[nodiscard]] std::size_t position() const { return at_; }
  /// Null if there is no problem so far.
  [[nodiscard]] const char* problem() const { return problem_; }
  /// Notes the first problem, and skips the rest. problem: a literal.
  void fail(const char* problem) {
    if (problem_ == nullptr) problem_ = problem;
    at_ = bytes_.size();
  }

  /// A varint of at most 64 bits.
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (empty()) return fail("it ends within a number"), 0;
      const std::uint8_t byte = bytes_[at_++];
      // The tenth byte has room for one bit.
      if (shift == 63 && byte > 1) break;
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return number;
    }
    return fail("a number has more than 64 bits"), 0;
  }
  /// A number of at most `most`.
  std::uint64_t number(std::uint64_t most, const char* problem) {
    const std::uint64_t value = number();
    if (value <= most) return value;
    return fail(problem), 0;
  }
  /// Refers to the bytes that the cursor reads.
  ByteSpan bytes(std::size_t count) {
    if (count > left()) return fail("it ends within a text"), ByteSpan{};
    at_ += count;
    return bytes_.subspan(at_ - count, count);
  }

 private:
  ByteSpan bytes_;
  std::size_t at_ = 0;
  const char* problem_ = nullptr;
};

}  // namespace offramp::recording
