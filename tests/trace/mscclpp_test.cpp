// Plans of MSCCL++, in both forms: which messages they are, what they compute, and what is wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/trace/algorithm.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A plan of two GPUs that are alike: "{0}" of a thread block's operations stands for the GPU, "{1}" for the
/// other one. Each thread block has channel 0 to the other GPU, of memory and of a port, and the other's
/// buffers i, o and s as its remote buffers 0, 1 and 2.
struct TwoGpus {
  std::string collective = "allreduce";
  int input = 2;
  int output = 2;
  int scratch = 2;
  bool in_place = true;
  std::string more = "";    // of the plan
  std::string of_gpu = "";  // of each GPU
  std::vector<std::string> blocks;

  [[nodiscard]] std::string text() const {
    std::string gpus;
    for (const int gpu : {0, 1}) {
      std::string all;
      for (std::size_t i = 0; i < blocks.size(); ++i)
        all += fmt::format(
            "{}{{\"id\": {}, \"ops\": [{}],\n\"channels\": [{{\"channel_type\": \"memory\", \"channel_ids\": "
            "[{}]}}, {{\"channel_type\": \"port\", \"channel_ids\": [{}]}}],\n\"remote_buffer_refs\": "
            "[{{\"access_channel_type\": \"memory\", \"remote_buffer_ids\": [0, 1, 2]}}, "
            "{{\"access_channel_type\": \"port\", \"remote_buffer_ids\": [0, 1, 2]}}]}}",
            i == 0 ? "" : ",\n", i, fmt::format(fmt::runtime(blocks[i]), gpu, 1 - gpu), i, i);
      const std::string ends = fmt::format("{}", fmt::join(std::vector<int>(blocks.size(), 1 - gpu), ", "));
      std::string remote;
      for (const char* buffer : {"i", "o", "s"})
        remote += fmt::format(
            "{}{{\"rank\": {}, \"type\": \"{}\", \"access_channel_types\": [\"memory\", \"port\"]}}",
            remote.empty() ? "" : ", ", 1 - gpu, buffer);
      gpus += fmt::format(
          "{}{{\"id\": {}, \"input_chunks\": {}, \"output_chunks\": {}, \"scratch_chunks\": {}, {}\n"
          "\"threadblocks\": [{}],\n\"channels\": [{{\"channel_type\": \"memory\", \"connected_to\": [{}]}}, "
          "{{\"channel_type\": \"port\", \"connected_to\": [{}]}}],\n\"remote_buffers\": [{}]}}",
          gpu == 0 ? "" : ",\n", gpu, input, output, scratch, of_gpu, all, ends, ends, remote);
    }
    return fmt::format(
        "{{\"name\": \"a\", \"collective\": \"{}\", \"protocol\": \"Simple\", \"inplace\": {}, {}\n\"gpus\": "
        "[{}]}}\n",
        collective, in_place, more, gpus);
  }
};

std::string at(const std::string& buffer, const std::string& index, int size = 1) {
  const bool is_remote = buffer[0] >= '0' && buffer[0] <= '9';
  return fmt::format("{{{{\"{}\": {}, \"index\": {}, \"size\": {}}}}}", is_remote ? "buffer_id" : "type",
                     is_remote ? buffer : "\"" + buffer + "\"", index, size);
}
std::string moves(const std::string& name, const std::string& from, const std::string& to,
                  const std::string& type = "memory", const std::string& more = "") {
  return fmt::format(
      "{{{{\"name\": \"{}\", \"src_buff\": [{}], \"dst_buff\": [{}], \"channel_type\": \"{}\"{}}}}}", name,
      from, to, type, more);
}
std::string over(const std::string& name, const std::string& type = "memory") {
  return fmt::format("{{{{\"name\": \"{}\", \"channel_ids\": [0], \"channel_type\": \"{}\"}}}}", name, type);
}
std::string barrier(int blocks) {
  return fmt::format("{{{{\"name\": \"barrier\", \"barrier_id\": 0, \"num_threadblocks\": {}}}}}", blocks);
}
std::string semaphore(const std::string& name, int number) {
  return fmt::format("{{{{\"name\": \"{}\", \"semaphore_ids\": [{}]}}}}", name, number);
}
std::string block(const std::vector<std::string>& operations) {
  return fmt::format("{}", fmt::join(operations, ",\n"));
}

/// Each GPU combines the chunk of its number, and writes it to the other one.
std::vector<std::string> all_pairs() {
  return {
      block({over("rlxsignal"), over("rlxwait"),
             moves("rres", at("i", "{0}") + ", " + at("0", "{0}"), at("i", "{0}") + ", " + at("0", "{0}")),
             over("signal"), over("wait")})};
}

std::string problem_in(const Folder& folder, const TwoGpus& plan, const std::string& size = "1KiB") {
  return problem_of(folder.file("a.json", plan.text()) + ":" + size);
}
std::vector<std::uint64_t> sent_in(const Folder& folder, const TwoGpus& plan,
                                   const std::string& size = "1KiB") {
  const Program program = opened(folder.file("a.json", plan.text()) + ":" + size);
  expect_to_fit_and_end(program);
  return messages_of(program)[{0, 1}];
}

TEST(MscclppPlan, RunsARingOnAllHardware) {
  const Program program = opened(data("mscclpp/ring.json") + ":1MiB");
  ASSERT_EQ(program.description.ranks, 4);
  // 2 (P - 1) times a chunk and its signal, to the next rank alone.
  const auto messages = messages_of(program);
  EXPECT_EQ(messages.size(), 4U);
  std::vector<std::uint64_t> expected;
  for (int i = 0; i < 6; ++i) expected.insert(expected.end(), {262144, 8});
  EXPECT_EQ(messages.at({3, 0}), expected);
  expect_to_fit_and_end(program);
}

/// Each step waits for the one before: six chunks on the link, one after the other.
TEST(MscclppPlan, TakesAsLongAsItsSteps) {
  const Result<ReplayResult> large = replayed(opened(data("mscclpp/ring.json") + ":64MiB"), "host");
  ASSERT_TRUE(large);
  const double chunk = 16.0 * 1048576 * 8 / 100;  // ns at 100 Gb/s, without what frames packets
  EXPECT_GE((*large).modelled_time.nanoseconds(), 6 * chunk);
  EXPECT_LE((*large).modelled_time.nanoseconds(), 6.6 * chunk);
}

TEST(MscclppPlan, ReadsAndSignalsAreMessages) {
  const Folder folder;
  // A signal, the answer to the other's question, a question, and behind the data another signal.
  const std::vector<std::uint64_t> sent = sent_in(folder, {.blocks = all_pairs()});
  EXPECT_THAT(sent, ::testing::UnorderedElementsAre(8, 0, 512, 512, 8));
}

TEST(MscclppPlan, PacketsHaveTheirFlagsAndNeedNoSignal) {
  const Folder folder;
  // Both send both chunks, as packets, and combine what comes.
  const TwoGpus plan{
      .blocks = {block({moves("ppkt", at("i", "0", 2), at("2", "0", 2)),
                        moves("repkt", at("i", "0", 2) + ", " + at("s", "0", 2), at("i", "0", 2))})}};
  EXPECT_THAT(sent_in(folder, plan), ElementsAre(2048));
}

TEST(MscclppPlan, PortsFlushBarriersAndSemaphoresWait) {
  const Folder folder;
  const TwoGpus plan{
      .collective = "allgather",
      .input = 1,
      .output = 2,
      .of_gpu = "\"semaphores\": [{\"init_value\": 0}],",
      .blocks = {
          block({moves("put", at("i", "0"), at("1", "{0}"), "port", ", \"channel_ids\": [0]"),
                 over("flush", "port"), barrier(2), semaphore("sem_acquire", 0), over("wait", "port")}),
          block({barrier(2), over("signal", "memory"), over("wait", "memory"), semaphore("sem_release", 0)}),
          block({})}};
  // The port of block 0 gets no signal.
  EXPECT_THAT(problem_in(folder, plan),
              HasSubstr("wait for ever: gpu 0, thread block 0, operation 4 (wait)"));
  TwoGpus whole = plan;
  whole.blocks[0] = block({moves("pwsf", at("i", "0"), at("1", "{0}"), "port", ", \"channel_ids\": [0]"),
                           barrier(2), semaphore("sem_acquire", 0), over("wait", "port")});
  EXPECT_THAT(sent_in(folder, whole), ElementsAre(512, 8, 8));
}

/// A pipeline moves a unit in each pass.
TEST(MscclppPlan, PipelinesPassByPass) {
  const Folder folder;
  const TwoGpus plan{.collective = "allgather",
                     .input = 1,
                     .output = 2,
                     .blocks = {fmt::format(
                         "{{{{\"name\": \"pipeline\", \"iter_context\": {{{{\"unit_size\": 1024, "
                         "\"num_chunks\": 1}}}}, \"ops\": [{}]}}}}",
                         block({moves("put", at("i", "0"), at("1", "{0}")), over("signal"), over("wait")}))}};
  EXPECT_THAT(sent_in(folder, plan, "5KiB"), ElementsAre(1024, 8, 1024, 8, 512, 8));
}

/// Thread blocks that share a put send a part each.
TEST(MscclppPlan, ThreadBlocksShareData) {
  const Folder folder;
  const auto part = [](int number) {
    return moves("put", at("i", "0"), at("1", "{0}"), "memory",
                 fmt::format(", \"tbg_info\": {{{{\"tb_id\": {}, \"tbg_size\": 2}}}}", number));
  };
  TwoGpus plan{
      .collective = "allgather",
      .input = 1,
      .output = 2,
      .blocks = {block({part(0), barrier(2), over("signal"), over("wait")}), block({part(1), barrier(2)})}};
  EXPECT_THAT(sent_in(folder, plan, "96B"), ElementsAre(32, 16, 8));
  plan.blocks[1] = block({part(0), barrier(2)});
  EXPECT_THAT(problem_in(folder, plan),
              HasSubstr("this is no allgather: nothing comes to chunk 1 of the output of rank 0"));
}

TEST(MscclppPlan, SaysWhatItDoesNotCompute) {
  const Folder folder;
  TwoGpus plan{.blocks = all_pairs()};
  EXPECT_EQ(problem_in(folder, plan), "");
  plan.blocks = {
      block({over("signal"), over("wait"), moves("rre", at("i", "0") + ", " + at("0", "0"), at("i", "0"))})};
  EXPECT_THAT(problem_in(folder, plan), HasSubstr("this is no allreduce: chunk 0 of the output of rank "));
  // What is right if the first block is, and not if the second one hurries.
  const std::string copy = moves("copy", at("i", "0"), at("s", "0"));
  const std::string put = block({moves("put", at("s", "0"), at("1", "{0}")), over("signal"), over("wait")});
  TwoGpus hurried{.collective = "allgather", .input = 1, .output = 2, .blocks = {copy, put}};
  EXPECT_THAT(problem_in(folder, hurried),
              HasSubstr("this is no allgather: nothing comes to chunk 1 of the output"));
  hurried.blocks = {block({copy, barrier(2)}), block({barrier(2), put})};
  EXPECT_EQ(problem_in(folder, hurried), "");
  plan.collective = "alltoall";
  plan.input = 3;
  EXPECT_THAT(problem_in(folder, plan, "4800"),
              HasSubstr("3 chunks of input and 2 of output are no alltoall of 2"));
}

TEST(MscclppPlan, NamesFileAndPlaceOfWhatIsWrong) {
  const Folder folder;
  const auto problem = [&](const std::string& operation, const std::string& more = "") {
    TwoGpus plan{.collective = "test", .more = more, .blocks = {block({operation})}};
    return problem_in(folder, plan);
  };
  EXPECT_EQ(problem(moves("copy", at("i", "0"), at("s", "1"))), "");
  EXPECT_THAT(problem(moves("kopy", at("i", "0"), at("s", "1"))),
              HasSubstr("a.json: gpu 0: thread block 0: operation 0: there is no operation \"kopy\""));
  EXPECT_THAT(problem(moves("glres", at("i", "0"), at("s", "1"), "switch")),
              HasSubstr("glres combines or stores in the switch (NVLS), which messages cannot say"));
  EXPECT_THAT(problem(moves("copy", at("i", "0"), at("s", "2"))),
              HasSubstr("chunks from 2 to 3 are beyond the 2 of the buffer on gpu 0"));
  EXPECT_THAT(problem(moves("put", at("i", "0"), at("s", "1"))),
              HasSubstr("put does not have the sources and targets that it takes"));
  EXPECT_THAT(problem(moves("put", at("i", "0", 2), at("2", "1"))),
              HasSubstr("its chunks are not all of one size"));
  EXPECT_THAT(problem(moves("put", at("i", "0"), at("3", "1"))),
              HasSubstr("has no remote buffer 3 of that type"));
  EXPECT_THAT(problem(over("signal", "switch")), HasSubstr("its channel_type is neither memory nor port"));
  EXPECT_THAT(problem(over("wait")),
              AllOf(HasSubstr("wait for ever: gpu 0, thread block 0, operation 0 (wait); gpu 1")));
  EXPECT_THAT(problem(over("signal"), "\"min_message_size\": 2048,"),
              HasSubstr("1024 bytes: it takes multiples of 32 bytes from 2048 on"));
  const TwoGpus plan{.blocks = all_pairs()};
  EXPECT_THAT(problem_in(folder, plan, "1000"), HasSubstr("1000 bytes: it takes multiples of 32 bytes"));
  EXPECT_THAT(problem_in(folder, plan, "x"), HasSubstr("\"x\" is no number of bytes"));
  EXPECT_THAT(problem_of(folder.file("a.json")), HasSubstr("name it with the size of its buffer"));
  EXPECT_THAT(problem_of(folder.file("a.json", "{\"collective\": 1, \"protocol\": 2") + ":8"),
              HasSubstr("a.json: this is no object of JSON"));
}

/// The form of msccl-tools: operations have channels where the later form has buffers, and other names.
TEST(MscclppPlan, ReadsTheEarlierForm) {
  const Folder folder;
  std::string gpus;
  for (const int gpu : {0, 1})
    gpus += fmt::format(
        R"({0}{{"id": {1}, "inputChunks": 2, "outputChunks": 0, "scratchChunks": 0, "chunkGroups": 2,
"threadblocks": [{{"id": 0, "ops": [
{{"name": "signal", "o_buff": {{"src": "i", "dst": "i"}}, "o_cids": [{{"id": 0, "off": 0}}], "ctype": "sm", "cnt": 1}},
{{"name": "wait", "i_buff": {{"src": "i", "dst": "i"}}, "i_cids": [{{"id": 0, "off": 0}}], "ctype": "sm", "cnt": 1}},
{{"name": "nop", "deps": [{{"tb": 0, "step": 1}}]}},
{{"name": "rrcs", "i_buff": {{"src": "i", "dst": "i"}}, "i_cids": [{{"id": 0, "off": {1}}}], "o_buff": {{"src": "i", "dst": "i"}},
 "o_cids": [{{"id": 0, "off": {1}}}], "src": {1}, "srcbuff": "i", "srcoff": {1}, "dst": {1}, "dstbuff": "i", "dstoff": {1},
 "ctype": "sm", "cnt": 1}},
{{"name": "signal", "o_buff": {{"src": "i", "dst": "i"}}, "o_cids": [{{"id": 0, "off": 0}}], "ctype": "sm", "cnt": 1}},
{{"name": "wait", "i_buff": {{"src": "i", "dst": "i"}}, "i_cids": [{{"id": 0, "off": 0}}], "ctype": "sm", "cnt": 1}}],
"channels": [{{"src": "i", "dst": "i", "ctype": "sm", "cids": [0]}}]}}],
"channels": [{{"srcbuff": "i", "dstbuff": "i", "type": "sm", "connectedTo": [{2}]}}]}})",
        gpu == 0 ? "" : ",", gpu, 1 - gpu);
  const std::string path = folder.file(
      "old.json",
      R"({"name": "pairs", "collective": "allreduce", "protocol": "Simple", "inplace": true, "gpus": [)" +
          gpus + "]}\n");
  const Program program = opened(path + ":1KiB");
  EXPECT_THAT(messages_of(program)[std::pair(0, 1)], ::testing::UnorderedElementsAre(8, 0, 512, 512, 8));
  expect_to_fit_and_end(program);
  EXPECT_THAT(problem_of(path + ":1000B"), HasSubstr("it takes multiples of 32 bytes"));
}

TEST(MscclppPlan, StandsForCollectivesOfItsSizes) {
  const Folder folder;
  std::string lines;
  for (int rank = 0; rank < 4; ++rank)
    lines += fmt::format("{0} allreduce 262144 0 5\n{0} allreduce 5 0 6\n", rank);
  Result<Program> program = with_algorithm(opened(folder.file("t", lines)), data("mscclpp/ring.json"));
  ASSERT_TRUE(program) << program.error();
  EXPECT_THAT((*program).notes, ::testing::Contains(HasSubstr("it takes multiples of 64 bytes")));
  std::size_t collectives = 0;
  std::size_t sends = 0;
  EXPECT_EQ(each_event(*program, 0,
                       [&](const auto&, const recording::Event& event) {
                         if (event.kind == recording::EventKind::kCollective) ++collectives;
                         if (event.kind == recording::EventKind::kSend) ++sends;
                       }),
            "");
  EXPECT_EQ(collectives, 1U);  // that of 5 bytes
  EXPECT_EQ(sends, 12U);
  expect_to_fit_and_end(*program);
}

}  // namespace
}  // namespace offramp::trace
