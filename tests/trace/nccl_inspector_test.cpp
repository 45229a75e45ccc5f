// What NCCL's inspector writes: who is who, orders that are told and those that are not, and what is wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using recording::Event;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kStep = "nccl/inspector.log";

TEST(NcclInspector, HasTheOperationsOfEachRank) {
  const Program program = opened(data(kStep));
  ASSERT_EQ(program.description.ranks, 4);
  EXPECT_THAT(program.notes, Contains(HasSubstr("NCCL dropped 2 records")));
  std::vector<std::string> calls;
  EXPECT_EQ(each_event(program, 1,
                       [&](const recording::Reader& reader, const Event& event) {
                         calls.push_back(fmt::format("{} on {}: {} bytes, peer {} [{}]",
                                                     reader.call(event.call), event.communicator, event.bytes,
                                                     event.peer, fmt::join(reader.list(event.list), ",")));
                       }),
            "");
  EXPECT_THAT(
      calls,
      ElementsAre("MPI_Comm_rank on 0: 0 bytes, peer 0 [1,3]", "MPI_Isend on 0: 65536 bytes, peer 2 []",
                  "MPI_Irecv on 0: 65536 bytes, peer 0 []", "MPI_Iallreduce on 0: 1048576 bytes, peer 0 []",
                  "MPI_Ireduce_scatter_block on 2: 32768 bytes, peer 0 []",
                  "MPI_Waitsome on 0: 0 bytes, peer 0 [4,3,2,1]",
                  "MPI_Iallgather on 0: 16384 bytes, peer 0 []", "MPI_Waitsome on 0: 0 bytes, peer 0 [1]",
                  "MPI_Finalize on 0: 0 bytes, peer 0 []"));
}

TEST(NcclInspector, IsReplayedOnAllHardware) {
  const Program program = opened(data(kStep));
  expect_to_fit_and_end(program);
}

TEST(NcclInspector, NamesWhatIsWrong) {
  const Folder folder;
  const auto record = [](int rank, int size, const std::string& perf) {
    return fmt::format(
        R"({{"header":{{"id":"0x1","rank":{},"n_ranks":{}}},"metadata":{{"hostname":"n","pid":1}},{}}})"
        "\n",
        rank, size, perf);
  };
  const auto problem = [&](const std::string& text) { return problem_of(folder.file("log", text)); };
  const std::string good = R"("coll_perf":{"coll":"AllReduce","coll_sn":1,"coll_msg_size_bytes":8})";
  EXPECT_EQ(problem(record(0, 1, good)), "");
  // Two GPUs of one process are two ranks.
  EXPECT_EQ(problem(record(0, 2, good) + record(1, 2, good)), "");
  EXPECT_THAT(problem(record(0, 2, good)), HasSubstr("has 2 ranks, and 1 of them"));
  EXPECT_THAT(problem(record(2, 2, good)), HasSubstr("log:1: its rank or its size makes no sense"));
  EXPECT_THAT(problem(record(0, 1, R"("coll_perf":{"coll":"Fly"})")),
              HasSubstr("log:1: there is no collective Fly"));
  EXPECT_THAT(problem(record(0, 1, R"("coll_perf":{"coll":"AllReduce","coll_sn":-1})")),
              HasSubstr("log:1: AllReduce: its coll_sn or"));
  EXPECT_THAT(
      problem(record(0, 1, R"("p2p_perf":{"p2p":"Send","p2p_sn":1,"p2p_peer":1,"p2p_msg_size_bytes":8})")),
      HasSubstr("log:1: Send: its p2p_sn, p2p_msg_size_bytes or p2p_peer"));
  EXPECT_THAT(problem(record(0, 1, good) + "{\"header\":{\n"), HasSubstr("the file ends within an object"));
  EXPECT_THAT(problem(record(0, 1, good) + "[]\n"), HasSubstr("log:2: this is no object of JSON"));
}

/// A rank goes through its own objects alone, however many others there are: those of the first rank are
/// spoilt once the file is open.
TEST(NcclInspector, ReadsOfEachRankItsOwn) {
  const Folder folder;
  const auto of = [](int rank, int number) {
    return fmt::format(
        R"({{"header":{{"id":"0x1","rank":{0},"n_ranks":2}},"metadata":{{"hostname":"n","pid":{0}}},)"
        R"("coll_perf":{{"coll":"AllReduce","coll_sn":{1},"coll_msg_size_bytes":8}}}})"
        "\n",
        rank, number);
  };
  std::string text = of(0, 1) + of(0, 2) + "\n" + of(1, 1) + of(0, 3) + of(1, 2) + of(1, 3);
  const Program program = opened(folder.file("log", text));
  for (std::size_t at = text.find("\"rank\":0"); at != std::string::npos;
       at = text.find("\"rank\":0", at + 1))
    text[text.rfind('{', text.rfind("header", at))] = '!';
  (void)folder.file("log", text);
  std::size_t collectives = 0;
  EXPECT_EQ(each_event(program, 1,
                       [&](const auto&, const Event& event) {
                         if (event.kind == recording::EventKind::kCollective) ++collectives;
                       }),
            "");
  EXPECT_EQ(collectives, 3U);
  EXPECT_THAT(each_event(program, 0, [](const auto&, const auto&) {}), HasSubstr("log:1: "));
}

}  // namespace
}  // namespace offramp::trace
