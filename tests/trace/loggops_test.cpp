// Schedules by LogGOPSim's rules: the times that it publishes, and those of one rule each, worked out by hand
// from its main loop.
#include "lib/answers/loggops/loggops.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/programs/export/writers.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Schedgen's binomialtreereduce: a rank receives from rank + 2^k for all 2^k above its own number, the
/// farthest first, and sends to its number without the highest bit.
std::string tree_of(int ranks, std::uint64_t bytes) {
  std::string text = fmt::format("num_ranks {}\n", ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    text += fmt::format("\nrank {} {{\n", rank);
    int labels = 0;
    int bit = 1;
    while (2 * bit < ranks) bit *= 2;
    for (; bit > rank; bit /= 2) {
      if (rank + bit >= ranks) continue;
      text += fmt::format("l{}: recv {}b from {} tag 0\n", ++labels, bytes, rank + bit);
      if (labels > 1) text += fmt::format("l{} requires l{}\n", labels, labels - 1);
    }
    if (rank > 0) {
      text += fmt::format("l{}: send {}b to {} tag 0\n", ++labels, bytes, rank - bit);
      if (labels > 1) text += fmt::format("l{} requires l{}\n", labels, labels - 1);
    }
    text += "}\n";
  }
  return text;
}

/// The steps of each rank, and their times at the end.
struct Row {
  std::string what;
  std::vector<std::string> ranks;
  std::vector<std::uint64_t> ends;
  std::string with;  // besides the defaults L=2500, o=1500, g=1000, G=6, O=0 and S=65535
};

std::string text_of(const std::vector<std::string>& ranks) {
  std::string text = fmt::format("num_ranks {}\n", ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    text += fmt::format("rank {} {{\n{}\n}}\n", rank, ranks[rank]);
  return text;
}

Result<LogGopsTimes> times_of(const Program& program, const std::string& with = "") {
  const Result<LogGopsParameters> parameters = parse_loggops(with);
  EXPECT_TRUE(parameters) << parameters.error();
  return run_by_loggops(program, parameters ? *parameters : LogGopsParameters());
}

/// The times that LogGOPSim's README shows for 8 ranks and 1024 bytes.
TEST(LogGopsRules, GiveTheTimesThatArePublished) {
  const Folder folder;
  const Program program = opened(folder.file("tree.goal", tree_of(8, 1024)));
  const Result<LogGopsTimes> times = times_of(program);
  ASSERT_TRUE(times) << times.error();
  EXPECT_THAT(times->ends, ElementsAre(34914, 24776, 13138, 13138, 1500, 1500, 1500, 1500));
  EXPECT_THAT(times->left, IsEmpty());
  expect_to_end_everywhere(program);
}

TEST(LogGopsRules, AreThoseOfItsMainLoop) {
  const std::vector<Row> rows = {
      // Both arrive at o + L = 4000. The first has processor and NIC: 4000 + o + 99 G = 6094; then the
      // second.
      {"fan-in",
       {"recv 100b from 1\nrecv 100b from 2", "send 100b to 0", "send 100b to 0"},
       {8188, 1500, 1500},
       ""},
      // On the processor and the NIC that the sender names.
      {"two processors, two NICs",
       {"recv 100b from 1\nrecv 100b from 2", "send 100b to 0", "send 100b to 0 cpu 1 nic 1"},
       {6094, 1500, 1500},
       ""},
      // The NIC is free at 4000 + g + 99 G = 5594, and the second processor then takes it: + o + 99 G.
      {"two processors, one NIC",
       {"recv 100b from 1\nrecv 100b from 2", "send 100b to 0", "send 100b to 0 cpu 1"},
       {7688, 1500, 1500},
       ""},
      // What arrives at 4000 waits for the processor.
      {"computing meanwhile", {"calc 5000\nrecv 100b from 1", "send 100b to 0"}, {7094, 1500}, ""},
      // On a processor of its own it does not.
      {"computing on another processor",
       {"calc 5000 cpu 1\nrecv 100b from 1", "send 100b to 0"},
       {6094, 1500},
       ""},
      // The second send waits for the NIC, g + 1000 G = 7000; the receiver's processor is free at 11500.
      {"two sends",
       {"send 1001b to 1\nsend 1001b to 1", "recv 1001b from 0\nrecv 1001b from 0"},
       {8500, 19000},
       ""},
      // o + 1000 O at the sender, and at the receiver o and the larger one of 1000 O and 1000 G.
      {"overhead per byte", {"send 1001b to 1", "recv 1001b from 0"}, {3500, 11500}, "O=2"},
      {"more overhead than gap per byte", {"send 1001b to 1", "recv 1001b from 0"}, {3500, 7500}, "O=2,G=1"},
      // The sender's processor is free at once: it computes from o on.
      {"eager",
       {"l1: send 1001b to 1\nl2: calc 100\nl2 requires l1",
        "l1: calc 20000\nl2: recv 1001b from 0\nl2 requires l1"},
       {1600, 27500},
       ""},
      // It computes once the receive is posted, at 20000, and sees that immediately.
      {"rendezvous, late receiver",
       {"l1: send 1001b to 1\nl2: calc 100\nl2 requires l1",
        "l1: calc 20000\nl2: recv 1001b from 0\nl2 requires l1"},
       {20100, 27500},
       "S=1000"},
      // The receive is there: the sender goes on at the arrival, 4000.
      {"rendezvous, early receiver",
       {"l1: send 1001b to 1\nl2: calc 100\nl2 requires l1", "recv 1001b from 0"},
       {4100, 11500},
       "S=1000"},
      // With irequires it computes once the receive is posted, with requires once that is over, at 6542.
      {"irequires",
       {"l1: recv 8b from 1\nl2: calc 3000\nl2 irequires l1",
        "l1: calc 1000\nl2: send 8b to 0\nl2 requires l1"},
       {6542, 2500},
       ""},
      {"requires",
       {"l1: recv 8b from 1\nl2: calc 3000\nl2 requires l1",
        "l1: calc 1000\nl2: send 8b to 0\nl2 requires l1"},
       {9542, 2500},
       ""},
      // A send that may begin when another one has begun waits for processor and NIC: max(o, g + 1000 G).
      {"irequires of a send",
       {"l1: send 1001b to 1\nl2: send 8b to 1\nl2 irequires l1", "recv 1001b from 0\nrecv 8b from 0"},
       {8500, 13042},
       ""},
      // It is there before its receive, which costs nothing, and is over although the processor is not free.
      {"an unexpected message",
       {"send 8b to 1", "l1: calc 20000\nl2: recv 8b from 0\nl2 requires l1\nl3: calc 5\nl3 requires l2"},
       {1500, 21547},
       ""},
      // (0 - 1) G is -G, in unsigned numbers.
      {"no bytes", {"send 0b to 1", "recv 0b from 0"}, {1500, 5494}, ""},
      {"any source and tag",
       {"recv 100b from -1 tag -1\nrecv 100b from 2 tag 7", "send 100b to 0 tag 3", "send 100b to 0 tag 7"},
       {8188, 1500, 1500},
       ""},
  };
  const Folder folder;
  for (const Row& row : rows) {
    const Program program = opened(folder.file("a.goal", text_of(row.ranks)));
    const Result<LogGopsTimes> times = times_of(program, row.with);
    ASSERT_TRUE(times) << row.what << ": " << times.error();
    EXPECT_EQ(times->ends, row.ends) << row.what;
    EXPECT_THAT(times->left, IsEmpty()) << row.what;
  }
}

/// Text and binary form are one schedule.
TEST(LogGopsRules, AreOfBothForms) {
  const Folder folder;
  std::vector<std::string> unsupported;
  ASSERT_EQ(write_goal_binary(opened(folder.file("tree.goal", tree_of(8, 1024))), folder.file("tree.bin"),
                              unsupported)
                .error(),
            "");
  const Result<LogGopsTimes> times = times_of(opened(folder.file("tree.bin")));
  ASSERT_TRUE(times) << times.error();
  EXPECT_EQ(times->ends.front(), 34914U);
}

TEST(LogGopsRules, ReportIncompleteOperationsAndRefuseInvalidInput) {
  const Folder folder;
  const auto left = [&](const std::vector<std::string>& ranks) {
    const Result<LogGopsTimes> times = times_of(opened(folder.file("a.goal", text_of(ranks))));
    EXPECT_TRUE(times) << times.error();
    return times->left;
  };
  EXPECT_THAT(left({"l1: recv 8b from 1\nl2: calc 1\nl2 requires l1", "calc 1"}),
              ElementsAre("rank 0: 1 of its receives never complete", "rank 0: 1 operations never begin"));
  EXPECT_THAT(left({"calc 1", "send 8b to 0"}), ElementsAre("rank 0: 1 messages are never received"));
  EXPECT_THAT(run_by_loggops(opened("pattern:ring:2:8"), {}).error(), HasSubstr("offramp convert --to goal"));
  EXPECT_THAT(parse_loggops("o=1,x=2").error(), HasSubstr("\"x=2\" is not one of L, o, g, G, O, and S"));
  EXPECT_THAT(parse_loggops("o=-1").error(), HasSubstr("\"o=-1\""));
  EXPECT_THAT(parse_loggops("o").error(), HasSubstr("\"o\""));
}

}  // namespace
}  // namespace offramp::trace
