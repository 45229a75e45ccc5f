// Folders that the user named, or that belong to an output.
#pragma once

#include <string>

#include "lib/base/output_file.hpp"

namespace offramp {

/// Creates a folder for its owner only, or finds one that this user owns.
Result<void> make_output_folder(const std::string& path);

/// A folder that another library fills, which opens its files by name. It is filled beside the target, where
/// it is empty and closed to other users, and its contents get their names when they are complete.
class OutputFolder {
 public:
  static Result<OutputFolder> create(const std::string& path);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  OutputFolder& operator=(OutputFolder&&) = delete;
  /// Removes the folder and what is in it unless finish() succeeded.
  ~OutputFolder();

  /// Fill this one.
  [[nodiscard]] const std::string& path() const { return aside_; }
  /// The target gets the contents. If the target is there, they are added to it, and none of its files is
  /// replaced. A failure adds nothing.
  Result<void> finish();

 private:
  OutputFolder(std::string target, std::string aside);

  std::string target_;
  std::string aside_;  // empty: it has its name
};

}  // namespace offramp
