// Reads a text file of any length line by line, with one block and one line in memory.
#pragma once

#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/recording/source.hpp"

namespace offramp::trace {

/// The limit for one line: an all-to-all with sizes per rank has two numbers for each of a million ranks.
inline constexpr std::size_t kLongestLine = std::size_t{32} << 20U;

/// Owns its buffer. A line is valid until the next call of next().
class Lines {
 public:
  /// Reads from `offset`, behind line `number`, up to `end` or the end of the file.
  explicit Lines(std::shared_ptr<const recording::Source> source, std::uint64_t offset = 0,
                 std::uint64_t number = 0, std::uint64_t end = UINT64_MAX);
  /// Keeps the buffer for the thread's next object.
  ~Lines();

  /// Returns the next line without its end. Returns false at the end or on an error().
  bool next(std::string_view& line);
  /// The number of the last line, counted from 1.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// The offset of the last line.
  [[nodiscard]] std::uint64_t offset() const { return begin_; }
  /// The offset of the next line.
  [[nodiscard]] std::uint64_t next_offset() const { return read_ - rest_.size(); }
  /// Returns true if the line ended with a newline instead of the end of the file.
  [[nodiscard]] bool whole() const { return whole_; }
  /// The lines after the last one that need no further read, and the start of one more.
  [[nodiscard]] std::string_view rest() const { return rest_; }
  /// Skips whole lines at the beginning of rest().
  void skip(std::size_t bytes, std::uint64_t lines) {
    rest_.remove_prefix(bytes);
    number_ += lines;
  }
  /// Why reading failed. Empty at a regular end.
  [[nodiscard]] const std::string& error() const { return error_; }
  /// "FILE:12: what", for the last line.
  [[nodiscard]] std::string at(std::string_view what) const;
  /// The name for messages.
  [[nodiscard]] const std::string& file() const { return source_->name(); }

 private:
  /// Reads the next block. Returns false at the end or on an error.
  bool fill();
  /// Works like next() for a line that does not end in this block.
  bool next_across_blocks(std::string_view& line);

  std::shared_ptr<const recording::Source> source_;
  std::vector<std::uint8_t> buffer_;
  std::string_view rest_;  // rest of the block
  std::uint64_t read_;     // offset of the next block
  std::uint64_t end_;
  std::uint64_t number_;
  std::uint64_t begin_;
  bool whole_ = false;
  std::string long_line_;  // a line across several blocks
  std::string error_;
};

/// Also true for the first half of a line's end of Windows.
constexpr bool is_blank(char letter) {
  return letter <= ' ' && (letter == ' ' || letter == '\t' || letter == '\r');
}

/// The words of a line between blanks and tabs, one after the other.
class Words {
 public:
  explicit Words(std::string_view line) : at_(line.data()), end_(at_ + line.size()) {}
  /// Returns the next word. Empty at the end of the line.
  std::string_view next() {
    while (at_ != end_ && is_blank(*at_)) ++at_;
    const char* const begin = at_;
    while (at_ != end_ && !is_blank(*at_)) ++at_;
    return {begin, static_cast<std::size_t>(at_ - begin)};
  }
  /// Skips the next word and a colon, and returns the word. Empty, and skips nothing, if no colon follows it.
  std::string_view next_label();
  /// What has not been returned yet.
  [[nodiscard]] std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

 private:
  const char* at_;
  const char* end_;
};

/// Splits at blanks and tabs. words: reused.
void split(std::string_view line, std::vector<std::string_view>& words);

/// The whole word as a number. A sign is only allowed for signed types.
template <typename Number>
std::optional<Number> number_in(std::string_view word) {
  Number value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

/// "1, 2". `nullopt` if a part is no number.
std::optional<std::vector<std::int64_t>> numbers_in(std::string_view list);

}  // namespace offramp::trace
