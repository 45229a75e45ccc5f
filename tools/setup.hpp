// What the subcommands that simulate have in common: the configuration and the hardware that they are asked
// about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/core/configuration.hpp"
#include "lib/core/registry.hpp"

namespace offramp::tool {

/// Says what is wrong by being thrown: these are the user's words, and the subcommand prints them.
struct Misuse {
  std::string text;
};

struct Setup {
  Registry registry{built_in_backends()};
  std::optional<Configuration> configuration;
  std::vector<const BackendDescription*> backends;

  /// names: of the backends; "all", or none for the configured one. Throws Misuse.
  Setup(const std::vector<Override>& overrides, std::vector<std::string> names);

  /// Settings that change nothing: general ones, and of these backends.
  [[nodiscard]] std::vector<std::string> notes() const;
};

}  // namespace offramp::tool
