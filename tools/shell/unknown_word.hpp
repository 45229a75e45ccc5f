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

/// Rewrites words of mpirun (-np 2, --bind-to core) and common names of hardware (--backend BlueField-3), and
/// warns if an option of offramp follows the program. Returns an error about the first unknown option before
/// the program, with a suggestion. Empty if there is none.
std::string tidy_options(const CLI::App& app, std::vector<std::string>& words);

}  // namespace offramp::tool
