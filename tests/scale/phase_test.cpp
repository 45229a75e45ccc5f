// Phases as programs of their own: their events, what they need from before, and what is refused.
#include "lib/programs/import/phase.hpp"

#include <gmock/gmock.h>

#include "lib/programs/check/rehearsal.hpp"
#include "tests/scale/written.hpp"

namespace offramp::scale {
namespace {

using recording::Event;
using recording::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kPart = "part";

trace::Program part_of_program(const Body& body, int ranks) {
  Result<trace::Program> part = trace::part_of(written(body, ranks), kPart);
  EXPECT_TRUE(part) << part.error();
  return part ? std::move(*part) : trace::Program();
}
std::string refusal_of(const Body& body, const std::string& phase = kPart) {
  return trace::part_of(written(body, 4), phase).error();
}
/// "MPI_Send to 1 on 0 after 5", in the order of the program.
std::vector<std::string> told(const trace::Program& program, int rank) {
  std::vector<std::string> events;
  const auto reader = program.read(rank);
  for (Event event; reader->next(event);)
    events.push_back(
        (event.kind == EventKind::kCommunicator ? "new" : std::string(reader->call(event.call))) + " " +
        std::to_string(event.peer) + " on " + std::to_string(event.communicator) + " after " +
        std::to_string(reader->times().computing));
  EXPECT_EQ(reader->error(), "");
  return events;
}

/// First messages in an irregular order, then rings. The rings use one of several communicators that were
/// made before; no phase uses the others.
void shuffled_and_ring(Tape& tape, int rank, int ranks) {
  std::vector<int> shuffled(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) shuffled[static_cast<std::size_t>(i)] = (i * 3 + ranks / 4) % ranks;
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (int i = 0; i < ranks; ++i) all[static_cast<std::size_t>(i)] = i;
  tape.communicator(shuffled, 7);
  tape.compute(400).communicator(all, 8);
  tape.communicator(all, 8);
  tape.meet(2);
  tape.send((rank * rank + 1) % ranks, 40);
  for (int step = 0; step < 3; ++step) {
    tape.compute(70).phase(1, "other");
    const auto other = tape.isend(rank, 8);
    tape.wait({other, tape.irecv(rank, 8)});
    tape.compute(90).phase(1, kPart);
    const auto from = tape.compute(5).message(EventKind::kReceive, (rank + ranks - 1) % ranks, 40, 1, 0, 4);
    tape.message(EventKind::kSend, (rank + 1) % ranks, 40, 1, recording::kBlocking, 4);
    tape.wait({from});
    tape.meet();
  }
  tape.compute(30).phase(1, "other");
  tape.compute(1000).native();
}

TEST(Phase, IsItsCallsAndTheCommunicatorsThatTheyUse) {
  const trace::Program part = part_of_program(shuffled_and_ring, 4);
  const std::vector<std::string> all = told(part, 1);
  ASSERT_EQ(all.size(), 1 + 3 * 6U);
  EXPECT_THAT(std::vector(all.begin(), all.begin() + 8),
              ElementsAre("new 0 on 0 after 0", "MPI_Pcontrol 0 on 0 after 0", "MPI_Recv 0 on 2 after 5",
                          "MPI_Send 2 on 2 after 0", "MPI_Wait 0 on 0 after 0", "meet 0 on 0 after 0",
                          "MPI_Pcontrol 0 on 0 after 70", "MPI_Pcontrol 0 on 0 after 0"));
  EXPECT_EQ(all.back(), "MPI_Pcontrol 0 on 0 after 30");
  // The end of a phase does not begin another.
  const auto reader = part.read(1);
  std::vector<int> levels;
  for (Event event; reader->next(event);) {
    if (event.kind == EventKind::kPhase) levels.push_back(event.tag);
  }
  EXPECT_THAT(levels, ElementsAre(1, -1, 1, -1, 1, -1));
  const Result<trace::Findings> findings = trace::rehearse(part);
  ASSERT_TRUE(findings) << findings.error();
  EXPECT_THAT(findings->problems, testing::IsEmpty());
}

TEST(Phase, IsScaledWhereTheProgramIsNot) {
  EXPECT_NE(scaled(shuffled_and_ring, {4, 8, 16}, 64).error(), "");
  std::vector<NamedProgram> parts;
  for (const int ranks : {4, 8, 16}) parts.push_back({"part", part_of_program(shuffled_and_ring, ranks)});
  const Result<Scaling> scaling = scale(parts, 64, ComputeScaling::kRecorded);
  ASSERT_TRUE(scaling) << scaling.error();
  const auto comparison = compare(part_of_program(shuffled_and_ring, 64), scaling->program.read,
                                  [](int) { return std::string("all"); });
  ASSERT_TRUE(comparison) << comparison.error();
  EXPECT_EQ(comparison->first_difference, "");
  EXPECT_GT(comparison->total().count(), 1000U);
}

TEST(Phase, WithAnUnknownNameListsTheKnownPhases) {
  EXPECT_EQ(refusal_of(shuffled_and_ring, "parts"), "no phase \"parts\"; known: other, part");
  EXPECT_THAT(refusal_of([](Tape& tape, int, int) { tape.meet(); }),
              HasSubstr("the recording has no phases (a program begins one with MPI_Pcontrol"));
  EXPECT_EQ(refusal_of(
                [](Tape& tape, int, int) {
                  tape.phase(2);
                  tape.meet();
                },
                "level 2"),
            "");
}

TEST(Phase, IsOfRanksOfWhichOneThreadCalls) {
  EXPECT_EQ(refusal_of([](Tape& tape, int rank, int) {
              tape.phase(1, kPart);
              if (rank == 2) tape.of_thread(1);
              tape.native();
            }),
            "rank 2: several of its threads call MPI, but a phase needs a single thread");
}

TEST(Phase, HasNoRequestsOfItsNeighbours) {
  EXPECT_EQ(refusal_of([](Tape& tape, int rank, int) {
              const auto early = tape.irecv(rank, 8);
              tape.phase(1, kPart);
              tape.send(rank, 8);
              tape.wait({early});
            }),
            "rank 0: its MPI_Wait in phase \"part\" belongs to a request that was started before; a phase "
            "has to start and complete its own requests");
  EXPECT_THAT(
      refusal_of([](Tape& tape, int rank, int) {
        tape.phase(1, kPart);
        tape.send(rank, 8);
        const auto late = tape.irecv(rank, 8);
        tape.phase(-1);
        tape.wait({late});
      }),
      HasSubstr(
          "rank 0: its MPI_Wait outside of phase \"part\" belongs to a request that was started in it"));
  // From one phase to the next one with the same name.
  EXPECT_THAT(refusal_of([](Tape& tape, int rank, int) {
                tape.phase(1, kPart);
                tape.send(rank, 8);
                const auto request = tape.irecv(rank, 8);
                tape.phase(0);
                tape.phase(1, kPart);
                tape.wait({request});
              }),
              HasSubstr("was started before"));
}

TEST(Phase, HasNoHalvesOfMessagesAndCollectives) {
  EXPECT_EQ(refusal_of([](Tape& tape, int rank, int ranks) {
              tape.phase(1, kPart);
              tape.send((rank + 1) % ranks, 8, 5);
              if (rank == 2) tape.phase(-1);
              tape.receive((rank + ranks - 1) % ranks, 8, 5);
              if (rank != 2) tape.phase(-1);
            }),
            "rank 1 sends a message (tag 5) in phase \"part\" that rank 2 receives outside of it; messages "
            "sent in a phase have to be received in it");
  // The outcome of a receive from any source.
  EXPECT_THAT(refusal_of([](Tape& tape, int rank, int) {
                if (rank == 3) tape.send(0, 8);
                tape.phase(1, kPart);
                tape.meet();
                if (rank != 0) return;
                tape.receive(-1, 8);
                tape.took(3, 0);
              }),
              HasSubstr("rank 0 receives a message (tag 0) in phase \"part\" that rank 3 sends outside"));
  EXPECT_THAT(refusal_of([](Tape& tape, int rank, int) {
                if (rank == 1) tape.meet();
                tape.phase(1, kPart);
                if (rank != 1) tape.meet();
              }),
              HasSubstr("makes 1 collective calls in phase \"part\" that rank 1 makes outside of it"));
}

}  // namespace
}  // namespace offramp::scale
