#include "lib/programs/scale/scaling.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tests/scale/written.hpp"

namespace offramp::scale {
namespace {

using testing::HasSubstr;
using Kind = recording::EventKind;

Operation collective(OperationKind kind, std::size_t bytes, int root = 0) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = bytes;
  operation.root = root;
  if (reduces(kind)) {
    operation.function = ReduceFunction::kSum;
    operation.element = ElementType::kFloat64;
    operation.elements = bytes / 8;
  }
  return operation;
}

constexpr int kSteps = 5;

// --- lines ---

void ring(Tape& tape, int rank, int ranks) {
  for (int step = 0; step < kSteps; ++step) {
    const auto receive = tape.irecv((rank + ranks - 1) % ranks, 800, step);
    tape.send((rank + 1) % ranks, 800, step);
    tape.wait({receive});
  }
}

void open_line(Tape& tape, int rank, int ranks) {
  for (int step = 0; step < kSteps; ++step) {
    if (rank > 0) tape.receive(rank - 1, 64);
    if (rank < ranks - 1) tape.send(rank + 1, 64);
  }
}

void even_and_odd(Tape& tape, int rank, int ranks) {
  const int left = (rank + ranks - 1) % ranks;
  const int right = (rank + 1) % ranks;
  for (int step = 0; step < kSteps; ++step) {
    if (rank % 2 == 0) {
      tape.send(right, 64);
      tape.receive(left, 64);
    } else {
      tape.receive(left, 64);
      tape.send(right, 64);
    }
  }
}

TEST(Scaling, ARingIsForetoldAndComesOutExactly) {
  expect_foretold(ring, {2, 4, 8}, 32);
  expect_foretold(ring, {3, 5, 6}, 17);
}

TEST(Scaling, ALineWithEndsHasRoles) {
  expect_foretold(open_line, {3, 4, 8}, 33);
}

TEST(Scaling, DistinguishesEvenAndOddRanks) {
  expect_foretold(even_and_odd, {4, 6, 8}, 32);
}

// --- grids ---

struct Grid {
  int dimensions = 2;
  bool periodic = false;
  bool strong = false;
  bool ascending = false;
};

/// Neighbours in all directions and an allreduce, all on a communicator of its own.
Body stencil(const Grid& grid) {
  return [grid](Tape& tape, int rank, int ranks) {
    const Layout layout{grid.dimensions,
                        grid.ascending ? Layout::Rule::kAscending : Layout::Rule::kDescending};
    const Sides sides = *layout.sides(ranks);
    const Sides at = coordinates(sides, rank);
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    tape.communicator(all, 4711);
    for (int step = 0; step < kSteps; ++step) {
      std::vector<std::uint64_t> requests;
      for (std::size_t d = 0; d < static_cast<std::size_t>(grid.dimensions); ++d) {
        const std::int64_t face = sides[0] * sides[1] * sides[2] / sides[d];
        const auto bytes = static_cast<std::uint64_t>(grid.strong ? 8 * 4096 / face : 8 * 4096);
        for (const std::int64_t way : {-1, 1}) {
          Sides to = at;
          to[d] += way;
          if (to[d] < 0 || to[d] == sides[d]) {
            if (!grid.periodic) continue;
            to[d] = (to[d] + sides[d]) % sides[d];
          }
          const auto peer = static_cast<int>(rank_at(sides, to));
          requests.push_back(tape.message(Kind::kReceive, peer, bytes, 1, 0, 2));
          requests.push_back(tape.message(Kind::kSend, peer, bytes, 1, 0, 2));
        }
      }
      tape.wait(requests);
      tape.compute(1000);
      tape.add(tape.collective(collective(OperationKind::kAllreduce, 8), 2));
    }
  };
}

TEST(Scaling, StencilsOfAConstantProblemComeOutExactly) {
  expect_exact(stencil({.dimensions = 2, .strong = true}), {2, 4, 8, 16}, 32);
  expect_exact(stencil({.dimensions = 2, .strong = true}), {4, 8, 16}, 64);
  expect_exact(stencil({.dimensions = 3, .strong = true}), {8, 16, 32, 64}, 128);
}

TEST(Scaling, PeriodicStencilsNeedNoBorders) {
  expect_foretold(stencil({.dimensions = 2, .periodic = true}), {8, 9, 12, 16}, 32);
  expect_exact(stencil({.dimensions = 2, .periodic = true, .strong = true}), {2, 4, 8, 16}, 32);
  expect_exact(stencil({.dimensions = 3, .periodic = true, .strong = true}), {4, 8, 16, 18}, 32);
}

TEST(Scaling, GridsInColumnMajorOrderAreFound) {
  expect_exact(stencil({.dimensions = 2, .strong = true, .ascending = true}), {2, 4, 8, 16}, 32);
}

TEST(Scaling, SuggestsARecordingForAGridWithoutInterior) {
  const Outcome found = outcome(stencil({.dimensions = 2, .strong = true}), {2, 4, 8}, 32);
  EXPECT_THAT(found.problem, HasSubstr("interior"));
  EXPECT_THAT(found.problem, HasSubstr("that no recording has; add a recording on 9 ranks"));
}

TEST(Scaling, CannotDistinguishBothNeighboursInADimensionOfTwoRanks) {
  // The third side is at most two, where both directions have the same neighbour.
  const Outcome found = outcome(stencil({.dimensions = 3, .periodic = true}), {4, 8, 16, 32}, 64);
  EXPECT_THAT(found.problem, HasSubstr("is known only where side 2 of the grid is 2"));
}

TEST(Scaling, ASideThatNeverChangedIsNotTakenForConstant) {
  // The grid always has two columns, so it may also be a line of pairs.
  const Body body = stencil({.dimensions = 2, .periodic = true, .strong = true});
  const Outcome found = outcome(body, {4, 6, 8}, 16);
  EXPECT_THAT(found.problem,
              HasSubstr("the recordings do not distinguish a line from the 2-dimensional grid"));
  EXPECT_THAT(found.problem, HasSubstr("is known only where side 1 of the grid is 2"));
}

// --- trees, butterflies, everyone with everyone ---

void butterfly(Tape& tape, int rank, int ranks) {
  for (int step = 0; step < kSteps; ++step) {
    for (int bit = 1; bit < ranks; bit *= 2) {
      const auto receive = tape.irecv(rank ^ bit, 400, 7);
      tape.send(rank ^ bit, 400, 7);
      tape.wait({receive});
    }
    std::uint64_t bytes = 1 << 20;
    for (int bit = ranks / 2; bit > 0; bit /= 2) {
      bytes /= 2;
      const auto receive = tape.irecv(rank ^ bit, bytes, 8);
      tape.send(rank ^ bit, bytes, 8);
      tape.wait({receive});
    }
  }
}

void binomial_tree(Tape& tape, int rank, int ranks) {
  for (int step = 0; step < kSteps; ++step) {
    for (int bit = 1; bit < ranks; bit *= 2) {
      if ((rank & bit) != 0) {
        tape.send(rank - bit, 64);
        break;
      }
      tape.receive(rank + bit, 64);
    }
    tape.add(tape.collective(collective(OperationKind::kBarrier, 0)));
  }
}

void everyone(Tape& tape, int rank, int ranks) {
  for (int step = 0; step < kSteps; ++step) {
    std::vector<std::uint64_t> requests;
    for (int i = 1; i < ranks; ++i) requests.push_back(tape.irecv((rank + ranks - i) % ranks, 40));
    for (int i = 1; i < ranks; ++i) requests.push_back(tape.isend((rank + i) % ranks, 40));
    std::reverse(requests.begin(), requests.end());
    tape.wait(requests);
  }
}

void root_and_others(Tape& tape, int rank, int ranks) {
  for (int step = 0; step < kSteps; ++step) {
    if (rank != 0) {
      tape.send(0, 40);
      tape.receive(0, 40);
      continue;
    }
    for (int i = 1; i < ranks; ++i) tape.receive(i, 40);
    for (int i = 1; i < ranks; ++i) tape.send(i, 40);
  }
}

/// Each rank in turn is the client of all others; a token passes the turn on. A rank serves as many clients
/// before its turn as its number says, and the others after it. An exchange begins and ends with the same
/// call, so the first one is not in the loop.
void pairs_in_turn(Tape& tape, int rank, int ranks) {
  for (int client = 0; client < ranks; ++client) {
    if (client == rank) {
      if (rank > 0) tape.receive(rank - 1, 0, 9);
      for (int server = 0; server < ranks; ++server) {
        if (server == rank) continue;
        tape.send(server, 4);
        tape.receive(server, 4000);
        tape.send(server, 4);
      }
      if (rank < ranks - 1) tape.send(rank + 1, 0, 9);
    } else {
      tape.receive(client, 4);
      tape.send(client, 4000);
      tape.receive(client, 4);
    }
    tape.add(tape.collective(collective(OperationKind::kBcast, 0, ranks - 1)));
  }
}

TEST(Scaling, ButterfliesGrowWithTheLogarithm) {
  expect_foretold(butterfly, {4, 8, 16}, 64);
  EXPECT_THAT(outcome(butterfly, {4, 8, 16}, 48).problem, HasSubstr("is not a whole number"));
}

TEST(Scaling, BinomialTreesComeOutExactly) {
  expect_exact(binomial_tree, {4, 8, 16}, 64);
}

TEST(Scaling, EveryoneWithEveryoneComesOutExactly) {
  expect_foretold(everyone, {4, 6, 8}, 32);
}

TEST(Scaling, PairsInTurnComeOutExactly) {
  expect_foretold(pairs_in_turn, {4, 6, 8, 12}, 20);
}

TEST(Scaling, ARootThatServesAllInOrderComesOutExactly) {
  expect_foretold(root_and_others, {4, 6, 8}, 32);
}

// --- collectives ---

void collectives(Tape& tape, int rank, int ranks) {
  const auto size = static_cast<std::size_t>(ranks);
  for (int step = 0; step < kSteps; ++step) {
    tape.add(tape.collective(collective(OperationKind::kBcast, 4000)));
    tape.add(tape.collective(collective(OperationKind::kReduce, 80, ranks - 1)));
    tape.add(tape.collective(collective(OperationKind::kAllgather, 65536 / size)));
    tape.add(tape.collective(collective(OperationKind::kAlltoall, (std::size_t{1} << 24U) / size / size)));
    // A vector of 1001 elements, distributed.
    std::vector<std::uint64_t> counts(size, 8 * (1001 / size));
    for (std::size_t i = 0; i < 1001 % size; ++i) counts[i] += 8;
    auto gathered = tape.collective(collective(OperationKind::kAllgatherv, 0));
    gathered.bytes = counts[static_cast<std::size_t>(rank)];
    gathered.extra = 8 * 1001;
    gathered.list = tape.list(counts);
    tape.add(gathered);
  }
}

/// Communicators of rows, of columns, and of halves of the ranks.
void rows_and_columns(Tape& tape, int rank, int ranks) {
  const Sides sides = *Layout{2, Layout::Rule::kDescending}.sides(ranks);
  const Sides at = coordinates(sides, rank);
  std::vector<int> row;
  std::vector<int> column;
  std::vector<int> half;
  for (int other = 0; other < ranks; ++other) {
    const Sides there = coordinates(sides, other);
    if (there[0] == at[0]) row.push_back(other);
    if (there[1] == at[1]) column.push_back(other);
    if ((other < ranks / 2) == (rank < ranks / 2)) half.push_back(other);
  }
  tape.communicator(row, 1);
  tape.communicator(column, 2);
  tape.communicator(half, 3);
  for (int step = 0; step < kSteps; ++step) {
    tape.add(
        tape.collective(collective(OperationKind::kBcast, static_cast<std::size_t>(65536 / sides[0])), 2));
    tape.add(tape.collective(
        collective(OperationKind::kAllreduce, static_cast<std::size_t>(65536 / sides[1])), 3));
    tape.add(tape.collective(collective(OperationKind::kAllreduce, 8), 4));
    const auto size = static_cast<int>(row.size());
    tape.message(Kind::kSend, static_cast<int>((at[1] + 1) % size), 32, 0, recording::kBlocking, 2);
    tape.message(Kind::kReceive, static_cast<int>((at[1] + size - 1) % size), 32, 0, recording::kBlocking, 2);
  }
}

TEST(Scaling, CollectivesAndSharesOfAVectorComeOutExactly) {
  expect_foretold(collectives, {2, 4, 8, 16}, 32);
}

TEST(Scaling, CommunicatorsOfRowsColumnsAndHalvesComeOutExactly) {
  expect_exact(rows_and_columns, {2, 4, 8, 16}, 32);
}

// --- what is refused ---

/// The master answers in a random order; a worker's share is random, too.
void master_worker(Tape& tape, int rank, int ranks) {
  const int workers = ranks - 1;
  std::uint64_t state = 99;
  std::vector<int> order;
  for (int task = 0; task < 40; ++task)
    order.push_back(1 + static_cast<int>(splitmix(state) % static_cast<std::uint64_t>(workers)));
  for (const int worker : order) {
    if (rank == 0) {
      tape.receive(-1, 4096, 2);
      tape.took(worker, 2);
      tape.send(worker, 4, 1);
    } else if (rank == worker) {
      tape.send(0, 4096, 2);
      tape.receive(0, 4, 1);
    }
  }
}

TEST(Scaling, MasterAndWorkersAreRefusedWithTheReason) {
  const Outcome found = outcome(master_worker, {4, 8, 16}, 32);
  EXPECT_THAT(found.problem, HasSubstr("its calls do not follow from the number of ranks"));
  EXPECT_THAT(found.problem, HasSubstr("rank 0 receives from any source"));
  EXPECT_THAT(found.problem, HasSubstr("\nnext  "));
}

TEST(Scaling, PeersWithoutARuleAreNamed) {
  const auto drawn = [](Tape& tape, int rank, int ranks) {
    std::uint64_t state = static_cast<std::uint64_t>(rank + 1000 * ranks);
    for (int step = 0; step < 20; ++step)
      tape.isend(static_cast<int>(splitmix(state) % static_cast<std::uint64_t>(ranks)), 8);
  };
  const Outcome found = outcome(drawn, {4, 8, 16}, 32);
  EXPECT_THAT(found.problem, HasSubstr("MPI_Send, call"));
  EXPECT_THAT(found.problem, HasSubstr("its peer follows no known rule"));
}

TEST(Scaling, RecordingsOfFewerRanksThatDoOtherThingsAreToBeLeftOut) {
  const auto ring_of_many = [](Tape& tape, int rank, int ranks) {
    std::uint64_t state = static_cast<std::uint64_t>(rank + 1000 * ranks);
    for (int i = 0; i < 5 && ranks < 12; ++i) tape.isend((rank + 1) % ranks, splitmix(state) % 100'000);
    ring(tape, rank, ranks);
  };
  const Outcome found = outcome(ring_of_many, {8, 12, 16, 18}, 24);
  EXPECT_THAT(found.problem, HasSubstr("\nnext  leave out the recordings of fewer than 12 ranks, in "
                                       "which the program behaves differently"));
  expect_exact(ring_of_many, {12, 16, 18}, 24);
  // The remaining recordings must be enough.
  EXPECT_THAT(outcome(ring_of_many, {8, 12, 16}, 24).problem, testing::Not(HasSubstr("leave out")));
}

TEST(Scaling, DifferentProgramsAndEqualCountsAreRefused) {
  std::vector<NamedProgram> programs = {{"a", written(ring, 4)}, {"b", written(ring, 4)}};
  EXPECT_THAT(scale(programs, 8, ComputeScaling::kRecorded).error(), HasSubstr("both have 4 ranks"));
  programs[1].program.description = {.version = 3, .ranks = 8, .facts = {{"program", "other"}}};
  EXPECT_THAT(scale(programs, 8, ComputeScaling::kRecorded).error(), HasSubstr("is a recording of"));
}

TEST(Scaling, SeveralThreadsOfARankAreRefused) {
  const auto threads = [](Tape& tape, int rank, int ranks) {
    for (std::uint32_t thread = 0; thread < 2; ++thread) tape.of_thread(thread).send((rank + 1) % ranks, 8);
  };
  const Outcome found = outcome(threads, {2, 4, 8}, 32);
  EXPECT_THAT(found.problem, HasSubstr("2.rec: rank 0: several of its threads call MPI"));
  EXPECT_THAT(found.problem, HasSubstr("one thread of each rank"));
  const trace::Program program = written(threads, 2);
  const auto comparison = compare(program, program.read, [](int) { return std::string(); });
  EXPECT_THAT(comparison.error(), HasSubstr("rank 0: several of its threads call MPI"));
  // The number of the thread does not matter.
  const auto other = [](Tape& tape, int rank, int ranks) { tape.of_thread(3).send((rank + 1) % ranks, 8); };
  expect_exact(other, {3, 4, 8}, 32);
}

TEST(Scaling, NamesValuesThatWouldBeNegative) {
  const auto shrinking = [](Tape& tape, int rank, int ranks) {
    tape.send((rank + 1) % ranks, static_cast<std::uint64_t>(1000 - 100 * ranks));
  };
  EXPECT_THAT(outcome(shrinking, {3, 4, 6, 8}, 12).problem,
              HasSubstr("rank 0 of 12: the size of MPI_Send (-100 * ranks + 1000) is -200 there"));
  expect_exact(shrinking, {3, 4, 6, 8}, 10);
  const auto list = [](Tape& tape, int, int ranks) {
    auto gathered = tape.collective(collective(OperationKind::kAllgatherv, 0));
    gathered.list = tape.list(std::vector<std::uint64_t>(static_cast<std::size_t>(ranks),
                                                         static_cast<std::uint64_t>(1000 - 100 * ranks)));
    tape.add(gathered);
  };
  EXPECT_THAT(outcome(list, {3, 4, 6, 8}, 12).problem, HasSubstr("rank 0 of 12: a list of collective"));
  const auto turns = [](Tape& tape, int rank, int ranks) {
    for (int i = 0; i < 10 - ranks; ++i) tape.send((rank + 1) % ranks, 8);
  };
  EXPECT_THAT(outcome(turns, {3, 4, 6, 8}, 12).problem, HasSubstr("the number of iterations of a loop"));
}

TEST(Scaling, ARuleIsTriedAtAllRanksOfARole) {
  const auto pairs = [](Tape& tape, int rank, int) { tape.isend(rank ^ 2, 8); };
  const Result<Scaling> made = scaled(pairs, {4, 8, 16}, 1001);
  EXPECT_THAT(made.error(), HasSubstr("of 1001: the peer of MPI_Send (rank xor 2)"));
}

TEST(Scaling, ALoopThatIsNotComeToHasNoTurns) {
  const auto inner = [](Tape& tape, int rank, int ranks) {
    for (int outer = 0; outer < ranks / 2 - 1; ++outer) {
      for (int i = 0; i < 5; ++i) tape.send((rank + 1) % ranks, 8);
      tape.native();
    }
    tape.phase(1);
  };
  expect_exact(inner, {2, 4, 8, 12}, 32);
}

/// Sizes that grow with the ranks up to a limit, which recordings below it cannot show.
TEST(Scaling, GrowthBeyondTheRecordingsIsNamed) {
  const auto growing_at = [](int ranks) {
    const Body body = [](Tape& tape, int rank, int all) {
      const auto bytes = static_cast<std::uint64_t>(std::min(64 * all, 1024));
      const auto receive = tape.irecv((rank + all - 1) % all, bytes, 0);
      tape.send((rank + 1) % all, bytes, 0);
      tape.wait({receive});
      tape.send((rank + 1) % all, 8, 1);
      tape.receive((rank + all - 1) % all, 8, 1);
    };
    const Result<Scaling> made = scaled(body, {2, 4, 8, 16}, ranks);
    EXPECT_TRUE(made) << made.error();
    return made ? made->growing : std::vector<std::string>();
  };
  EXPECT_THAT(growing_at(32), testing::Contains(HasSubstr("64 * ranks B")));
  EXPECT_THAT(growing_at(32), testing::Not(testing::Contains(HasSubstr("8 B"))));
  EXPECT_THAT(growing_at(16), testing::IsEmpty()) << "as many were recorded";
}

TEST(Scaling, DoubtsCallsThatSmallerRecordingsDoNotPredict) {
  const Result<Scaling> made = scaled(rows_and_columns, {2, 4, 8, 16}, 32);
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(made->caveat().empty(), made->held_out.total().exact > 0);
  Scaling doubtful = *made;
  doubtful.held_out.shares = {{{"MPI_Send", "all ranks"}, Share{0, 3, 4}}};
  EXPECT_THAT(doubtful.caveat(),
              HasSubstr("not confirmed: the smaller recordings predict none of the 7 calls on 16 ranks"));
  doubtful.held_out.shares = {};
  EXPECT_EQ(doubtful.caveat(), "");
}

/// A periodic grid of three columns.
void three_columns(Tape& tape, int rank, int ranks) {
  const int column = rank % 3;
  for (int step = 0; step < kSteps; ++step) {
    tape.isend(rank - column + (column + 1) % 3, 64);
    tape.isend((rank + 3) % ranks, 32);
  }
}

TEST(Scaling, AFixedNumberOfColumnsNeedBeNoPowerOfTwo) {
  expect_exact(three_columns, {12, 18, 24}, 60);
}

TEST(Scaling, OtherProgramsAreRefusedAndOtherArgumentsSaid) {
  const auto made = [](const std::string& kind, std::vector<std::array<std::string, 2>> commands) {
    std::vector<NamedProgram> programs;
    int ranks = 2;
    for (const auto& [program, arguments] : commands) {
      programs.push_back({fmt::format("{}.rec", ranks), written(ring, ranks)});
      trace::Program& one = programs.back().program;
      one.kind = kind;
      one.description.facts = {{"program", program}, {"arguments", arguments}};
      ranks += 2;
    }
    return scale(programs, 32, ComputeScaling::kRecorded);
  };
  EXPECT_THAT(made("recording", {{"./a", ""}, {"./b", ""}, {"./a", ""}}).error(),
              HasSubstr("2.rec is a recording of ./a, and 4.rec of ./b"));
  EXPECT_THAT(made("pattern", {{"pattern:ring:2:8", ""}, {"pattern:alltoall:4:8", ""}}).error(),
              HasSubstr("2.rec is a recording of pattern:ring, and 4.rec of pattern:alltoall"));
  const auto notes = [](const Result<Scaling>& scaling) {
    EXPECT_TRUE(scaling) << scaling.error();
    return scaling ? scaling->notes : std::vector<std::string>();
  };
  EXPECT_THAT(notes(made("recording", {{"./a", "-n 1"}, {"./a", "-n 1"}, {"./a", "-n 1"}})),
              testing::IsEmpty());
  EXPECT_THAT(notes(made("recording", {{"./a", "-n 1"}, {"x/a", ""}, {"./a", "-n 1"}})),
              testing::ElementsAre(HasSubstr("different arguments: 2.rec (-n 1), 4.rec (none), 6.rec (-n 1)"),
                                   HasSubstr("different paths: 2.rec (./a), 4.rec (x/a), 6.rec (./a)")));
  EXPECT_THAT(
      notes(made("pattern", {{"pattern:ring:2:8", ""}, {"pattern:ring:4:8", ""}, {"pattern:ring:6:9", ""}})),
      testing::ElementsAre(HasSubstr("6.rec (9 bytes, 1 round)")));
  EXPECT_THAT(notes(made("trace", {{"a.dumpi", ""}, {"b.dumpi", ""}, {"c.dumpi", ""}})), testing::IsEmpty());
}

// --- one recording ---

TEST(Scaling, OneRecordingOfAPatternIsEnough) {
  expect_exact(ring, {8}, 32);
  expect_exact(stencil({.dimensions = 2}), {16}, 64);
  expect_exact(stencil({.dimensions = 3, .periodic = true}), {64}, 216);
  const auto sums = [](Tape& tape, int, int) {
    for (int step = 0; step < kSteps; ++step)
      tape.add(tape.collective(collective(OperationKind::kAllreduce, 800)));
  };
  expect_exact(sums, {4}, 1024);
}

TEST(Scaling, OneRecordingOfAnythingElseIsRefused) {
  for (const Body& body : {Body(butterfly), Body(everyone), Body(root_and_others), Body(rows_and_columns)}) {
    const Outcome found = outcome(body, {8}, 32);
    EXPECT_THAT(found.problem, HasSubstr("record three or more numbers of ranks"));
  }
}

TEST(Scaling, DoesNotTreatAPossibleRankCountAsConstant) {
  const auto turns = [](int count) {
    return [count](Tape& tape, int rank, int ranks) {
      for (int i = 0; i < count; ++i) {
        tape.isend((rank + 1) % ranks, 800);
        tape.add(tape.collective(collective(OperationKind::kBarrier, 0)));
      }
    };
  };
  const auto problem = [](const Body& body, int ranks) { return outcome(body, {ranks}, 64).problem; };
  for (const int count : {16, 15, 32, 30, 8, 7, 4})
    EXPECT_THAT(problem(turns(count), 16),
                HasSubstr(fmt::format("the iterations of its loop ({}) are", count)));
  EXPECT_THAT(problem(turns(15), 16), HasSubstr("(15) are one less than the number of ranks"));
  EXPECT_THAT(problem(turns(15), 16), HasSubstr("record three or more numbers of ranks"));
  EXPECT_EQ(problem(turns(10), 16), "");
  const auto vector = [](Tape& tape, int, int ranks) {
    tape.add(tape.collective(collective(OperationKind::kAllreduce, 8 * static_cast<std::size_t>(ranks))));
  };
  EXPECT_THAT(problem(vector, 16), HasSubstr("it has one element per rank"));
  const auto single = [](Tape& tape, int, int) {
    tape.add(tape.collective(collective(OperationKind::kAllreduce, 8)));
  };
  EXPECT_EQ(problem(single, 8), "");
  EXPECT_THAT(problem(single, 2), HasSubstr("one recording of 2 ranks does not show"));
  EXPECT_THAT(scaled(single, {8}, 64, ComputeScaling::kStrong).error(),
              HasSubstr("with constant work in total"));
  // Two numbers of ranks show it.
  EXPECT_EQ(outcome(turns(15), {12, 16}, 64).problem, "");
}

// --- times and arrival ---

std::uint64_t computed(const trace::Program& program, int rank) {
  const auto reader = program.read(rank);
  std::uint64_t time = 0;
  for (recording::Event event; reader->next(event);) time += reader->times().computing;
  return time;
}

TEST(Scaling, CpuTimesAreThoseOfTheLargestRecordingAsTheUserSays) {
  const Body body = [](Tape& tape, int rank, int ranks) {
    for (int step = 0; step < kSteps; ++step) {
      tape.compute(static_cast<std::uint64_t>(160'000 / ranks + step));
      tape.send((rank + 1) % ranks, 8);
    }
  };
  const std::uint64_t recorded = computed(written(body, 16), 3);
  const auto time = [&](ComputeScaling scaling) {
    const Result<Scaling> made = scaled(body, {4, 8, 16}, 64, scaling);
    EXPECT_TRUE(made) << made.error();
    return made ? computed(made->program, 35) : 0;
  };
  EXPECT_EQ(time(ComputeScaling::kWeak), recorded);
  EXPECT_NEAR(static_cast<double>(time(ComputeScaling::kStrong)), static_cast<double>(recorded) / 4, kSteps);
  EXPECT_EQ(time(ComputeScaling::kRecorded), time(ComputeScaling::kStrong)) << "as the recordings show";
}

TEST(Scaling, RecordingsShowStrongAndWeakScaling) {
  struct Work {
    double computing;  // of a rank: the power of the number of ranks
    double bytes;
  };
  const auto shown = [](const Work& work, const std::vector<int>& recorded = {4, 8, 16}) {
    const Body body = [work](Tape& tape, int rank, int ranks) {
      for (int step = 0; step < kSteps; ++step) {
        if (work.computing < 1)
          tape.compute(static_cast<std::uint64_t>(1e6 * std::pow(ranks, work.computing)));
        tape.send((rank + 1) % ranks, static_cast<std::uint64_t>(65536 * std::pow(ranks, work.bytes)));
      }
    };
    const Result<Scaling> made = scaled(body, recorded, 32);
    EXPECT_TRUE(made) << made.error();
    return made ? made->compute : ComputeScaling::kRecorded;
  };
  EXPECT_EQ(shown({-1, -1}), ComputeScaling::kStrong);
  EXPECT_EQ(shown({-0.95, 0}), ComputeScaling::kStrong) << "sums of one size";
  EXPECT_EQ(shown({-0.4, -1}), ComputeScaling::kStrong) << "caches hold more of a smaller part";
  EXPECT_EQ(shown({0, 0}), ComputeScaling::kWeak);
  EXPECT_EQ(shown({0.1, 0}), ComputeScaling::kWeak);
  EXPECT_EQ(shown({-0.2, -1}), ComputeScaling::kStrong) << "ranks share processors";
  EXPECT_EQ(shown({0.1, -1}), ComputeScaling::kRecorded) << "computing and messages contradict each other";
  EXPECT_EQ(shown({-0.45, 0}), ComputeScaling::kRecorded) << "between both";
  EXPECT_EQ(shown({1, -1}), ComputeScaling::kRecorded) << "no computing";
}

TEST(Scaling, LeavesWildcardMatchesToTheWorld) {
  const Body body = [](Tape& tape, int rank, int ranks) {
    for (int step = 0; step < kSteps; ++step) {
      const auto receive = tape.irecv(-1, 8, 5);
      tape.took((rank + ranks - 1) % ranks, 5);
      tape.send((rank + 1) % ranks, 8, 5);
      tape.wait({receive});
    }
  };
  expect_foretold(body, {4, 6, 8}, 32);
  const Result<Scaling> made = scaled(body, {4, 6, 8}, 32);
  ASSERT_TRUE(made) << made.error();
  EXPECT_FALSE(made->program.has_arrival);
  EXPECT_EQ(made->wildcards, 8U * kSteps);
}

TEST(Scaling, TheResultSaysWhereItComesFrom) {
  const Result<Scaling> made = scaled(ring, {2, 4, 8}, 32);
  ASSERT_TRUE(made) << made.error();
  std::map<std::string, std::string> facts;
  for (const auto& [key, value] : made->program.description.facts) facts[key] = value;
  EXPECT_EQ(facts["scaled from"], "2, 4, 8 ranks");
  EXPECT_THAT(facts["held out"], HasSubstr("8 ranks; of its calls, the smaller recordings predict 100.0 %"));
  EXPECT_THAT(facts["held out"], HasSubstr("MPI_Send all ranks"));
}

}  // namespace
}  // namespace offramp::scale
