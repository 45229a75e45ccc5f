// Reports side by side: headlines, warnings and tables for several programs and machines.
#include "tools/text/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tools/text/replay_output.hpp"
#include "tools/text/report_tables.hpp"

namespace offramp::tool {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A program over the host. run: including its computing; 0: unknown.
RunReport report_of(const std::string& program, int communication_us, int run_us = 0) {
  RunReport report;
  report.file = program + ".json";
  report.command = program;
  report.compute = "none";
  report.ranks = 4;
  report.settings = {{"machine.ranks_per_node", "1", "default"}, {"network.topology", "star", "default"}};
  ReportLane lane;
  lane.backend = "host";
  lane.communication = lane.modelled_time = Time::us(communication_us);
  ReportCall call;
  call.name = "MPI_Send";
  call.count = static_cast<std::uint64_t>(communication_us);
  call.modelled = lane.communication;
  lane.calls = {call};
  if (run_us > 0) {
    lane.run = WholeRun{};
    lane.run->end = Time::us(run_us);
    report.computing = ReportComputing{};
  }
  report.lanes = {lane};
  return report;
}

TEST(AHeadline, NamesTheChangeOfEachOfSeveralPrograms) {
  const std::vector<RunReport> reports = {report_of("a", 100), report_of("b", 50), report_of("c", 220)};
  EXPECT_EQ(
      headline(reports, shown_lanes(reports)),
      "b.json: communication 50 % shorter (50 instead of 100 us); c.json: communication 2.2 times as long "
      "(220 instead of 100 us)");
}

TEST(AHeadline, CombinesAllRecordingsOfAVersionAndTablesShowTheFirst) {
  std::vector<RunReport> reports;
  for (const int run : {1000, 1010, 990}) reports.push_back(report_of("a", 100, run));
  for (const int run : {800, 810, 790}) reports.push_back(report_of("b", 100, run));
  for (RunReport& report : reports) report.version_of_program = "folder/" + report.command;
  const std::vector<ShownLane> lanes = shown_lanes(reports);
  EXPECT_EQ(lanes.size(), 2);
  EXPECT_EQ(headline(reports, lanes), "b: run 20 % shorter (0.8 instead of 1 ms)");
}

TEST(Reports, FromDifferentMachinesAreLabelledAndCauseAWarning) {
  std::vector<RunReport> reports = {report_of("a", 100), report_of("a", 50)};
  reports[1].file = "b.json";
  EXPECT_THAT(warnings_of(reports), IsEmpty());
  reports[1].settings[0] = {"machine.ranks_per_node", "4", "--ranks-per-node"};
  EXPECT_EQ(shown_lanes(reports)[1].label, "host (machine.ranks_per_node 4)");
  EXPECT_THAT(warnings_of(reports), ElementsAre("b.json: the machine differs from that of the first report: "
                                                "machine.ranks_per_node 4 instead of 1"));
}

TEST(Reports, FromDifferentHostsCauseAWarning) {
  std::vector<RunReport> reports = {report_of("a", 100, 1000), report_of("a", 50, 1000)};
  reports[0].recordings = {{"a.rec", "", "", "n1"}};
  reports[1].recordings = {{"a.rec", "", "", "n2"}};
  EXPECT_THAT(warnings_of(reports), ElementsAre(HasSubstr("recorded on n2, that of the first report on n1")));
  reports[1].recordings[0].host = "n1";
  EXPECT_THAT(warnings_of(reports), IsEmpty());
}

TEST(ATable, QuotesItsSeparators) {
  std::vector<RunReport> reports = {report_of("a", 100)};
  reports[0].file = "a,b.json";
  reports[0].lanes[0].backend = "host,\"2\"";
  EXPECT_THAT(report_table(reports, "calls"), HasSubstr("\n\"a,b.json\",\"host,\"\"2\"\"\",MPI_Send,100,"));
}

TEST(ATable, NamesTheDataThatItLacksWithoutDetails) {
  std::vector<RunReport> reports = {report_of("a", 100), report_of("b", 100)};
  reports[1].lanes[0].accounts = ReportAccounts{};
  for (const char* name : {"accounts", "waits", "traffic", "units"})
    EXPECT_THAT(missing_in_table(reports, name),
                ElementsAre(HasSubstr(std::string("a.json: no ") + name +
                                      " of host: only reports of one program "
                                      "with --details")));
  EXPECT_THAT(missing_in_table(reports, "calls"), IsEmpty());
}

TEST(TheTraffic, CountsTheOmittedPairsOfManyRanks) {
  std::vector<ReportTraffic> traffic;
  for (std::uint64_t rank = 0; rank < 20; ++rank) traffic.push_back({rank, (rank + 1) % 20, 1, 100});
  EXPECT_EQ(traffic_lines(traffic, 20).back(), "and 12 more");
  traffic.resize(8);
  EXPECT_THAT(traffic_lines(traffic, 20).back(), Not(HasSubstr("more")));
}

TEST(AccountLines, CompareTwoVersionsByFunction) {
  TimeParts short_time, long_time;
  short_time.at(TimeKind::kTransfer) = Time::us(1);
  long_time.at(TimeKind::kTransfer) = Time::us(5);
  ReportAccounts before, after;
  before.sites = {{"MPI_Send", "app+0x10", "exchange, app.c:48", 10, long_time, {}},
                  {"MPI_Send", "app+0x20", "exchange, app.c:49", 10, long_time, {}},
                  {"MPI_Bcast", "app+0x30", "main, app.c:80", 1, short_time, {}},
                  {"MPI_Barrier", "app+0x40", "", 1, long_time, {}}};
  after.sites = {{"MPI_Send", "app+0x18", "exchange, app.c:60", 10, short_time, {}},
                 {"MPI_Bcast", "app+0x38", "main, app.c:92", 1, short_time, {}},
                 {"MPI_Wait", "app+0x48", "finish (app+0x48)", 3, short_time, {}}};
  const std::vector<std::string> lines = place_change_lines(before, after);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[1],
              testing::MatchesRegex("MPI_Send in exchange +20 -> 10 +10.00 us -> 1.000 us +-9.000 us"));
  EXPECT_THAT(lines[2], testing::MatchesRegex("MPI_Wait in finish +0 -> 3 +0 -> 1.000 us +.1.000 us"));
  EXPECT_THAT(lines[3], testing::MatchesRegex("MPI_Bcast in main +1 +1.000 us +-"));
  EXPECT_TRUE(place_change_lines({}, {}).empty());
}

TEST(AccountLines, ListPhasesIfThereAreSeveral) {
  ReportAccounts accounts;
  TimeParts parts;
  parts.at(TimeKind::kTransfer) = Time::us(3);
  parts.at(TimeKind::kSoftware) = Time::us(1);
  accounts.phases = {{"solve", 1, 12, parts}};
  EXPECT_TRUE(more_account_lines(accounts).empty());
  accounts.phases.push_back({"", 0, 4, parts});
  const std::vector<std::string> lines = more_account_lines(accounts);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0], testing::StartsWith("phase "));
  EXPECT_THAT(lines[1], testing::MatchesRegex("solve +12 +4.000 us +75.0 % +25.0 % .*"));
  EXPECT_THAT(lines[2], testing::StartsWith("outside of phases "));
  EXPECT_THAT(lines[3], testing::MatchesRegex("all +8.000 us +75.0 %.*"));
  accounts.sizes = {{false, 0, 0, 1, parts}, {true, 1024, 2047, 1, parts}};
  EXPECT_THAT(account_lines(accounts, AccountsBy::kSize)[1], testing::StartsWith("without operations "));
  EXPECT_THAT(account_lines(accounts, AccountsBy::kSize)[2], testing::HasSubstr("1 KiB"));
}

TEST(PartText, SaysWhetherAllThatExistsWasReplayed) {
  ReplayResult result;
  result.events = 36;
  EXPECT_EQ(part_text(result, 36), "");
  result.unfinished = {{.rank = 1, .where = "rank 1 at its end", .why = "signal 15 (Terminated)"}};
  for (const std::uint64_t recorded : {36, 0})  // 0: not known
    EXPECT_EQ(part_text(result, recorded), "the recording ends early; what it has was replayed (36 events)");
  result.unfinished.front().waits = true;
  EXPECT_EQ(part_text(result, 36), "97.2 % of the recorded events were replayed (35 of 36)");
  EXPECT_EQ(part_text(result, 0), "35 events were replayed");
}

}  // namespace
}  // namespace offramp::tool
