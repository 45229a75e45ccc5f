// The problems found in a program before any replay.
#include "lib/programs/check/rehearsal.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "lib/programs/import/pattern.hpp"
#include "tests/scale/written.hpp"
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

TEST_F(ARehearsal, FindsNoProblemInAConsistentTrace) {
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

TEST_F(ARehearsal, NamesIdleRanks) {
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

// --- neighbours and windows ---

using test::Tape;
using Body = std::function<void(Tape&)>;

/// The problems of two ranks.
std::vector<std::string> problems_of(const Body& first, const Body& second) {
  const Result<Findings> findings =
      rehearse(scale::written([&](Tape& tape, int rank, int) { rank == 0 ? first(tape) : second(tape); }, 2));
  EXPECT_TRUE(findings) << findings.error();
  return findings ? findings->problems : std::vector<std::string>();
}

TEST(Rehearsals, NameBlocksThatNeighboursDoNotExchangeAlike) {
  const auto both = [](std::uint64_t peer, std::uint64_t sent, std::uint64_t received, int flags) {
    return [=](Tape& tape) {
      const std::uint64_t request = tape.neighbours({peer, sent}, {peer, received}, flags);
      if (flags == 0) tape.wait({request});
    };
  };
  const auto nothing = [](Tape& tape) { tape.neighbours({}, {}); };
  for (const int flags : {0, static_cast<int>(recording::kBlocking)}) {
    EXPECT_THAT(problems_of(both(1, 8, 16, flags), both(0, 16, 8, flags)), IsEmpty());
    EXPECT_THAT(
        problems_of(both(1, 8, 16, flags), both(0, 16, 4, flags)),
        ElementsAre(HasSubstr("rank 0, event 1 (MPI_Neighbor_alltoall): its block of 8 bytes is one of "
                              "4 bytes at rank 1, event 1")));
    const auto problems = problems_of(both(1, 8, 8, flags), nothing);
    EXPECT_THAT(problems, Contains(HasSubstr("waits for its block from rank 1, which has ended")));
    EXPECT_THAT(problems,
                Contains(HasSubstr("rank 1 does not receive its block of 8 bytes in the same collective")));
  }
  // The second collective of rank 1 does not receive what the first one did not.
  EXPECT_THAT(problems_of(
                  [](Tape& tape) {
                    tape.neighbours({1, 8}, {});
                  },
                  [&](Tape& tape) {
                    nothing(tape);
                    tape.neighbours({}, {0, 8});
                  }),
              Contains(HasSubstr("rank 0, event 1 (MPI_Neighbor_alltoall): rank 1 does not receive")));
}

void fence(Tape& tape) {
  tape.add(tape.collective({.kind = OperationKind::kBarrier}));
  tape.as("MPI_Win_fence");
}
void lock(Tape& tape, const char* function, int target) {
  tape.access(Access::kAtomic, target, 8, 8);
  tape.as(function);
}
void notify(Tape& tape, const char* function, int peer, int tag, bool sends) {
  tape.message(sends ? EventKind::kSend : EventKind::kReceive, peer, 0, tag,
               sends ? recording::kBuffered : recording::kBlocking);
  tape.as(function);
}
void put(Tape& tape, int target, bool waits = true) {
  const std::uint64_t request = tape.access(Access::kWrite, target, 64, 0, 0);
  if (waits) tape.wait({request});
}
void put_in_epoch(Tape& tape) {
  notify(tape, "MPI_Win_start", 1, 0, false);
  put(tape, 1);
  notify(tape, "MPI_Win_complete", 1, 1, true);
}
void expose(Tape& tape) {
  notify(tape, "MPI_Win_post", 0, 0, true);
  notify(tape, "MPI_Win_wait", 0, 1, false);
}

TEST(Rehearsals, AcceptEpochsThatFit) {
  const auto fences = [](Tape& tape) {
    fence(tape);
    put(tape, 1);
    fence(tape);
  };
  EXPECT_THAT(problems_of(fences, fences), IsEmpty());
  EXPECT_THAT(problems_of(put_in_epoch, expose), IsEmpty());
  for (const bool all : {false, true}) {
    const auto locked = [all](Tape& tape) {
      lock(tape, all ? "MPI_Win_lock_all" : "MPI_Win_lock", all ? 0 : 1);
      put(tape, 1);
      lock(tape, all ? "MPI_Win_unlock_all" : "MPI_Win_unlock", all ? 0 : 1);
    };
    EXPECT_THAT(problems_of(locked, [](Tape& tape) { tape.send(1, 8), tape.receive(1, 8); }), IsEmpty());
  }
}

TEST(Rehearsals, NameEpochsAndLocksThatAreLeftOpen) {
  const auto idle = [](Tape& tape) { tape.send(1, 8), tape.receive(1, 8); };
  EXPECT_THAT(problems_of(
                  [](Tape& tape) {
                    tape.at("app+0x10");
                    lock(tape, "MPI_Win_lock", 1);
                    put(tape, 1);
                  },
                  idle),
              ElementsAre("rank 0, event 1 (MPI_Win_lock at app+0x10): its epoch never ends"));
  EXPECT_THAT(problems_of([](Tape& tape) { lock(tape, "MPI_Win_unlock", 1); }, idle),
              ElementsAre("rank 0, event 1 (MPI_Win_unlock): it ends an epoch that has not begun"));
  EXPECT_THAT(problems_of([](Tape& tape) { put(tape, 1); }, idle),
              ElementsAre("rank 0, event 1 (MPI_Put): it accesses rank 1 outside of an epoch"));
  const auto unfinished = [](Tape& tape) {
    fence(tape);
    put(tape, 1, false);
  };
  EXPECT_THAT(
      problems_of(unfinished, fence),
      ElementsAre("rank 0, event 2 (MPI_Put): no fence, flush, unlock, or wait completes this access"));
}

TEST(Rehearsals, NamePostsWithoutStartsAndTheOtherWayRound) {
  const auto idle = [](int rank) {
    return [rank](Tape& tape) { tape.send(rank, 8), tape.receive(rank, 8); };
  };
  const auto post = [](Tape& tape) { notify(tape, "MPI_Win_post", 0, 0, true); };
  EXPECT_THAT(
      problems_of(idle(0), expose),
      ElementsAre("rank 1, event 2 (MPI_Win_wait) waits for MPI_Win_complete of rank 0, which has ended",
                  "rank 1, event 1 (MPI_Win_post): rank 0 never calls MPI_Win_start"));
  EXPECT_THAT(
      problems_of(put_in_epoch, idle(1)),
      ElementsAre("rank 0, event 1 (MPI_Win_start) waits for MPI_Win_post of rank 1, which has ended"));
  EXPECT_THAT(problems_of(put_in_epoch, post),
              ElementsAre("rank 0, event 4 (MPI_Win_complete): rank 1 never calls MPI_Win_wait"));
  const auto endless = [](Tape& tape) {
    notify(tape, "MPI_Win_start", 1, 0, false);
    put(tape, 1);
  };
  EXPECT_THAT(problems_of(endless, post),
              ElementsAre("rank 0, event 1 (MPI_Win_start): its epoch never ends"));
}

}  // namespace
}  // namespace offramp::trace
