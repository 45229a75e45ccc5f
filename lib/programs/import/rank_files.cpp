// The folder is listed instead of probing names, because numbers may have leading zeros ("run-012"). Two
// files of one rank ("run-1", "run-01") and missing ranks are errors. A file is open only while it is read,
// since ranks may outnumber the files that a process can open.
#include "lib/programs/import/rank_files.hpp"

#include <dirent.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "lib/base/format.hpp"
#include "lib/programs/import/lines.hpp"
#include "lib/programs/import/made_events.hpp"

namespace offramp::trace {
namespace {

constexpr std::string_view kDigits = "0123456789";

/// "traces/run-012.txt": "traces/", "run-", ".txt".
struct NumberedName {
  std::string folder;  // with its slash, or empty
  std::string before;
  std::string behind;
};

std::optional<NumberedName> split_numbered_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const std::string file = name.substr(begin);
  const std::size_t last = file.find_last_of(kDigits);
  if (last == std::string::npos) return std::nullopt;
  const std::size_t other = file.find_last_not_of(kDigits, last);
  const std::size_t first = other == std::string::npos ? 0 : other + 1;
  return NumberedName{name.substr(0, begin), file.substr(0, first), file.substr(last + 1)};
}

/// The number in a file's name, if the rest matches.
std::optional<int> number_of(std::string_view file, const NumberedName& name) {
  if (file.size() <= name.before.size() + name.behind.size() || !file.starts_with(name.before) ||
      !file.ends_with(name.behind))
    return std::nullopt;
  file.remove_prefix(name.before.size());
  file.remove_suffix(name.behind.size());
  // Other files beside may begin and end alike.
  if (file.find_first_not_of(kDigits) != std::string_view::npos) return std::nullopt;
  return number_in<int>(file);
}

using NamedByRank = std::map<int, std::string>;

/// The matching files beside the named one, by number.
Result<NamedByRank> look_beside(const NumberedName& name) {
  const std::string folder = name.folder.empty() ? "." : name.folder;
  DIR* const listing = opendir(folder.c_str());
  if (listing == nullptr) return failure(fmt::format("cannot read {}: {}", folder, std::strerror(errno)));
  NamedByRank found;
  std::string problem;
  // An unreadable entry counts as the end: missing ranks are found later.
  while (const dirent* entry = readdir(listing)) {
    const std::string file = entry->d_name;
    // Numbers that exceed an int are no ranks.
    const std::optional<int> number = number_of(file, name);
    if (!number) continue;
    const auto [other, is_new] = found.emplace(*number, name.folder + file);
    if (!is_new)
      problem = fmt::format("{} and {}{} both belong to rank {}", other->second, name.folder, file, *number);
  }
  closedir(listing);
  if (!problem.empty()) return failure(problem);
  return found;
}

/// Fails if ranks below the last one have no file.
Result<void> check_for_gaps(const NamedByRank& found) {
  std::vector<std::size_t> missing;
  const auto last = static_cast<std::size_t>(found.rbegin()->first);
  for (std::size_t rank = 0; rank < last; ++rank) {
    if (!found.contains(static_cast<int>(rank))) missing.push_back(rank);
  }
  if (missing.empty()) return {};
  return failure(fmt::format("nothing exists of {}, but there is {}{}", ranks_text(missing),
                             found.rbegin()->second,
                             found.size() == 1 ? ": the last number in the name of a file is its rank" : ""));
}

}  // namespace

Result<RankFiles> rank_files(const std::string& name) {
  const std::optional<NumberedName> numbered = split_numbered_name(name);
  Result<NamedByRank> found = numbered ? look_beside(*numbered) : NamedByRank();
  if (!found) return failure(found.error());
  // The name has no number, or does not exist; opening it then reports why.
  if (found->empty()) found = NamedByRank{{0, name}};
  // Checked before gaps, which would be listed one by one.
  if (const auto& [number, path] = *found->rbegin(); number >= kMostRanks)
    return failure(fmt::format("{}: its rank is beyond 2^20", path));
  if (const Result<void> done = check_for_gaps(*found); !done) return failure(done.error());
  RankFiles files;
  for (const auto& [number, path] : *found) {
    // Checks the file without keeping it open.
    Result<recording::Source> source = recording::Source::look(path);
    if (!source) return failure(source.error());
    files.push_back(std::make_shared<const recording::Source>(std::move(*source)));
  }
  return files;
}

std::string prefix_of_rank_file(const std::string& name) {
  const std::optional<NumberedName> numbered = split_numbered_name(name);
  if (!numbered) {
    const std::size_t point = name.rfind('.');
    return point == std::string::npos || name.find('/', point) != std::string::npos ? name
                                                                                    : name.substr(0, point);
  }
  std::string prefix = numbered->folder + numbered->before;
  while (!prefix.empty() && (prefix.back() == '.' || prefix.back() == '-' || prefix.back() == '_'))
    prefix.pop_back();
  return prefix;
}

}  // namespace offramp::trace
