// Text from files, names, and other processes, as it goes into messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace offramp {

/// The text with unprintable bytes escaped. Cut when it is longer.
std::string printable(std::string_view text, std::size_t longest = 200);
/// The text as printable() returns it, in double quotes and shorter: for values.
std::string in_quotes(std::string_view text);

}  // namespace offramp
