// The table of the configuration's general keys: what each is, and how its text becomes a value.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/configuration/configuration_file.hpp"

namespace offramp {

/// Where a value goes.
struct Target {
  Configuration& all;
  Route& route;  // of the [[route]] being read; otherwise not used
  const Registry& registry;
};

struct Row : Key {
  bool (*set)(Target& target, const RawValue& value);  // false: not allowed
  /// What of it all ranks must have alike. Null: each may have its own.
  std::string (*agreed)(const Configuration& configuration) = nullptr;
  /// What is wrong with a value that is not allowed, where that is more than what is; empty: no more. May be
  /// null.
  std::string (*why)(const std::string& text) = nullptr;
};

std::span<const Row> configuration_rows();
/// Null: there is none. path: as in Key.
const Row* find_row(std::string_view path);
/// "faults" of "faults.loss"; empty: it stands at the top.
std::string_view section_of(std::string_view path);
/// Of general keys, and not of a backend's parameters.
bool is_section(std::string_view name);
/// The keys that name a file that is written.
inline constexpr std::string_view kOutputKeys[] = {"report",  "record", "trace",
                                                   "capture", "times",  "faults.record"};
/// In a key's `allowed`: stands for the names of the backends.
inline constexpr std::string_view kBackends = "BACKENDS";

}  // namespace offramp
