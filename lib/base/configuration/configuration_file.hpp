// Reads the configuration file into settings with their places. The file is untrusted.
#pragma once

#include <string>
#include <vector>

#include "lib/base/registry/registry.hpp"

namespace offramp {

/// One setting from any source. An empty name marks the heading of a section.
struct Entry {
  std::string section;
  std::string name;
  RawValue value;
  std::size_t route = 0;  // index of the [[route]]
  std::size_t line = 0;
  bool in_list = false;  // a heading in [[ ]] other than [[route]]
};

/// The text, or the problem that kept it from being read.
struct FileText {
  std::string text;
  std::string problem;
  bool passable = false;  // absent or untrusted, but may be skipped: the user did not name the file
};

/// Reads a regular file of at most `largest` bytes, a whole number of MiB. asked_for: named by the user; a
/// file that was only found must be trusted (see load_configuration()).
FileText read_file(const std::string& path, bool asked_for, std::size_t largest = std::size_t{1} << 20);

/// Appends a TOML document's settings in the order of its lines. A failure includes the place.
Result<void> read_entries(const std::string& path, const std::string& text, std::vector<Entry>& entries);

/// Restricts an offramp.toml that the user did not name: it is in the folder in which a command was started,
/// and may have come with an archive or a repository. It may set parameters. It may not load code or name
/// outputs outside of its folder. Fails for an entry that it may not have; the failure includes the place.
Result<void> check_found_file(const std::vector<Entry>& entries, const std::string& folder);

}  // namespace offramp
