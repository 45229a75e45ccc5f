// Backends of the command line replace the configured ones. They are written back to the configuration with
// their origin, so that reports and messages show the settings in force. Warnings include times that were set
// without a unit, because most keys are in ns.
#include "tools/command_line/setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {

void check_file_of(std::string_view option, const std::string& path) {
  if (path.empty()) return;
  if (std::string problem = option_problem(option, path); !problem.empty()) throw Misuse{std::move(problem)};
}

Setup::Setup(const std::vector<Override>& overrides, std::vector<std::string> names, Wanted wanted) {
  ConfigSources config_sources = ConfigSources::of_process();
  config_sources.overrides = overrides;
  auto loaded = load_configuration(config_sources, registry);
  if (!loaded) throw Misuse{loaded.error()};
  configuration = std::move(*loaded);
  if (const auto all = std::find(names.begin(), names.end(), "all"); all != names.end()) {
    const std::vector<std::string_view> every = registry.names();
    names.insert(names.erase(all), every.begin(), every.end());
  }
  for (const std::string& name : names) {
    const BackendDescription* const backend = registry.find(name);
    if (backend == nullptr)
      throw Misuse{fmt::format("unknown backend {}{}", in_quotes(name), suggestion(name, registry.names()))};
    if (std::find(backends.begin(), backends.end(), backend) == backends.end()) backends.push_back(backend);
  }
  if (!backends.empty()) {
    put_in_force();
    return;
  }
  names = {configuration->off() ? std::string(baseline_name()) : configuration->backend};
  if (wanted == Wanted::kCompared && !configuration->compared.empty())
    names = configuration->settled_backends();
  for (const std::string& name : names) backends.push_back(registry.find(name));
}

/// The command line's backends override the settings.
void Setup::put_in_force() {
  const auto put = [this](const char* key, const std::string& text) {
    configuration->written[key] = {text, RawValue::Type::kText, "--backend"};
  };
  configuration->backend = backends.front()->name;
  configuration->compared.clear();
  for (std::size_t i = 1; i < backends.size(); ++i) configuration->compared.emplace_back(backends[i]->name);
  put("backend", configuration->backend);
  if (backends.size() > 1) put("compare", fmt::format("{}", fmt::join(configuration->compared, ",")));
}

void Setup::print_sources() const {
  if (const std::string sources = settings_read(*configuration); !sources.empty()) warn(sources);
}

std::vector<std::string> Setup::notes() const {
  std::vector<std::string> all = settings_without_effect(*configuration);
  // A time without a unit: people think in us, most keys in ns.
  constexpr std::string_view kTimes[] = {"ps", "ns", "us", "ms", "s"};
  for (const auto& [name, section] : configuration->sections) {
    for (const auto& [key, raw] : section) {
      const Parameter* const parameter = find_parameter(registry.find(name)->parameters, key);
      if (parameter != nullptr && raw.origin.starts_with("--set") && raw.text != "0" &&
          raw.text.find_first_not_of("0123456789.") == std::string::npos &&
          std::find(std::begin(kTimes), std::end(kTimes), parameter->unit) != std::end(kTimes))
        all.push_back(fmt::format("{}.{} = {} {}", name, key, raw.text, parameter->unit));
    }
  }
  std::vector<std::string> names;
  for (const BackendDescription* backend : backends) {
    names.emplace_back(backend->name);
    for (std::string& text : settings_without_effect(*configuration, *backend))
      all.push_back(std::move(text));
  }
  for (std::string& text : settings_of_others(*configuration, names)) all.push_back(std::move(text));
  return all;
}

}  // namespace offramp::tool
