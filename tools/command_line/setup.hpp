// The configuration and the backends of a subcommand that simulates.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/registry/registry.hpp"

namespace offramp::tool {

/// Thrown for invalid input. CommandLine::execute() prints the text, and the exit code is kUsage.
struct Misuse {
  std::string text;
};

/// Throws Misuse if the file that an option names cannot be written. An empty path names no file.
void check_file_of(std::string_view option, const std::string& path);

struct Setup {
  Registry registry{built_in_backends()};
  std::optional<Configuration> configuration;
  std::vector<const BackendDescription*> backends;

  /// The default without names: the configured backend, or also the backends to compare.
  enum class Wanted : std::uint8_t { kBackend, kCompared };
  /// names: backends, or "all". Throws Misuse.
  Setup(const std::vector<Override>& overrides, std::vector<std::string> names,
        Wanted wanted = Wanted::kBackend);

  /// Prints the file and the variables that contain settings.
  void print_sources() const;
  /// Warnings about settings without effect, general or of these backends.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  void put_in_force();
};

}  // namespace offramp::tool
