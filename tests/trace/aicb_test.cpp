// Workloads of AICB: groups, the order of a pass, and what is wrong.
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

constexpr const char* kMoe = "aicb/moe.txt";

TEST(AicbWorkload, RunsAPassForwardAndBack) {
  const Program program = opened(data(kMoe));
  ASSERT_EQ(program.description.ranks, 8);
  std::vector<std::string> calls;
  EXPECT_EQ(each_event(program, 5,
                       [&](const recording::Reader& reader, const Event& event) {
                         calls.push_back(fmt::format(
                             "{} {} {} [{}] {}", reader.call(event.call), event.communicator, event.bytes,
                             fmt::join(reader.list(event.list), ","), reader.computed()));
                       }),
            "");
  EXPECT_THAT(calls, ElementsAre(
                         // Its groups: tensor, data, expert, data of its expert.
                         "MPI_Comm_rank 0 0 [4,5] 0", "MPI_Comm_rank 0 0 [1,3,5,7] 0",
                         "MPI_Comm_rank 0 0 [5,7] 0", "MPI_Comm_rank 0 0 [1,5] 0",
                         // Forward.
                         "MPI_Allreduce 2 16384 [] 622732", "MPI_Allgather 2 8192 [] 1750",
                         "MPI_Alltoall 4 16384 [] 7956",
                         // Back: the last layer, then the one that needs layers 1 and 2 again.
                         "MPI_Ireduce_scatter_block 5 4096 [] 3", "MPI_Allreduce 2 16384 [] 622731",
                         "MPI_Allgather 2 8192 [] 1750", "MPI_Alltoall 4 16384 [] 7956",
                         "MPI_Reduce_scatter_block 2 8192 [] 976", "MPI_Iallgather 3 16384 [] 16169",
                         // The updates.
                         "MPI_Wait 0 0 [] 0", "MPI_Wait 0 0 [] 100", "MPI_Finalize 0 0 [] 100"));
}

TEST(AicbWorkload, IsReplayedOnAllHardware) {
  const Program program = opened(data(kMoe));
  expect_to_fit_and_end(program);
}

TEST(AicbWorkload, NamesLineOfWhatIsWrong) {
  const Folder folder;
  const std::string header =
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 1 pp: 2 all_gpus: 8 pp_comm 64\n";
  const std::string layer = "a -1 1 NONE 0 1 ALLREDUCE 64 1 NONE 0 1\n";
  const auto problem = [&](const std::string& text) { return problem_of(folder.file("t", text)); };
  EXPECT_EQ(problem(header + "1\n" + layer), "");
  EXPECT_THAT(opened(folder.file("t")).notes, Contains(HasSubstr("pp_comm")));
  EXPECT_THAT(problem(header + "2\n" + layer), HasSubstr("t:3: 1 of 2 layers"));
  EXPECT_THAT(problem(header + layer), HasSubstr("t:2: the number of layers is expected"));
  EXPECT_THAT(problem(header + "1\na -1 1 NONE 0\n"), HasSubstr("t:3: 5 columns of 12"));
  EXPECT_THAT(problem(header + "1\na -1 1 GATHER 0 1 NONE 0 1 NONE 0 1\n"),
              HasSubstr("there is no collective GATHER"));
  EXPECT_THAT(problem(header + "1\na -1 x NONE 0 1 NONE 0 1 NONE 0 1\n"),
              HasSubstr("a time or a size is no number"));
  EXPECT_THAT(problem("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1\n1\n" + layer),
              HasSubstr("t:1: policy HYBRID_DLRM"));
  EXPECT_THAT(problem("HYBRID_TRANSFORMER model_parallel_NPU_group: 3 all_gpus: 8\n1\n" + layer),
              HasSubstr("all_gpus 8 is no multiple"));
  EXPECT_THAT(problem("HYBRID_TRANSFORMER ep: 3 all_gpus: 8\n1\n" + layer),
              HasSubstr("ep 3 does not divide the 8"));
  EXPECT_THAT(problem("HYBRID_TRANSFORMER_FWD_IN_BCKWD all_gpus: 8 checkpoints: 1 4\n1\n" + layer),
              HasSubstr("checkpoints: there is no layer 4"));
}

/// What SimAI does under one of the two policies alone: layers that run again, and a least size forward.
TEST(AicbWorkload, FollowsSimAiInWhatItsPoliciesDoNotShare) {
  const Folder folder;
  const std::string text =
      " model_parallel_NPU_group: 2 all_gpus: 2 checkpoints: 1 0 checkpoint_initiates: 1 1\n2\n"
      "a -1 1 ALLREDUCE 64 1 ALLREDUCE 128 1 NONE 0 1\nb -1 1 NONE 64 1 NONE 0 1 NONE 0 1\n";
  const auto sizes = [&](const std::string& policy) {
    std::vector<std::uint64_t> found;
    const Program program = opened(folder.file("t", policy + text));
    EXPECT_EQ(each_event(program, 1,
                         [&](const auto&, const Event& event) {
                           if (event.kind == recording::EventKind::kCollective) found.push_back(event.bytes);
                         }),
              "");
    return found;
  };
  EXPECT_THAT(sizes("HYBRID_TRANSFORMER"), ElementsAre(64, 128));
  EXPECT_THAT(opened(folder.file("t")).notes, Not(Contains(HasSubstr("4096"))));
  EXPECT_THAT(sizes("HYBRID_TRANSFORMER_FWD_IN_BCKWD"), ElementsAre(4096, 4096, 128));
  EXPECT_THAT(opened(folder.file("t")).notes,
              Contains("collectives forward of less than 4096 bytes count as 4096, as in SimAI"));
}

}  // namespace
}  // namespace offramp::trace
