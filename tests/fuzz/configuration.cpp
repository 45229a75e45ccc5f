// The configuration: a TOML file and variables, and the fault script in either.
#include "lib/base/configuration/configuration.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "lib/base/configuration/fault_script.hpp"
#include "tests/fuzz/support.hpp"

using namespace offramp;  // NOLINT: one file

namespace {

void script_comes_back(std::string_view text) {
  auto events = parse_fault_script(text);
  if (!events) return;
  std::string written;
  for (const FaultEvent& event : *events) written += to_string(event) + "\n";
  auto again = parse_fault_script(written);
  fuzz::require(static_cast<bool>(again) && *again == *events);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  script_comes_back(input.text());

  const int file = memfd_create("configuration", 0);
  fuzz::require(file >= 0 && write(file, data, size) == static_cast<ssize_t>(size));
  ConfigSources around;
  around.environment["OFFRAMP_CONFIG"] = "/proc/self/fd/" + std::to_string(file);
  // The last line may be a variable as well: NAME=VALUE.
  const std::string_view text = input.text();
  const std::string_view last = text.substr(text.rfind('\n') + 1);
  if (const auto equals = last.find('=');
      equals != std::string_view::npos && last.starts_with("OFFRAMP_FAULTS_"))
    around.environment.emplace(last.substr(0, equals), last.substr(equals + 1));
  Registry registry(built_in_backends());
  const auto configuration = load_configuration(around, registry);
  fuzz::require(static_cast<bool>(configuration) || !configuration.error().empty());
  close(file);
  return 0;
}
