// The bibliography of the models, their parameters, and their validation. Texts cite an entry by its key in
// brackets: "published [easynet]: 91 to 92 Gb/s".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace offramp::tool {

/// Documents describe what a model follows; code was read; measurements were published without a paper.
enum class SourceKind : std::uint8_t { kDocument, kCode, kMeasurement, kPaper, kManual };
std::string_view to_string(SourceKind kind);

struct Source {
  std::string_view key;
  SourceKind kind;
  std::string_view title;
  std::string_view authors;  // with place and year of publication
  std::string_view where;    // DOI, address, or repository and revision; says so if unknown
};

/// Sorted by kind, then by backend.
std::span<const Source> bibliography();

/// True if a text cites the key.
bool cites(std::string_view text, std::string_view key);

}  // namespace offramp::tool
