// Algorithms of MSCCL: their steps as a graph, the sizes of chunks, and what is wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MscclAlgorithm, SendsItsChunksOnAllHardware) {
  const Program program = opened(data("msccl/ring.xml") + ":1MiB");
  ASSERT_EQ(program.description.ranks, 4);
  // A ring sends 2 (P - 1) of P chunks from each rank to the next.
  const auto messages = messages_of(program);
  EXPECT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages.at({3, 0}), std::vector<std::uint64_t>(6, 262144));
  expect_to_fit_and_end(program);
}

/// What a ring has to take: each rank's link carries 6 chunks, and each step waits for the one before.
TEST(MscclAlgorithm, TakesAsLongAsItsSteps) {
  const Result<ReplayResult> large = replayed(opened(data("msccl/ring.xml") + ":64MiB"), "host");
  const Result<ReplayResult> small = replayed(opened(data("msccl/ring.xml") + ":32MiB"), "host");
  ASSERT_TRUE(large && small);
  const double chunk = 16.0 * 1048576 * 8 / 100;  // ns at 100 Gb/s, without what frames packets
  EXPECT_GE((*large).modelled_time.nanoseconds(), 6 * chunk);
  EXPECT_NEAR((*large).modelled_time.nanoseconds() / (*small).modelled_time.nanoseconds(), 2, 0.05);
}

TEST(MscclAlgorithm, NamesFileAndLineOfWhatIsWrong) {
  const Folder folder;
  const auto problem = [&](const std::string& step,
                           const std::string& head = "ngpus=\"2\" nchunksperloop=\"2\"") {
    return problem_of(
        folder.file("a.xml",
                    fmt::format("<algo {}>\n<gpu id=\"0\">\n<tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\">\n"
                                "{}\n</tb>\n</gpu>\n<gpu id=\"1\"/>\n</algo>\n",
                                head, step)) +
        ":8");
  };
  EXPECT_EQ(problem("<step s=\"0\" type=\"s\" cnt=\"1\"/>"), "");
  EXPECT_THAT(problem("<step s=\"0\" type=\"x\" cnt=\"1\"/>"), HasSubstr("a.xml:4: there is no such type"));
  EXPECT_THAT(problem("<step s=\"0\" type=\"r\" cnt=\"1\"/>"),
              HasSubstr("a.xml:3: its recv is no GPU below 2"));
  EXPECT_THAT(problem("<step s=\"0\" type=\"s\"/>"), HasSubstr("a.xml:4: its s or its cnt"));
  EXPECT_THAT(problem("<step s=\"0\" type=\"nop\" cnt=\"0\" depid=\"3\" deps=\"1\"/>"),
              HasSubstr("a step waits for step 1 of thread block 3"));
  EXPECT_THAT(problem("", "ngpus=\"3\" nchunksperloop=\"2\""), HasSubstr("a.xml:1: gpu 2 is missing"));
  EXPECT_THAT(problem("", "ngpus=\"2\""), HasSubstr("nchunksperloop makes no sense"));
  EXPECT_THAT(problem_of(folder.file("a.xml")), HasSubstr("name it with the size of its buffer"));
  EXPECT_THAT(problem_of(folder.file("a.xml") + ":x"), HasSubstr("\"x\" is no number of bytes"));
}

/// Two GPUs that send each other so many chunks each before they receive one.
std::string senders_first(const std::string& protocol, int sends) {
  std::string plan = fmt::format("<algo proto=\"{}\" nchunksperloop=\"{}\" ngpus=\"2\" coll=\"alltoall\">\n",
                                 protocol, 2 * sends);
  for (const int gpu : {0, 1}) {
    plan +=
        fmt::format("<gpu id=\"{0}\">\n<tb id=\"0\" send=\"{1}\" recv=\"{1}\" chan=\"0\">\n", gpu, 1 - gpu);
    for (int step = 0; step < 2 * sends; ++step)
      plan += fmt::format("<step s=\"{}\" type=\"{}\" cnt=\"1\"/>\n", step, step < sends ? "s" : "r");
    plan += "</tb>\n</gpu>\n";
  }
  return plan + "</algo>\n";
}

/// A connection holds two sends of MSCCL's protocol Simple, and eight of the others: with one more, both GPUs
/// would wait for ever, and which steps do is said before anything runs.
TEST(MscclAlgorithm, HoldsAsManySendsAsConnectionsDo) {
  const Folder folder;
  for (const auto& [protocol, held] : {std::pair("Simple", 2), {"LL", 8}, {"LL128", 8}}) {
    expect_to_fit_and_end(opened(folder.file("a.xml", senders_first(protocol, held)) + ":64MiB"));
    EXPECT_THAT(problem_of(folder.file("a.xml", senders_first(protocol, held + 1)) + ":8"),
                AllOf(HasSubstr("a.xml:"), HasSubstr("steps wait for each other for ever"),
                      HasSubstr(fmt::format("gpu 1, thread block 0, step {}", held)),
                      HasSubstr(fmt::format("holds {} sends", held))));
  }
  const std::string block =
      "<tb id=\"{}\" send=\"1\" recv=\"-1\" chan=\"0\">\n<step s=\"0\" type=\"s\" cnt=\"1\"/>\n</tb>\n";
  EXPECT_THAT(problem_of(folder.file("a.xml", "<algo ngpus=\"2\" nchunksperloop=\"2\">\n<gpu id=\"0\">\n" +
                                                  fmt::format(fmt::runtime(block), 0) +
                                                  fmt::format(fmt::runtime(block), 1) +
                                                  "</gpu>\n<gpu id=\"1\"/>\n</algo>\n") +
                         ":8"),
              HasSubstr("a.xml:7: thread blocks 0 and 1 both send to GPU 1 over channel 0"));
}

}  // namespace
}  // namespace offramp::trace
