// Traces of liballprof: calls with their arguments by place, requests by address, communicators by size.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/trace/rehearsal.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kRank1 = "allprof/pmpi-trace-rank-1.txt";

TEST(AllprofTrace, HasTheCallsOfEachRank) {
  const Program program = opened(data(kRank1));
  ASSERT_EQ(program.description.ranks, 4);
  std::vector<std::string> calls;
  EXPECT_EQ(each_event(program, 1,
                       [&](const recording::Reader& reader, const Event& event) {
                         calls.push_back(fmt::format(
                             "{} {} {} {} [{}][{}] {}", reader.call(event.call), event.communicator,
                             event.bytes, event.peer, fmt::join(reader.list(event.list), ","),
                             fmt::join(reader.list(event.second_list), ","), reader.computed()));
                       }),
            "");
  EXPECT_THAT(
      calls,
      ElementsAre(
          "MPI_Init 0 0 0 [][] 0", "MPI_Comm_rank 0 0 0 [][] 10000", "MPI_Comm_rank 0 0 0 [][] 10000",
          "MPI_Bcast 0 64 0 [][] 10000", "MPI_Irecv 0 36000 0 [][] 1000000", "MPI_Isend 0 36000 2 [][] 10000",
          "MPI_Waitall 0 0 0 [2,1][] 10000", "MPI_Send 0 100 3 [][] 10000", "MPI_Comm_rank 0 0 0 [][] 10000",
          "MPI_Comm_rank 0 0 0 [1,3][] 0", "MPI_Allreduce 2 2048 0 [][] 10000",
          "MPI_Gatherv 0 160 1 [][80,160,240,320] 10000", "MPI_Alltoallv 0 16 0 [4,4,4,4][4,4,4,4] 10000",
          "MPI_Sendrecv 0 64 0 [][] 10000", "MPI_Sendrecv 0 64 0 [][] 0", "MPI_Sendrecv 0 0 0 [2,1][] 0",
          "MPI_Isend 0 1 0 [][] 10000", "MPI_Irecv 0 1 0 [][] 10000", "MPI_Test 0 0 0 [][] 10000",
          "MPI_Wait 0 0 0 [][] 10000", "MPI_Waitany 0 0 0 [2][] 10000", "MPI_Barrier 0 0 0 [][] 10000",
          "MPI_Finalize 0 0 0 [][] 20000"));
}

TEST(AllprofTrace, IsReplayedOnAllHardware) {
  const Program program = opened(data(kRank1));
  const Result<Findings> findings = rehearse(program);
  ASSERT_TRUE(findings) << findings.error();
  EXPECT_THAT((*findings).problems, IsEmpty());
  expect_to_end_everywhere(program);
}

/// The files beside the named one are of the other ranks, whatever the width of their numbers.
TEST(AllprofTrace, FindsTheFilesOfAllRanks) {
  const Folder folder;
  const auto trace = [](int rank) { return fmt::format("# collprof\n\nMPI_Barrier:1.0:8,{},3:2.0\n", rank); };
  (void)folder.file("t-00.txt", trace(0));
  (void)folder.file("t-02.txt", trace(2));
  EXPECT_THAT(problem_of(folder.file("t-02.txt")), HasSubstr("the file of rank 1 is missing, and there is "));
  (void)folder.file("t-01.txt", trace(1));
  EXPECT_EQ(problem_of(folder.file("t-02.txt")), "");
  EXPECT_EQ(opened(folder.file("t-02.txt")).description.ranks, 3);
  (void)folder.file("t-1.txt", trace(1));
  EXPECT_THAT(problem_of(folder.file("t-00.txt")), HasSubstr("are both of rank 1"));
}

TEST(AllprofTrace, NamesFileAndLineOfWhatIsWrong) {
  const Folder folder;
  const auto problem = [&](const std::string& line) {
    return problem_of(folder.file("t", "# collprof\n\nMPI_Init:-:0:0:1.0\n" + line + "\n"));
  };
  EXPECT_EQ(problem("MPI_Barrier:1.0:8,0,1:2.0"), "");
  EXPECT_THAT(problem("MPI_Barrier:1.0:8,0,2:2.0"),
              HasSubstr("t:4: MPI_Barrier: the trace does not say who is in its communicator"));
  EXPECT_THAT(problem("MPI_Barrier"), HasSubstr("t:4: this is no line MPI_NAME:START:ARGUMENTS:END"));
  EXPECT_THAT(problem("MPI_Send:1.0:9:x:1,4,4:0:0:8,0,1:2.0"), HasSubstr("t:4: MPI_Send: its count"));
  EXPECT_THAT(problem("MPI_Send:1.0:9:1:1:0:0:8,0,1:2.0"),
              HasSubstr("t:4: MPI_Send: the size of its datatype"));
  EXPECT_THAT(problem("MPI_Send:1.0:9:1:1,4,4:5:0:8,0,1:2.0"), HasSubstr("no rank 5"));
  EXPECT_THAT(problem("MPI_Bcast:1.0:9:1:1,4,4:1:8,0,1:2.0"), HasSubstr("t:4: MPI_Bcast: its root"));
  EXPECT_THAT(problem("MPI_Reduce_scatter:1.0:1:1:2:3,4:1,4,4:3:8,0,1:2.0"),
              HasSubstr("its recvcounts are not one for each of the 1 ranks"));
}

/// Whose trace it is, the name of the file says: liballprof 0.9 has rank 0 in all of them.
TEST(AllprofTrace, TakesTheRankFromTheNameOfTheFile) {
  const Folder folder;
  const std::string text = "# collprof 0.9\n\nMPI_Bcast:3.0:5648928:12:13,1,1:0:5641280,0,2:4.0\n";
  (void)folder.file("t-0.dat", text);
  const Program program = opened(folder.file("t-1.dat", text));
  EXPECT_EQ(program.description.ranks, 2);
  expect_to_end_everywhere(program);
}

/// What it cannot carry is said, and takes no time.
TEST(AllprofTrace, SaysWhichCallsAreNotCarried) {
  const Folder folder;
  const Program program = opened(folder.file("t",
                                             "MPI_Init:-:0:0:1.0\nMPI_Put:2.0:1:1:1,4,4:0:0:1:1,4,4:77:3.0\n"
                                             "MPI_File_read:4.0:1:2:5.0\n"));
  EXPECT_THAT(program.notes,
              testing::Contains("calls that are not carried and take no time: MPI_File_read, MPI_Put"));
}

}  // namespace
}  // namespace offramp::trace
