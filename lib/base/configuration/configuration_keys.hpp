// The table of the configuration's general keys: their descriptions, and how text becomes a value.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/configuration/configuration_file.hpp"

namespace offramp {

/// The destination of a value.
struct Target {
  Configuration& all;
  Route& route;  // the [[route]] being read; otherwise unused
  const Registry& registry;
};

/// How a key is read and compared.
struct Binding {
  bool (*set)(Target& target, const RawValue& value) = nullptr;  // returns false if the value is not allowed
  /// The part of the value that must be equal on all ranks. nullptr: it may differ.
  std::string (*agreed)(const Configuration& configuration) = nullptr;
};

/// One row of the table. Rows have static storage.
struct Row : Key, Binding {
  /// Explains why a value is not allowed, beyond the list of allowed values; may return "". May be nullptr.
  std::string (*why)(const std::string& text) = nullptr;
};

/// All general keys, in the order of the documentation.
std::span<const Row> configuration_rows();
/// The row of a path as in Key, or nullptr.
const Row* find_row(std::string_view path);
/// "faults" for "faults.loss"; empty for top-level keys.
std::string_view section_of(std::string_view path);
/// True for sections of general keys, false for backends.
bool is_section(std::string_view name);
/// The keys that name output files.
inline constexpr std::string_view kOutputKeys[] = {"report",  "record", "trace",
                                                   "capture", "times",  "faults.record"};
/// Placeholder in a key's `allowed` for the names of the backends.
inline constexpr std::string_view kBackends = "BACKENDS";

}  // namespace offramp
