// A text file line by line, whatever its length: of the file there is one block in memory, and the line.
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

/// Of one line: an all-to-all with a size per rank has two numbers for each of a million ranks.
inline constexpr std::size_t kLongestLine = std::size_t{32} << 20U;

class Lines {
 public:
  explicit Lines(std::shared_ptr<const recording::Source> source, std::uint64_t offset = 0,
                 std::uint64_t number = 0);

  /// Without its end. False: there are no more, or error() says why not.
  bool next(std::string_view& line);
  /// Of the line that next() gave, counted from 1.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  /// Where it begins.
  [[nodiscard]] std::uint64_t offset() const { return begin_; }
  /// Where the next one begins.
  [[nodiscard]] std::uint64_t next_offset() const { return read_ - rest_.size(); }
  /// It ended with the character of a line's end, not with the file.
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  /// "FILE:12: what", of that line.
  [[nodiscard]] std::string at(std::string_view what) const;
  [[nodiscard]] const std::string& file() const { return source_->name(); }

 private:
  bool fill();

  std::shared_ptr<const recording::Source> source_;
  std::vector<std::uint8_t> buffer_;
  std::string_view rest_;  // of the block, not given yet
  std::uint64_t read_;     // where the next block begins
  std::uint64_t number_;
  std::uint64_t begin_;
  bool whole_ = false;
  std::string long_line_;  // a line that lies in several blocks
  std::string error_;
};

/// The words between blanks and tabs. words: used again.
void split(std::string_view line, std::vector<std::string_view>& words);

/// The whole word as a number without a sign in front, unless the type has one.
template <typename Number>
std::optional<Number> number_in(std::string_view word) {
  Number value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || problem != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

}  // namespace offramp::trace
