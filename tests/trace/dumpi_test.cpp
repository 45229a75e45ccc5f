// Traces of DUMPI as text: types and communicators that a program made, outcomes of waits, and what is wrong.
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

constexpr const char* kRing = "dumpi/ring-0003.txt";

TEST(DumpiTrace, HasTheCallsOfEachRank) {
  const Program program = opened(data(kRing));
  ASSERT_EQ(program.description.ranks, 4);
  std::vector<std::string> calls;
  EXPECT_EQ(each_event(program, 1,
                       [&](const recording::Reader& reader, const Event& event) {
                         if (event.kind == recording::EventKind::kNative) return;
                         calls.push_back(fmt::format("{} {} {} {} {} [{}][{}]", reader.call(event.call),
                                                     event.communicator, event.bytes, event.peer, event.extra,
                                                     fmt::join(reader.list(event.list), ","),
                                                     fmt::join(reader.list(event.second_list), ",")));
                       }),
            "");
  EXPECT_THAT(calls,
              ElementsAre("MPI_Barrier 0 0 0 0 [][]", "MPI_Isend 0 4 2 0 [][]", "MPI_Recv 0 4 0 0 [][]",
                          "MPI_Wait 0 0 0 1 [][]", "MPI_Allreduce 0 4 0 1 [][]",
                          // The grid, its row, one's half with the highest rank first, and those of a group.
                          "MPI_Comm_rank 0 0 0 2 [0,1,2,3][]", "MPI_Comm_rank 0 0 0 3 [0,1][]",
                          "MPI_Comm_rank 0 0 0 6 [3,1][]", "MPI_Comm_rank 0 0 0 7 [3,1,0][]",
                          // Two of {3 int, 4 times 2 double}.
                          "MPI_Bcast 3 152 1 0 [][]", "MPI_Reduce 4 40 0 10 [][]",
                          "MPI_Allgatherv 5 24 0 72 [][20,24,28]", "MPI_Gatherv 0 80 2 0 [][]",
                          "MPI_Irecv 2 4 -1 0 [][]", "MPI_Irecv 0 4 0 0 [][]", "MPI_Send 0 4 0 0 [][]",
                          "MPI_Wait 0 0 0 1 [][]", "MPI_Send 2 4 3 0 [][]", "MPI_Wait 0 0 0 2 [][]"));
}

TEST(DumpiTrace, IsReplayedOnAllHardware) {
  const Program program = opened(data(kRing));
  const Result<Findings> findings = rehearse(program);
  ASSERT_TRUE(findings) << findings.error();
  EXPECT_THAT((*findings).problems, IsEmpty());
  expect_to_end_everywhere(program);
}

std::string call_of(const std::string& name, const std::string& arguments) {
  return fmt::format(
      "{0} entering at walltime 1.000000000, cputime 0.0 seconds in thread 0.\n{1}"
      "{0} returning at walltime 2.000000000, cputime 0.0 seconds in thread 0.\n",
      name, arguments);
}

TEST(DumpiTrace, NamesFileAndLineOfWhatIsWrong) {
  const Folder folder;
  const auto problem = [&](const std::string& text) { return problem_of(folder.file("t", text)); };
  const std::string send =
      "int count=1\nMPI_Datatype datatype={}\nint dest={}\nint tag=3\nMPI_Comm comm={}\n";
  const auto sent = [&](const char* type, int to, const char* comm) {
    return problem(call_of("MPI_Send", fmt::format(fmt::runtime(send), type, to, comm)));
  };
  EXPECT_EQ(sent("9 (MPI_INT)", 0, "2 (MPI_COMM_WORLD)"), "");
  EXPECT_THAT(sent("31 (user)", 0, "2"), HasSubstr("t:7: MPI_Send: the size of its datatype is not known"));
  EXPECT_THAT(sent("9", 1, "2"), HasSubstr("its communicator has no rank 1"));
  EXPECT_THAT(sent("9", 0, "7"), HasSubstr("the trace does not say who is in its communicator"));
  EXPECT_THAT(
      problem(call_of("MPI_Init", "") + "MPI_Barrier entering at walltime 1.000000000, x\nMPI_Comm comm=2\n"),
      HasSubstr("t:4: MPI_Barrier never returns"));
  EXPECT_THAT(problem("MPI_Init entering at walltime 1.000000000, x\n" + call_of("MPI_Init", "")),
              HasSubstr("t:2: MPI_Init is entered before MPI_Init returns"));
  EXPECT_THAT(problem(call_of("MPI_Waitall", "int count=2\nMPI_Request requests[2]=[2]\n")),
              HasSubstr("MPI_Waitall: its requests make no sense"));
}

TEST(DumpiTrace, NamesCommunicatorsThatNotAllMake) {
  const Folder folder;
  const std::string split =
      call_of("MPI_Comm_split", "MPI_Comm oldcomm=2\nint color=0\nint key=0\nMPI_Comm newcomm=4\n");
  (void)folder.file("t-0", split);
  EXPECT_THAT(problem_of(folder.file("t-1", call_of("MPI_Init", ""))),
              HasSubstr("t-0:6: MPI_Comm_split: not all ranks of its communicator make this one"));
  EXPECT_THAT(
      problem_of(folder.file("t-1", call_of("MPI_Comm_dup", "MPI_Comm oldcomm=2\nMPI_Comm newcomm=4\n"))),
      HasSubstr("make different things of one communicator"));
  EXPECT_EQ(problem_of(folder.file("t-1", split)), "");
}

}  // namespace
}  // namespace offramp::trace
