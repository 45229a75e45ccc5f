// What the subcommands that simulate have in common: the configuration and the hardware that they are asked
// about.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/registry/registry.hpp"

namespace offramp::tool {

/// Says what is wrong by being thrown: these are the user's words, and the subcommand prints them.
struct Misuse {
  std::string text;
};

struct Setup {
  Registry registry{built_in_backends()};
  std::optional<Configuration> configuration;
  std::vector<const BackendDescription*> backends;

  /// Without names on the command line: the configured backend, or with it those that are compared.
  enum class Wanted : std::uint8_t { kBackend, kCompared };
  /// names: of the backends; "all" stands for every one. Throws Misuse.
  Setup(const std::vector<Override>& overrides, std::vector<std::string> names,
        Wanted wanted = Wanted::kBackend);

  /// Says which file and which variables the settings come from, if any.
  void print_sources() const;
  /// Settings that change nothing: general ones, and of these backends.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  void put_in_force();
};

}  // namespace offramp::tool
