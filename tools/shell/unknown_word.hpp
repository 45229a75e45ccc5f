// Suggestions for misspelt words of the command line, before and after CLI11 parses them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace offramp::tool {

/// Accepts `offramp help run` and `offramp version`, which other programs have.
void rewrite_help_words(std::vector<std::string>& words);

/// An error about the first word. Empty if it is valid.
std::string unknown_subcommand(const CLI::App& app, const std::vector<std::string>& words);

/// Rewrites mpirun's -np as -n, and warns if an option of offramp follows the program.
void tidy_options(const CLI::App& app, std::vector<std::string>& words);

/// An error about the first word that looks like an unknown option, with a suggestion. app: the subcommand.
std::string unknown_option(const CLI::App& app);

}  // namespace offramp::tool
