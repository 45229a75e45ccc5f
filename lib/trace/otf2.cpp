// What a candidate is shows its anchor file, whose bytes need no library. The rest is in lib/otf2, which is
// compiled where there is one.
#include "lib/trace/otf2.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/configuration/names.hpp"
#include "lib/trace/openers.hpp"
#ifdef OFFRAMP_OTF2
#include "lib/otf2/archive.hpp"
#endif

namespace offramp::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAnchor = ".otf2";  // the ending of its name

/// The anchor file of a folder. Nothing: it is the folder of no archive. An error: it is that of several.
Result<std::optional<std::string>> anchor_in(const std::string& folder) {
  using Found = Result<std::optional<std::string>>;
  std::vector<std::string> anchors;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() == kAnchor) anchors.push_back(entry->path().string());
  }
  if (anchors.empty()) return std::optional<std::string>();
  std::sort(anchors.begin(), anchors.end());
  if (anchors.size() > 1)
    return Found::failure(fmt::format("{} has {} archives of OTF2: name one of them, {} for example",
                                      printable(folder), anchors.size(), printable(anchors.front())));
  return std::optional(anchors.front());
}

/// The first byte is the length of the mark behind it, whose first letter is the order of bytes.
bool is_anchor(std::string_view begin) {
  constexpr std::size_t kMark = 2;
  constexpr std::string_view kName = "OTF2";
  return begin.size() > kMark + kName.size() && begin[0] == 3 && begin.substr(kMark).starts_with(kName);
}

#ifndef OFFRAMP_OTF2
std::string without_library() {
  return "this Offramp was built without the library of OTF2: install it (libopen-trace-format2-dev of "
         "Debian) "
         "and build again";
}
#endif

Result<std::optional<Program>> open_otf2(const Candidate& candidate) {
  using Opened = Result<std::optional<Program>>;
  std::string anchor = candidate.name;
  std::error_code error;
  if (fs::is_directory(candidate.name, error)) {
    Result<std::optional<std::string>> found = anchor_in(candidate.name);
    if (!found) return Opened::failure(found.error());
    if (!*found) return std::optional<Program>();
    anchor = std::move(**found);
  } else if (!candidate.is_file() || !is_anchor(candidate.begin)) {
    return std::optional<Program>();
  }
#ifdef OFFRAMP_OTF2
  Result<Program> program = otf2::open_archive(anchor);
  if (!program) return Opened::failure(program.error());
  return std::optional(std::move(*program));
#else
  return Opened::failure(fmt::format("cannot read {}: {}", printable(anchor), without_library()));
#endif
}

}  // namespace

const Opener kOtf2Archives = {
    .kind = "OTF2 archive", .origin = "Score-P, offramp convert --to otf2", .open = open_otf2};

#ifdef OFFRAMP_OTF2

std::string_view otf2_version() {
  return OFFRAMP_OTF2;
}

std::string otf2_problem(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    const fs::path above = fs::path(folder).parent_path();
    return above.empty() || fs::is_directory(above, error)
               ? std::string()
               : fmt::format("there is no folder {}", in_quotes(above.string()));
  }
  if (!fs::is_directory(folder, error)) return "it is a file, and an archive is a folder";
  const Result<std::optional<std::string>> found = anchor_in(folder);
  const bool is_free = found && !(*found).has_value();
  return is_free ? std::string() : "there is an archive already: name another folder, or remove it";
}

std::string write_otf2(const Timeline& timeline, const std::string& program, const std::string& folder) {
  const std::string problem = otf2_problem(folder);
  return problem.empty() ? otf2::write_archive(timeline, program, folder) : problem;
}

std::string write_otf2(const Program& program, const std::string& folder, std::vector<std::string>& unsaid) {
  const std::string problem = otf2_problem(folder);
  return problem.empty() ? otf2::write_program(program, folder, unsaid) : problem;
}

#else

std::string_view otf2_version() {
  return {};
}
std::string otf2_problem(const std::string&) {
  return without_library();
}
std::string write_otf2(const Timeline&, const std::string&, const std::string&) {
  return without_library();
}
std::string write_otf2(const Program&, const std::string&, std::vector<std::string>&) {
  return without_library();
}

#endif

}  // namespace offramp::trace
