// Parses the parts of short texts that describe a network: separated parts and whole numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace offramp {

/// "a,,b" at ',' becomes "a", "", "b". Returns at least one part.
inline std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// `nullopt` if the text is not exactly a whole number within the bounds.
inline std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least,
                                                std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    return std::nullopt;
  return value;
}

}  // namespace offramp
