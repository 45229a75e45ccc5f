// Reads an XML document into a tree of elements with their lines. Text between elements is ignored.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp {

/// An element with its attributes and children in order of the document. Lines count from 1.
struct XmlElement {
  std::string name;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<XmlElement> children;
  int line = 0;

  /// Returns null if the attribute is missing.
  [[nodiscard]] const std::string* find(std::string_view attribute) const {
    for (const auto& [key, value] : attributes) {
      if (key == attribute) return &value;
    }
    return nullptr;
  }
};

/// Returns the root. Never reads outside of the text; refuses documents that declare entities, and more than
/// 64 levels or 2^20 elements. file: its name, for messages ("FILE:12: ...").
Result<XmlElement> read_xml(std::string_view text, const std::string& file);

}  // namespace offramp
