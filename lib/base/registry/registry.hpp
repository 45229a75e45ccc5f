// Registry: the backends that this process knows, by name, and the values of their parameters. Built-in
// backends and plugins come through the same door, a BackendDescription; the rest of the library knows no
// backend by its type.
//
// Not thread-safe while it is being filled, which happens once, before anything else runs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "offramp/kernel/result.hpp"
#include "offramp/model/backend.hpp"

namespace offramp {

/// The backends compiled into the library, in the order in which they are listed to users.
std::span<const BackendDescription* const> built_in_backends();

/// A value as it was written, and where: "offramp.toml:3", "OFFRAMP_CLOCK", "--set clock".
struct RawValue {
  enum class Type : std::uint8_t { kText, kNumber, kBoolean };
  std::string text;
  Type type = Type::kText;
  std::string origin;
};

/// What a user wrote for one backend, by parameter.
using Section = std::map<std::string, RawValue>;

/// The values of a backend's parameters: its defaults, replaced by what the section says. Refuses names that
/// are not in the backend's table and values of the wrong kind, out of range or not among the choices.
Result<Settings> read_settings(const BackendDescription& description, const Section& section);

/// The variable of a backend's parameter: OFFRAMP_ZRLMPI_PRESET.
std::string variable_name(std::string_view backend, std::string_view parameter);

/// A value as the user writes it: without its unit, and with it.
std::string value_text(const Parameter& parameter, const Settings& settings);
std::string value_with_unit(const Parameter& parameter, const Settings& settings);

constexpr bool is_number(const Parameter& parameter) {
  return parameter.kind == ParameterKind::kReal || parameter.kind == ParameterKind::kInteger;
}
/// What a parameter amounts to, also where its own value stands for another's (0: of the NIC).
double value_in_force(const BackendDescription& backend, const Settings& settings,
                      const Parameter& parameter);

/// Null: there is none of that name.
const Parameter* find_parameter(std::span<const Parameter> table, std::string_view name);

/// "1 .. 4096 ns", "tcp, udp", "true, false".
std::string allowed_text(const Parameter& parameter);

/// The message for a value that is not allowed; words: names that it may be a misspelling of.
std::string not_allowed(const RawValue& raw, std::string_view key, std::string_view allowed,
                        std::span<const std::string_view> words);

/// The name of Registry::baseline().
std::string_view baseline_name();
inline bool is_baseline(std::string_view name) {
  return name == baseline_name();
}

class Registry {
 public:
  Registry() = default;
  /// Built-in descriptions are trusted: one that add() would refuse is left out.
  explicit Registry(std::span<const BackendDescription* const> built_ins);

  /// Adds a description, which has to live as long as the registry. origin says in the error where it came
  /// from. Fails for another ABI, a missing, malformed or already used name, no way to create one, a
  /// parameter table that does not hold together.
  [[nodiscard]] Result<void> add(const BackendDescription* description, std::string_view origin);

  /// Loads every *.so that exports offramp_backend_v1 from each directory of a colon-separated list of
  /// absolute paths, in the order of their names; plugins stay loaded until the process ends. A file seen
  /// before is left alone. Does nothing in a setuid or setgid program. Stops at the first failure.
  [[nodiscard]] Result<void> load_plugins(std::string_view path);

  [[nodiscard]] const BackendDescription* find(std::string_view name) const;
  /// The backend without offload, to which all others are compared, and which carries what they decline.
  [[nodiscard]] const BackendDescription& baseline() const;
  [[nodiscard]] std::span<const BackendDescription* const> all() const { return descriptions_; }
  [[nodiscard]] std::vector<std::string_view> names() const;

 private:
  Result<void> load_directory(const std::string& directory);
  Result<void> load_file(const std::string& file);

  std::vector<const BackendDescription*> descriptions_;
  std::set<std::string> loaded_;
};

}  // namespace offramp
