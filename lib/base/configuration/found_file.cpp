// check_found_file(): a name is judged by the place that it leads to, with all links resolved. Links that
// begin with the output's stem count, too, because parts of a recording and captures have derived names. A
// folder that cannot be resolved is compared by its text.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "lib/base/configuration/configuration_file.hpp"
#include "lib/base/configuration/configuration_keys.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

namespace fs = std::filesystem;
using std::string;

// Element by element: "/ab" is not below "/a".
bool is_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

/// True if an output of this name stays in the folder, together with companion files whose names begin with
/// it: parts of a recording, captures of ranks. Considers links that lead out of the folder.
bool is_inside(const string& name, const string& folder) {
  const fs::path path = fs::path(folder) / name;  // an absolute name replaces the folder
  // Standard output and the like are no files.
  if (is_stream(path.string())) return true;
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path parent = fs::canonical(path.has_parent_path() ? path.parent_path() : fs::path("."), error);
  if (error) return is_below(path.lexically_normal(), fs::path(folder).lexically_normal());
  if (!is_below(parent, root)) return false;
  const string stem = path.stem().string();
  for (fs::directory_iterator entry(parent, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (!entry->is_symlink(error) || !entry->path().filename().string().starts_with(stem)) continue;
    // A link may lead to a file that does not exist yet.
    if (!is_below(fs::weakly_canonical(entry->path(), error), root)) return false;
  }
  return true;
}

}  // namespace

Result<void> check_found_file(const std::vector<Entry>& entries, const string& folder) {
  for (const Entry& entry : entries) {
    const string key = entry.section.empty() ? entry.name : entry.section + "." + entry.name;
    // An empty name is no output.
    if (entry.value.text.empty()) continue;
    if (key == "plugin_path")
      return failure(
          fmt::format("{}: plugin_path loads code and is ignored in a file that was only found in the "
                      "folder; name the file with --config or OFFRAMP_CONFIG, or set OFFRAMP_PLUGIN_PATH",
                      entry.value.origin));
    const bool is_output =
        std::find(std::begin(kOutputKeys), std::end(kOutputKeys), key) != std::end(kOutputKeys);
    if (is_output && !is_inside(entry.value.text, folder))
      return failure(
          fmt::format("{}: {} = {} points outside the folder in which the file was found; name the file with "
                      "--config or OFFRAMP_CONFIG to use it",
                      entry.value.origin, key, in_quotes(entry.value.text)));
  }
  return {};
}

}  // namespace offramp
