// The parts of scaling: expressions, layouts, folding.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "lib/programs/export/writers.hpp"
#include "lib/programs/recording/reader.hpp"
#include "lib/programs/scale/matching.hpp"
#include "lib/programs/scale/members.hpp"
#include "tests/recording/recorded.hpp"
#include "tests/scale/written.hpp"

namespace offramp::scale {
namespace {

Sample at_ranks_value(std::int64_t ranks, std::int64_t value) {
  Sample sample;
  sample.place.ranks = sample.place.size = ranks;
  sample.place.sides = *Layout{2}.sides(ranks);
  sample.value = value;
  return sample;
}

std::int64_t foretold(const std::vector<std::pair<std::int64_t, std::int64_t>>& known, std::int64_t ranks) {
  std::vector<Sample> samples;
  for (const auto& [count, value] : known) samples.push_back(at_ranks_value(count, value));
  const auto found = fit_number(samples);
  if (!found) return -1;
  return found->value(at_ranks_value(ranks, 0).place).value_or(-2);
}

TEST(Expressions, PowersOfTheNumberOfRanksAreFound) {
  EXPECT_EQ(foretold({{2, 7}, {4, 7}, {8, 7}}, 64), 7);
  EXPECT_EQ(foretold({{2, 600}, {4, 300}, {8, 150}}, 12), 100);
  EXPECT_EQ(foretold({{2, 4}, {4, 16}, {8, 64}}, 16), 256);
  EXPECT_EQ(foretold({{4, 30}, {9, 20}, {16, 15}}, 36), 10);    // 60 / sqrt
  EXPECT_EQ(foretold({{8, 30}, {27, 20}, {64, 15}}, 216), 10);  // 60 / cbrt
  EXPECT_EQ(foretold({{2, 1}, {4, 2}, {8, 3}}, 1024), 10);
  EXPECT_EQ(foretold({{4, 3}, {6, 5}, {8, 7}}, 100), 99);
}

TEST(Expressions, OneRankHasALogarithmOfZero) {
  EXPECT_EQ(foretold({{1, 0}, {2, 1}, {4, 2}}, 1024), 10);
  EXPECT_EQ(foretold({{1, 1}, {2, 3}, {4, 5}}, 1024), 21);
}

TEST(Expressions, NeedMoreValuesThanUnknowns) {
  // 30 - 40 / ranks fits all three; a fourth value must confirm it.
  EXPECT_EQ(foretold({{2, 10}, {4, 20}, {8, 25}}, 20), -1);
  EXPECT_EQ(foretold({{2, 10}, {4, 20}, {8, 25}, {10, 26}}, 20), 28);
  // Here a single number is open.
  EXPECT_EQ(foretold({{2, 7}, {4, 21}, {8, 49}}, 16), 105);
  EXPECT_EQ(foretold({{2, 400}, {4, 600}, {8, 700}}, 16), 750);
  // Half the ranks, or their logarithm; the root of their number, or its logarithm.
  EXPECT_EQ(foretold({{2, 1}, {4, 2}}, 64), -1);
  EXPECT_EQ(foretold({{4, 2}, {16, 4}}, 64), -1);
  EXPECT_EQ(foretold({{4, 3}, {6, 5}}, 64), 63);
}

Sample at_rank_value(std::int64_t ranks, std::int64_t rank, std::int64_t value) {
  Sample sample = at_ranks_value(ranks, value);
  sample.place.rank = sample.place.own = rank;
  return sample;
}

TEST(Expressions, RanksBehindARankTakeSeveralRanksToBeKnown) {
  const std::vector<Sample> both = {at_rank_value(4, 1, 12), at_rank_value(4, 2, 11),
                                    at_rank_value(8, 3, 14)};
  const auto found = fit_number(both);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text(), "size - 1 - rank + 10");
  EXPECT_EQ(found->value(at_rank_value(32, 7, 0).place), 34);
  // With samples of one rank, the number of ranks plus a constant also fits two values.
  EXPECT_FALSE(fit_number(std::vector<Sample>{at_rank_value(4, 0, 13), at_rank_value(8, 0, 17)}));
}

TEST(Expressions, OtherRanksInTurnMayBeginFurtherOn) {
  std::vector<Sample> samples;
  for (const std::int64_t ranks : {4, 6}) {
    for (std::int64_t turn = 0; turn < ranks - 2; ++turn) {
      samples.push_back(at_rank_value(ranks, 2, turn + 1 < 2 ? turn + 1 : turn + 2));
      samples.back().place.turn = turn;
      samples.back().place.turns = ranks - 2;
    }
  }
  const auto found = fit_rank(samples, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text(), "all other ranks in turn, 1 further");
  // One peer for each rank does not decide it.
  EXPECT_FALSE(fit_rank(
      std::vector<Sample>{at_rank_value(4, 2, 1), at_rank_value(6, 3, 1), at_rank_value(8, 1, 2)}, 1));
}

TEST(Expressions, DoNotOverflow) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(foretold({{2, kMost}, {4, -kMost}, {8, 3}}, 16), -1);
  EXPECT_EQ(foretold({{2, kMost / 4}, {4, kMost / 8}, {8, 3}}, 16), -1);
  Expression large;
  large.measure = Measure::kRanks;
  large.a = 1;
  large.c = kMost;
  EXPECT_FALSE(large.value(at_ranks_value(4, 0).place));
}

TEST(Expressions, SharesAreRoundedAsTheProgramDoes) {
  EXPECT_EQ(foretold({{3, 333}, {7, 142}, {9, 111}, {11, 90}, {13, 76}}, 17), 58);
  EXPECT_EQ(foretold({{3, 8 * 334}, {7, 8 * 143}, {9, 8 * 112}, {13, 8 * 77}}, 17), 8 * 59);
}

TEST(Expressions, FacesAreRoundedInEachDirection) {
  std::vector<Sample> samples;
  for (const Sides& sides :
       {Sides{2, 2, 1}, Sides{2, 2, 2}, Sides{3, 2, 2}, Sides{3, 3, 2}, Sides{4, 2, 2}}) {
    Sample sample;
    sample.place.sides = sides;
    sample.place.ranks = sides[0] * sides[1] * sides[2];
    sample.value = 4 * (64 / sides[0]) * (64 / sides[1]);
    samples.push_back(sample);
  }
  const auto found = fit_number(samples);
  ASSERT_TRUE(found);
  EvaluationPoint place;
  place.sides = {5, 3, 7};
  EXPECT_EQ(found->value(place), 4 * 12 * 21);
}

TEST(Expressions, DoNotFitIrregularValues) {
  EXPECT_EQ(foretold({{2, 17}, {4, 3}, {8, 29}}, 16), -1);
  EXPECT_EQ(foretold({{2, 1}, {4, 2}, {8, 3}}, 12), -2);  // no power of two
}

TEST(Layouts, SidesAreThoseOfMpiDimsCreate) {
  const auto sides = [](int dimensions, std::int64_t ranks) { return *Layout{dimensions}.sides(ranks); };
  EXPECT_EQ(sides(2, 8), (Sides{4, 2, 1}));
  EXPECT_EQ(sides(2, 24), (Sides{6, 4, 1}));
  EXPECT_EQ(sides(3, 16), (Sides{4, 2, 2}));
  EXPECT_EQ(sides(3, 60), (Sides{5, 4, 3}));
  EXPECT_EQ(sides(2, 7), (Sides{7, 1, 1}));
}

TEST(Layouts, RowsAndColumnsAreAsManyAsDivideAllNumbersOfRanks) {
  std::set<std::int64_t> fixed;
  for (const Layout& layout : layouts(12)) fixed.insert(layout.fixed);
  EXPECT_EQ(fixed, (std::set<std::int64_t>{0, 2, 3, 4, 6, 12}));
}

TEST(Layouts, CoordinatesAndRanksAreInverse) {
  const Sides sides = {4, 3, 2};
  for (std::int64_t rank = 0; rank < 24; ++rank) EXPECT_EQ(rank_at(sides, coordinates(sides, rank)), rank);
}

Body loop_in_loop(int outer, int inner) {
  return [=](Tape& tape, int, int) {
    for (int i = 0; i < outer; ++i) {
      for (int k = 0; k < inner; ++k) tape.send(0, static_cast<std::uint64_t>(k));
      tape.receive(0, static_cast<std::uint64_t>(i));
    }
  };
}

TEST(Folding, LoopsInLoopsBecomeOneNodeAndKeepTheirValues) {
  Pool pool;
  const auto folded = fold("", written(loop_in_loop(7, 5), 1), pool);
  ASSERT_TRUE(folded) << folded.error();
  const std::vector<Node>& body = folded->each[0].body;
  ASSERT_EQ(body.size(), 1U);
  EXPECT_EQ(body[0].count, 7U);
  ASSERT_EQ(body[0].body.size(), 2U);
  EXPECT_EQ(body[0].body[0].count, 5U);
  const Node& sends = body[0].body[0].body.at(0);
  EXPECT_EQ((*sends.series)[static_cast<std::size_t>(Field::kBytes)].runs().size(), 35U);
  EXPECT_EQ((*sends.series)[static_cast<std::size_t>(Field::kPeer)].runs().size(), 1U);
  EXPECT_EQ(folded->each[0].events, 42U);
}

TEST(Matching, LoopsTakeAnyNumberOfTurns) {
  Pool pool;
  const auto many = fold("", written(loop_in_loop(7, 5), 1), pool);
  for (const auto& [outer, inner] : {std::pair(3, 4), std::pair(1, 4), std::pair(3, 1), std::pair(1, 1)}) {
    const auto few = fold("", written(loop_in_loop(outer, inner), 1), pool);
    const auto matched = match(many->each[0].body, few->each[0].body);
    ASSERT_TRUE(matched) << outer << " " << inner;
    EXPECT_EQ(matched->turns, (std::vector<std::int64_t>{outer, inner}));
  }
  const auto other = fold("", written([](Tape& tape, int, int) { tape.receive(0, 1); }, 1), pool);
  const auto matched = match(many->each[0].body, other->each[0].body);
  ASSERT_TRUE(matched);
  EXPECT_EQ(matched->turns, (std::vector<std::int64_t>{1, 0}));
  const auto strange = fold("", written([](Tape& tape, int, int) { tape.native(); }, 1), pool);
  EXPECT_FALSE(match(many->each[0].body, strange->each[0].body));
}

TEST(Members, SlicesBlocksAndStridesKnowTheirRanks) {
  EvaluationPoint place;
  place.ranks = 24;
  place.rank = 17;
  place.sides = {4, 3, 2};
  place.at = coordinates(place.sides, place.rank);
  Members members;
  members.kind = Members::Selection::kSlice;
  members.free = 0b101;  // planes of the first and the last dimension
  const auto group = members.at(place);
  ASSERT_TRUE(group);
  EXPECT_EQ(group->size, 8);
  EXPECT_EQ(group->member(group->own), 17);
  members.kind = Members::Selection::kBlocks;
  members.step = constant(5);
  EXPECT_EQ(members.at(place)->first, 15);
  EXPECT_EQ(members.at(place)->own, 2);
  place.rank = 22;
  EXPECT_EQ(members.at(place)->size, 4);  // the last block is shorter
}

TEST(RecordingWriter, EachEventStaysThatOfItsThread) {
  const recording::Folder folder;
  const Body body = [](Tape& tape, int, int) {
    tape.of_thread(1).compute(4096).send(0, 1);
    tape.of_thread(0).compute(8192).send(0, 2);
    tape.of_thread(1).send(0, 3);
  };
  EXPECT_EQ(trace::write_recording(written(body, 1), folder.file("threads.rec")).error(), "");
  const auto again = trace::open_program(folder.file("threads.rec"));
  ASSERT_TRUE(again) << again.error();
  const auto reader = again->read(0);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
  for (recording::Event event; reader->next(event);)
    found.emplace_back(reader->thread(), reader->times().computing);
  EXPECT_EQ(found, (std::vector<std::pair<std::uint32_t, std::uint64_t>>{{1, 4096}, {0, 8192}, {1, 0}}));
}

TEST(RecordingWriter, WritesReadableRecordings) {
  const recording::Folder folder;
  const Body body = [](Tape& tape, int rank, int ranks) {
    tape.compute(5000);
    tape.receive(-1, 8, 3);
    tape.took((rank + 1) % ranks, 3);
    tape.wait({tape.irecv(0, 4), tape.irecv(0, 4)});
    tape.phase(1, "name");
  };
  trace::Program program = written(body, 3);
  program.description.facts = {{"program", "p"}};
  EXPECT_EQ(trace::write_recording(program, folder.file("with.rec")).error(), "");
  const auto again = trace::open_program(folder.file("with.rec"));
  ASSERT_TRUE(again) << again.error();
  EXPECT_TRUE(again->has_arrival);
  const auto role = [](int) { return std::string(); };
  EXPECT_EQ((*compare(*again, program.read, role)).first_difference, "");
  const auto reader = again->read(1);
  recording::Event event;
  ASSERT_TRUE(reader->next(event));
  EXPECT_EQ(reader->times().computing, 4992U);  // eight significant bits
  EXPECT_EQ(reader->match()->source, 2);

  program.has_arrival = false;
  EXPECT_EQ(trace::write_recording(program, folder.file("without.rec")).error(), "");
  const auto without = trace::open_program(folder.file("without.rec"));
  ASSERT_TRUE(without) << without.error();
  EXPECT_FALSE(without->has_arrival);
  EXPECT_FALSE(without->read(1)->match());
}

}  // namespace
}  // namespace offramp::scale
