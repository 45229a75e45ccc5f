// The elements and attributes of SimGrid's platform files: which ones are read, which ones say nothing about
// a network, and which ones are reported because they are not read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "simulators/network/xml_tree.hpp"

namespace offramp {

/// A platform file is refused by throwing one: the line, and what is wrong there.
struct WrongPlatform {
  int line;
  std::string what;
};

/// Elements that describe no network: properties, disks. They are passed over without a note.
bool is_passed_over(std::string_view element);
/// Elements that are not read and that a note names: profiles, models, actors.
bool is_only_noted(std::string_view element);
/// The value of an attribute. Null if the attribute is missing or empty, as SimGrid's defaults are.
const std::string* given(const XmlElement& element, std::string_view attribute);

/// Checks each element and attribute of the tree. Returns a sentence for each kind of thing that is not
/// read, "7: SENTENCE" with the line of the first. Throws WrongPlatform for an unknown element or attribute.
std::vector<std::string> check_elements(const XmlElement& root);

}  // namespace offramp
