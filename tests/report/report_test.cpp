// A report is written from a replay, summarised in a few lines, and read back; the refusal of an invalid file
// names the wrong field.
#include "lib/answers/report/report.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/answers/replay/replay.hpp"
#include "lib/answers/report/read_report.hpp"
#include "lib/answers/report/write_report.hpp"
#include "tests/cluster.hpp"
#include "tests/replay/tape.hpp"

namespace offramp::report_test {
namespace {

using Json = nlohmann::json;
using test::Tape;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

const Registry& registry() {
  static const Registry all{built_in_backends()};
  return all;
}

/// Two ranks that exchange messages in a named phase, and compute.
std::vector<Tape> program() {
  std::vector<Tape> tapes(2);
  for (int rank = 0; rank < 2; ++rank) {
    Tape& tape = tapes[static_cast<std::size_t>(rank)];
    tape.compute(2000);
    tape.phase(1, "exchange");
    const std::uint64_t received = tape.irecv(1 - rank, 1000);
    tape.send(1 - rank, 1000);
    tape.wait({received});
    tape.phase(-1, "exchange");
  }
  return tapes;
}

Settled settled_over(const char* backend) {
  ReplayOptions options;
  options.sizes = options.details = options.certificate = true;
  Settled settled;
  settled.backend = backend;
  const std::vector<Tape> tapes = program();
  Result<ReplayResult> result =
      replay(test::setting_of(registry(), backend), test::source_of(tapes), options);
  EXPECT_TRUE(result) << result.error();
  if (result) settled.result = std::move(*result);
  return settled;
}

class AReport : public testing::Test {
 protected:
  void SetUp() override {
    settled_.push_back(settled_over("host"));
    settled_.push_back(settled_over("zrlmpi"));
    RunFacts facts;
    facts.command = {"program", "an argument"};
    facts.date = "2026-11-22T04:30:00Z";
    facts.settings = {{"clock", "model", "option"}};
    facts.is_replay = true;
    facts.recordings = {{"run.rec", "xxh3:1f", "2026-11-21T04:30:00Z", "host"}};
    report_ = replay_report(2, facts, Configuration{}, settled_);
    text_ = report_text(report_);
  }
  static std::string problem_of(const Json& report) { return parse_report(report.dump(), "a.json").error(); }

  std::vector<Settled> settled_;
  RunReport report_;
  std::string text_;
};

TEST_F(AReport, IsReadAsItWasWritten) {
  Result<RunReport> report = parse_report(text_, "a.json");
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->ranks, 2U);
  EXPECT_THAT(report->command, AllOf(HasSubstr("program"), HasSubstr("an argument")));
  ASSERT_THAT(report->settings, SizeIs(1));
  EXPECT_EQ(report->settings[0].value, "model");
  ASSERT_THAT(report->recordings, SizeIs(1));
  EXPECT_EQ(report->recordings[0].checksum, "xxh3:1f");
  ASSERT_THAT(report->lanes, SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    const ReportLane& lane = report->lanes[i];
    const ReplayResult& result = *settled_[i].result;
    EXPECT_EQ(lane.backend, settled_[i].backend);
    EXPECT_EQ(lane.modelled_time, result.modelled_time);
    ASSERT_THAT(lane.ranks, SizeIs(2));
    EXPECT_EQ(lane.ranks[1].modelled_time, result.ranks[1].clock);
    ASSERT_THAT(lane.phases, SizeIs(1));
    EXPECT_EQ(lane.phases[0].name, "exchange");
    EXPECT_GT(lane.phases[0].longest(), Time());
    ASSERT_TRUE(lane.path);
    EXPECT_GT(lane.path->on_ranks, Time());
  }
}

TEST_F(AReport, CountsTheCallsOfAllRanks) {
  Result<RunReport> report = parse_report(text_, "a.json");
  ASSERT_TRUE(report) << report.error();
  std::map<std::string, ReportCall> calls;
  for (const ReportCall& call : report->lanes[0].calls) calls[call.name] = call;
  EXPECT_EQ(calls["MPI_Send"].count, 2U);
  EXPECT_EQ(calls["MPI_Send"].bytes, 2000U);
  EXPECT_EQ(calls["MPI_Recv"].count, 2U);
  EXPECT_EQ(calls["MPI_Wait"].count, 2U);
}

TEST_F(AReport, HasASummaryOfAFewLines) {
  const std::string text = summary(report_, false);
  EXPECT_TRUE(text.starts_with("offramp: host, 2 ranks: communication ")) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("\nofframp: why   MPI_"), HasSubstr("\nofframp:   zrlmpi ")));
  EXPECT_LE(std::ranges::count(text, '\n'), 12);
  const std::string details = summary(report_, true);
  EXPECT_TRUE(details.starts_with(text)) << details;
  EXPECT_THAT(details, AllOf(HasSubstr("offramp: phase exchange: "), HasSubstr(" declined, ")));
}

TEST_F(AReport, IsRefusedByTheNameOfAFieldThatIsMissing) {
  const Json whole = Json::parse(text_);
  int refused = 0;
  for (const auto& [name, value] : whole.items()) {
    Json report = whole;
    report.erase(name);
    const std::string problem = problem_of(report);
    if (problem.empty()) continue;  // absent in reports of some versions
    ++refused;
    EXPECT_THAT(problem, AllOf(HasSubstr("a.json is not a report: "),
                               testing::AnyOf(HasSubstr(name), HasSubstr("did not write this file"))));
  }
  EXPECT_GT(refused, 10);
}

TEST_F(AReport, IsRefusedByTheNameOfAFieldOfAnotherType) {
  const Json whole = Json::parse(text_);
  const Json flat = whole.flatten();
  int refused = 0;
  for (const auto& [place, value] : flat.items()) {
    Json report = whole;
    report[Json::json_pointer(place)] = value.is_string() ? Json(7) : Json("text");
    const std::string problem = problem_of(report);
    if (problem.empty()) continue;  // the reader ignores it
    ++refused;
    std::string field = place.substr(0, place.find_last_not_of("0123456789/") + 1);
    field = field.substr(field.rfind('/') + 1);
    EXPECT_THAT(problem, AllOf(HasSubstr("a.json is not a report: "), HasSubstr(field))) << place;
  }
  EXPECT_GT(refused, 50);
}

TEST_F(AReport, ThatIsCutIsRefusedByThePlace) {
  EXPECT_THAT(parse_report(text_.substr(0, text_.size() / 2), "a.json").error(),
              HasSubstr("a.json is not a report: it is not valid JSON, "));
  EXPECT_THAT(parse_report("{}", "a.json").error(), HasSubstr("Offramp did not write this file"));
  EXPECT_THAT(parse_report(std::string(1 << 20, '['), "a.json").error(),
              HasSubstr("Offramp did not write this file"));
  std::string keys = R"({"offramp":"0")";
  for (int i = 0; i < 300000; ++i) keys += fmt::format(R"(,"k{}":0)", i);
  EXPECT_THAT(parse_report(keys + "}", "a.json").error(), HasSubstr("far too many keys"));
  EXPECT_THAT(parse_report("{\"offramp\": \"0.1.0\"}", "a.json").error(), HasSubstr("it has no schema"));
}

}  // namespace
}  // namespace offramp::report_test
