// The host's model beside the user's own run: what is compared, what is not, and what the answer says.
#include "lib/answers/advice/native_comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/programs/recording/recorder.hpp"
#include "tests/built_in_names.hpp"
#include "tests/replay/tape.hpp"

namespace offramp {
namespace {

using recording::NativeRun;
using testing::HasSubstr;

constexpr std::uint64_t kComputing = 2'000'000;  // ns in each rank

/// Two ranks compute and exchange one message.
std::vector<test::Tape> exchange() {
  std::vector<test::Tape> tapes(2);
  for (int rank = 0; rank < 2; ++rank) {
    test::Tape& tape = tapes[static_cast<std::size_t>(rank)];
    tape.compute(kComputing);
    const auto in = tape.irecv(1 - rank, 4096);
    const auto out = tape.isend(1 - rank, 4096);
    tape.wait({in, out});
  }
  return tapes;
}

class Compared : public testing::Test {
 protected:
  Compared()
      : runs_(2, NativeRun{.host = "a", .cores = 8, .run = 2'100'000, .init = 0, .ready = 0, .calls = {}}) {}

  [[nodiscard]] NativeComparison comparison(const Configuration& configuration = {}) const {
    recording::Description description;
    description.ranks = 2;
    description.facts = facts_;
    std::vector<std::string> parts;
    for (int rank = 0; rank < 2; ++rank) {
      recording::RecorderOptions options;
      options.rank = rank;
      options.ranks = 2;
      recording::Recorder recorder(options);
      parts.push_back(recorder.finish(&runs_[static_cast<std::size_t>(rank)]));
    }
    const auto recorded = recording::Recording::from_parts(description, std::move(parts));
    EXPECT_TRUE(recorded) << recorded.error();
    auto compared = compare_with_native(configuration, registry_, *recorded, source_, {}, false);
    EXPECT_TRUE(compared);
    return std::move(*compared);
  }

  std::vector<NativeRun> runs_;
  std::vector<std::pair<std::string, std::string>> facts_;

 private:
  Registry registry_{built_in_backends()};
  std::vector<test::Tape> tapes_ = exchange();
  ReplaySource source_ = test::source_of(tapes_);
};

TEST_F(Compared, TakesThePlacementOfTheRecordedRun) {
  Configuration other;
  other.machine.nodes = 2;
  other.machine.ranks_per_node = 1;
  const Time within = *comparison(other).modelled;
  runs_[1].host = "b";
  const Time between = *comparison().modelled;
  EXPECT_GT(between, within);
  EXPECT_GT(within, Time::ns(kComputing));
}

TEST_F(Compared, AModelThatIsNearStandsBesideTheRun) {
  const NativeComparison near = comparison();
  EXPECT_FALSE(near.is_off());
  ReportAnswer answer;
  answer.sure = "it holds";
  answer.next = "offramp advise";
  add_native(answer, near);
  EXPECT_THAT(answer.native, testing::AllOf(HasSubstr("natively 2.100 ms"), HasSubstr("host model 2.0")));
  EXPECT_EQ(answer.sure, "it holds");
  EXPECT_EQ(answer.next, "offramp advise");
}

TEST_F(Compared, AModelThatIsOffTakesAwayCertainty) {
  runs_[0].run = 4'000'000;
  ReportAnswer answer;
  answer.sure = "it holds";
  add_native(answer, comparison());
  EXPECT_THAT(answer.sure, HasSubstr("the host model is x0.50 of your own run"));
  EXPECT_THAT(answer.next, HasSubstr("calibrate"));
}

TEST_F(Compared, RunsThatWereSlowedDownAreNot) {
  const auto why_not = [this] {
    const NativeComparison compared = comparison();
    EXPECT_FALSE(compared.modelled);
    EXPECT_FALSE(compared.is_off());
    return compared.why_not;
  };
  runs_[0].cores = runs_[1].cores = 1;
  EXPECT_EQ(why_not(), "cores were short");
  runs_[0].cores = runs_[1].cores = 8;
  runs_[0].ready = runs_[0].run / 10;
  EXPECT_EQ(why_not(), "cores were short");
  runs_[0].ready = 0;
  facts_ = {{"carried by", "cclo"}};
  EXPECT_EQ(why_not(), "Offramp carried its messages");
}

}  // namespace
}  // namespace offramp
