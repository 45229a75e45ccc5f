// The command line as data: what help, manual pages, the option reference and shell completion say, read from
// the CLI11 description and the tables of keys and parameters. So nothing is written twice.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/configuration/registry.hpp"

namespace CLI {
class App;
}

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
  std::vector<std::string> exit_codes;  // "2 the command line is wrong"
  std::vector<OptionEntry> options;
  bool runs_program = false;  // a program and its arguments stand behind the options
};

/// The program itself first, then its subcommands but the hidden ones, in the order of the help.
std::vector<CommandEntry> catalogue(const CLI::App& app);

/// What a process's exit code means, for all subcommands. "any other" stands for mpirun's.
struct ExitText {
  std::string_view code;
  std::string_view text;
};
std::span<const ExitText> exit_texts();

struct ManualOptions {
  std::string format;  // "man": files into the folder; "markdown": one page on standard output
  std::string folder;
};
int manual(const CLI::App& app, const ManualOptions& options);

/// Prints a completion script for bash, fish or zsh.
int completion(const CLI::App& app, const std::string& shell);

}  // namespace offramp::tool
