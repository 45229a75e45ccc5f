// Recognises archives by their anchor file. The rest (otf2_*.cpp) is only compiled with OTF2's library.
#include "lib/programs/import/otf2.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "lib/base/text_format.hpp"
#include "lib/programs/import/openers.hpp"

namespace offramp::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAnchor = ".otf2";  // the anchor's file extension

/// The first byte is the length of the mark after it, whose first letter is the byte order.
bool is_anchor(std::string_view begin) {
  constexpr std::size_t kMark = 2;
  constexpr std::string_view kName = "OTF2";
  return begin.size() > kMark + kName.size() && begin[0] == 3 && begin.substr(kMark).starts_with(kName);
}

Result<std::optional<Program>> open_otf2(const Candidate& candidate) {
  std::string anchor = candidate.name;
  std::error_code error;
  // Score-P's users name the folder of the experiment.
  if (fs::is_directory(candidate.name, error)) {
    Result<std::optional<std::string>> found = otf2_anchor(candidate.name);
    if (!found) return failure(found.error());
    if (!*found) return std::optional<Program>();
    anchor = std::move(**found);
  } else if (!candidate.is_file() || !is_anchor(candidate.begin)) {
    return std::optional<Program>();
  }
#ifdef OFFRAMP_OTF2
  Result<Program> program = otf2::open_archive(anchor);
  if (!program) return failure(program.error());
  return std::optional(std::move(*program));
#else
  return failure(fmt::format("cannot read {}: {}", printable(anchor), otf2_is_missing()));
#endif
}

}  // namespace

const Opener kOtf2Archives = {
    .kind = "OTF2 archive", .origin = "Score-P, offramp convert --to otf2", .open = open_otf2};

std::string_view otf2_version() {
#ifdef OFFRAMP_OTF2
  return OFFRAMP_OTF2;
#else
  return {};
#endif
}

std::string otf2_is_missing() {
  return "this Offramp was built without the OTF2 library: install it (Debian: libopen-trace-format2-dev) "
         "and rebuild";
}

Result<std::optional<std::string>> otf2_anchor(const std::string& folder) {
  std::vector<std::string> anchors;
  std::error_code error;
  // A folder that cannot be read has no archive: other openers then describe the problem.
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() == kAnchor) anchors.push_back(entry->path().string());
  }
  if (anchors.empty()) return std::optional<std::string>();
  // Folders have no order, but the message is the same on each system.
  std::sort(anchors.begin(), anchors.end());
  if (anchors.size() > 1)
    return failure(fmt::format("{} has {} OTF2 archives: name one of them, for example {}", printable(folder),
                               anchors.size(), printable(anchors.front())));
  return std::optional(anchors.front());
}

}  // namespace offramp::trace
