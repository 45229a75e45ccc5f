// Neighbourhood collectives and accesses in formats that have neither.
#include <gmock/gmock.h>

#include "lib/programs/export/writers.hpp"
#include "tests/scale/written.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using test::Tape;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kRanks = 4;

/// Both neighbours in a circle, on a communicator in reverse order, blocking and not.
Program circle() {
  return scale::written(
      [](Tape& tape, int rank, int ranks) {
        std::vector<int> members;
        for (int i = 0; i < ranks; ++i) members.push_back(ranks - 1 - i);
        tape.communicator(members);
        const int own = ranks - 1 - rank;
        const auto left = static_cast<std::uint64_t>((own + ranks - 1) % ranks);
        const auto right = static_cast<std::uint64_t>((own + 1) % ranks);
        tape.neighbours({left, 100, right, 200}, {right, 100, left, 200}, recording::kBlocking,
                        recording::kFirstMade);
        const std::uint64_t request = tape.neighbours({left, 300}, {right, 300}, 0, recording::kFirstMade);
        tape.compute(1000);
        tape.wait({request});
        tape.finalize();
      },
      kRanks);
}

/// What the circle sends: in world ranks the left neighbour is the next rank.
void expect_circle(const Program& program) {
  const auto messages = messages_of(program);
  EXPECT_EQ(messages.size(), 2U * kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_THAT(messages.at({rank, (rank + 1) % kRanks}), ElementsAre(100, 300));
    EXPECT_THAT(messages.at({rank, (rank + kRanks - 1) % kRanks}), ElementsAre(200));
  }
  expect_to_fit_and_end(program);
}

TEST(NeighbourhoodCollectives, AreMessagesForSmpi) {
  const Folder folder;
  std::vector<std::string> unsupported;
  const Result<void> done = write_smpi(circle(), folder.file("out"), unsupported);
  ASSERT_TRUE(done) << done.error();
  EXPECT_THAT(unsupported, IsEmpty());
  expect_circle(opened(folder.file("out")));
  EXPECT_THAT(contents_of(folder.file("out_files/rank-0.txt")), HasSubstr("0 isend 1 8388607 300 6\n"
                                                                          "0 compute 1000\n"
                                                                          "0 waitall\n"));
}

TEST(NeighbourhoodCollectives, AreMessagesForGoalAndChakra) {
  const Folder folder;
  std::vector<std::string> unsupported;
  Result<void> done = write_goal_text(circle(), folder.file("out.goal"), unsupported);
  ASSERT_TRUE(done) << done.error();
  EXPECT_THAT(unsupported, IsEmpty());
  const Program goal = opened(folder.file("out.goal"));
  expect_to_fit_and_end(goal);
  const Result<ReplayResult> as_messages = replayed(goal, "host");
  const Result<ReplayResult> itself = replayed(circle(), "host");
  ASSERT_TRUE(as_messages && itself);
  EXPECT_NEAR(as_messages->modelled_time.seconds() / itself->modelled_time.seconds(), 1, 0.1);
  done = write_chakra(circle(), folder.file("out"), unsupported);
  ASSERT_TRUE(done) << done.error();
  expect_to_fit_and_end(opened(folder.file("out.0.et")));
}

TEST(Accesses, AreNamedWhereAFormatHasNone) {
  const Folder folder;
  const Program program = scale::written(
      [](Tape& tape, int rank, int) {
        tape.wait({tape.access(Access::kWrite, 1 - rank, 64, 0, 0)});
        tape.compute(1000);
        tape.native();
      },
      2);
  std::vector<std::string> unsupported;
  ASSERT_TRUE(write_smpi(program, folder.file("out"), unsupported));
  ASSERT_TRUE(write_goal_text(program, folder.file("out.goal"), unsupported));
  EXPECT_THAT(unsupported, ElementsAre("left out: one-sided accesses"));
  EXPECT_THAT(contents_of(folder.file("out.goal")), HasSubstr("calc 1000"));
}

}  // namespace
}  // namespace offramp::trace
