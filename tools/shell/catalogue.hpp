// The command line as data, from the registered subcommands and their CLI11 options. Manual pages, the option
// reference, and shell completion are generated from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/command_line/command.hpp"

namespace offramp::tool {

struct OptionEntry {
  std::vector<std::string> names;  // "--ranks", "-n"; for a positional argument, its name
  std::string value;               // "FILE"; empty: a flag
  std::string description;
  std::string default_text;
  bool positional = false;
  bool required = false;
  bool several = false;  // accepts several values
};

struct CommandEntry {
  std::string name;  // "run"; "offramp" for the whole program
  std::string summary;
  std::vector<std::string> paragraphs;  // the text below the options
  std::vector<ExitMeaning> exits;
  std::vector<OptionEntry> options;
  bool runs_program = false;  // a program and its arguments follow the options
};

/// The program itself first, then the visible subcommands, in the order of the help.
std::vector<CommandEntry> catalogue(const CLI::App& app);

/// The meaning of an exit code over all subcommands.
struct ExitText {
  std::string code;  // or "any other"
  std::string text;
};
std::vector<ExitText> exit_texts(const std::vector<CommandEntry>& commands);

/// The names of a subcommand's options: "--ranks", "-n".
std::vector<std::string> option_names(const CLI::App& app);

}  // namespace offramp::tool
