// The elements and attributes of SimGrid platform files, in three classes: supported, irrelevant to a
// network, and unsupported but reported.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulators/network/xml_tree.hpp"

namespace offramp {

/// Thrown to refuse a platform file: the line and the reason.
struct WrongPlatform {
  int line;
  std::string what;
};

/// Returns whether an element is irrelevant to a network (properties, disks) and skipped silently.
bool is_passed_over(std::string_view element);
/// Returns whether an element is unsupported and mentioned in a note (profiles, models, actors).
bool is_only_noted(std::string_view element);
/// The value of an attribute. Null if it is missing or empty; SimGrid's default applies.
const std::string* attribute_of(const XmlElement& element, std::string_view attribute);

/// Checks all elements and attributes of the tree. Returns one note per kind of unsupported item, "7:
/// SENTENCE" with the line of the first. Throws WrongPlatform for an unknown element or attribute.
std::vector<std::string> check_elements(const XmlElement& root);

}  // namespace offramp
