// Completion for fish: one `complete` for each option and place, and a few functions that they ask.
#include <fmt/format.h>

#include <algorithm>

#include "tools/completion.hpp"

namespace offramp::tool {
namespace {

// What stands behind a program that is run is the program's own, and completed as if it stood alone.
constexpr const char* kFishScript = R"fish(
function __offramp_state
    # A line with the subcommand; one with the number of arguments behind it, or "program"; the program's words
    set -l words (commandline -opc)
    set -e words[1]
    set -l sub ""
    set -l place 0
    while set -q words[1]
        set -l word $words[1]
        set -e words[1]
        if test -z "$sub"
            string match -q -- '-*' $word; or set sub $word
        else if test "$word" = --
            set place program
            break
        else if string match -q -- '-*' $word
            if not string match -q -- '*=*' $word; and contains -- "$sub $word" $__offramp_with_value
                set -e words[1]
            end
        else if contains -- $sub $__offramp_runners
            set place program
            set words $word $words
            break
        else
            set place (math $place + 1)
        end
    end
    printf '%s\n' "$sub" $place $words
end

function __offramp_in
    # $argv[1]: a subcommand, or empty for none yet
    set -l state (__offramp_state)
    test "$state[1]" = "$argv[1]" -a "$state[2]" != program
end

function __offramp_at
    # $argv: a subcommand, and the number of arguments behind it
    set -l state (__offramp_state)
    test "$state[1]" = "$argv[1]" -a "$state[2]" = "$argv[2]"
end

function __offramp_at_program
    set -l state (__offramp_state)
    test "$state[2]" = program; and return
    contains -- "$state[1]" $__offramp_runners; and not string match -q -- '-*' (commandline -ct)
end

function __offramp_program
    set -l state (__offramp_state)
    set -l line (string escape -- $state[3..]) (commandline -ct)
    complete --do-complete="$line"
end

function __offramp_typed
    # The value that is being typed, which may stand behind its option
    string replace -r '^--[^=]*=' '' -- (commandline -ct)
end

function __offramp_list
    set -l before (string match -r '^.*,' -- (__offramp_typed))
    printf '%s\n' "$before"$argv
end

function __offramp_setting
    set -l typed (__offramp_typed)
    if string match -q -- '*=*' $typed
        set -l key (string replace -r '=.*' '' -- $typed)
        printf '%s\n' $key=(__offramp_choices $key)
    else
        printf '%s\n' $__offramp_keys
    end
end

complete -c offramp -f
complete -c offramp -n __offramp_at_program -a '(__offramp_program)'
)fish";

std::string fish_word(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '\\' ? std::string("\\\\") : std::string(1, c);
  return in_shell_quotes(escaped, "\\'");
}

/// The options of `complete` that say what a value is completed with; empty for a flag.
std::string arguments_for(const Vocabulary& vocabulary, const std::string& kind) {
  if (kind.empty()) return "";
  if (kind == "files") return " -rF";
  if (kind == "setting") return " -xa '(__offramp_setting)'";
  const std::string words = fmt::format("{}", fmt::join(vocabulary.words_of(kind), " "));
  if (kind == "backends") return fmt::format(" -xa {}", fish_word("(__offramp_list " + words + ")"));
  return words.empty() ? " -x" : fmt::format(" -xa {}", fish_word(words));
}

void print_command(const Vocabulary& vocabulary, const CommandEntry& command, const std::string& sub) {
  int place = 0;
  for (const OptionEntry& option : command.options) {
    const std::string kind = vocabulary.kind_of(command, option);
    if (option.positional) {
      const std::string condition =
          option.several ? "__offramp_in " + sub : fmt::format("__offramp_at {} {}", sub, place++);
      if (kind.empty() || kind == "none") continue;
      fmt::print("complete -c offramp -n {}{}\n", fish_word(condition),
                 kind == "files" ? " -a '(__fish_complete_path (commandline -ct))'"
                                 : arguments_for(vocabulary, kind));
      continue;
    }
    std::string names;
    for (const std::string& name : option.names)
      names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    fmt::print("complete -c offramp -n {}{}{} -d {}\n",
               fish_word("__offramp_in " + (sub.empty() ? "''" : sub)), names,
               arguments_for(vocabulary, kind), fish_word(option.description));
  }
}

}  // namespace

void print_fish_completion(const Vocabulary& vocabulary) {
  fmt::print("# Completion of offramp for fish, made by: offramp completion fish\n\n");
  std::string runners;
  std::string with_value;
  for (const CommandEntry& command : vocabulary.commands) {
    if (command.runs_program) runners += " " + command.name;
    for (const OptionEntry& option : command.options) {
      if (option.positional || option.value.empty()) continue;
      for (const std::string& name : option.names) with_value += " " + fish_word(command.name + " " + name);
    }
  }
  fmt::print("set -g __offramp_runners{}\nset -g __offramp_with_value{}\n", runners, with_value);
  fmt::print("set -g __offramp_keys {}\n\n", fmt::join(vocabulary.words_of("keys"), " "));
  fmt::print("function __offramp_choices\n    switch $argv[1]\n");
  for (const auto& [key, words] : vocabulary.choices)
    fmt::print("        case {}\n            printf '%s\\n' {}\n", key, fmt::join(words, " "));
  fmt::print("    end\nend\n{}\n", kFishScript);
  for (const CommandEntry& command : vocabulary.commands) {
    const bool is_program = &command == &vocabulary.commands.front();
    if (!is_program)
      fmt::print("complete -c offramp -n \"__offramp_in ''\" -a {} -d {}\n", command.name,
                 fish_word(command.summary));
    print_command(vocabulary, command, is_program ? std::string() : command.name);
  }
}

}  // namespace offramp::tool
