// The command line as data: what manual pages, the option reference and shell completion say, read from the
// registered subcommands and their CLI11 options. So nothing is written twice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/command_line/command.hpp"

namespace offramp::tool {

struct OptionEntry {
  std::vector<std::string> names;  // "--ranks", "-n"; for a positional argument its name
  std::string value;               // "FILE"; empty: a flag
  std::string description;
  std::string default_text;
  bool positional = false;
  bool required = false;
  bool several = false;  // takes more than one value
};

struct CommandEntry {
  std::string name;  // "run"; the whole program: "offramp"
  std::string summary;
  std::vector<std::string> paragraphs;  // of the text below the options
  std::vector<ExitMeaning> exits;
  std::vector<OptionEntry> options;
  bool runs_program = false;  // a program and its arguments stand behind the options
};

/// The program itself first, then its subcommands but the hidden ones, in the order of the help.
std::vector<CommandEntry> catalogue(const CLI::App& app);

/// What a process's exit code means, for all subcommands.
struct ExitText {
  std::string code;  // or "any other"
  std::string text;
};
std::vector<ExitText> exit_texts(const std::vector<CommandEntry>& commands);

/// Names of all options of one subcommand: "--ranks", "-n".
std::vector<std::string> option_names(const CLI::App& app);

}  // namespace offramp::tool
