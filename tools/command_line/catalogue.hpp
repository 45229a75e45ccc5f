// The command as JSON: subcommands with their options and exit codes, and the keys and parameters of the
// configuration. scripts/make-manual makes manual pages, completion, and the page of options from it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "tools/command_line/command.hpp"

namespace offramp::tool {

/// The program itself first, then the visible subcommands, in the order of the help.
nlohmann::ordered_json catalogue(const CLI::App& app);

/// The keys of the configuration.
nlohmann::ordered_json describe_keys(const Registry& registry);
/// The parameters of a backend, and the topics that it explains. Texts of plugins become valid UTF-8.
nlohmann::ordered_json describe(const BackendDescription& backend);

/// The names of an option, and of all options of a subcommand: "--ranks", "-n".
std::vector<std::string> option_names(const CLI::Option& option);
std::vector<std::string> option_names(const CLI::App& app);

}  // namespace offramp::tool
