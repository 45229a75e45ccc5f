// Answers about a change of a program: noise in computing is no change, and all answers have one shape.
#include "lib/answers/report/change.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <sstream>
#include <string>
#include <vector>

namespace offramp {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int kRanks = 4;

/// Invented recordings of a version over the host.
class Version {
 public:
  explicit Version(std::string name) { version_.name = std::move(name); }

  /// The run takes the largest computing plus the time that communication adds.
  Version& add(int communication_us, std::uint64_t calls, int largest_us = 0, int added_us = 0) {
    RunReport& report = reports_.emplace_back();
    report.ranks = kRanks;
    report.compute = "none";
    ReportLane& lane = report.lanes.emplace_back();
    lane.backend = "host";
    lane.communication = lane.modelled_time = Time::us(communication_us);
    ReportCall& call = lane.calls.emplace_back();
    call.name = "MPI_Send";
    call.count = calls;
    call.modelled = kRanks * lane.communication;
    if (largest_us > 0) {
      report.computing = ReportComputing{};
      report.computing->largest = report.computing->free.end = Time::us(largest_us);
      report.computing->sum = Time::us(2 * largest_us);
      lane.run = WholeRun{};
      lane.run->end = Time::us(largest_us + added_us);
    }
    version_.replays.push_back({&report, &lane});
    return *this;
  }
  [[nodiscard]] const ProgramVersion& get() const { return version_; }

 private:
  std::deque<RunReport> reports_;
  ProgramVersion version_;
};

ReportAnswer answer_in_shape(const Version& before, const Version& after) {
  ReportAnswer answer = change_of(before.get(), after.get());
  std::istringstream lines(answer_text(answer));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), 80) << line;
    EXPECT_THAT(line, Not(HasSubstr("..."))) << "a line is cut";
  }
  EXPECT_LE(count, 12);
  EXPECT_LT(std::count(answer.answer.begin(), answer.answer.end(), ' '), 12) << answer.answer;
  return answer;
}

TEST(AChange, ThatIsComputingAloneIsNoneIfThereIsOneRecordingOfEach) {
  const ReportAnswer answer = answer_in_shape(Version("a.rec").add(5000, 100, 43000, 4750),
                                              Version("b.rec").add(5000, 100, 32000, 4160));
  EXPECT_EQ(answer.kind, "none");
  EXPECT_EQ(answer.answer, "b.rec: the same calls and the same communication");
  EXPECT_EQ(answer.sure, "the run is 24 % shorter: recorded computing, which may be noise");
  EXPECT_EQ(answer.why, "computing 43 -> 32 ms; communication adds 4.75 -> 4.16 ms");
  EXPECT_THAT(answer.next, HasSubstr("record --repeat"));
  EXPECT_FALSE(answer.of_run);
}

TEST(AChange, InCommunicationIsSureWithOneRecordingOfEach) {
  const ReportAnswer answer = answer_in_shape(Version("before.rec").add(6000, 100, 43000, 5000),
                                              Version("after.rec").add(3000, 60, 40000, 1900));
  EXPECT_EQ(answer.kind, "change");
  EXPECT_EQ(answer.answer, "after.rec: communication 50 % shorter (3 instead of 6 ms)");
  EXPECT_EQ(answer.why.substr(0, answer.why.find(';')), "MPI_Send, all ranks: 40 calls fewer, 12.00 ms less");
  EXPECT_EQ(answer.sure, "communication is modelled; the run, 13 % shorter, may be noise");
  EXPECT_TRUE(answer.holds);
}

TEST(AChange, WithinTheSpreadOfSeveralRecordingsIsNotShown) {
  const ReportAnswer answer = answer_in_shape(
      Version("a").add(5000, 100, 40000, 5000).add(5000, 100, 30000, 5000).add(5000, 100, 35000, 5000),
      Version("b").add(5000, 100, 33000, 5000).add(5000, 100, 38000, 5000).add(5000, 100, 31000, 5000));
  EXPECT_EQ(answer.kind, "none");
  EXPECT_EQ(answer.answer, "b: no change beyond noise");
  EXPECT_TRUE(answer.of_run);
  EXPECT_FALSE(answer.holds);
  EXPECT_LT(answer.earliest, answer.baseline);
  EXPECT_GT(answer.latest, answer.baseline);
  EXPECT_THAT(answer.why, HasSubstr("(noise)"));
}

TEST(AChange, BeyondTheSpreadOfSeveralRecordingsIsAnInterval) {
  const ReportAnswer answer = answer_in_shape(
      Version("a").add(5000, 100, 30000, 9000).add(5000, 100, 30400, 9000).add(5000, 100, 29600, 9000),
      Version("b").add(5000, 100, 30100, 5000).add(5000, 100, 29800, 5000).add(5000, 100, 30300, 5000));
  EXPECT_EQ(answer.kind, "change");
  EXPECT_EQ(answer.answer, "b: run 10 % shorter (35.1 instead of 39 ms)");
  EXPECT_TRUE(answer.holds);
  EXPECT_LT(answer.earliest, answer.end);
  EXPECT_GT(answer.latest, answer.end);
  EXPECT_LT(answer.latest, answer.baseline);
  EXPECT_EQ(answer.why, "communication adds 9 -> 5 ms; computing 30 -> 30.1 ms (noise)");
  EXPECT_THAT(answer.sure, HasSubstr("at 95 %, of 3 and 3 recordings"));
}

TEST(AChange, OfCommunicationIsShownWithTheSameComputingIfNoiseHidesIt) {
  const ReportAnswer answer = answer_in_shape(
      Version("a").add(5000, 100, 40000, 9000).add(5000, 100, 30000, 9000).add(5000, 100, 35000, 9000),
      Version("b").add(5000, 100, 33000, 5000).add(5000, 100, 38000, 5000).add(5000, 100, 34000, 5000));
  EXPECT_EQ(answer.kind, "change");
  EXPECT_EQ(answer.answer, "b: run 9.1 % shorter with the same computing");
  EXPECT_TRUE(answer.holds);
  EXPECT_EQ(answer.baseline - answer.end, Time::us(4000));
  EXPECT_EQ(answer.earliest, answer.latest);  // all recordings show the same
  EXPECT_THAT(answer.sure,
              HasSubstr("9.1 % shorter to 9.1 % shorter at 95 %, of 3 and 3 recordings; as measured "));
}

TEST(AChange, WithoutComputingIsOfCommunication) {
  const ReportAnswer answer = answer_in_shape(Version("a").add(100, 10), Version("b").add(400, 40));
  EXPECT_EQ(answer.answer, "b: communication 4 times as long (400 instead of 100 us)");
  EXPECT_EQ(answer.why, "MPI_Send, all ranks: 30 calls more, 1.200 ms more");
  EXPECT_EQ(answer.next, "");
}

TEST(AChange, ThatTheOrderOfArrivalDecidesDoesNotHold) {
  Version after("b");
  after.add(50, 10, 1000, 40);
  RunReport other = *after.get().replays.front().report;
  other.arrival_order_dependences = 3;
  ProgramVersion changed = after.get();
  changed.replays.front().report = &other;
  Version before("a");
  before.add(100, 10, 1000, 100);
  const ReportAnswer answer = change_of(before.get(), changed);
  EXPECT_FALSE(answer.holds);
  EXPECT_EQ(answer.sure, "the order of arrival, as recorded, decides the communication");
}

TEST(AChange, NamesAnotherNumberOfRanksAndAnotherImbalance) {
  Version after("b");
  after.add(100, 10, 1000, 100);
  RunReport other = *after.get().replays.front().report;
  other.ranks = 8;
  ProgramVersion changed = after.get();
  changed.replays.front().report = &other;
  Version before("a");
  before.add(100, 10, 1000, 100);
  EXPECT_EQ(change_of(before.get(), changed).but,
            "8 ranks instead of 4; imbalance of computing 4.00 instead of 2.00");
}

TEST(ADifferenceOfMeans, HasWelchsInterval) {
  constexpr std::array kBefore = {1.0, 2.0, 3.0};
  constexpr std::array kAfter = {4.0, 5.0, 6.0};
  const auto interval = difference_of_means(kBefore, kAfter);
  ASSERT_TRUE(interval);  // 3 -+ 2.776 (of 4 degrees of freedom) * sqrt(2 / 3)
  EXPECT_NEAR(interval->low, 0.733, 0.001);
  EXPECT_NEAR(interval->high, 5.267, 0.001);
  EXPECT_FALSE(difference_of_means(std::span(kBefore).first(1), kAfter));
  constexpr std::array kSame = {2.0, 2.0};
  EXPECT_EQ(difference_of_means(kSame, kSame)->high, 0);
}

}  // namespace
}  // namespace offramp
