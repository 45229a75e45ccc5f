// The words of each kind of value. A kind comes from the option's type name or, for options
// that choose among words, from those words; kinds without words are completed as files or not at all.
#include "tools/shell/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {
namespace {

constexpr const char* kShell = "bash";

template <typename T>
std::vector<std::string> names_of(T last) {
  std::vector<std::string> all;
  for (int i = 0; i <= static_cast<int>(last); ++i) all.emplace_back(to_string(static_cast<T>(i)));
  return all;
}

/// The words among what a key allows; phrases for people are left out.
std::vector<std::string> words_in(std::string_view allowed) {
  std::vector<std::string> words;
  while (!allowed.empty()) {
    const std::size_t end = std::min(allowed.find(", "), allowed.size());
    const std::string_view word = allowed.substr(0, end);
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (plain) words.emplace_back(word);
    allowed.remove_prefix(std::min(end + 2, allowed.size()));
  }
  return words;
}

/// The words among the choices in an option's own type name, as in none|measured|FACTOR.
std::vector<std::string> words_among_choices(std::string type) {
  for (std::size_t at = 0; (at = type.find('|', at)) != std::string::npos;) type.replace(at, 1, ", ");
  return words_in(type);
}

std::string kind_of_choice(const CommandEntry& command, const OptionEntry& option) {
  return command.name + option.names.back();
}

Vocabulary vocabulary_of(const CLI::App& app, const Registry& registry) {
  Vocabulary v;
  v.commands = catalogue(app);
  for (const std::string_view name : registry.names()) v.words["backends"].emplace_back(name);
  v.words["operations"] = names_of(static_cast<OperationKind>(static_cast<int>(OperationKind::kCount) - 1));
  v.words["types"] = names_of(ElementType::kMixed);
  v.words["functions"] = names_of(ReduceFunction::kUser);
  v.words["shells"] = {kShell};
  std::vector<std::string>& topics = v.words["topics"];
  for (const BackendDescription* backend : registry.all()) {
    for (const ExplainTopic& topic : backend->topics) topics.emplace_back(topic.topic);
    for (const Parameter& p : backend->parameters)
      v.choices[fmt::format("{}.{}", backend->name, p.name)] = words_in(allowed_text(p));
  }
  std::sort(topics.begin(), topics.end());
  topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
  for (const auto& [key, variable] : variables_by_key(registry)) v.words["keys"].push_back(key + "=");
  for (const Key& key : configuration_keys()) {
    if (!key.variable.empty()) v.choices[std::string(key.path)] = words_in(allowed_text(key, registry));
  }
  std::erase_if(v.choices, [](const auto& entry) { return entry.second.empty(); });
  for (const CommandEntry& command : v.commands) {
    for (const OptionEntry& option : command.options) {
      const std::vector<std::string> words = words_among_choices(option.value);
      if (!words.empty()) v.words[kind_of_choice(command, option)] = words;
    }
  }
  return v;
}

}  // namespace

std::string Vocabulary::kind_of(const CommandEntry& command, const OptionEntry& option) const {
  struct ValueKind {
    std::string_view value;
    std::string_view kind;
  };
  constexpr ValueKind kKinds[] = {
      {"FILE", "files"},         {"FILE|PATTERN", "files"},   {"PATH", "files"},
      {"LIBRARY", "files"},      {"FOLDER", "files"},         {"PROGRAM", "files"},
      {"BACKEND", "backends"},   {"BACKEND,...", "backends"}, {"TYPE", "types"},
      {"FUNCTION", "functions"}, {"OPERATION", "operations"}, {"TOPIC", "topics"},
      {"SHELL", "shells"},       {"KEY=VALUE", "setting"}};
  for (const ValueKind& known : kKinds) {
    if (option.value == known.value) return std::string(known.kind);
  }
  if (option.value.empty()) return "";
  const std::string choice = kind_of_choice(command, option);
  return words.contains(choice) ? choice : "none";
}

namespace {

class CompletionCommand final : public Command {
 public:
  explicit CompletionCommand(CLI::App& app) : Command(app) {
    app.add_option("shell", shell_, "bash")->type_name("SHELL")->required();
  }
  int execute(std::vector<std::string>) override {
    if (shell_ != kShell) {
      warn(fmt::format("no completion for {}; available: {}", in_quotes(shell_), kShell));
      return kUsage;
    }
    Registry registry(built_in_backends());
    // For the plugins. A configuration that is wrong should not spoil the shell.
    static_cast<void>(load_configuration(ConfigSources::of_process(), registry));
    print_bash_completion(vocabulary_of(whole(), registry));
    return kDone;
  }

 private:
  std::string shell_;
};

const Registered<CompletionCommand> completion_command(
    {.name = "completion",
     .place = 110,
     .summary = "print a completion script for bash",
     .about = "In a running bash: source <(offramp completion bash)",
     .exits = {{kUsage}}});

}  // namespace
}  // namespace offramp::tool
