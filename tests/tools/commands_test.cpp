// Every registered subcommand is in the help, the manual, the completions and the table of exit codes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "tools/command_line/command.hpp"
#include "tools/shell/catalogue.hpp"

namespace offramp::tool {
namespace {

using ::testing::HasSubstr;

/// The output of a subcommand called by another name.
std::string printed(std::vector<std::string> words) {
  CommandLine line;
  std::reverse(words.begin(), words.end());  // in CLI11's order
  line.app().parse(words);
  testing::internal::CaptureStdout();
  EXPECT_EQ(line.execute({}), kDone);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

std::vector<const CommandDescription*> shown() {
  std::vector<const CommandDescription*> all = registered_commands();
  std::erase_if(all, [](const CommandDescription* one) { return one->hidden; });
  return all;
}

TEST(Commands, AreAllThere) {
  std::set<std::string_view> names;
  for (const CommandDescription* one : shown()) names.insert(one->name);
  EXPECT_EQ(names,
            (std::set<std::string_view>{"run", "record", "info", "check", "convert", "scale", "predict",
                                        "replay", "advise", "explain", "calibrate", "report", "completion"}));
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

TEST(Commands, AreInTheManualWithTheirExitCodes) {
  const std::string manual = printed({"manual", "markdown"});
  for (const CommandDescription* one : shown()) {
    const auto at = manual.find(fmt::format("\n## offramp {}\n", one->name));
    ASSERT_NE(at, std::string::npos) << one->name;
    const std::string section = manual.substr(at, manual.find("\n## ", at + 1) - at);
    EXPECT_THAT(section, HasSubstr("\nExit codes: "));
  }
  for (const CommandDescription* one : registered_commands()) {
    const bool is_there = manual.find(fmt::format("## offramp {}\n", one->name)) != std::string::npos;
    EXPECT_EQ(is_there, !one->hidden) << one->name;
  }
}

TEST(Commands, AreInTheCompletion) {
  const std::string script = printed({"completion", "bash"});
  for (const CommandDescription* one : shown()) EXPECT_THAT(script, HasSubstr(one->name));
}

TEST(ExitCodes, DescribeTheirMeaningInEachSubcommand) {
  CommandLine line;
  const std::vector<CommandEntry> all = catalogue(line.app());
  std::map<std::string, std::string> texts;
  for (const ExitText& exit : exit_texts(all)) EXPECT_TRUE(texts.emplace(exit.code, exit.text).second);
  for (const CommandDescription* one : shown()) {
    for (const ExitMeaning& exit : one->exits) {
      const std::string& text = texts[exit_label(exit.code)];
      EXPECT_THAT(text, HasSubstr(meaning_of(exit)));
      if (exit.text.empty()) continue;
      EXPECT_THAT(text, HasSubstr(fmt::format("{}: {}", one->name, exit.text)));
    }
  }
  EXPECT_EQ(texts.at("any other"),
            "run: the launcher's exit code, which may equal one of those above; record: the launcher's exit "
            "code, which may equal one of those above");
}

/// Options of one name take the same value and have the same help in all subcommands, except for these, with
/// the reason.
TEST(Options, AreConsistentAcrossSubcommands) {
  const std::map<std::string, std::string> kDiffer = {
      {"--backend", "one that carries a run, or several in a replay"},
      {"--compare", "a run's is a key"},
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
      {"--seconds", "calibrate's are for a figure, advise's for the search"},
      {"--set", "calibrate's are of the host"},
      {"--repeat", "predict repeats an operation, record a run"},
      {"--verbose", "run prints its command, scale all reasons of a refusal"},
      {"--ranks-per-node", "calibrate's is that of outputs that it reads"},
  };
  CommandLine line;
  std::map<std::string, std::map<std::pair<std::string, std::string>, std::string>> meanings;
  for (const CommandEntry& command : catalogue(line.app())) {
    for (const OptionEntry& option : command.options) {
      if (option.positional) continue;
      meanings[option.names.back()][{option.value, option.description}] = command.name;
    }
  }
  for (const auto& [name, found] : meanings) {
    EXPECT_EQ(found.size() > 1, kDiffer.contains(name)) << name;
  }
}

TEST(Options, ForTheModelledMachineAreInEverySubcommandThatNeedsOne) {
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
