// Logs of NCCL: who calls what, groups, and what is wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NcclLog, HasTheCallsOfEachRank) {
  const Program program = opened(data("nccl/step.log"));
  ASSERT_EQ(program.description.ranks, 4);
  std::vector<std::string> calls;
  EXPECT_EQ(each_event(program, 3,
                       [&](const recording::Reader& reader, const Event& event) {
                         const auto list = reader.list(event.list);
                         calls.push_back(fmt::format("{} on {}: {} bytes, peer {} [{}]",
                                                     reader.call(event.call), event.communicator, event.bytes,
                                                     event.peer, fmt::join(list, ",")));
                       }),
            "");
  EXPECT_THAT(
      calls,
      ElementsAre("MPI_Comm_rank on 0: 0 bytes, peer 0 [1,3]", "MPI_Allreduce on 0: 4096 bytes, peer 0 []",
                  "MPI_Allgather on 2: 512 bytes, peer 0 []",
                  "MPI_Reduce_scatter_block on 2: 512 bytes, peer 0 []",
                  "MPI_Isend on 0: 100 bytes, peer 0 []", "MPI_Irecv on 0: 100 bytes, peer 2 []",
                  "MPI_Waitall on 0: 0 bytes, peer 0 [2,1]", "MPI_Bcast on 0: 512 bytes, peer 2 []",
                  "MPI_Finalize on 0: 0 bytes, peer 0 []"));
}

TEST(NcclLog, IsReplayedOnAllHardware) {
  const Program program = opened(data("nccl/step.log"));
  expect_to_fit_and_end(program);
}

TEST(NcclLog, NamesWhatIsWrong) {
  const Folder folder;
  const std::string begin =
      "n:1:1 [0] NCCL INFO comm 0xa rank 0 nranks 1 cudaDev 0 commId 0x1 - Init COMPLETE\n";
  const auto problem = [&](const std::string& text) { return problem_of(folder.file("log", text)); };
  EXPECT_THAT(problem("n:1:1 [0] NCCL INFO version\n"), HasSubstr("no line \"Init COMPLETE\""));
  EXPECT_THAT(problem(begin + begin), HasSubstr("log:2: a second rank 0"));
  EXPECT_THAT(problem("n:1:1 [0] NCCL INFO comm 0xa rank 0 nranks 2 cudaDev 0 commId 0x1 - Init COMPLETE\n"),
              HasSubstr("commId 0x1 has 2 ranks, and 1 of them are in the log"));
  const std::string call =
      "n:1:1 [0] NCCL INFO AllReduce: opCount 0 count {} datatype {} op 0 root {} comm {}\n";
  EXPECT_EQ(problem(begin + fmt::format(fmt::runtime(call), 8, 7, 0, "0xa")), "");
  EXPECT_THAT(problem(begin + fmt::format(fmt::runtime(call), 8, 12, 0, "0xa")),
              HasSubstr("log:2: AllReduce: its"));
  EXPECT_THAT(problem(begin + fmt::format(fmt::runtime(call), 8, 7, 1, "0xa")),
              HasSubstr("log:2: AllReduce: its"));
  EXPECT_THAT(problem(begin + fmt::format(fmt::runtime(call), 8, 7, 0, "0xb")),
              HasSubstr("log:2: a communicator that no line"));
}

}  // namespace
}  // namespace offramp::trace
