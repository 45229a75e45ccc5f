// Algorithms of MSCCL: their steps as a graph, the sizes of chunks, and what is wrong.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/trace/rehearsal.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(MscclAlgorithm, SendsItsChunksOnAllHardware) {
  const Program program = opened(data("msccl/ring.xml") + ":1MiB");
  ASSERT_EQ(program.description.ranks, 4);
  const Result<Findings> findings = rehearse(program);
  ASSERT_TRUE(findings) << findings.error();
  EXPECT_THAT((*findings).problems, IsEmpty());
  // A ring sends 2 (P - 1) of P chunks from each rank to the next.
  const auto messages = messages_of(program);
  EXPECT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages.at({3, 0}), std::vector<std::uint64_t>(6, 262144));
  expect_to_end_everywhere(program);
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

}  // namespace
}  // namespace offramp::trace
