// The place of an output: the folder that it goes to, and what lies there under its name. Only
// output_file.cpp and output_folder.cpp use it.
#pragma once

#include <sys/stat.h>

#include <string>

#include "lib/base/output_file.hpp"

namespace offramp {

/// Where an output goes: an open folder, and a name in it that is not a link.
struct Place {
  OpenFile folder;
  std::string folder_path;
  std::string name;
  struct stat status {};
  bool exists = false;      // status is that of the file under the name
  int own_descriptor = -1;  // of /dev/stdout and the like; then there is no folder

  [[nodiscard]] std::string path() const { return path_of(name); }
  /// The path of another name in the folder.
  [[nodiscard]] std::string path_of(const std::string& other) const;
  [[nodiscard]] bool is_regular() const { return own_descriptor < 0 && (!exists || S_ISREG(status.st_mode)); }
};

/// Follows the links of a path that this user, root, or the owner of their folder made.
Result<Place> find_place(const std::string& path);

/// A name for a file that is not complete.
std::string name_aside();

/// The text of errno for an output.
std::string output_reason(const std::string& path, int error);

}  // namespace offramp
