// Every registered subcommand is in the help and in the catalogue.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tools/command_line/catalogue.hpp"
#include "tools/command_line/command.hpp"

namespace offramp::tool {
namespace {

using ::testing::HasSubstr;

std::vector<const CommandDescription*> shown() {
  std::vector<const CommandDescription*> all = registered_commands();
  std::erase_if(all, [](const CommandDescription* one) { return one->hidden; });
  return all;
}

TEST(Commands, AreAllThere) {
  std::set<std::string_view> names;
  for (const CommandDescription* one : shown()) names.insert(one->name);
  EXPECT_EQ(names, (std::set<std::string_view>{"run", "record", "info", "check", "convert", "scale",
                                               "predict", "replay", "advise", "explain", "calibrate",
                                               "report", "completion", "lab"}));
}

TEST(Commands, HaveNamesAndPlacesOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<int> places;
  for (const CommandDescription* one : registered_commands()) {
    EXPECT_TRUE(names.insert(one->name).second) << one->name;
    EXPECT_TRUE(places.insert(one->place).second) << one->name;
  }
}

TEST(Commands, HaveHelpOptionsAndExitCodes) {
  CommandLine line;
  for (const CommandDescription* one : registered_commands()) {
    const CLI::App& app = *line.app().get_subcommand(std::string(one->name));
    EXPECT_FALSE(one->summary.empty()) << one->name;
    EXPECT_GT(app.get_options().size(), 1U) << one->name;  // --help is an option, too
    for (const CLI::Option* option : app.get_options())
      EXPECT_FALSE(option->get_description().empty() && !one->hidden) << one->name << option->get_name();
    ASSERT_FALSE(one->exits.empty()) << one->name;
    std::set<int> codes;
    const std::string help = app.help("", CLI::AppFormatMode::All);
    for (const ExitMeaning& exit : one->exits) {
      EXPECT_TRUE(codes.insert(exit.code).second) << one->name << " " << exit.code;
      EXPECT_FALSE(meaning_of(exit).empty()) << one->name << " " << exit.code;
      const std::string begin(meaning_of(exit).substr(0, 20));  // lines break behind it
      EXPECT_THAT(help, HasSubstr(fmt::format("\n  {:<24}{}", exit_label(exit.code), begin))) << one->name;
    }
  }
}

TEST(Commands, HaveExamplesThatAreCommandLines) {
  for (const CommandDescription* one : shown()) {
    EXPECT_FALSE(examples_of(one->name).empty()) << one->name;
    for (const Example& example : examples_of(one->name)) {
      CommandLine line;
      std::vector<std::string> words = CLI::detail::split_up(std::string(example.command));
      words.erase(words.begin());  // offramp
      if (one->name == "lab") words.erase(words.begin());
      words.erase(
          std::find_if(words.begin(), words.end(), [](const auto& w) { return w == "--" || w == ">"; }),
          words.end());
      if (words.back() == "--help-all") words.pop_back();
      std::reverse(words.begin(), words.end());  // in CLI11's order
      EXPECT_NO_THROW(line.app().parse(words)) << example.command;
      EXPECT_TRUE(line.app().get_subcommands().front()->remaining().empty()) << example.command;
    }
  }
}

TEST(Commands, AreInTheCatalogueUnlessHidden) {
  CommandLine line;
  std::vector<std::string> names = {"offramp"};
  for (const CommandDescription* one : shown()) names.emplace_back(one->name);
  std::vector<std::string> found;
  for (const auto& command : catalogue(line.app())) found.push_back(command["name"]);
  EXPECT_EQ(found, names);
}

/// Options of one name take the same value and have the same help in all subcommands, except for these, with
/// the reason.
TEST(Options, AreConsistentAcrossSubcommands) {
  const std::map<std::string, std::string> kDiffer = {
      {"--backend", "one that carries a run, or several in a replay"},
      {"--compute", "a replay takes what was recorded, a run measures"},
      {"--ranks", "of processes or of modelled ranks, with the default"},
      {"--json", "explain has it for receipts"},
      {"--svg", "explain has it for one topic"},
      {"--trace", "a run has one lane, a replay one for each backend"},
      {"--capture", "as --trace"},
      {"--receipts", "a run's go to the report, a replay's to the JSON as well"},
      {"--report", "a run writes it at MPI_Finalize"},
      {"--output", "it is what the subcommand makes"},
      {"--sweep", "a forecast's is of sizes or ranks, a replay's of any key"},
      {"--details", "an answer's are printed, a replay's go to the report as well"},
      {"--set", "calibrate's are of the host"},
      {"--verbose", "run prints its command, scale all reasons of a refusal"},
      {"--ranks-per-node", "calibrate's is that of outputs that it reads"},
  };
  CommandLine line;
  std::map<std::string, std::map<std::pair<std::string, std::string>, std::string>> meanings;
  for (const auto& command : catalogue(line.app())) {
    for (const auto& option : command["options"]) {
      if (option["positional"]) continue;
      meanings[option["names"].back()][{option["value"], option["description"]}] = command["name"];
    }
  }
  for (const auto& [name, found] : meanings) {
    EXPECT_EQ(found.size() > 1, kDiffer.contains(name)) << name;
  }
}

TEST(Options, AreAtMost55WithoutThoseOfTheLab) {
  CommandLine line;
  std::set<std::string> names;
  for (const auto& command : catalogue(line.app())) {
    for (const auto& option : command["options"]) {
      if (!option["lab"]) names.insert(option["names"].back());
    }
  }
  std::erase_if(names, [](const std::string& name) { return !name.starts_with("--"); });
  EXPECT_LE(names.size(), 55U);
}

TEST(Options, OfTheModelledMachineAreInEverySubcommandThatAsksAboutOne) {
  CommandLine line;
  for (const char* name : {"run", "replay", "predict", "explain", "info", "check", "advise"}) {
    const CLI::App& app = *line.app().get_subcommand(name);
    for (const char* option : {"--backend", "--set", "--config", "--network", "--nodes", "--ranks-per-node",
                               "--cards-per-node", "--noise", "--slow-nodes"})
      EXPECT_NE(app.get_option_no_throw(option), nullptr) << name << " " << option;
  }
}

}  // namespace
}  // namespace offramp::tool
