// Completion for bash: a fixed script with tables.
#include <fmt/format.h>

#include "tools/shell/completion.hpp"

namespace offramp::tool {
namespace {

// Rejoins words that bash splits at "=". Words after a program to run belong to that program.
constexpr const char* kScript = R"bash(
_offramp_reply() {
  # $1: the words to choose from; $2: what is typed; $3: what stands before each in the same word
  mapfile -t COMPREPLY < <(compgen -P "$3" -W "$1" -- "$2")
  [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
}

_offramp_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -P "$2" -- "$1")
}

_offramp_value() {
  # $1: the kind of value; $2: what is typed; $3: what stands before it in the same word
  case $1 in
    files) _offramp_files "$2" "$3" ;;
    setting)
      if [[ $2 == *=* ]]; then
        local key=$3${2%%=*}=
        [[ $COMP_WORDBREAKS == *=* ]] && key=""
        _offramp_reply "$(_offramp_choices "${2%%=*}")" "${2#*=}" "$key"
      else
        _offramp_reply "$(_offramp_words keys)" "$2" "$3"
      fi ;;
    backends)
      local list=""
      [[ $2 == *,* ]] && list="${2%,*},"
      _offramp_reply "$(_offramp_words backends)" "${2##*,}" "$3$list" ;;
    *) _offramp_reply "$(_offramp_words "$1")" "$2" "$3" ;;
  esac
}

_offramp_runs() {
  [[ " $(_offramp_words runners) " == *" $1 "* ]]
}

_offramp() {
  local -a words=()
  local i word
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((i > 1)) && [[ $word == = || ${COMP_WORDS[i - 1]} == = && -n $word ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  local cur=${words[-1]} sub="" last=$((${#words[@]} - 1)) place=0 program=""
  COMPREPLY=()
  for ((i = 1; i < last; ++i)); do
    word=${words[i]}
    if [[ -z $sub ]]; then
      [[ $word == -* ]] || sub=$word
    elif [[ $word == -- ]]; then
      program=$((i + 1))
      break
    elif [[ $word == -* ]]; then
      [[ $word != *=* && -n $(_offramp_kind "$sub" "$word") ]] && ((++i))
    elif _offramp_runs "$sub"; then
      program=$i
      break
    else
      ((++place))
    fi
  done
  if [[ -z $sub ]]; then
    _offramp_reply "$(_offramp_words subcommands) $(_offramp_options "")" "$cur" ""
  elif [[ -n $program ]]; then
    if ((last == program)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
      _offramp_files "$cur" ""
    fi
  elif ((i > last)); then
    _offramp_value "$(_offramp_kind "$sub" "${words[last - 1]}")" "$cur" ""
  elif [[ $cur == --*=* ]]; then
    word=${cur%%=*}=
    [[ $COMP_WORDBREAKS == *=* ]] && word=""
    _offramp_value "$(_offramp_kind "$sub" "${cur%%=*}")" "${cur#*=}" "$word"
  elif [[ $cur == -* ]]; then
    _offramp_reply "$(_offramp_options "$sub")" "$cur" ""
  elif _offramp_runs "$sub"; then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  else
    word=$(_offramp_place "$sub" "$place")
    _offramp_value "${word:-$(_offramp_place "$sub" "*")}" "$cur" ""
  fi
}

complete -F _offramp offramp
)bash";

/// Quotes any text with single quotes.
std::string in_shell_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

class Table {
 public:
  Table(std::string_view name, std::string_view key) {
    text_ = fmt::format("{}() {{\n  case {} in\n", name, key);
  }
  void add(std::string_view key, std::string_view words) {
    if (!words.empty())
      text_ += fmt::format("    {}) echo {} ;;\n", in_shell_quotes(key), in_shell_quotes(words));
  }
  void add(std::string_view key, const std::vector<std::string>& words) {
    add(key, std::string_view(fmt::format("{}", fmt::join(words, " "))));
  }
  void print() const { fmt::print("{}  esac\n}}\n\n", text_); }

 private:
  std::string text_;
};

void print_words(const Vocabulary& vocabulary) {
  Table words("_offramp_words", "$1");
  std::vector<std::string> subcommands;
  std::vector<std::string> runners;
  for (const CommandEntry& command : vocabulary.commands) {
    if (&command == &vocabulary.commands.front()) continue;
    subcommands.push_back(command.name);
    if (command.runs_program) runners.push_back(command.name);
  }
  words.add("subcommands", subcommands);
  words.add("runners", runners);
  for (const auto& [kind, all] : vocabulary.words) words.add(kind, all);
  words.print();
  Table choices("_offramp_choices", "$1");
  for (const auto& [key, all] : vocabulary.choices) choices.add(key, all);
  choices.print();
}

void print_options(const Vocabulary& vocabulary) {
  Table options("_offramp_options", "$1");
  Table kinds("_offramp_kind", "\"$1 $2\"");
  Table places("_offramp_place", "\"$1 $2\"");
  for (const CommandEntry& command : vocabulary.commands) {
    const std::string sub = &command == &vocabulary.commands.front() ? std::string() : command.name;
    std::vector<std::string> names;
    int place = 0;
    for (const OptionEntry& option : command.options) {
      const std::string kind = vocabulary.kind_of(command, option);
      if (option.positional) {
        places.add(fmt::format("{} {}", sub, option.several ? "*" : fmt::format("{}", place++)), kind);
        continue;
      }
      for (const std::string& name : option.names) {
        names.push_back(name);
        kinds.add(fmt::format("{} {}", sub, name), kind);
      }
    }
    options.add(sub, names);
  }
  options.print();
  kinds.print();
  places.print();
}

}  // namespace

void print_bash_completion(const Vocabulary& vocabulary) {
  fmt::print("# Completion of offramp for bash, made by: offramp completion bash\n\n");
  print_words(vocabulary);
  print_options(vocabulary);
  fmt::print("{}", kScript + 1);
}

}  // namespace offramp::tool
