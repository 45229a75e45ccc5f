// The problems found in a program before any replay.
#include "lib/programs/check/rehearsal.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/programs/import/pattern.hpp"
#include "tests/trace/replayed.hpp"

namespace offramp::trace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ARehearsal : public ::testing::Test {
 protected:
  Findings found(const std::string& trace) {
    Result<Findings> findings = rehearse(opened(folder_.file("trace", trace)));
    EXPECT_TRUE(findings) << findings.error();
    return findings ? *findings : Findings();
  }
  Folder folder_;
};

TEST_F(ARehearsal, FindsNothingInWhatFits) {
  for (const char* name : {"smpi/program.txt", "smpi/shared.txt", "smpi/captured.txt", "goal/diamond.goal"}) {
    const Result<Findings> findings = rehearse(opened(data(name)));
    ASSERT_TRUE(findings) << findings.error();
    EXPECT_THAT(findings->problems, IsEmpty()) << name;
    EXPECT_GT(findings->messages, 0U);
  }
  for (const PatternKind& kind : pattern_kinds()) {
    const int ranks = kind.name == "pingpong" ? 2 : 8;  // all ranks take part
    const Result<Findings> findings = rehearse(
        opened(fmt::format("pattern:{}{}:{}:64:3", kind.name, kind.parameter.empty() ? "" : ":1", ranks)));
    ASSERT_TRUE(findings) << findings.error();
    EXPECT_THAT(findings->problems, IsEmpty()) << kind.name;
  }
}

TEST_F(ARehearsal, NamesRanksThatWaitForEachOther) {
  const Findings findings =
      found("0 recv 1 0 8\n0 send 1 0 8\n1 recv 2 0 8\n1 send 2 0 8\n2 recv 0 0 8\n2 send 0 0 8\n");
  EXPECT_THAT(findings.problems,
              Contains(HasSubstr("a cycle of ranks that wait for each other: 0, 1, 2, 0")));
  EXPECT_THAT(findings.problems,
              Contains(HasSubstr("rank 1, event 1 (MPI_Recv) waits for a message from rank 2, tag 0")));
}

TEST_F(ARehearsal, NamesMessagesWithoutAReceiveAndTheOtherWayRound) {
  const Findings findings = found("0 isend 1 5 8\n0 waitall\n1 irecv 0 6 8\n1 barrier\n0 barrier\n");
  EXPECT_THAT(
      findings.problems,
      Contains(HasSubstr("rank 0, event 1 (MPI_Isend): its message of 8 bytes to rank 1, tag 5, is never")));
  EXPECT_THAT(findings.problems,
              Contains(HasSubstr("rank 1, event 1 (MPI_Irecv): no message ever matches this receive")));
}

TEST_F(ARehearsal, NamesCollectivesThatNotAllCall) {
  const Findings findings = found("0 barrier\n0 bcast 8\n1 barrier\n2 barrier\n2 bcast 8\n");
  EXPECT_THAT(
      findings.problems,
      Contains(HasSubstr("rank 0, event 2 (MPI_Bcast) waits for rank 1 in the collective, which has ended")));
}

TEST_F(ARehearsal, NamesCollectivesThatAreNotAlike) {
  EXPECT_THAT(found("0 bcast 8 0\n1 bcast 16 0\n").problems,
              ElementsAre(HasSubstr("of 8 bytes, root 0, and bcast of 16 bytes")));
}

TEST_F(ARehearsal, NamesRanksThatDoNothing) {
  EXPECT_THAT(found("0 compute 5\n0 send 2 0 8\n1 init\n2 recv 0 0 8\n").problems,
              ElementsAre("rank 1: the recording is cut off", "rank 1 does nothing"));
}

TEST_F(ARehearsal, NamesMessagesThatAreTooLong) {
  EXPECT_THAT(found("0 send 1 0 80\n1 recv 0 0 8\n").problems,
              ElementsAre(HasSubstr("80 bytes do not fit into the receive of 8")));
}

TEST_F(ARehearsal, RemarksOnSizesOfZero) {
  const Findings findings = found("0 send 1 0 0\n1 recv 0 0 0\n");
  EXPECT_THAT(findings.problems, IsEmpty());
  EXPECT_THAT(findings.remarks,
              ElementsAre("messages of 0 bytes: 1, the first at rank 0, event 1 (MPI_Send)"));
}

}  // namespace
}  // namespace offramp::trace
