// Fault scripts as text, and records of faults in the same format.
#include "lib/base/configuration/fault_script.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace offramp {
namespace {

std::vector<FaultEvent> events_of(std::string_view text) {
  auto events = parse_fault_script(text);
  if (!events) {
    ADD_FAILURE() << text << ": " << events.error();
    return {};
  }
  return *events;
}

std::string error_of(std::string_view text) {
  return parse_fault_script(text).error();
}

TEST(AFaultScript, NamesPacketsOfLinks) {
  const FaultScript script(
      events_of("lose 0>1/0 packet 3\n"
                "duplicate 0>1/0 packet 4; reorder *>2 packet 5 # any source\n"
                "\n"
                "corrupt 2>*/7"));
  EXPECT_EQ(script.fault(Link::id(0, 1), 3, {}), Fault::kLost);
  EXPECT_EQ(script.fault(Link::id(0, 1), 4, {}), Fault::kDuplicated);
  EXPECT_EQ(script.fault(Link::id(0, 1), 5, {}), Fault::kNone);
  EXPECT_EQ(script.fault(Link::id(1, 0), 3, {}), Fault::kNone);
  EXPECT_EQ(script.fault(Link::id(0, 1, 1), 3, {}), Fault::kNone);
  EXPECT_EQ(script.fault(Link::id(9, 2, 4), 5, {}), Fault::kReordered);
  EXPECT_EQ(script.fault(Link::id(2, 9, 7), 0, {}), Fault::kCorrupted);
}

TEST(AFaultScript, NamesModelledTimes) {
  const FaultScript script(events_of("down 0>1 from 10us to 0.02ms; delay from 1s"));
  for (const std::uint64_t link : {Link::id(0, 1), Link::id(1, 0), Link::id(1, 0, Link::kAnswers)}) {
    EXPECT_EQ(script.fault(link, 0, Time::us(10) - Time::ps(1)), Fault::kNone);
    EXPECT_EQ(script.fault(link, 7, Time::us(10)), Fault::kLost);
    EXPECT_EQ(script.fault(link, 8, Time::us(20) - Time::ps(1)), Fault::kLost);
    EXPECT_EQ(script.fault(link, 9, Time::us(20)), Fault::kNone);
  }
  EXPECT_EQ(script.fault(Link::id(5, 6), 1, Time::ms(1000)), Fault::kDelayed);
}

TEST(AFaultScript, IsReadBackAsItIsWritten) {
  for (const char* text :
       {"lose *>*", "duplicate 0>16777215/65535 packet 18446744073709551615",
        "delay 3>* from 1500000ps to 2000000ps", "corrupt *>4/0", "reorder 1>2 packet 0"}) {
    const auto events = events_of(text);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(to_string(events[0]), text);
    EXPECT_EQ(events_of(to_string(events[0])), events);
  }
}

TEST(AFaultScript, IsRefusedWithTheEventAndTheAllowedValues) {
  EXPECT_EQ(error_of("lose 0>1\nloose 0>1"),
            "event 2: unknown fault \"loose\"; known: lose, duplicate, reorder, corrupt, delay, down");
  EXPECT_EQ(error_of("lose 0>x"), "event 1: \"0>x\" is not a link such as 0>1, *>2, or 0>1/3");
  EXPECT_EQ(error_of("lose 0>1 packet"),
            "event 1: unknown condition \"packet\" \"\"; known: packet NUMBER, from TIME, to TIME");
  for (const char* text : {"lose 0>1>2 packet", "lose 0>16777216", "lose 0>1/65536", "lose 0/1>1",
                           "lose packet -1", "lose packet 18446744073709551616", "lose from -1us",
                           "lose from 1e30", "lose from nan", "lose 0>1 0>1", "lose >", "0>1"}) {
    EXPECT_NE(error_of(text), "") << text;
  }
}

TEST(FaultsAtModelledTimes, DependOnTheTimeOfTheLinkAlone) {
  FaultRates rates;
  rates.seed = 3;
  rates.outage = 0.25;
  rates.outage_time = Time::us(50);
  int down = 0;
  for (int span = 0; span < 4000; ++span) {
    const Time at = Time::us(50) * span;
    const Fault first = fault_of(rates, Link::id(0, 1), 1, at);
    down += first == Fault::kLost ? 1 : 0;
    EXPECT_EQ(fault_of(rates, Link::id(1, 0, Link::kAnswers), 99, at + Time::us(49)), first);
  }
  EXPECT_NEAR(down, 1000, 100);
}

TEST(ARecordOfFaults, IsAPrivateScriptOfTheFaults) {
  std::string folder = (std::filesystem::temp_directory_path() / "offramp-record-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const std::string path = folder + "/record";
  FaultRates rates;
  rates.seed = 5;
  rates.loss = rates.corruption = rates.delay = 0.1;
  const Result<std::shared_ptr<FaultLog>> log = open_fault_log(path, true);
  ASSERT_TRUE(log) << log.error();
  rates.log = *log;
  std::vector<Fault> seen;
  for (int twice = 0; twice < 2; ++twice) {
    seen.clear();
    for (std::uint64_t n = 0; n < 200; ++n) seen.push_back(fault_of(rates, Link::id(1, 2, 3), n));
  }
  struct stat status {};
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);

  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto events = events_of(text);
  EXPECT_EQ(static_cast<std::ptrdiff_t>(events.size()),
            200 - std::count(seen.begin(), seen.end(), Fault::kNone));
  FaultRates replay;
  replay.script = std::make_shared<const FaultScript>(events);
  for (std::uint64_t n = 0; n < 200; ++n) EXPECT_EQ(fault_of(replay, Link::id(1, 2, 3), n), seen[n]) << n;
  const Result<std::shared_ptr<FaultLog>> none = open_fault_log(folder, true);
  EXPECT_FALSE(none);
  EXPECT_NE(none.error(), "");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace offramp
