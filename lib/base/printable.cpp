// Escapes byte by byte: UTF-8 beyond ASCII is escaped, too, so messages are plain ASCII in any locale.
#include "lib/base/printable.hpp"

#include <fmt/core.h>

namespace offramp {

using std::string_view;

std::string printable(string_view text, std::size_t longest) {
  std::string result;
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + (text.size() > longest ? "..." : "");
}

std::string in_quotes(string_view text) {
  // Messages stay on one line.
  return fmt::format("\"{}\"", printable(text, 60));
}

}  // namespace offramp
