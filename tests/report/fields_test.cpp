// The fields of a report: each is written and read, as JSON and in the form that ranks send; invalid bytes
// and documents are refused; and the documentation lists the counters of the tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "lib/answers/report/lanes.hpp"
#include "lib/answers/report/read_report.hpp"
#include "lib/answers/report/report_fields.hpp"
#include "lib/answers/report/write_report.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::SizeIs;

/// Fills a report with values that differ as far as their types allow.
class Filler : public PlainArchive<Filler> {
 public:
  static constexpr bool kReads = true;
  explicit Filler(unsigned seed) : random_(seed) {}

  template <typename Value>
  void rest(const char*, std::vector<Value>& values, std::size_t) {
    for (std::size_t i = random_() % 3; i > 0; --i) item(values.emplace_back(), 0);
  }
  static bool has(const char*, bool = true) { return true; }

  // A few minutes at most, in picoseconds.
  void item(Time& time, std::size_t) {
    time = Time::ps(1 + static_cast<std::int64_t>(random_() % (1ULL << 48)));
  }
  void item(std::string& text, std::size_t) { text = "text " + std::to_string(++texts_); }
  void item(bool& value, std::size_t) { value = random_() % 2 != 0; }
  template <typename Value>
  void item(std::vector<Value>& values, std::size_t) {
    for (std::size_t i = random_() % 4; i > 0; --i) item(values.emplace_back(), 0);
  }
  template <typename Value>
  void item(std::optional<Value>& value, std::size_t) {
    if (random_() % 2 != 0) item(value.emplace(), 0);
  }
  template <typename Value>
  void item(Value& value, std::size_t) {
    if constexpr (std::is_integral_v<Value>) {
      value = static_cast<Value>(random_() % 1'000'000);
    } else {
      item_of_struct(value);
    }
  }

 private:
  std::mt19937_64 random_;
  int texts_ = 0;
};

RunReport some_report(unsigned seed) {
  RunReport report;
  Filler filler(seed);
  describe(filler, report);
  report.version = OFFRAMP_VERSION;
  return report;
}

class SomeReport : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Seeds, SomeReport, testing::Range(0U, 40U));

TEST_P(SomeReport, IsReadFromJsonAsItWasWritten) {
  RunReport report = some_report(GetParam());
  add_efficiencies(report);
  const std::string text = report_text(report);
  Result<RunReport> again = parse_report(text, "r.json");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(report_text(*again), text);
}

TEST_P(SomeReport, IsReadFromWhatARankSendsAsItWasWritten) {
  RunReport report = some_report(GetParam());
  add_efficiencies(report);
  Result<RunReport> again = decode_report(encode(report));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(report_text(*again), report_text(report));
}

TEST_P(SomeReport, ThatIsCutOrChangedIsRefusedOrAnotherReport) {
  const std::string bytes = encode(some_report(GetParam()));
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 16)
    EXPECT_FALSE(decode_report(std::string_view(bytes).substr(0, size))) << size;
  EXPECT_FALSE(decode_report(bytes + "x"));
  std::mt19937 random(GetParam());
  for (int i = 0; i < 200; ++i) {
    std::string changed = bytes;
    changed[random() % changed.size()] = static_cast<char>(random());
    if (Result<RunReport> report = decode_report(changed); report) {
      EXPECT_EQ(encode(*decode_report(encode(*report))), encode(*report));
    }
  }
}

TEST(WhatARankSends, IsOfThisVersionAndHasTimesThatCanBeAddedUp) {
  RunReport report;
  report.lanes.emplace_back();
  EXPECT_THAT(decode_report(encode(report)).error(), HasSubstr("another version"));
  report.version = OFFRAMP_VERSION;
  report.lanes[0].ranks.resize(2);
  report.lanes[0].ranks[0].modelled_time = report.lanes[0].ranks[1].modelled_time =
      Time::ps(std::int64_t{1} << 58);
  EXPECT_TRUE(decode_report(encode(report)));
  report.lanes[0].ranks[1].communication = Time::us(1);
  EXPECT_THAT(decode_report(encode(report)).error(), HasSubstr("is too long"));
}

/// Turns every "x_ns" into "x_ps", as in older reports, and gives the end of a run its older name.
void make_older(Json& json) {
  Json older = json.is_array() ? Json::array() : Json::object();
  for (auto& [key, value] : json.items()) {
    if (value.is_structured()) make_older(value);
    if (json.is_array()) {
      older.push_back(value);
    } else if (!key.ends_with("_ns") || key == "modelled_time_ns") {
      if (key != "modelled_time_ns") older[key] = value;
    } else {
      const std::string name = key.substr(0, key.size() - 3) + "_ps";
      if (value.is_number()) {
        older[name] = std::llround(value.get<double>() * 1000);
      } else {
        for (const Json& one : value) older[name].push_back(std::llround(one.get<double>() * 1000));
        if (value.empty()) older[name] = Json::array();
      }
    }
  }
  if (older.is_object() && older.contains("share_in_calls")) {
    older["end_ps"] = older["modelled_time_ps"];
    older.erase("modelled_time_ps");
  }
  json = std::move(older);
}

TEST_P(SomeReport, OfBeforeIsRead) {
  RunReport report = some_report(GetParam());
  add_efficiencies(report);
  Json json = Json::parse(report_text(report));
  make_older(json);
  Result<RunReport> again = parse_report(json.dump(), "r.json");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(encode(*again), encode(report));
}

TEST(ReportLanes, AddUpOverRanks) {
  ReportLane sum;
  std::vector<ReportLane> parts;
  for (unsigned seed = 0; seed < 4; ++seed) {
    RunReport report = some_report(seed);
    parts.push_back(report.lanes.front());
    parts.back().calls.push_back({{.count = seed, .bytes = 10, .modelled = Time::ns(seed)}, "MPI_Send"});
    parts.back().declines.push_back({"send", "too long", 2});
    parts.back().units.push_back({"mover", 1, Time::ns(2), Time::ns(1)});
    parts.back().sizes.push_back({"send", 4, 7, 1, 5, Time::ns(3)});
    add_lane(sum, parts.back());
  }
  WireCounters wire;
  Time latest;
  std::size_t ranks = 0;
  for (const ReportLane& part : parts) {
    wire += part.wire;
    latest = later(latest, part.modelled_time);
    ranks += part.ranks.size();
  }
  for (const auto& field : kWireFields) EXPECT_EQ(sum.wire.*field.value, wire.*field.value) << field.name;
  EXPECT_EQ(sum.modelled_time, latest);
  EXPECT_THAT(sum.ranks, SizeIs(ranks));
  const auto named = [](const auto& rows, const auto& is_it) {
    std::vector<std::decay_t<decltype(rows.front())>> found;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(found), is_it);
    return found;
  };
  const auto calls = named(sum.calls, [](const ReportCall& call) { return call.name == "MPI_Send"; });
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].count, 0U + 1 + 2 + 3);
  EXPECT_EQ(calls[0].bytes, 40U);
  EXPECT_EQ(calls[0].modelled, Time::ns(6));
  const auto declines = named(sum.declines, [](const auto& row) { return row.reason == "too long"; });
  ASSERT_THAT(declines, SizeIs(1));
  EXPECT_EQ(declines[0].count, 8U);
  const auto units = named(sum.units, [](const auto& row) { return row.name == "mover"; });
  ASSERT_THAT(units, SizeIs(1));
  EXPECT_EQ(units[0].busy, Time::ns(8));
  EXPECT_EQ(units[0].in_use, Time::ns(4));
  const auto sizes = named(sum.sizes, [](const auto& row) { return row.kind == "send"; });
  ASSERT_THAT(sizes, SizeIs(1));
  EXPECT_EQ(sizes[0].bytes, 20U);
}

std::string page() {
  std::ifstream file(OFFRAMP_TEST_REPORT_PAGE);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

template <typename Fields>
std::string rows_of(const char* table, const Fields& fields) {
  std::string rows;
  for (const auto& field : fields)
    rows +=
        "| `" + std::string(table) + "." + field.name + "` | " + field.unit + " | " + field.about + " |\n";
  return rows;
}

TEST(ReportPage, HasEveryCounterAsTheTablesHaveIt) {
  const std::string rows = rows_of("wire", kWireFields) + rows_of("calls", kCallFields) +
                           rows_of("dependences", kDependenceFields);
  EXPECT_THAT(page(), HasSubstr("\n|---|---|---|\n" + rows + "\n")) << rows;
}

TEST(LongLists, AreWrittenAsInTheOutputItself) {
  const auto element = [](std::size_t i) {
    return Json{{"rank", i}, {"name", "a\"b\n\": <discarded>"}, {"times", {1, 2}}, {"none", Json::object()}};
  };
  const auto all = [&](std::size_t size) {
    Json list = Json::array();
    for (std::size_t i = 0; i < size; ++i) list.push_back(element(i));
    return list;
  };
  const auto output = [&](const auto& list_of) {
    Json json;
    json["text"] = "\": <discarded>";
    json["ranks"] = list_of(70);
    json["inner"] = {{"more", list_of(1)}, {"after", 1}};
    return json;
  };
  LongLists lists;
  const Json with_marks = output([&](std::size_t size) { return lists.add(size, element); });
  std::string written;
  lists.write(with_marks, [&](std::string_view piece) { written += piece; });
  EXPECT_EQ(written, output(all).dump(2));
}

}  // namespace
}  // namespace offramp
