// add() checks a complete description (ABI, names, consistent parameters) before it is listed, because all
// other code trusts the tables. Built-in backends and plugins use the same path. A plugin's library stays
// open until the process ends, since it contains the description, its texts, and vtables.
#include "lib/base/registry/registry.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>

#include "backends/aie/aie.hpp"
#include "backends/cclo/cclo.hpp"
#include "backends/dpu/dpu.hpp"
#include "backends/host/host.hpp"
#include "backends/sharp/sharp.hpp"
#include "backends/tinsel/tinsel.hpp"
#include "backends/zrlmpi/zrlmpi.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {
namespace {

constexpr const char* kEntryPoint = "offramp_backend_v1";

/// Names are keys in a file and parts of a variable's name: lower-case letters, digits, and _.
bool well_formed(std::string_view name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.front() >= 'a' && name.front() <= 'z' &&
         std::all_of(name.begin(), name.end(), allowed);
}

// Also excludes infinite limits, which messages could not show.
bool has_valid_default(const Parameter& p) {
  if (p.kind == ParameterKind::kChoice) {
    return std::find(p.choices.begin(), p.choices.end(), p.default_choice) != p.choices.end();
  }
  return std::isfinite(p.minimum) && std::isfinite(p.maximum) && p.minimum <= p.default_number &&
         p.default_number <= p.maximum;
}

// Fails for the first inconsistent parameter of a table.
Result<void> check(std::span<const Parameter> table) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::string name = in_quotes(table[i].name);
    if (!well_formed(table[i].name))
      return failure(fmt::format("parameter name {} is not lower-case letters, digits, _", name));
    if (!has_valid_default(table[i]))
      return failure(fmt::format("the default of parameter {} is not an allowed value", name));
    for (std::size_t j = 0; j < i; ++j) {
      if (table[j].name == table[i].name) return failure(fmt::format("parameter {} is defined twice", name));
    }
  }
  return {};
}

/// Returns nullopt if the value is not allowed.
std::optional<Settings::Value> read_value(const Parameter& p, const RawValue& raw) {
  if (p.kind == ParameterKind::kChoice) {
    if (std::find(p.choices.begin(), p.choices.end(), raw.text) == p.choices.end()) return std::nullopt;
    return Settings::Value{0, raw.text};
  }
  if (p.kind == ParameterKind::kBoolean) {
    const auto flag = parse_boolean(raw.text);
    if (!flag) return std::nullopt;
    return Settings::Value{*flag ? 1.0 : 0.0, {}};
  }
  const auto number = parse_quantity(raw.text, p.unit);
  const bool fits = number && *number >= p.minimum && *number <= p.maximum;
  if (!fits || (p.kind == ParameterKind::kInteger && std::trunc(*number) != *number)) return std::nullopt;
  return Settings::Value{*number, {}};
}

/// The allowed values, plus the known units if the text has an unknown one.
std::string allowed_with_units(const Parameter& parameter, std::string_view text) {
  std::string allowed = allowed_text(parameter);
  const std::string_view units = units_beside(parameter.unit);
  // Only a text that is no number at all hints at a wrong unit.
  const bool number = parameter.kind == ParameterKind::kReal || parameter.kind == ParameterKind::kInteger;
  if (number && !units.empty() && !parse_quantity(text, parameter.unit))
    allowed += fmt::format(", in {}", units);
  return allowed;
}

// Any user could replace the code in it.
bool is_world_writable(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && (status.st_mode & S_IWOTH) != 0;
}

std::string joined(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

const Parameter* find_parameter(std::span<const Parameter> table, std::string_view name) {
  for (const Parameter& parameter : table) {
    if (parameter.name == name) return &parameter;
  }
  return nullptr;
}

std::string value_text(const Parameter& p, const Settings& settings) {
  const std::string name(p.name);
  if (p.kind == ParameterKind::kChoice) return settings.choice(name);
  if (p.kind == ParameterKind::kBoolean) return settings.flag(name) ? "true" : "false";
  if (p.kind == ParameterKind::kInteger) return fmt::format("{}", settings.integer(name));
  return fmt::format("{}", settings.real(name));
}

std::string in_unit(std::string number, std::string_view unit) {
  if (!unit.empty() && unit != "1") number.append(" ").append(unit);
  return number;
}

std::string value_with_unit(const Parameter& p, const Settings& settings) {
  return in_unit(value_text(p, settings), p.unit);
}

double value_in_force(const BackendDescription& backend, const Settings& settings,
                      const Parameter& parameter) {
  const double own = settings.real(std::string(parameter.name));
  return backend.in_force != nullptr ? backend.in_force(settings, parameter.name).value_or(own) : own;
}

Result<Settings> read_settings(const BackendDescription& description, const Section& section) {
  Settings settings = Settings::defaults(description.parameters);
  for (const auto& [name, raw] : section) {
    const Parameter* const parameter = find_parameter(description.parameters, name);
    if (parameter == nullptr) {
      std::vector<std::string_view> names;
      for (const Parameter& p : description.parameters) names.push_back(p.name);
      return failure(fmt::format("{}: backend {} has no parameter {}{}", raw.origin, description.name,
                                 in_quotes(name), suggestion(name, names)));
    }
    auto value = read_value(*parameter, raw);
    if (!value) {
      return failure(not_allowed(raw, fmt::format("{}.{}", description.name, name),
                                 allowed_with_units(*parameter, raw.text), parameter->choices));
    }
    settings.set(name, std::move(*value));
  }
  return settings;
}

std::string not_allowed(const RawValue& raw, std::string_view key, std::string_view allowed,
                        std::span<const std::string_view> words) {
  const std::string_view near = closest(raw.text, words);
  return fmt::format("{}: {} is not allowed for {}; allowed: {}{}", raw.origin, in_quotes(raw.text), key,
                     allowed, near.empty() ? "" : fmt::format("; did you mean {}?", in_quotes(near)));
}

std::string allowed_text(const Parameter& p) {
  if (p.kind == ParameterKind::kChoice) return joined(p.choices);
  if (p.kind == ParameterKind::kBoolean) return "true, false";
  const char* const whole = p.kind == ParameterKind::kInteger ? ", whole" : "";
  return in_unit(fmt::format("{} .. {}", p.minimum, p.maximum), p.unit) + whole;
}

std::string variable_name(std::string_view backend, std::string_view parameter) {
  std::string name = fmt::format("OFFRAMP_{}_{}", backend, parameter);
  for (char& c : name) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return name;
}

std::span<const BackendDescription* const> built_in_backends() {
  static const std::array table = {&host_backend(), &cclo_backend(),   &zrlmpi_backend(), &aie_backend(),
                                   &dpu_backend(),  &tinsel_backend(), &sharp_backend()};
  return table;
}

std::string_view baseline_name() {
  return host_backend().name;
}

const BackendDescription& Registry::baseline() const {
  const BackendDescription* const own = find(baseline_name());
  return own != nullptr ? *own : host_backend();
}

Registry::Registry(std::span<const BackendDescription* const> built_ins) {
  for (const BackendDescription* description : built_ins) static_cast<void>(add(description, "built-in"));
}

Result<void> Registry::add(const BackendDescription* description, std::string_view origin) {
  if (description == nullptr)
    return failure(fmt::format("{}: {} returned no description", origin, kEntryPoint));
  // A description of another ABI has no other valid field.
  if (description->abi != BackendDescription::kAbi) {
    return failure(fmt::format(
        "{}: built for backend abi {}, but this offramp has abi {}; rebuild the plugin against its headers",
        origin, description->abi, BackendDescription::kAbi));
  }
  const std::string name = in_quotes(description->name);
  if (!well_formed(description->name)) {
    return failure(fmt::format("{}: backend name {} is not lower-case letters, digits, _", origin, name));
  }
  // The value that turns everything off.
  if (description->name == "off")
    return failure(fmt::format("{}: the backend name {} is reserved", origin, name));
  if (find(description->name) != nullptr)
    return failure(fmt::format("{}: backend {} already exists", origin, name));
  if (description->create == nullptr)
    return failure(fmt::format("{}: backend {} has no create function", origin, name));
  if (const Result<void> done = check(description->parameters); !done)
    return failure(fmt::format("{}: backend {}: {}", origin, name, done.error()));
  descriptions_.push_back(description);
  return {};
}

Result<void> Registry::load_plugins(std::string_view path) {
  // Privileged programs load no code from a user's path.
  if (getauxval(AT_SECURE) != 0) return {};
  while (!path.empty()) {
    const std::string directory(path.substr(0, path.find(':')));
    path.remove_prefix(std::min(path.size(), directory.size() + 1));
    if (directory.empty()) continue;
    if (directory.front() != '/') {
      return failure(
          fmt::format("plugin path: {} is not absolute; write the whole path", in_quotes(directory)));
    }
    if (is_world_writable(directory))
      return failure(
          fmt::format("plugin path: {} is writable by all users, so nothing is loaded from it (chmod o-w)",
                      in_quotes(directory)));
    if (Result<void> done = load_directory(directory); !done) return done;
  }
  return {};
}

Result<void> Registry::load_directory(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".so") files.push_back(entry->path().string());
  }
  if (error)
    return failure(fmt::format("plugin path: cannot read {}: {}", in_quotes(directory), error.message()));
  // Folders have no order, but plugins must have one on all ranks.
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    if (!loaded_.insert(file).second) continue;
    if (is_world_writable(file))
      return failure(fmt::format("cannot load plugin {}: it is writable by all users (chmod o-w)", file));
    if (Result<void> done = load_file(file); !done) return done;
  }
  return {};
}

Result<void> Registry::load_file(const std::string& file) {
  // Missing symbols are found now rather than within a run.
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return failure(fmt::format("cannot load plugin {}: {}", file, dlerror()));
  // POSIX allows the use of dlsym's object pointer as a function address.
  const auto entry = reinterpret_cast<offramp_backend_v1_function>(dlsym(library, kEntryPoint));
  if (entry == nullptr) return {};  // an unrelated library
  // The plugin is foreign code.
  try {
    return add(entry(), file);
  } catch (const std::exception& e) {
    return failure(fmt::format("plugin {}: {} failed: {}", file, kEntryPoint, e.what()));
  }
}

const BackendDescription* Registry::find(std::string_view name) const {
  const auto found = std::find_if(descriptions_.begin(), descriptions_.end(),
                                  [&](const BackendDescription* d) { return d->name == name; });
  return found == descriptions_.end() ? nullptr : *found;
}

std::vector<std::string_view> Registry::names() const {
  std::vector<std::string_view> names;
  for (const BackendDescription* description : descriptions_) names.push_back(description->name);
  return names;
}

}  // namespace offramp
