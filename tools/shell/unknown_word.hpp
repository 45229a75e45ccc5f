// The words of the command line, before and after CLI11 has read them: what they may have meant.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace offramp::tool {

/// `offramp help run` and `offramp version`, as other programs have them.
void rewrite_help_words(std::vector<std::string>& words);

/// What is wrong with the first word, or nothing.
std::string unknown_subcommand(const CLI::App& app, const std::vector<std::string>& words);

/// Makes mpirun's -np the -n that is meant, and says so where an option of ours stands behind the program.
void tidy_options(const CLI::App& app, std::vector<std::string>& words);

/// The first word that looks like an option but is none, with what it may have meant. app: the subcommand.
std::string unknown_option(const CLI::App& app);

}  // namespace offramp::tool
