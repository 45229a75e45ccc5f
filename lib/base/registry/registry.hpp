// Registry: the available backends by name, and the values of their parameters. Built-in backends and plugins
// are registered alike, as a BackendDescription; the rest of the library depends on no concrete backend.
//
// Not thread-safe while it is being filled, which happens once at start.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "offramp/model/backend.hpp"

namespace offramp {

/// The backends compiled into the library, in the order in which they are listed to users.
std::span<const BackendDescription* const> built_in_backends();

/// A value as written, and its place: "offramp.toml:3", "OFFRAMP_CLOCK", "--set clock".
struct RawValue {
  /// The type as written: a file has types, other sources have texts only.
  enum class Type : std::uint8_t { kText, kNumber, kBoolean };
  std::string text;
  Type type = Type::kText;
  std::string origin;
};

/// The user's values for one backend, by parameter.
using Section = std::map<std::string, RawValue>;

/// The values of a backend's parameters: its defaults, overridden by the section. Fails for unknown names and
/// for values of the wrong kind, out of range, or not among the choices.
Result<Settings> read_settings(const BackendDescription& description, const Section& section);

/// The environment variable of a backend's parameter: OFFRAMP_ZRLMPI_PRESET.
std::string variable_name(std::string_view backend, std::string_view parameter);

/// "2 us"; "2" without a dimension, which has the unit "1" or none.
std::string in_unit(std::string number, std::string_view unit);
/// A value in the user's notation, without and with its unit.
std::string value_text(const Parameter& parameter, const Settings& settings);
std::string value_with_unit(const Parameter& parameter, const Settings& settings);

/// True for parameters that factors may multiply.
constexpr bool is_number(const Parameter& parameter) {
  return parameter.kind == ParameterKind::kReal || parameter.kind == ParameterKind::kInteger;
}
/// The effective value of a parameter, also if its own value refers to another (0: that of the NIC).
double value_in_force(const BackendDescription& backend, const Settings& settings,
                      const Parameter& parameter);

/// Returns nullptr if the table has no such parameter.
const Parameter* find_parameter(std::span<const Parameter> table, std::string_view name);

/// "1 .. 4096 ns", "tcp, udp", "true, false".
std::string allowed_text(const Parameter& parameter);

/// The message for an invalid value. words: the correct names, to suggest one for a misspelling.
std::string not_allowed(const RawValue& raw, std::string_view key, std::string_view allowed,
                        std::span<const std::string_view> words);

/// The name of Registry::baseline().
std::string_view baseline_name();
/// True for the host.
inline bool is_baseline(std::string_view name) {
  return name == baseline_name();
}

/// Refers to descriptions and owns none of them. Entries are never removed.
class Registry {
 public:
  Registry() = default;
  /// Adds trusted built-in descriptions; one that add() would refuse is skipped.
  explicit Registry(std::span<const BackendDescription* const> built_ins);

  /// Adds a description, which must outlive the registry. origin: its source, for error messages. Fails for
  /// another ABI, for a missing, malformed, or duplicate name, without a create function, and for an
  /// inconsistent parameter table.
  [[nodiscard]] Result<void> add(const BackendDescription* description, std::string_view origin);

  /// Loads every *.so that exports offramp_backend_v1 from a colon-separated list of absolute folders, sorted
  /// by name within a folder. Plugins stay loaded until the process ends; files already loaded are skipped.
  /// Does nothing in a setuid or setgid program. Stops at the first failure.
  [[nodiscard]] Result<void> load_plugins(std::string_view path);

  /// Returns nullptr if the name is unknown.
  [[nodiscard]] const BackendDescription* find(std::string_view name) const;
  /// The backend without offload: the reference of all comparisons, and the carrier of declined operations.
  [[nodiscard]] const BackendDescription& baseline() const;
  /// In the order in which they were added.
  [[nodiscard]] std::span<const BackendDescription* const> all() const { return descriptions_; }
  /// In the order of all().
  [[nodiscard]] std::vector<std::string_view> names() const;

 private:
  /// Loads the plugins of one folder.
  Result<void> load_directory(const std::string& directory);
  /// A library without the entry point is no plugin and is skipped.
  Result<void> load_file(const std::string& file);

  std::vector<const BackendDescription*> descriptions_;
  /// Paths of plugins, to load each once.
  std::set<std::string> loaded_;
};

}  // namespace offramp
