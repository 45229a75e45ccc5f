// A line within a block is returned as a view into it. Only a line across blocks is copied, and its length is
// limited, so that a file without newlines does not fill the memory.
#include "lib/programs/import/lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace offramp::trace {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10U;

thread_local std::vector<std::uint8_t> spare_buffer;

}  // namespace

Lines::Lines(std::shared_ptr<const recording::Source> source, std::uint64_t offset, std::uint64_t number,
             std::uint64_t end)
    : source_(std::move(source)),
      buffer_(std::exchange(spare_buffer, {})),
      read_(offset),
      end_(end),
      number_(number),
      begin_(offset) {}

Lines::~Lines() {
  spare_buffer.swap(buffer_);
}

bool Lines::fill() {
  const std::uint64_t left = end_ - std::min(read_, end_);
  const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, kBlock));
  const Result<recording::ByteSpan> block = source_->read(read_, count, buffer_);
  if (!block) error_ = block.error();
  rest_ = block ? recording::text_of(*block) : std::string_view();
  read_ += rest_.size();
  return !rest_.empty();
}

bool Lines::next(std::string_view& line) {
  begin_ = read_ - rest_.size();
  if (rest_.empty() && error_.empty()) (void)fill();
  const std::size_t end = rest_.find('\n');
  whole_ = end != std::string_view::npos;
  if (whole_) {
    line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
  } else if (!next_across_blocks(line)) {
    return false;
  }
  ++number_;
  // Files from other systems end their lines with a carriage return.
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

bool Lines::next_across_blocks(std::string_view& line) {
  long_line_.clear();
  for (bool begun = false; !whole_; begun = true) {
    if (rest_.empty() && (!error_.empty() || !fill())) {
      line = long_line_;
      return begun && error_.empty();
    }
    const std::size_t end = rest_.find('\n');
    const std::string_view part = rest_.substr(0, end);
    if (long_line_.size() + part.size() > kLongestLine) {
      error_ = fmt::format("{}:{}: the line is longer than {} MiB", file(), number_ + 1, kLongestLine >> 20U);
      rest_ = {};
      return false;
    }
    long_line_ += part;
    whole_ = end != std::string_view::npos;
    rest_.remove_prefix(whole_ ? end + 1 : rest_.size());
  }
  line = long_line_;
  return true;
}

std::string Lines::at(std::string_view what) const {
  return fmt::format("{}:{}: {}", file(), number_, what);
}

std::string_view Words::next_label() {
  const char* const before = at_;
  while (at_ != end_ && is_blank(*at_)) ++at_;
  const char* const begin = at_;
  while (at_ != end_ && *at_ != ':' && !is_blank(*at_)) ++at_;
  const std::string_view label(begin, static_cast<std::size_t>(at_ - begin));
  while (at_ != end_ && is_blank(*at_)) ++at_;
  if (at_ != end_ && *at_ == ':' && !label.empty()) {
    ++at_;
    return label;
  }
  at_ = before;
  return {};
}

void split(std::string_view line, std::vector<std::string_view>& words) {
  words.clear();
  Words left(line);
  for (std::string_view word = left.next(); !word.empty(); word = left.next()) words.push_back(word);
}

std::optional<std::vector<std::int64_t>> numbers_in(std::string_view list) {
  std::vector<std::int64_t> values;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const auto value = number_in<std::int64_t>(list.substr(0, end));
    if (!value) return std::nullopt;
    values.push_back(*value);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (list.starts_with(' ')) list.remove_prefix(1);
  }
  return values;
}

}  // namespace offramp::trace
