// Algorithms of one's own in place of collectives: they run as they are, and what is around them stays.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/trace/algorithm.hpp"
#include "lib/trace/goal.hpp"
#include "tests/recording/recorded.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using recording::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The lines of each of so many ranks; "{0}" stands for the rank, "{1}" for the next and "{2}" for the one
/// before.
std::string lines_of(int ranks, const std::string& line) {
  std::string text;
  for (int rank = 0; rank < ranks; ++rank)
    text += fmt::format(fmt::runtime(line), rank, (rank + 1) % ranks, (rank + ranks - 1) % ranks);
  return text;
}

Program planned(Program program) {
  Result<Program> made = with_algorithm(std::move(program), data("msccl/ring.xml"));
  EXPECT_TRUE(made) << made.error();
  return made ? std::move(*made) : Program();
}

TEST(PlannedCollective, TakesTheTimeOfItsAlgorithm) {
  const Folder folder;
  const std::string path = folder.file("t", lines_of(4, "{0} allreduce 262144 0 5\n"));
  const Result<ReplayResult> alone = replayed(opened(data("msccl/ring.xml") + ":1MiB"), "host");
  const Result<ReplayResult> in_place = replayed(planned(opened(path)), "host");
  const Result<ReplayResult> before = replayed(opened(path), "host");
  ASSERT_TRUE(alone && in_place && before);
  EXPECT_EQ((*in_place).modelled_time, (*alone).modelled_time);
  EXPECT_NE((*in_place).modelled_time, (*before).modelled_time);
  EXPECT_EQ((*in_place).messages, 24U);
}

/// Requests that go on beside it are still those that are waited for.
TEST(PlannedCollective, LeavesWhatIsAroundItAsItWas) {
  const Folder folder;
  const Program program = planned(opened(folder.file(
      "t", lines_of(4,
                    "{0} compute 500\n{0} irecv {2} 5 8 6\n{0} isend {1} 5 8 6\n"
                    "{0} compute 700\n{0} allreduce 64 0 5\n{0} isend {1} 6 8 6\n{0} irecv {2} 6 8 6\n"
                    "{0} allreduce 128 0 5\n{0} waitall\n{0} bcast 8\n"))));
  std::vector<std::string> events;
  std::uint64_t computed = 0;
  std::size_t of_the_algorithm = 0;
  EXPECT_EQ(each_event(program, 2,
                       [&](const recording::Reader& reader, const Event& event) {
                         computed += reader.computed();
                         if (event.tag >= 1 << 30) ++of_the_algorithm;
                         if (reader.call(event.call) == "MPI_Allreduce") return;
                         events.push_back(fmt::format("{} [{}]", reader.call(event.call),
                                                      fmt::join(reader.list(event.list), ",")));
                       }),
            "");
  EXPECT_THAT(events, ElementsAre("MPI_Irecv []", "MPI_Isend []", "MPI_Isend []", "MPI_Irecv []",
                                  "MPI_Waitall [28,27,14,13]", "MPI_Bcast []", "MPI_Finalize []"));
  EXPECT_EQ(computed, 1200U);
  EXPECT_EQ(of_the_algorithm, 24U);
  expect_to_fit_and_end(program);
}

/// On other numbers of ranks, and where they do not block, collectives stay those of the backend.
TEST(PlannedCollective, StandsForNoOther) {
  const Folder folder;
  const auto collectives = [&](const std::string& lines, int ranks) {
    std::size_t found = 0;
    EXPECT_EQ(each_event(planned(opened(folder.file("t", lines_of(ranks, lines)))), 0,
                         [&](const auto&, const Event& event) {
                           if (event.kind == EventKind::kCollective) ++found;
                         }),
              "");
    return found;
  };
  EXPECT_EQ(collectives("{0} allreduce 64 0 5\n{0} reduce 64 0 0 5\n", 4), 1U);
  EXPECT_EQ(collectives("{0} iallreduce 64 0 5\n{0} waitall\n", 4), 1U);
  EXPECT_EQ(collectives("{0} allreduce 64 0 5\n", 5), 1U);
  EXPECT_THAT(with_algorithm(opened("pattern:ring:3:8"), data("msccl/ring.xml")).error(),
              HasSubstr("is for 4 ranks, and the program has 3"));
  const std::string plan =
      "<algo ngpus=\"1\" nchunksperloop=\"1\" coll=\"custom\">\n<gpu id=\"0\"/>\n</algo>\n";
  EXPECT_THAT(with_algorithm(opened("pattern:ring:3:8"), folder.file("a.xml", plan)).error(),
              HasSubstr("a.xml:1: coll custom is no collective that an algorithm can stand for"));
}

/// Each of two thread blocks sends, and another one receives once that has sent: connections hold what is
/// sent, however long it is.
TEST(PlannedCollective, EndsWhereReceivesStandBehindSendsOfOtherBlocks) {
  const Folder folder;
  std::string plan = "<algo name=\"a\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"alltoall\">\n";
  for (const int gpu : {0, 1})
    plan += fmt::format(
        "<gpu id=\"{0}\">\n<tb id=\"0\" send=\"{1}\" recv=\"-1\" chan=\"0\">\n"
        "<step s=\"0\" type=\"s\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"1\"/>\n</tb>\n"
        "<tb id=\"1\" send=\"-1\" recv=\"{1}\" chan=\"0\">\n"
        "<step s=\"0\" type=\"r\" cnt=\"1\" depid=\"0\" deps=\"0\" hasdep=\"0\"/>\n</tb>\n</gpu>\n",
        gpu, 1 - gpu);
  const std::string path = folder.file("a.xml", plan + "</algo>\n");
  for (const int bytes : {8, 1 << 20}) {
    const std::string program =
        folder.file("t", lines_of(2, fmt::format("{{0}} alltoall {0} {0} 6 6\n", bytes)));
    Result<Program> made = with_algorithm(opened(program), path);
    ASSERT_TRUE(made) << made.error();
    expect_to_fit_and_end(*made);
    expect_to_fit_and_end(opened(fmt::format("{}:{}B", path, 2 * bytes)));
  }
}

TEST(PlannedCollective, IsOfRanksWithOneThread) {
  const auto part = [](int rank) {
    std::vector<recording::Step> steps;
    for (const std::uint32_t thread : {0U, rank == 2 ? 1U : 0U})
      steps.push_back({.event = recording::allreduce(64), .thread = thread});
    return recording::record(steps, recording::options_of(rank, 4));
  };
  const Folder folder;
  auto recording = recording::Recording::from_parts({}, std::vector{part(0), part(1), part(2), part(3)});
  ASSERT_TRUE(recording) << recording.error();
  ASSERT_EQ((*recording).write(folder.file("r.rec")), "");
  EXPECT_THAT(with_algorithm(opened(folder.file("r.rec")), data("msccl/ring.xml")).error(),
              HasSubstr("rank 2 of the program has several threads"));
}

/// A ring of four ranks, each of which passes its part on, and combines for as many ns.
std::string ring_schedule(const std::string& more = "") {
  std::string text = "num_ranks 4\n";
  for (int rank = 0; rank < 4; ++rank)
    text += fmt::format(
        "rank {0} {{\nl1: send 1000b to {1} tag 77\nl2: recv 1000b from {2} tag 77\nl3: calc 500\nl3 "
        "requires "
        "l2\n{3}\n}}\n",
        rank, (rank + 1) % 4, (rank + 3) % 4, rank == 1 ? more : "");
  return text;
}

struct Done {
  std::vector<std::uint64_t> sent;
  std::uint64_t computed = 0;
  std::size_t collectives = 0;
};
Done done_of(const Program& program) {
  Done done;
  EXPECT_EQ(each_event(program, 0,
                       [&](const recording::Reader& reader, const Event& event) {
                         done.computed += reader.computed();
                         if (event.kind == EventKind::kSend) done.sent.push_back(event.bytes);
                         if (event.kind == EventKind::kCollective) ++done.collectives;
                       }),
            "");
  return done;
}

/// Its sizes are as they are written, or scaled by the collective's: 6000 bytes are one and a half times
/// 4000.
TEST(PlannedCollective, IsAGoalSchedule) {
  const Folder folder;
  const std::string goal = folder.file("ring.goal", ring_schedule());
  const std::string binary = folder.file("ring.bin");
  std::vector<std::string> unsaid;
  ASSERT_EQ(write_goal_binary(opened(goal), binary, unsaid), "");
  const std::string lines =
      lines_of(4, "{0} compute 30\n{0} allreduce 4000 0 6\n{0} allreduce 6000 0 6\n{0} barrier\n");
  for (const std::string& file : {goal, binary}) {
    for (const auto& [named, second, computed] :
         {std::tuple("allreduce=" + file, 1000U, 1030U), {"allreduce:4000=" + file, 1500U, 1280U}}) {
      Result<Program> made = with_algorithm(opened(folder.file("t", lines)), named);
      ASSERT_TRUE(made) << made.error();
      const Done done = done_of(*made);
      EXPECT_THAT(done.sent, ElementsAre(1000, second)) << named;
      EXPECT_EQ(done.computed, computed) << named;
      EXPECT_EQ(done.collectives, 1U);  // the barrier
      EXPECT_THAT((*made).notes,
                  ::testing::Contains(HasSubstr("whether it computes the collective cannot be told")));
      expect_to_fit_and_end(*made);
    }
  }
}

TEST(PlannedCollective, IsNoScheduleThatTakesWhatIsNotItsOwn) {
  const Folder folder;
  const auto problem = [&](const std::string& before, const std::string& more) {
    return with_algorithm(opened("pattern:ring:4:8"), before + folder.file("a.goal", ring_schedule(more)))
        .error();
  };
  EXPECT_EQ(problem("allreduce=", ""), "");
  EXPECT_THAT(problem("", ""), HasSubstr("does not say of which collective: name it, allreduce="));
  EXPECT_THAT(problem("alreduce=", ""),
              HasSubstr("a.goal: alreduce is no collective that an algorithm can stand for"));
  EXPECT_THAT(problem("allreduce:x=", ""), HasSubstr("\"x\" is no number of bytes from 1 on"));
  EXPECT_THAT(problem("allreduce=", "recv 8b from -1"), HasSubstr("a.goal: rank 1 receives from any rank"));
  EXPECT_THAT(problem("allreduce=", "send 8b to 2 tag 5"),
              HasSubstr("rank 1 sends 1 messages more to rank 2 with tag 5"));
  EXPECT_THAT(problem("allreduce=", "recv 8b from 2"), HasSubstr("rank 2 sends 1 messages fewer to rank 1"));
  EXPECT_THAT(problem("allreduce=", "x"), HasSubstr("a.goal:14: x is no statement"));
  EXPECT_THAT(with_algorithm(opened("pattern:ring:4:8"), "allreduce=" + data("msccl/ring.xml")).error(),
              HasSubstr("says itself of which collective it is: allreduce"));
  EXPECT_THAT(with_algorithm(opened("pattern:ring:4:8"), folder.file("n", "0 init\n")).error(),
              HasSubstr("is no algorithm: MSCCL's XML, plans of MSCCL++ and GOAL schedules are"));
}

}  // namespace
}  // namespace offramp::trace
