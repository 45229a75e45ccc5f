// The bibliography: what the models, their parameters and their validation rest on. Texts cite an entry by
// its key in brackets: "published [easynet]: 91 to 92 Gb/s".
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace offramp::tool {

/// Documents are what a backend's model follows; code was read; measurements are figures that others have
/// published without a paper.
enum class SourceKind : std::uint8_t { kDocument, kCode, kMeasurement, kPaper, kManual };
std::string_view to_string(SourceKind kind);

struct Source {
  std::string_view key;
  SourceKind kind;
  std::string_view title;
  std::string_view authors;  // and where and when it was published
  std::string_view where;    // DOI, address, or repository and revision; says so where that is not known
};

/// Sorted by kind, then in the order of the backends.
std::span<const Source> bibliography();

/// Whether a text cites the key.
bool cites(std::string_view text, std::string_view key);

}  // namespace offramp::tool
