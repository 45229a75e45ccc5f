// Completes the words of the command line in bash: the catalogue of options, and the words that each kind of
// value chooses from.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shell/catalogue.hpp"

namespace offramp::tool {

struct Vocabulary {
  std::vector<CommandEntry> commands;  // the program itself first
  /// By the kind of value ("backends", "keys", ...): what can stand there. Keys end with "=".
  std::map<std::string, std::vector<std::string>> words;
  /// By key: the words among its allowed values; nothing for keys that take numbers or texts.
  std::map<std::string, std::vector<std::string>> choices;

  /// How a value is completed: "files", "backends" (a list with commas), "setting" (KEY=VALUE), a key of
  /// `words`, or "none"; empty: the option is a flag.
  std::string kind_of(const CommandEntry& command, const OptionEntry& option) const;
};

/// Prints the script to standard output.
void print_bash_completion(const Vocabulary& vocabulary);

}  // namespace offramp::tool
