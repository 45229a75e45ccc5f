// Folders named by the user, or belonging to an output.
#pragma once

#include <string>

#include "lib/base/output_file.hpp"

namespace offramp {

/// Creates a folder of a derived name that only its owner can access, or accepts an existing folder of this
/// user. A link is neither followed nor replaced.
Result<void> make_output_folder(const std::string& path);

/// A folder that another library fills by file name. It is filled under a temporary name beside the target,
/// closed to other users, and its contents are moved when they are complete.
class OutputFolder {
 public:
  /// Fails if the target exists and is no folder, or if its parent cannot be written.
  static Result<OutputFolder> create(const std::string& path);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  /// Removes the folder with its contents, unless finish() succeeded.
  ~OutputFolder();

  /// The temporary folder to fill.
  [[nodiscard]] const std::string& path() const { return aside_; }
  /// Moves the contents to the target. An existing target keeps its own files; a name conflict is a failure.
  /// After a failure the target is unchanged.
  Result<void> finish();

 private:
  /// aside: the folder to fill, which exists.
  OutputFolder(std::string target, std::string aside);

  std::string target_;
  std::string aside_;  // empty once it has been renamed
};

}  // namespace offramp
