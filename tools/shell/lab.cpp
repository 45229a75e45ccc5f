// offramp lab: what only those need who build models or measure Offramp itself.
#include <fmt/format.h>

#include <map>

#include "tools/command_line/command.hpp"
#include "tools/command_line/help.hpp"

namespace offramp::tool {
namespace {

class LabCommand final : public Command {
 public:
  explicit LabCommand(CLI::App& app) : Command(app) {}

  int execute(std::vector<std::string>) override {
    std::map<std::string, std::pair<std::string, std::vector<std::string>>> options;
    for (const CommandDescription* const command : registered_commands()) {
      const auto is_it = [](const CLI::Option* option) { return is_for_lab(*option); };
      for (const CLI::Option* option :
           whole().get_subcommand(std::string(command->name))->get_options(is_it)) {
        const std::string type = option->get_items_expected_max() > 0 ? " " + option->get_type_name() : "";
        auto& [description, commands] = options["--" + option->get_lnames().front() + type];
        description = option->get_description();
        commands.emplace_back(command->name);
      }
    }
    for (const auto& [label, entry] : options)
      fmt::print("{}", help_row(label, fmt::format("{}: {}", fmt::join(entry.second, ", "), entry.first)));
    return kDone;
  }
};

const Registered<LabCommand> lab_command(
    {.name = "lab",
     .place = 105,
     .summary = "list the options for those who build models; lab SUBCOMMAND --help describes them",
     .exits = {{kUsage}}});

}  // namespace
}  // namespace offramp::tool
