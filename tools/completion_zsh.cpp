// Completion for zsh: a list of specifications for _arguments for each subcommand.
#include <fmt/format.h>

#include "tools/completion.hpp"

namespace offramp::tool {
namespace {

// The file is autoloaded as the function _offramp, or read by a shell that runs.
constexpr const char* kZshScript = R"zsh(
_offramp_backends() {
  _sequence compadd - $_offramp_backend_names
}

_offramp_setting() {
  local key=${PREFIX%%=*}
  if compset -P 1 '*='; then
    compadd -- $(_offramp_choices $key)
  else
    compadd -S '' -- $_offramp_keys
  fi
}

_offramp() {
  local curcontext=$curcontext context state state_descr line
  typeset -A opt_args
  _arguments -C $_offramp_own_options '(-): :->subcommand' '(-)*:: :->words'
  case $state in
    subcommand) _describe -t commands 'offramp subcommand' _offramp_subcommands ;;
    words)
      curcontext=${curcontext%:*:*}:offramp-$words[1]:
      _offramp_words $words[1] ;;
  esac
}

if [[ $funcstack[1] == _offramp ]]; then
  _offramp "$@"
else
  compdef _offramp offramp
fi
)zsh";

/// With a backslash before each of the characters, for parts of a specification that end there.
std::string escaped(std::string_view text, std::string_view characters) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || characters.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string action_for(const Vocabulary& vocabulary, const std::string& kind) {
  if (kind == "files") return "_files";
  if (kind == "backends") return "_offramp_backends";
  if (kind == "setting") return "_offramp_setting";
  const std::vector<std::string>& words = vocabulary.words_of(kind);
  return words.empty() ? " " : fmt::format("({})", fmt::join(words, " "));
}

/// What _arguments is told of a command, one quoted word after another. An option may be repeated.
std::string specifications(const Vocabulary& vocabulary, const CommandEntry& command) {
  std::string all;
  for (const OptionEntry& option : command.options) {
    const std::string kind = vocabulary.kind_of(command, option);
    std::string value =
        kind.empty() ? "" : fmt::format(":{}:{}", escaped(option.value, ":"), action_for(vocabulary, kind));
    if (option.positional) {
      all += " " + in_shell_quotes((option.several ? "*" : "") + (value.empty() ? ": : " : value));
      continue;
    }
    for (const std::string& name : option.names) {
      const std::string_view joint = kind.empty() ? "" : name.starts_with("--") ? "=" : "+";
      all += " " + in_shell_quotes(
                       fmt::format("*{}{}[{}]{}", name, joint, escaped(option.description, "[]"), value));
    }
  }
  if (command.runs_program) all += " '(-):command: _command_names -e' '*::arguments: _normal'";
  return all;
}

}  // namespace

void print_zsh_completion(const Vocabulary& vocabulary) {
  fmt::print("#compdef offramp\n# Completion of offramp for zsh, made by: offramp completion zsh\n\n");
  fmt::print("typeset -ga _offramp_own_options _offramp_subcommands _offramp_backend_names _offramp_keys\n");
  fmt::print("_offramp_own_options=({})\n_offramp_subcommands=(",
             specifications(vocabulary, vocabulary.commands.front()));
  for (const CommandEntry& command : vocabulary.commands) {
    if (&command != &vocabulary.commands.front())
      fmt::print("\n  {}", in_shell_quotes(command.name + ":" + escaped(command.summary, ":")));
  }
  fmt::print(")\n_offramp_backend_names=({})\n", fmt::join(vocabulary.words_of("backends"), " "));
  fmt::print("_offramp_keys=({})\n", fmt::join(vocabulary.words_of("keys"), " "));
  fmt::print("\n_offramp_choices() {{\n  case $1 in\n");
  for (const auto& [key, words] : vocabulary.choices)
    fmt::print("    {}) echo {} ;;\n", key, fmt::join(words, " "));
  fmt::print("  esac\n}}\n\n_offramp_words() {{\n  case $1 in\n");
  for (const CommandEntry& command : vocabulary.commands) {
    if (&command != &vocabulary.commands.front())
      fmt::print("    {}) _arguments -S{} ;;\n", command.name, specifications(vocabulary, command));
  }
  fmt::print("  esac\n}}\n{}", kZshScript);
}

}  // namespace offramp::tool
