#include "lib/answers/report/partial.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/answers/report/read_report.hpp"
#include "offramp/version.hpp"

namespace offramp::partial_test {
namespace {

using Json = nlohmann::json;

/// What rank_report makes of a rank that has done nothing.
RankPart part_of(int rank, const std::string& run = "run-1") {
  RankPart part;
  part.run = run;
  part.rank = rank;
  part.ranks = 3;
  part.reason = "signal 15 (Terminated)";
  part.contribution.version = OFFRAMP_VERSION;
  ReportLane& lane = part.contribution.lanes.emplace_back();
  lane.backend = "host";
  lane.modelled_time = Time::ns(rank + 1);
  lane.ranks.push_back({static_cast<std::uint64_t>(rank), lane.modelled_time, {}, 0, {}, {}});
  return part;
}

std::string add(const std::string& old, const RankPart& part) {
  RunFacts facts;
  facts.command = {"app"};
  return partial_report(old, part, facts, Configuration{});
}

TEST(PartialReport, EveryPartIsAReportByItself) {
  std::string text = add("", part_of(1));
  Result<RunReport> report = parse_report(text, "r.json");
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->ranks, 3U);
  ASSERT_EQ(report->lanes.front().ranks.size(), 1U);
  EXPECT_EQ(report->lanes.front().ranks.front().rank, 1U);
  ASSERT_FALSE(report->warnings.empty());
  EXPECT_EQ(
      report->warnings.front(),
      "incomplete: the program did not come to MPI_Finalize; rank 1: signal 15 (Terminated); nothing is "
      "known of ranks 0, 2");

  text = add(text, part_of(0));
  report = parse_report(text, "r.json");
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->lanes.front().ranks.size(), 2U);
  EXPECT_EQ(
      report->warnings.front(),
      "incomplete: the program did not come to MPI_Finalize; ranks 0, 1: signal 15 (Terminated); nothing "
      "is known of rank 2");
  const Json json = Json::parse(text);
  EXPECT_EQ(json.at("complete"), false);
  EXPECT_EQ(json.at("missing"), Json({2}));
}

TEST(PartialReport, TheRunStandsAtTheBeginning) {
  EXPECT_LT(add("", part_of(0)).find("run-1"), 100U);
}

TEST(PartialReport, WhatAnotherRunLeftIsReplaced) {
  const std::string other = add("", part_of(0, "run-0"));
  for (const std::string& old :
       {other, std::string(R"({"complete": true})"), std::string("run-1"),
        std::string(R"({"run": "run-1", "parts": 7})"), std::string(R"({"run": 1, "parts": ["run-1"]})"),
        std::string(R"({"run": "run-1", "parts": [1]})")}) {
    EXPECT_EQ(add(old, part_of(1)), add("", part_of(1)));
  }
}

}  // namespace
}  // namespace offramp::partial_test
