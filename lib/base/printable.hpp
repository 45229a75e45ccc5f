// Makes text from files, names, and other processes safe for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace offramp {

/// Escapes unprintable bytes, and truncates the text to `longest` bytes.
std::string printable(std::string_view text, std::size_t longest = 200);
/// The result of printable() in double quotes, truncated further: for values.
std::string in_quotes(std::string_view text);

}  // namespace offramp
