// finish() renames the whole folder if the target is missing or empty. Otherwise it moves the entries one by
// one, and moves them back after a failure. RENAME_NOREPLACE makes a move fail instead of replacing a file
// that another process has created meanwhile.
#include "lib/base/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>
#include <vector>

#include "lib/base/output_place.hpp"
#include "lib/base/printable.hpp"

namespace offramp {
namespace {

namespace fs = std::filesystem;
using std::string;

Result<OutputPlace> place_of_folder(const string& path, Naming naming) {
  string name = path;
  // A trailing slash names the folder itself.
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  const string last = fs::path(name).filename().string();
  std::error_code error;
  // These are no names that a rename could replace.
  if (last == "." || last == "..") name = fs::weakly_canonical(name, error).string();
  Result<OutputPlace> place = find_place(name, naming);
  if (place && place->exists && !S_ISDIR(place->status.st_mode)) return failure("it is not a folder");
  return place;
}

/// Moves the contents of a folder to another one. A failure moves everything back.
Result<void> move_contents(const string& from, const string& to) {
  std::vector<fs::path> names;
  std::error_code error;
  // All names first: moving entries while listing them may skip some.
  for (fs::directory_iterator entry(from, error); !error && entry != fs::directory_iterator();
       entry.increment(error))
    names.push_back(entry->path().filename());
  if (error) return failure(error.message());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const fs::path target = fs::path(to) / names[i];
    if (renameat2(AT_FDCWD, (from / names[i]).c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0)
      continue;
    const int problem = errno;
    while (i-- > 0) fs::rename(fs::path(to) / names[i], from / names[i], error);
    return failure(problem == EEXIST ? fmt::format("{} already exists", in_quotes(target.string()))
                                     : output_reason(target.string(), problem));
  }
  return {};
}

}  // namespace

Result<void> make_output_folder(const string& path) {
  const Result<OutputPlace> place = place_of_folder(path, Naming::kDerived);
  if (!place) return failure(place.error());
  // Its owner could replace the files in it.
  if (place->exists && place->status.st_uid != geteuid())
    return failure("the folder belongs to another user");
  if (!place->exists && mkdirat(place->folder.get(), place->name.c_str(), S_IRWXU) != 0)
    return failure(output_reason(path, errno));
  return {};
}

Result<OutputFolder> OutputFolder::create(const string& path) {
  const Result<OutputPlace> place = place_of_folder(path, Naming::kTyped);
  if (!place) return failure(place.error());
  const string name = name_aside();
  if (mkdirat(place->folder.get(), name.c_str(), S_IRWXU) != 0) return failure(output_reason(path, errno));
  return OutputFolder(place->path(), place->path_of(name));
}

OutputFolder::OutputFolder(string target, string aside)
    : target_(std::move(target)), aside_(std::move(aside)) {}

OutputFolder::OutputFolder(OutputFolder&& other) noexcept
    : target_(std::move(other.target_)), aside_(std::exchange(other.aside_, {})) {}

OutputFolder::~OutputFolder() {
  std::error_code error;
  if (!aside_.empty()) fs::remove_all(aside_, error);
}

Result<void> OutputFolder::finish() {
  if (rename(aside_.c_str(), target_.c_str()) == 0) {  // succeeds if the target is missing or empty
    aside_.clear();
    return {};
  }
  // File systems report a folder with contents in either way.
  if (errno != ENOTEMPTY && errno != EEXIST) return failure(output_reason(target_, errno));
  return move_contents(aside_, target_);
}

}  // namespace offramp
