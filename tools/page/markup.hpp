// Text in HTML and SVG. What stands in reports comes from anywhere.
#pragma once

#include <string>
#include <string_view>

namespace offramp::tool {

/// For text, or for the value of an attribute in quotes. Leaves no markup, and no control characters but the
/// end of a line, which separates words outside of <pre>.
inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += (static_cast<unsigned char>(c) < ' ' && c != '\n') || c == 0x7f ? ' ' : c;
    }
  }
  return out;
}

}  // namespace offramp::tool
