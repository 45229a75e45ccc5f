// Programs whose right answer follows from their construction. The answer has to name it, its share of the
// run, and its certainty, both before the searches (--quick) and after them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "lib/answers/advice/answer_of.hpp"
#include "lib/base/registry/registry.hpp"
#include "tests/replay/tape.hpp"

namespace offramp {
namespace {

constexpr std::size_t kMi = 1 << 20;

Operation operation_of(OperationKind kind, int ranks, std::size_t bytes, bool nonblocking = false) {
  Operation one;
  one.kind = kind;
  one.element = ElementType::kFloat32;
  one.function = ReduceFunction::kSum;
  one.bytes = bytes;
  one.elements = bytes / sizeof(float);
  one.ranks = ranks;
  one.nonblocking = nonblocking;
  return one;
}

using Tapes = std::vector<test::Tape>;
/// body(tape, rank, step) for each rank and each step.
template <typename Body>
Tapes program(int ranks, int steps, Body body) {
  Tapes tapes(static_cast<std::size_t>(ranks));
  for (int step = 0; step < steps; ++step) {
    for (int rank = 0; rank < ranks; ++rank) body(tapes[static_cast<std::size_t>(rank)], rank, step);
  }
  return tapes;
}

/// Calls of one collective, one after the other.
Tapes collectives(OperationKind kind, int ranks, std::size_t bytes, int steps) {
  const Operation one = operation_of(kind, ranks, bytes);
  return program(ranks, steps, [&](test::Tape& tape, int, int) { tape.add(tape.collective(one)); });
}

/// Rank r sends to rank r + distance.
Tapes shift(int ranks, int distance, std::size_t bytes, int steps) {
  return program(ranks, steps, [=](test::Tape& tape, int rank, int) {
    const auto in = tape.irecv((rank + ranks - distance) % ranks, bytes);
    const auto out = tape.isend((rank + distance) % ranks, bytes);
    tape.wait({in, out});
  });
}

/// A collective that overlaps with computing.
Tapes overlap(OperationKind kind, int ranks, std::size_t bytes, int steps, std::uint64_t computing) {
  const Operation one = operation_of(kind, ranks, bytes, true);
  return program(ranks, steps, [&](test::Tape& tape, int, int) {
    const auto request = tape.add(tape.collective(one));
    tape.compute(computing);
    tape.wait({request});
  });
}

/// One rank computes longer than the others: in turns, or always the same one.
Tapes imbalance(int ranks, int steps, bool by_turns, std::uint64_t brief, std::uint64_t longer) {
  const Operation sum = operation_of(OperationKind::kAllreduce, ranks, 8);
  return program(ranks, steps, [&](test::Tape& tape, int rank, int step) {
    tape.compute(rank == (by_turns ? step % ranks : 0) ? longer : brief);
    tape.add(tape.collective(sum));
  });
}

struct Expected {
  std::string kind;
  std::string candidate;  // empty: the answer that comes closest
  double least = -100;    // of the baseline's time that the candidate saves
  double most = 1;
};

class AnAnswer : public testing::Test {
 protected:
  AnAnswer() {
    configuration_.compute.kind = Compute::Mode::kNone;
    use({"cclo", "zrlmpi", "dpu"});
  }
  void use(std::initializer_list<const char*> backends) {
    options_.backends = {registry_.find(baseline_name())};
    for (const char* name : backends) options_.backends.push_back(registry_.find(name));
  }

  /// The whole answer. The quick one, before the searches, must agree with it.
  ReportAnswer expect(const Tapes& tapes, const Expected& expected) {
    Advisor advisor(configuration_, registry_, test::source_of(tapes), options_);
    advisor.rank_backends();
    advisor.weigh();
    const ReportAnswer quick = answer_of(advisor, {"p.rec", "p.rec"});
    advisor.find_algorithms();
    advisor.find_mix();
    advisor.find_influences();
    ReportAnswer whole = answer_of(advisor, {"p.rec", "p.rec"});
    for (const ReportAnswer* answer : {&std::as_const(quick), &std::as_const(whole)}) {
      SCOPED_TRACE(answer_text(*answer));
      if (!expected.kind.empty()) {
        EXPECT_EQ(answer->kind, expected.kind);
      }
      EXPECT_TRUE(expected.candidate.empty() || answer->candidate == expected.candidate) << answer->candidate;
      EXPECT_GE(saves(*answer), expected.least);
      EXPECT_LE(saves(*answer), expected.most);
      EXPECT_TRUE(answer->complete);
      if (answer->earliest > Time()) {
        EXPECT_LE(answer->earliest, answer->end);
        EXPECT_GE(answer->latest, answer->end);
      }
      expect_shape(*answer);
    }
    EXPECT_TRUE(quick.holds || !whole.holds) << "a search can only make an answer less sure";
    return whole;
  }

  static double saves(const ReportAnswer& answer) {
    return answer.end > Time() ? 1 - ratio_of(answer.end, answer.baseline) : 0;
  }

  /// At most sixteen lines of 80 columns, and twelve words in the first one.
  static void expect_shape(const ReportAnswer& answer) {
    const std::string text = answer_text(answer);
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 16);
    std::size_t begin = 0;
    for (std::size_t end = text.find('\n'); end != std::string::npos;
         begin = end + 1, end = text.find('\n', begin))
      EXPECT_LE(end - begin, 80U);
    int words = 0;
    for (std::size_t i = 0; i < answer.answer.size(); ++i) {
      const bool starts = i == 0 || answer.answer[i - 1] == ' ';
      if (starts && std::isalnum(static_cast<unsigned char>(answer.answer[i])) != 0) ++words;
    }
    EXPECT_LE(words, 12) << answer.answer;
  }

  Registry registry_{built_in_backends()};
  Configuration configuration_;
  Advisor::Options options_;
};

TEST_F(AnAnswer, NamesNoHardwareWhereRanksWaitForEachOther) {
  const ReportAnswer answer = expect(imbalance(8, 8, true, 200'000, 2'000'000), {"nothing", "", -1, 0.01});
  EXPECT_TRUE(answer.holds);
  EXPECT_NE(answer.answer.find("% of MPI time is waiting"), std::string::npos) << answer.answer;
}

TEST_F(AnAnswer, NamesNoHardwareWhereOneRankIsAlwaysLate) {
  EXPECT_TRUE(expect(imbalance(8, 8, false, 500'000, 1'000'000), {"nothing", "", -1, 0.01}).holds);
}

TEST_F(AnAnswer, NamesNoHardwareWhereThereIsNextToNoCommunication) {
  const ReportAnswer answer = expect(imbalance(4, 4, false, 5'000'000, 5'000'000), {"nothing", "", -1, 0.01});
  EXPECT_NE(answer.answer.find("MPI calls are"), std::string::npos) << answer.answer;
}

TEST_F(AnAnswer, DoesNotCallAWaitForALateReceiverImbalance) {
  const Tapes tapes = program(2, 4, [](test::Tape& tape, int rank, int) {
    if (rank == 1) tape.compute(50'000'000);
    rank == 0 ? tape.send(1, kMi) : tape.receive(0, kMi);
  });
  const ReportAnswer answer = expect(tapes, {"nothing", "", -1, 0.01});
  EXPECT_EQ(answer.answer.find("waiting"), std::string::npos) << answer.answer;
  EXPECT_NE(answer.answer.find("MPI calls are"), std::string::npos) << answer.answer;
}

TEST_F(AnAnswer, SaysThatTheGainIsTheLinks) {
  configuration_.machine.ranks_per_node = 8;
  const ReportAnswer answer = expect(shift(16, 8, kMi, 2), {"link", "dpu", -0.05, 0.01});
  EXPECT_NE(answer.why.find("dpu at 100 Gb/s"), std::string::npos) << answer.why;
  EXPECT_EQ(answer.bars[1].end, answer.end);
  EXPECT_EQ(answer.bars[1].note.find("at 200 Gb/s x0."), 0U) << answer.bars[1].note;
}

TEST_F(AnAnswer, SaysThatTheGainOfAnIncastIsTheLinks) {
  const Tapes incast = program(8, 1, [](test::Tape& tape, int rank, int) {
    if (rank > 0) tape.send(0, kMi);
    for (int from = 1; rank == 0 && from < 8; ++from) tape.receive(from, kMi);
  });
  (void)expect(incast, {"link", "dpu", -0.2, 0.01});
}

TEST_F(AnAnswer, NamesTheAlgorithmThatCostsNothing) {
  const ReportAnswer answer =
      expect(collectives(OperationKind::kBcast, 12, kMi, 2), {"algorithm", "split_binary_tree", 0.6, 0.8});
  EXPECT_EQ(answer.answer.find("p.rec: host with split_binary_tree"), 0U) << answer.answer;
  EXPECT_NE(answer.why.find(" KiB segments: "), std::string::npos) << answer.why;
  EXPECT_TRUE(answer.holds);
  EXPECT_THAT(answer.sure, testing::MatchesRegex(
                               "it holds: [0-9]+ to [0-9]+ % shorter .pairs within x[0-9.]+, n [0-9]+."));
  EXPECT_EQ(answer.but.find("dpu "), 0U) << answer.but;
  EXPECT_NE(answer.next.find("--tuning"), std::string::npos) << answer.next;
}

TEST_F(AnAnswer, NamesHardwareThatHidesCommunication) {
  const ReportAnswer answer =
      expect(overlap(OperationKind::kAllgather, 4, kMi, 4, 3'000'000), {"hardware", "dpu", 0.02, 0.3});
  EXPECT_NE(answer.why.find("is hidden (host: "), std::string::npos) << answer_text(answer);
}

TEST_F(AnAnswer, OfOneRankHasNoRange) {
  const Tapes alone = imbalance(1, 10, false, 20'000, 20'000);
  Advisor advisor(configuration_, registry_, test::source_of(alone), options_);
  advisor.rank_backends();
  advisor.weigh();
  const ReportAnswer answer = answer_of(advisor, {"p.rec", {}});
  EXPECT_EQ(answer.answer, "p.rec: one rank does not communicate; no hardware changes it");
  EXPECT_EQ(answer.sure, "");
  EXPECT_TRUE(answer.bars.empty());
}

TEST_F(AnAnswer, CallsFilesFilesAndNotWaiting) {
  const Tapes files = program(4, 10, [](test::Tape& tape, int, int) {
    tape.compute(100'000);
    tape.lasts(500'000).native();
    tape.add(tape.collective(operation_of(OperationKind::kAllreduce, 4, 8)));
  });
  const ReportAnswer answer = expect(files, {"nothing", "", -100, 100});
  EXPECT_NE(answer.answer.find("; 83 % is calls without a model"), std::string::npos) << answer.answer;
}

TEST_F(AnAnswer, NamesTheGainAgainstTheSideOfItsRange) {
  std::size_t found = 0;
  for (const std::size_t bytes : {kMi / 64, kMi / 16, kMi / 4, kMi}) {
    const Tapes many = overlap(OperationKind::kAllreduce, 4, bytes, 10, 100'000);
    Advisor advisor(configuration_, registry_, test::source_of(many), options_);
    advisor.rank_backends();
    advisor.weigh();
    const Weighing& all = advisor.weighing();
    if (all.kind != AnswerKind::kHardware || all.than.empty()) continue;
    const ReportAnswer answer = answer_of(advisor, {"p.rec", {}});
    expect_shape(answer);
    const std::string gain =
        fmt::format("; {} against {}", share_text(1 - ratio_of(answer.end, all.reference)), all.than);
    EXPECT_NE(answer.answer.find(gain), std::string::npos) << answer.answer;
    ++found;
  }
  EXPECT_GT(found, 0U);
}

TEST_F(AnAnswer, NamesTheHostThatMakesProgressBesideHardware) {
  const ReportAnswer answer =
      expect(overlap(OperationKind::kAllreduce, 8, kMi, 4, 2'000'000), {"hardware", "", 0.02, 0.5});
  EXPECT_NE(answer.but.find("asynchronous progress by a plain NIC"), std::string::npos) << answer.but;
  EXPECT_NE(answer.answer.find("; a self-progressing NIC is "), std::string::npos) << answer.answer;
}

TEST_F(AnAnswer, NamesTheThreadThatMakesProgressWhereNoAlgorithmCan) {
  // A handshake of 0.7 ms waits for computing of 0.3 ms. The thread takes as much again of the processor.
  const Tapes exchange = program(4, 4, [](test::Tape& tape, int rank, int) {
    const auto in = tape.irecv((rank + 3) % 4, 8 * kMi);
    const auto out = tape.isend((rank + 1) % 4, 8 * kMi);
    tape.compute(300'000);
    tape.wait({in, out});
  });
  const ReportAnswer answer = expect(exchange, {"algorithm", "progress = thread", 0.2, 0.32});
  EXPECT_EQ(answer.answer.find("p.rec: perhaps host with progress = thread, run "), 0U) << answer.answer;
  EXPECT_NE(answer.next.find("--set host.progress=thread"), std::string::npos) << answer.next;
  EXPECT_NE(answer.why.find("progress during computing, at the cost of core time"), std::string::npos)
      << answer.why;
  const auto thread = std::find_if(answer.bars.begin(), answer.bars.end(),
                                   [](const ReportAnswerBar& bar) { return bar.name == "host thread"; });
  ASSERT_NE(thread, answer.bars.end());
  EXPECT_EQ(thread->end, answer.end);
}

TEST_F(AnAnswer, ReportsTheEffectOfTheNodesMemory) {
  use({"dpu"});
  configuration_.machine.ranks_per_node = 8;
  const Tapes tapes = shift(16, 1, kMi, 2);
  const ReportAnswer open = expect(tapes, {"", ""});
  EXPECT_NE(open.but.find(" by the range of the nodes' memory"), std::string::npos) << open.but;
  configuration_.sections["host"]["memory_bandwidth"] = {"300", RawValue::Type::kNumber, "test"};
  const ReportAnswer known = expect(tapes, {"", ""});
  EXPECT_EQ(known.but.find("the range of the nodes' memory"), std::string::npos)
      << "the user set it: " << known.but;
}

TEST_F(AnAnswer, GivesNoRatioToHardwareThatCarriesLittle) {
  // The one reduction is a small part of the host's time, even though zrlmpi takes very long for it.
  use({"zrlmpi"});
  const Operation exchange = operation_of(OperationKind::kAlltoall, 8, 64 * 1024);
  const Operation sum = operation_of(OperationKind::kReduce, 8, 4096);
  const Tapes tapes = program(8, 1, [&](test::Tape& tape, int, int) {
    for (int i = 0; i < 4; ++i) tape.add(tape.collective(exchange));
    tape.add(tape.collective(sum));
  });
  const ReportAnswer answer = expect(tapes, {"baseline", "", 0, 0});
  EXPECT_NE(answer.answer.find("no hardware carries it"), std::string::npos) << answer.answer;
  EXPECT_EQ(answer.bars.back().end, Time());
  EXPECT_NE(answer.bars.back().note.find("of the host's communication"), std::string::npos);
}

TEST_F(AnAnswer, StaysWithTheHostWhereItIsFasterByFar) {
  const ReportAnswer answer = expect(shift(8, 1, 8, 10), {"baseline", "", -100, -0.5});
  EXPECT_EQ(answer.answer.find("p.rec: stay with host"), 0U) << answer.answer;
}

TEST_F(AnAnswer, IsNotSureOfHardwareWithoutFiguresOfOtherMachines) {
  use({"zrlmpi"});
  const ReportAnswer answer = expect(shift(4, 1, 64, 4), {"baseline", "zrlmpi", -100, 0});
  EXPECT_FALSE(answer.holds);
  EXPECT_EQ(answer.sure, "not known: too few figures of zrlmpi on machines that it is not fitted to");
}

TEST_F(AnAnswer, IsNotSureWhereAParameterThatWasNeverMeasuredTurnsIt) {
  // message_import is 0, since no figure is published: only a host whose messages cost that much is slower.
  use({"dpu"});
  configuration_.sections["host"]["overhead"] = {"5000", RawValue::Type::kNumber, "test"};
  const ReportAnswer answer = expect(shift(8, 1, 256 * 1024, 4), {"hardware", "dpu", 0.05, 0.9});
  SCOPED_TRACE(answer_text(answer));
  EXPECT_FALSE(answer.holds);
  EXPECT_EQ(answer.but, "dpu.message_import is assumed to be 0; 30968 ns would change it");
}

TEST_F(AnAnswer, NamesNoHardwareWhereAllSidesFillTheSameSwitch) {
  // Four nodes share an uplink with the rate of one node, and all send through it.
  configuration_.network.topology = "fat-tree:4:4";
  const ReportAnswer answer = expect(shift(16, 4, kMi, 1), {"", "", -100, 0.01});
  EXPECT_NE(answer.kind, "hardware");
}

}  // namespace
}  // namespace offramp
