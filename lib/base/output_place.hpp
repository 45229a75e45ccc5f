// Resolves the path of an output to a folder and a name in it. Used by output_file.cpp and output_folder.cpp
// only.
#pragma once

#include <sys/stat.h>

#include <string>

#include "lib/base/output_file.hpp"

namespace offramp {

/// The location of an output: an open folder, and a name in it that is not a link.
struct OutputPlace {
  OpenFile folder;
  std::string folder_path;
  std::string name;
  /// As fstatat() describes the file, not a link to it.
  struct stat status {};
  bool exists = false;      // a file of that name exists, described by `status`
  int own_descriptor = -1;  // for /dev/stdout and the like; `folder` is then unused

  /// Only for messages and for other libraries: opening it again may lead elsewhere.
  [[nodiscard]] std::string path() const { return path_of(name); }
  /// The path of another name in this folder.
  [[nodiscard]] std::string path_of(const std::string& other) const;
  /// True for a free name, too: the output will be a regular file.
  [[nodiscard]] bool is_regular() const { return own_descriptor < 0 && (!exists || S_ISREG(status.st_mode)); }
};

/// Resolves a path. Follows links made by this user, root, or the owner of the link's folder; refuses others.
/// Root follows its own links only. A link at the end of a derived name is not followed: the place is the
/// link's own, and counts as free.
Result<OutputPlace> find_place(const std::string& path, Naming naming = Naming::kTyped);

/// A random name for an unfinished file.
std::string name_aside();

/// Describes an errno value for an output.
std::string output_reason(const std::string& path, int error);

}  // namespace offramp
