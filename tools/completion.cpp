// Completion for bash: a fixed script over tables made from the catalogue and the parameters.
#include <fmt/format.h>

#include <algorithm>

#include "lib/core/configuration.hpp"
#include "lib/core/names.hpp"
#include "tools/catalogue.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

// Words are glued together again where bash cuts them at "=". What stands behind a program that is run is
// the program's own.
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
    _offramp_value "$(_offramp_place "$sub" "$place")" "$cur" ""
  fi
}

complete -F _offramp offramp
)bash";

/// What a value of this type name is completed with: a name of the script's, the words themselves, or
/// nothing.
std::string kind_of(const OptionEntry& option) {
  struct Kind {
    std::string_view value;
    std::string_view kind;
  };
  constexpr Kind kKinds[] = {{"FILE", "files"},   {"PATH", "files"},         {"LIBRARY", "files"},
                             {"FOLDER", "files"}, {"PROGRAM", "files"},      {"BACKEND", "backends"},
                             {"TYPE", "types"},   {"FUNCTION", "functions"}, {"OPERATION", "operations"},
                             {"TOPIC", "topics"}, {"SHELL", "shells"},       {"KEY=VALUE", "setting"}};
  for (const Kind& known : kKinds) {
    if (option.value == known.value) return std::string(known.kind);
  }
  return option.value.empty() ? std::string() : "none";
}

template <typename T>
std::string names_of(T last) {
  std::string all;
  for (int i = 0; i <= static_cast<int>(last); ++i) all += fmt::format("{} ", to_string(static_cast<T>(i)));
  return all;
}

/// The words among what a key allows; phrases for people are left out.
std::string words_in(std::string_view allowed) {
  std::string words;
  while (!allowed.empty()) {
    const std::size_t end = std::min(allowed.find(", "), allowed.size());
    const std::string_view word = allowed.substr(0, end);
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (plain) words += fmt::format("{} ", word);
    allowed.remove_prefix(std::min(end + 2, allowed.size()));
  }
  return words;
}

/// In single quotes for the shell, without blanks at the end.
std::string quoted(std::string text) {
  while (text.ends_with(' ')) text.pop_back();
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

class Table {
 public:
  Table(std::string_view name, std::string_view key) {
    text_ = fmt::format("{}() {{\n  case {} in\n", name, key);
  }
  void add(std::string_view key, const std::string& words) {
    if (!words.empty()) text_ += fmt::format("    {}) echo {} ;;\n", quoted(std::string(key)), quoted(words));
  }
  void print() const { fmt::print("{}  esac\n}}\n\n", text_); }

 private:
  std::string text_;
};

void print_words(const std::vector<CommandEntry>& all, const Registry& registry) {
  Table table("_offramp_words", "$1");
  std::string subcommands;
  std::string runners;
  for (std::size_t i = 1; i < all.size(); ++i) {
    subcommands += all[i].name + " ";
    if (all[i].runs_program) runners += all[i].name + " ";
  }
  table.add("subcommands", subcommands);
  table.add("runners", runners);
  table.add("backends", fmt::format("{}", fmt::join(registry.names(), " ")));
  table.add("operations", names_of(static_cast<OperationKind>(static_cast<int>(OperationKind::kCount) - 1)));
  table.add("types", names_of(ElementType::kMixed));
  table.add("functions", names_of(ReduceFunction::kUser));
  std::vector<std::string_view> topics;
  for (const BackendDescription* backend : registry.all()) {
    for (const ExplainTopic& topic : backend->topics) topics.push_back(topic.topic);
  }
  std::sort(topics.begin(), topics.end());
  topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
  table.add("topics", fmt::format("{}", fmt::join(topics, " ")));
  std::string keys;
  for (const auto& [key, variable] : variables_by_key(registry)) keys += key + "= ";
  table.add("keys", keys);
  table.add("shells", "bash");
  // Choices that stand in an option's own type name.
  for (const CommandEntry& command : all) {
    for (const OptionEntry& option : command.options) {
      if (option.value.find('|') == std::string::npos) continue;
      std::string words = option.value;
      std::replace(words.begin(), words.end(), '|', ' ');
      std::string lower;
      for (std::size_t begin = 0; begin < words.size();) {
        const std::size_t end = std::min(words.find(' ', begin), words.size());
        lower += words_in(words.substr(begin, end - begin)) + " ";
        begin = end + 1;
      }
      table.add(command.name + option.names.back(), lower);
    }
  }
  table.print();
}

void print_choices(const Registry& registry) {
  Table table("_offramp_choices", "$1");
  for (const Key& key : configuration_keys()) {
    if (!key.variable.empty()) table.add(key.path, words_in(allowed_text(key, registry)));
  }
  for (const BackendDescription* backend : registry.all()) {
    for (const Parameter& p : backend->parameters) {
      table.add(fmt::format("{}.{}", backend->name, p.name), words_in(allowed_text(p)));
    }
  }
  table.print();
}

void print_options(const std::vector<CommandEntry>& all) {
  Table options("_offramp_options", "$1");
  Table kinds("_offramp_kind", "\"$1 $2\"");
  Table places("_offramp_place", "\"$1 $2\"");
  for (const CommandEntry& command : all) {
    const std::string sub = &command == &all.front() ? std::string() : command.name;
    std::string names;
    int place = 0;
    for (const OptionEntry& option : command.options) {
      const bool choice = option.value.find('|') != std::string::npos;
      const std::string kind = choice ? command.name + option.names.back() : kind_of(option);
      if (option.positional) {
        places.add(fmt::format("{} {}", sub, place++), kind);
        continue;
      }
      for (const std::string& name : option.names) {
        names += name + " ";
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

int completion(const CLI::App& app, const std::string& shell) {
  constexpr std::string_view kShells[] = {"bash"};
  if (shell != kShells[0]) {
    complain(fmt::format("no completion for {}; there is one for bash", in_quotes(shell)));
    return kUsage;
  }
  Registry registry(built_in_backends());
  // For the plugins. A configuration that is wrong should not spoil the shell.
  static_cast<void>(load_configuration(Surroundings::of_process(), registry));
  const std::vector<CommandEntry> all = catalogue(app);
  fmt::print("# Completion of offramp for bash, made by: offramp completion bash\n\n");
  print_words(all, registry);
  print_choices(registry);
  print_options(all);
  fmt::print("{}", kScript + 1);
  return kDone;
}

}  // namespace offramp::tool
