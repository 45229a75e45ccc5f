#include "tools/command_line/catalogue.hpp"

#include <fmt/core.h>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/text_format.hpp"
#include "offramp/version.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;

std::string utf8_text(std::string_view text) {
  return printable(text, 1000);
}

Json default_value(const Parameter& p) {
  if (p.kind == ParameterKind::kChoice) return p.default_choice;
  if (p.kind == ParameterKind::kBoolean) return p.default_number != 0;
  if (p.kind == ParameterKind::kInteger) return static_cast<std::int64_t>(p.default_number);
  return p.default_number;
}

Json describe_app(const CLI::App& app) {
  Json options = Json::array();
  for (const CLI::Option* option : app.get_options()) {
    const bool has_value = option->get_items_expected_max() > 0;
    options.push_back(
        {{"names", option->get_positional() ? std::vector{option->get_name(true)} : option_names(*option)},
         {"value", has_value ? option->get_type_name() : ""},
         {"description", option->get_description()},
         {"default", option->get_default_str()},
         {"positional", option->get_positional()},
         {"required", option->get_required()},
         {"several", option->get_items_expected_max() > 1},
         {"lab", is_for_lab(*option)}});
  }
  return {{"name", app.get_name()}, {"summary", app.get_description()}, {"options", std::move(options)}};
}

template <typename T>
Json names_up_to(T last) {
  Json names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.push_back(to_string(static_cast<T>(i)));
  return names;
}

class ManualCommand final : public Command {
 public:
  explicit ManualCommand(CLI::App& app) : Command(app) {}
  int execute(std::vector<std::string>) override {
    const Registry registry(built_in_backends());
    Json backends;
    for (const BackendDescription* backend : registry.all()) backends.push_back(describe(*backend));
    const auto last_operation = static_cast<OperationKind>(static_cast<int>(OperationKind::kCount) - 1);
    const Json all = {{"version", OFFRAMP_VERSION},
                      {"commands", catalogue(whole())},
                      {"keys", describe_keys(registry)},
                      {"backends", backends},
                      {"operations", names_up_to(last_operation)},
                      {"types", names_up_to(ElementType::kMixed)},
                      {"functions", names_up_to(ReduceFunction::kUser)}};
    fmt::print("{}\n", all.dump(1));
    return kDone;
  }
};

const Registered<ManualCommand> manual_command({.name = "manual",
                                                .place = 120,
                                                .summary = "print this description of the command as JSON",
                                                .exits = {{kUsage}},
                                                .hidden = true});  // for the build

}  // namespace

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (std::string& name : option_names(*option)) names.push_back(std::move(name));
  }
  return names;
}

Json catalogue(const CLI::App& app) {
  Json all = {describe_app(app)};
  for (const CommandDescription* command : registered_commands()) {
    if (command->hidden) continue;
    Json& json = all.emplace_back(describe_app(*app.get_subcommand(std::string(command->name))));
    json["about"] = command->about;
    json["runs_program"] = command->runs_program;
    for (const Example& example : examples_of(command->name))
      json["examples"].push_back({{"command", example.command}, {"what", example.what}});
    for (const ExitMeaning& exit : command->exits)
      json["exits"].push_back(
          {{"code", exit_label(exit.code)}, {"usual", usual_meaning(exit.code)}, {"own", exit.text}});
  }
  return all;
}

Json describe_keys(const Registry& registry) {
  Json keys = Json::array();
  for (const Key& key : configuration_keys()) {
    keys.push_back({{"key", key.path},
                    {"variable", key.variable},
                    {"unit", key.unit},
                    {"default", key.default_text},
                    {"allowed", allowed_text(key, registry)},
                    {"description", key.description}});
  }
  return keys;
}

Json describe(const BackendDescription& backend) {
  Json parameters = Json::array();
  for (const Parameter& p : backend.parameters) {
    parameters.push_back({{"name", p.name},
                          {"unit", utf8_text(p.unit)},
                          {"default", default_value(p)},
                          {"allowed", utf8_text(allowed_text(p))},
                          {"source", utf8_text(p.source)},
                          {"description", utf8_text(p.description)},
                          {"variable", variable_name(backend.name, p.name)}});
  }
  Json topics = Json::array();
  for (const ExplainTopic& topic : backend.topics) topics.push_back(topic.topic);
  return {{"name", backend.name},
          {"description", utf8_text(backend.description)},
          {"parameters", std::move(parameters)},
          {"topics", std::move(topics)}};
}

}  // namespace offramp::tool
