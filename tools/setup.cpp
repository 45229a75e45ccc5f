#include "tools/setup.hpp"

#include <fmt/core.h>

#include "lib/core/names.hpp"

namespace offramp::tool {

Setup::Setup(const std::vector<Override>& overrides, std::vector<std::string> names) {
  Surroundings surroundings = Surroundings::of_process();
  surroundings.overrides = overrides;
  auto loaded = load_configuration(surroundings, registry);
  if (!loaded) throw Misuse{loaded.error()};
  configuration = std::move(*loaded);
  if (names.empty()) names.push_back(configuration->off() ? "host" : configuration->backend);
  if (names == std::vector<std::string>{"all"}) {
    const std::vector<std::string_view> all = registry.names();
    names.assign(all.begin(), all.end());
  }
  for (const std::string& name : names) {
    backends.push_back(registry.find(name));
    if (backends.back() == nullptr)
      throw Misuse{fmt::format("unknown backend {}{}", in_quotes(name), suggestion(name, registry.names()))};
  }
}

std::vector<std::string> Setup::notes() const {
  std::vector<std::string> all = settings_without_effect(*configuration);
  for (const BackendDescription* backend : backends) {
    for (std::string& text : settings_without_effect(*configuration, *backend))
      all.push_back(std::move(text));
  }
  return all;
}

}  // namespace offramp::tool
