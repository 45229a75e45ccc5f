// Traces of liballprof: calls with positional arguments, requests by address, communicators by size.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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
                             fmt::join(reader.list(event.second_list), ","), reader.times().computing));
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
  expect_to_fit_and_end(program);
}

/// The files beside the named one belong to the other ranks, for any width of their numbers.
TEST(AllprofTrace, FindsTheFilesOfAllRanks) {
  const Folder folder;
  const auto trace = [](int rank) { return fmt::format("# collprof\n\nMPI_Barrier:1.0:8,{},3:2.0\n", rank); };
  EXPECT_THAT(
      problem_of(folder.file("t-02.txt", trace(2))),
      HasSubstr("nothing exists of ranks 0, 1, but there is " + folder.file("t-02.txt") + ": the last"));
  (void)folder.file("t-00.txt", trace(0));
  (void)folder.file("t-02.txt", trace(2));
  EXPECT_THAT(problem_of(folder.file("t-02.txt")), HasSubstr("nothing exists of rank 1, but there is "));
  (void)folder.file("t-01.txt", trace(1));
  EXPECT_EQ(problem_of(folder.file("t-02.txt")), "");
  EXPECT_EQ(opened(folder.file("t-02.txt")).description.ranks, 3);
  (void)folder.file("t-1.txt", trace(1));
  EXPECT_THAT(problem_of(folder.file("t-00.txt")), HasSubstr("both belong to rank 1"));
}

TEST(AllprofTrace, NamesFileAndLineOfAnError) {
  const Folder folder;
  const auto problem = [&](const std::string& line) {
    return problem_of(folder.file("t", "# collprof\n\nMPI_Init:-:0:0:1.0\n" + line + "\n"));
  };
  EXPECT_EQ(problem("MPI_Barrier:1.0:8,0,1:2.0"), "");
  EXPECT_THAT(problem("MPI_Barrier:1.0:8,0,2:2.0"),
              HasSubstr("t:4: MPI_Barrier: the members of its communicator are not in the trace"));
  EXPECT_THAT(problem("MPI_Barrier"), HasSubstr("t:4: this line is not MPI_NAME:START:ARGUMENTS:END"));
  EXPECT_THAT(problem("MPI_Send:1.0:9:x:1,4,4:0:0:8,0,1:2.0"), HasSubstr("t:4: MPI_Send: its count"));
  EXPECT_THAT(problem("MPI_Send:1.0:9:1:1:0:0:8,0,1:2.0"),
              HasSubstr("t:4: MPI_Send: the size of its datatype"));
  EXPECT_THAT(problem("MPI_Send:1.0:9:1:1,4,4:5:0:8,0,1:2.0"), HasSubstr("no rank 5"));
  EXPECT_THAT(problem("MPI_Bcast:1.0:9:1:1,4,4:1:8,0,1:2.0"), HasSubstr("t:4: MPI_Bcast: its root"));
  EXPECT_THAT(problem("MPI_Reduce_scatter:1.0:1:1:2:3,4:1,4,4:3:8,0,1:2.0"),
              HasSubstr("its recvcounts do not list one value for each of the 1 ranks"));
}

/// The name of the file gives the rank: liballprof 0.9 writes rank 0 into all of them.
TEST(AllprofTrace, TakesTheRankFromTheNameOfTheFile) {
  const Folder folder;
  const std::string text = "# collprof 0.9\n\nMPI_Bcast:3.0:5648928:12:13,1,1:0:5641280,0,2:4.0\n";
  (void)folder.file("t-0.dat", text);
  const Program program = opened(folder.file("t-1.dat", text));
  EXPECT_EQ(program.description.ranks, 2);
  expect_to_end_everywhere(program);
}

/// A type is its number and size, and in newer versions its extent. liballprof2 writes its handle alone.
TEST(AllprofTrace, IsReadOrRefusedInEachVersion) {
  const Folder folder;
  for (const char* type : {"1,4,4", "1,4", "1,4,18446744073709551615"}) {
    const std::string text =
        fmt::format("# htor's PMPI Tracer 0.9 Output File\n\nMPI_Send:1.0:9:3:{}:0:7:8,0,1:2.0\n", type);
    EXPECT_THAT(messages_of(opened(folder.file("t", text)))[std::pair(0, 0)], ElementsAre(12)) << type;
  }
  EXPECT_THAT(
      problem_of(folder.file("lap2-trace-rank-0-of-1.txt",
                             "MPI_Comm_rank:5.10:0:0:5.20\nMPI_Send:6.10:0x7ffe10:3:6:0:7:0:6.20\n")),
      HasSubstr(
          "it is a trace of liballprof2, which has no sizes of types: trace the program with liballprof"));
}

/// Calls without a model are reported.
TEST(AllprofTrace, SaysWhichCallsAreNotCarried) {
  const Folder folder;
  const Program program = opened(folder.file("t",
                                             "MPI_Init:-:0:0:1.0\nMPI_Put:2.0:1:1:1,4,4:0:0:1:1,4,4:77:3.0\n"
                                             "MPI_File_read:4.0:1:2:5.5\n"));
  EXPECT_THAT(program.notes,
              Contains("calls without a model, which last as long as in the trace: MPI_File_read, MPI_Put"));
  const auto reader = program.read(0);
  std::vector<std::uint64_t> native;
  for (Event event; reader->next(event);) native.push_back(reader->times().native);
  EXPECT_THAT(native, ElementsAre(0, 1000, 1500));
}

TEST(AllprofTrace, ThatIsCutIsNotWhole) {
  const Folder folder;
  const std::string begun = "MPI_Init:-:0:0:1.0\nMPI_Barrier:1.0:8,0,1:2.0\n";
  EXPECT_EQ(opened(folder.file("t", begun)).missing, "rank 0 is cut off before MPI_Finalize");
  EXPECT_EQ(opened(folder.file("t", begun + "MPI_Finalize:3.0:-\n")).missing, "");
}

/// The receives and waits of a rank that sends to itself and others.
std::vector<std::string> receives_and_waits(const Program& program) {
  std::vector<std::string> found;
  EXPECT_EQ(each_event(program, 0,
                       [&](const recording::Reader& reader, const Event& event) {
                         if (event.kind == recording::EventKind::kReceive)
                           found.push_back(fmt::format("from {}", event.peer));
                         if (event.kind == recording::EventKind::kWait)
                           found.push_back(fmt::format("for {}", fmt::join(reader.list(event.list), ",")));
                       }),
            "");
  return found;
}

/// MPICH's numbers differ from Open MPI's, and its handles identify it.
TEST(AllprofTrace, HasTheNumbersOfTheLibraryThatWroteIt) {
  const Folder folder;
  const auto receives = [&](const std::string& world) {
    std::string text;
    for (const int source : {-1, -2})
      text += fmt::format("MPI_Recv:1.0:9:1:1,4,4:{}:0:{},0,1:1:2.0\n", source, world);
    return opened(folder.file("t", text));
  };
  EXPECT_THAT(receives_and_waits(receives("140231415")), ElementsAre("from -1"));
  EXPECT_THAT(receives("140231415").notes, Not(Contains(HasSubstr("MPICH"))));
  const Program mpich = receives("1140850688");
  EXPECT_THAT(receives_and_waits(mpich), ElementsAre("from -1"));
  EXPECT_THAT(mpich.notes, Contains(HasSubstr("MPI_ANY_SOURCE is -2, MPI_PROC_NULL -1")));
  // Only the second one receives from any source.
  std::vector<std::uint64_t> bytes;
  const std::string two =
      "MPI_Recv:1.0:9:1:1,4,4:-1:0:1140850688,0,1:1:2.0\nMPI_Recv:3.0:9:2:1,4,4:-2:0:1140850688,0,1:1:4.0\n";
  EXPECT_EQ(each_event(opened(folder.file("t", two)), 0,
                       [&](const auto&, const Event& event) {
                         if (event.kind == recording::EventKind::kReceive) bytes.push_back(event.bytes);
                       }),
            "");
  EXPECT_THAT(bytes, ElementsAre(8));
  // Only the standard's ABI has the handle 257 for MPI_COMM_WORLD, and it leaves wildcards open.
  EXPECT_THAT(receives("257").notes, Contains(HasSubstr("the MPI library of the program is not known")));
}

/// Requests of MPICH are integers: in an array they are 4 bytes apart, and others may follow it.
TEST(AllprofTrace, FindsTheRequestsOfAnArray) {
  const Folder folder;
  const auto waits = [&](const std::string& world, const std::vector<int>& addresses) {
    std::string text;
    for (const int address : addresses)
      text += fmt::format("MPI_Irecv:1.0:9:1:1,4,4:0:0:{},0,1:{}:2.0\n", world, address);
    text += "MPI_Waitall:3.0:2:9000:1:4.0\n";
    std::vector<std::string> found = receives_and_waits(opened(folder.file("t", text)));
    return found.empty() ? std::string() : found.back();
  };
  EXPECT_EQ(waits("140231415", {9000, 9008, 9016}), "for 3,2");
  EXPECT_EQ(waits("1140850688", {9000, 9004, 9008, 9012}), "for 4,3");
  EXPECT_EQ(waits("0", {9000, 9004, 9008, 9012}), "for 4,3") << "Open MPI's Fortran";
}

}  // namespace
}  // namespace offramp::trace
