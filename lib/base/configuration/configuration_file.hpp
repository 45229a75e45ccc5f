// The configuration file as text and as settings with their places. Everything in it is hostile.
#pragma once

#include <string>
#include <vector>

#include "lib/base/registry/registry.hpp"

namespace offramp {

/// One setting from any source. An empty name stands for the heading of a section.
struct Entry {
  std::string section;
  std::string name;
  RawValue value;
  std::size_t route = 0;  // which [[route]]
  std::size_t line = 0;
  bool in_list = false;  // a heading in [[ ]] that is no [[route]]
};

struct FileText {
  std::string text;
  std::string problem;
  bool passable = false;  // a file that nobody asked for: absent, or not to be trusted
};

/// asked_for: by the user, by name; otherwise it is only used when nobody else can have put it there.
/// Regular files of at most `largest` bytes, a whole number of MiB.
FileText read_file(const std::string& path, bool asked_for, std::size_t largest = std::size_t{1} << 20);

/// Appends a TOML document's settings in the order of its lines. A failure names the place.
Result<void> read_entries(const std::string& path, const std::string& text, std::vector<Entry>& entries);

}  // namespace offramp
