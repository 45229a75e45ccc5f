// The entries are lines of bibliography.txt: kind, key, title, authors, and where, with bars between them.
#include "tools/text/sources.hpp"

#include <array>
#include <string>
#include <vector>

#include "simulators/world/text_fields.hpp"

namespace offramp::tool {
namespace {

constexpr std::string_view kEntries =
#include "tools/text/bibliography.txt"
    ;

struct KindName {
  std::string_view name;
  std::string_view title;
};
constexpr std::array<KindName, 5> kKinds = {{{"document", "Documents that the models follow"},
                                             {"code", "Source code that was read"},
                                             {"measurement", "Measurements published without a paper"},
                                             {"paper", "Papers, theses and books"},
                                             {"manual", "Manuals, data sheets and standards"}}};

std::vector<Source> read_entries() {
  std::vector<Source> all;
  for (const std::string_view line : split(kEntries, '\n')) {
    const auto fields = split(line, '|');
    std::size_t kind = 0;
    while (kKinds.at(kind).name != fields.at(0)) ++kind;
    all.push_back({fields.at(1), static_cast<SourceKind>(kind), fields.at(2), fields.at(3), fields.at(4)});
  }
  return all;
}

}  // namespace

std::string_view to_string(SourceKind kind) {
  return kKinds.at(static_cast<std::size_t>(kind)).title;
}

std::span<const Source> bibliography() {
  static const std::vector<Source> all = read_entries();
  return all;
}

bool cites(std::string_view text, std::string_view key) {
  return text.find("[" + std::string(key) + "]") != std::string_view::npos;
}

}  // namespace offramp::tool
