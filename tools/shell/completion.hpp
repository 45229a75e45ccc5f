// Shell completion for bash: the options, and the words that each kind of value accepts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tools/shell/catalogue.hpp"

namespace offramp::tool {

struct Vocabulary {
  std::vector<CommandEntry> commands;  // the program itself first
  /// Possible words by kind of value ("backends", "keys", ...). Keys end with "=".
  std::map<std::string, std::vector<std::string>> words;
  /// Allowed words by key; no entry for keys that accept numbers or free text.
  std::map<std::string, std::vector<std::string>> choices;

  /// How a value is completed: "files", "backends" (a list with commas), "setting" (KEY=VALUE), a key of
  /// `words`, or "none". Empty: the option is a flag.
  std::string kind_of(const CommandEntry& command, const OptionEntry& option) const;
};

/// Prints the completion script to standard output.
void print_bash_completion(const Vocabulary& vocabulary);

}  // namespace offramp::tool
