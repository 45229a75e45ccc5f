// Traces of DUMPI as text: types and communicators made by the program, outcomes of waits, and errors.
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
                          // The grid, its row, a half with the highest rank first, and those of a group.
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
  expect_to_fit_and_end(program);
}

std::string call_of(const std::string& name, const std::string& arguments) {
  return fmt::format(
      "{0} entering at walltime 1.000000000, cputime 0.0 seconds in thread 0.\n{1}"
      "{0} returning at walltime 2.000000000, cputime 0.0 seconds in thread 0.\n",
      name, arguments);
}

TEST(DumpiTrace, NamesFileAndLineOfAnError) {
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
  EXPECT_THAT(sent("9", 0, "7"), HasSubstr("the members of its communicator are not in the trace"));
  EXPECT_THAT(
      problem(call_of("MPI_Init", "") + "MPI_Barrier entering at walltime 1.000000000, x\nMPI_Comm comm=2\n"),
      HasSubstr("t:4: MPI_Barrier never returns"));
  EXPECT_THAT(problem("MPI_Init entering at walltime 1.000000000, x\n" + call_of("MPI_Init", "")),
              HasSubstr("t:2: MPI_Init is entered before MPI_Init returns"));
  EXPECT_THAT(problem(call_of("MPI_Waitall", "int count=2\nMPI_Request requests[2]=[2]\n")),
              HasSubstr("MPI_Waitall: its requests are invalid"));
}

TEST(DumpiTrace, NamesCommunicatorsThatNotAllMake) {
  const Folder folder;
  const std::string split =
      call_of("MPI_Comm_split", "MPI_Comm oldcomm=2\nint color=0\nint key=0\nMPI_Comm newcomm=4\n");
  (void)folder.file("t-0", split);
  EXPECT_THAT(problem_of(folder.file("t-1", call_of("MPI_Init", ""))),
              HasSubstr("t-0:6: MPI_Comm_split: not all ranks of its communicator create this one"));
  EXPECT_THAT(
      problem_of(folder.file("t-1", call_of("MPI_Comm_dup", "MPI_Comm oldcomm=2\nMPI_Comm newcomm=4\n"))),
      HasSubstr("create different objects from one communicator"));
  EXPECT_EQ(problem_of(folder.file("t-1", split)), "");
}

TEST(DumpiTrace, ThatIsCutIsNotWhole) {
  const Folder folder;
  const std::string begun = call_of("MPI_Init", "") + call_of("MPI_Barrier", "MPI_Comm comm=2\n");
  EXPECT_EQ(opened(folder.file("t", begun)).missing, "rank 0 is cut off before MPI_Finalize");
  EXPECT_EQ(opened(folder.file("t", begun + call_of("MPI_Finalize", ""))).missing, "");
  EXPECT_EQ(opened(folder.file("t", call_of("MPI_Barrier", "MPI_Comm comm=2\n"))).missing, "");
}

/// What dumpi2ascii of 1.1 (2016), 9.0 (2019), and 13.0 (2023) writes around the calls. Those are equal.
TEST(DumpiTrace, IsReadInEachVersion) {
  const Folder folder;
  const std::string calls =
      call_of("MPI_Init", "") +
      call_of("MPI_Send", "int count=2\nMPI_Datatype datatype=9\nint dest=0\nint tag=3\nMPI_Comm comm=2\n") +
      call_of("MPI_Finalize", "") + "Total keyvals: 0\nMPI_Send called 1 times and ignored 0 times\n";
  for (const auto& [begins, ends] : std::initializer_list<std::pair<const char*, const char*>>{
           {"version=1.1.0\nmeshdim=0\n", "Function address 94 has label main\n"},
           {"version=9.0.0\nmeshdim=0\nRead profile until 4096 out of 4096\n", ""},
           {"version=13.0.0\nmeshdim=0\n", "Datatype 9 (MPI_INT) has size 4\n"}}) {
    const Program program = opened(folder.file("t", begins + calls + ends));
    EXPECT_THAT(messages_of(program)[std::pair(0, 0)], ElementsAre(8)) << begins;
    EXPECT_THAT(program.notes, Not(Contains(HasSubstr("are ignored")))) << begins;
  }
}

TEST(DumpiTrace, NamesIgnoredCalls) {
  const Folder folder;
  const std::string init = call_of("MPI_Init", "");
  const Program program = opened(folder.file(
      "t", "version=1.0.0\n" + init + "MPI_Send enter\n\n" + call_of("MPI_Foo", "what is this\n") +
               call_of("MPI_Allreduce_init", "") + call_of("MPI_Comm_rank", "") +
               call_of("MPI_Finalize", "") +
               "MPI_Recv called 3 times and ignored 0 times\nMPI_Send called 3 times and ignored 2 times\n"));
  EXPECT_THAT(
      program.notes,
      Contains("calls without a model, which last as long as in the trace: MPI_Allreduce_init, MPI_Foo"));
  EXPECT_THAT(program.notes,
              Contains("lines outside of calls are ignored: 3, the first at " + folder.file("t") + ":4"));
  EXPECT_THAT(opened(data(kRing)).notes, Not(Contains(HasSubstr("not read:"))));
  EXPECT_THAT(problem_of(folder.file("t", init + "MPI_Barrier returning at walltime 1.000000000, x\n")),
              HasSubstr("t:3: MPI_Barrier returns but was not entered"));
}

/// DUMPI has -1 for any rank, and MPICH's MPI_PROC_NULL is also -1, and stays.
TEST(DumpiTrace, SaysWhereReceivesFromNoneLookLikeThoseFromAny) {
  const Folder folder;
  const auto notes = [&](int to, int from) {
    const std::string message =
        "int count=1\nMPI_Datatype datatype=9\nint {}={}\nint tag=3\nMPI_Comm comm=2\n";
    return opened(
               folder.file("t", call_of("MPI_Send", fmt::format(fmt::runtime(message), "dest", to)) +
                                    call_of("MPI_Recv", fmt::format(fmt::runtime(message), "source", from))))
        .notes;
  };
  const auto about_mpich = HasSubstr("receives from -1 count as receives from any rank");
  EXPECT_THAT(notes(-1, -1), Contains(about_mpich));
  EXPECT_THAT(notes(-2, -1), Not(Contains(about_mpich)));
  EXPECT_THAT(notes(-1, 0), Not(Contains(about_mpich)));
}

/// Any inconsistent grid gives an error that names the calls, and no crash.
TEST(DumpiTrace, NamesGridsThatAreNone) {
  const Folder folder;
  const auto grid = [](const std::string& sides) {
    return call_of("MPI_Cart_create",
                   fmt::format("MPI_Comm oldcomm=2\nint ndim=2\nint dims[2]=[{}]\n"
                               "int periods[2]=[0, 0]\nint reorder=0\nMPI_Comm newcomm=4\n",
                               sides));
  };
  const auto part = [](const std::string& remain) {
    return call_of("MPI_Cart_sub", fmt::format("MPI_Comm oldcomm=4\nint remain_dims[2]=[{}]\n"
                                               "MPI_Comm newcomm=5\n",
                                               remain));
  };
  const auto problem = [&](const std::string& a, const std::string& b) {
    (void)folder.file("t-0", a);
    return problem_of(folder.file("t-1", b));
  };
  EXPECT_EQ(problem(grid("1, 2") + part("0, 1"), grid("1, 2") + part("0, 1")), "");
  EXPECT_THAT(problem(grid("0, 2") + part("0, 1"), grid("1, 2") + part("0, 1")),
              HasSubstr("t-1:8: MPI_Cart_create: the sides of the grid are [1, 2], but at "));
  EXPECT_THAT(problem(grid("0, 2"), grid("1, 2") + part("0, 1")), HasSubstr("the sides of the grid are"));
  EXPECT_THAT(problem(grid("0, 2") + part("0, 1"), grid("0, 2") + part("0, 1")),
              HasSubstr("t-0:8: MPI_Cart_create: no grid with the sides [0, 2] fits into 2 ranks"));
  EXPECT_THAT(problem(grid("2, 2"), grid("2, 2")),
              HasSubstr("no grid with the sides [2, 2] fits into 2 ranks"));
  EXPECT_THAT(problem(grid("1, 2") + part("0, 1"), grid("1, 2") + part("1, 0")),
              HasSubstr("t-1:13: MPI_Cart_sub: what remains of the grid is [1, 0], but at "));
  // A copy of a grid is a grid.
  const std::string copied =
      grid("1, 2") + call_of("MPI_Comm_dup", "MPI_Comm oldcomm=4\nMPI_Comm newcomm=6\n") +
      call_of("MPI_Cart_sub", "MPI_Comm oldcomm=6\nint remain_dims[2]=[0, 1]\nMPI_Comm newcomm=5\n");
  EXPECT_EQ(problem(copied, copied), "");
}

/// Sizes follow from the calls that make types, under their old and new names.
TEST(DumpiTrace, KnowsTheSizesOfTypesThatTheProgramMakes) {
  const Folder folder;
  const auto bytes = [&](const std::string& name, const std::string& arguments) {
    const Program program = opened(
        folder.file("t", call_of("MPI_" + name, arguments + "MPI_Datatype newtype=30 (user-defined)\n") +
                             call_of("MPI_Send",
                                     "int count=2\nMPI_Datatype datatype=30\nint dest=0\nint tag=0\n"
                                     "MPI_Comm comm=2\n")));
    std::uint64_t found = 0;
    const std::string problem = each_event(program, 0, [&](const auto&, const Event& event) {
      if (event.kind == recording::EventKind::kSend) found = event.bytes / 2;
    });
    return problem.empty() ? std::to_string(found) : problem;
  };
  const std::string ints = "MPI_Datatype oldtype=9 (MPI_INT)\n";
  EXPECT_EQ(bytes("Type_create_struct",
                  "int count=2\nint blocklengths[2]=[3, 4]\nint displacements[2]=[0, 16]\n"
                  "MPI_Datatype oldtypes[2]=[9, 14]\n"),
            "44");
  EXPECT_EQ(bytes("Type_struct",
                  "int count=2\nint lengths[2]=[3, 4]\nint indices[2]=[0, 16]\n"
                  "MPI_Datatype oldtypes[2]=[9 (MPI_INT), 14 (MPI_DOUBLE)]\n"),
            "44");
  EXPECT_EQ(bytes("Type_create_indexed_block",
                  "int count=3\nint blocklength=5\nint displacments[3]=[0, 9, 18]\n" + ints),
            "60");
  EXPECT_EQ(bytes("Type_indexed", "int count=2\nint lengths[2]=[1, 6]\nint indices[2]=[0, 9]\n" + ints),
            "28");
  EXPECT_EQ(bytes("Type_create_hindexed",
                  "int count=2\nint blocklengths[2]=[2, 6]\nint displacements[2]=[0, 9]\n" + ints),
            "32");
  EXPECT_EQ(bytes("Type_create_hvector", "int count=2\nint blocklength=4\nint stride=64\n" + ints), "32");
  EXPECT_EQ(bytes("Type_create_resized", ints + "int lb=0\nint extent=64\n"), "4");
  EXPECT_EQ(bytes("Type_create_subarray",
                  "int ndims=2\nint sizes[2]=[9, 9]\nint subsizes[2]=[2, 3]\nint starts[2]=[0, 0]\n" + ints),
            "24");
  EXPECT_EQ(bytes("Type_indexed", "int count=0\nint lengths[0]=<IGNORED>\nint indices[0]=<IGNORED>\n" + ints),
            "0");
  EXPECT_THAT(bytes("Type_create_struct",
                    "int count=2\nint blocklengths[2]=[3, 4]\nint displacements[2]=[0, 16]\n"
                    "MPI_Datatype oldtypes[1]=[9]\n"),
              HasSubstr("the size of its datatype is not known"));
}

}  // namespace
}  // namespace offramp::trace
