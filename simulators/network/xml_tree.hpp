// An XML document as a tree of elements, each with the line at which it begins. Text between elements is left
// out.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp {

struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;
  int line = 0;

  /// Null: it has none of this name.
  [[nodiscard]] const std::string* find(std::string_view attribute) const {
    for (const auto& [key, value] : attributes) {
      if (key == attribute) return &value;
    }
    return nullptr;
  }
};

/// The root. Nothing outside of the text is read, entities of its own are refused, and so are more than 64
/// levels or 2^20 elements. file: its name, for messages ("FILE:12: ...").
Result<XmlElement> read_xml(std::string_view text, const std::string& file);

}  // namespace offramp
