// Advice about programs agrees with replays.
#include "lib/answers/advice/advice.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/answers/advice/answer_of.hpp"
#include "lib/answers/advice/computing_noise.hpp"
#include "lib/answers/advice/held_out.hpp"
#include "lib/answers/advice/rank_curve.hpp"
#include "lib/answers/advice/tuned_rules.hpp"
#include "lib/answers/replay/forecast.hpp"
#include "lib/base/format.hpp"
#include "offramp/kernel/random.hpp"
#include "tests/replay/tape.hpp"

namespace offramp {
namespace {

using testing::HasSubstr;

/// A sum of one number.
Operation sum_over(int ranks) {
  Operation sum;
  sum.kind = OperationKind::kAllreduce;
  sum.element = ElementType::kFloat64;
  sum.function = ReduceFunction::kSum;
  sum.bytes = 8;
  sum.elements = 1;
  sum.ranks = ranks;
  return sum;
}

/// Steps of a solver: halos around a ring, a small sum over all, and computing in between.
std::vector<test::Tape> solver(int ranks) {
  constexpr int kSteps = 10;
  const Operation sum = sum_over(ranks);
  std::vector<test::Tape> tapes(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    test::Tape& tape = tapes[static_cast<std::size_t>(rank)];
    for (int step = 0; step < kSteps; ++step) {
      const auto in = tape.irecv((rank + ranks - 1) % ranks, 4096);
      const auto out = tape.isend((rank + 1) % ranks, 4096);
      tape.wait({in, out});
      tape.compute(50'000);
      tape.add(tape.collective(sum));
    }
  }
  return tapes;
}

class Advised : public testing::Test {
 protected:
  explicit Advised(int ranks = 8) : tapes_(solver(ranks)) {
    for (const BackendDescription* backend : registry_.all()) options_.backends.push_back(backend);
  }
  [[nodiscard]] Time end(const Configuration& configuration, const std::string& backend) const {
    const auto setting = world_setting(configuration, registry_, *registry_.find(backend), source_.ranks);
    auto result = replay(*setting, source_, with_computing());
    EXPECT_TRUE(result) << backend << ": " << result.error();
    return result->modelled_time;
  }

  static ReplayOptions with_computing() {
    ReplayOptions options;
    options.compute.kind = Compute::Mode::kMeasured;
    return options;
  }

  Registry registry_{built_in_backends()};
  Configuration configuration_;
  std::vector<test::Tape> tapes_;
  ReplaySource source_ = test::source_of(tapes_);
  Advisor::Options options_;
};

TEST_F(Advised, RanksHardwareByReplayedTime) {
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  ASSERT_EQ(advisor.candidates().size(), registry_.all().size());
  for (const Candidate& one : advisor.candidates())
    EXPECT_EQ(one.end(), end(configuration_, one.backend)) << one.backend;
  const auto counting = std::count_if(advisor.candidates().begin(), advisor.candidates().end(),
                                      [](const Candidate& one) { return one.counts(); });
  for (long i = 1; i < counting; ++i)
    EXPECT_LE(advisor.candidates()[static_cast<std::size_t>(i - 1)].end(),
              advisor.candidates()[static_cast<std::size_t>(i)].end());
  ASSERT_NE(advisor.baseline(), nullptr);
  ASSERT_NE(advisor.best_hardware(), nullptr);
}

TEST(AnInfluence, ChangesTheAnswerOnlyIfTheHardwarePaysOnOneSide) {
  Influence one;
  one.at_half = 1.008;
  one.at_twice = 0.99997;
  EXPECT_FALSE(one.turns_round(1.008));
  one.at_twice = 0.95;
  EXPECT_TRUE(one.turns_round(1.008));
  one.at_half = 0.957;
  one.at_twice = 1;
  EXPECT_TRUE(one.turns_round(0.957));
}

TEST(ABreakEven, OfNumbersWithoutADimensionHasNoUnit) {
  const BreakEven threshold{"sharp.least_ranks", 2, 3, "1", "assumed: 2", true, true, true};
  EXPECT_EQ(threshold.text(), "sharp pays while sharp.least_ranks is below 3 (now 2, assumed)");
}

TEST_F(Advised, InfluencesAreThoseOfReplaysWithOtherValues) {
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  advisor.find_influences();
  ASSERT_FALSE(advisor.influences().empty());
  EXPECT_LE(advisor.influences().size(), 5U);
  const Candidate& best = *advisor.best_hardware();
  const double now = best.fair().end().seconds() / advisor.baseline()->end().seconds();
  for (std::size_t i = 1; i < advisor.influences().size(); ++i) {
    const Influence& before = advisor.influences()[i - 1];
    const Influence& after = advisor.influences()[i];
    EXPECT_GE(std::tuple(before.turns_round(now), before.span(now)),
              std::tuple(after.turns_round(now), after.span(now)));
  }
  for (const Influence& one : advisor.influences()) {
    const std::string backend = one.key.substr(0, one.key.find('.'));
    const std::string name = one.key.substr(backend.size() + 1);
    const double value = 2 * std::stod(one.value);
    WorldSetting setting = *world_setting(configuration_, registry_, *best.description, source_.ranks);
    WorldSetting host = *world_setting(configuration_, registry_, *registry_.find("host"), source_.ranks);
    (backend == "host" ? *setting.host_settings : setting.settings).set(name, {value, {}});
    if (backend == "host") host.settings.set(name, {value, {}});
    const double ratio = replay(setting, source_, with_computing())->modelled_time.seconds() /
                         replay(host, source_, with_computing())->modelled_time.seconds();
    EXPECT_NEAR(one.at_twice, ratio, 0.02 * ratio) << one.key;
  }
}

TEST_F(Advised, ABreakEvenIsWhereReplaysGiveTheOtherAnswer) {
  // Allreduces of no computing: sharp pays, and what its parameters cost decides.
  tapes_.assign(8, {});
  for (test::Tape& tape : tapes_) {
    for (int step = 0; step < 5; ++step) tape.add(tape.collective(sum_over(8)));
  }
  options_.backends = {registry_.find("host"), registry_.find("sharp")};
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  advisor.weigh();
  advisor.find_influences();
  advisor.find_break_even();
  ASSERT_FALSE(advisor.break_evens().empty());
  const WorldSetting host = *world_setting(configuration_, registry_, registry_.baseline(), source_.ranks);
  const double base = replay(host, source_)->modelled_time.seconds();
  for (const BreakEven& one : advisor.break_evens()) {
    if (!one.is_reached) continue;
    const auto pays_at = [&](double value) {
      WorldSetting setting =
          *world_setting(configuration_, registry_, *registry_.find("sharp"), source_.ranks);
      setting.settings.set(one.key.substr(one.key.find('.') + 1), {value, {}});
      return replay(setting, source_)->modelled_time.seconds() < (1 - kWorthwhile) * base;
    };
    constexpr double kNear = 1.05;
    EXPECT_EQ(pays_at(one.at / kNear), one.is_ahead == one.rises) << one.text();
    EXPECT_EQ(pays_at(one.at * kNear), one.is_ahead != one.rises) << one.text();
    EXPECT_THAT(one.text(), HasSubstr(one.rises ? " is below " : " is above "));
  }
}

TEST_F(Advised, TheTestThatDecidesAgreesWithTheAnswer) {
  for (const bool pays : {true, false}) {
    tapes_.assign(8, {});
    for (test::Tape& tape : tapes_) {
      for (int step = 0; step < 5; ++step) {
        tape.compute(pays ? 1'000 : 5'000'000);
        tape.add(tape.collective(sum_over(8)));
      }
    }
    options_.backends = {registry_.find("host"), registry_.find("sharp")};
    Advisor advisor(configuration_, registry_, source_, options_);
    advisor.rank_backends();
    advisor.weigh();
    advisor.find_decisive_test();
    ASSERT_TRUE(advisor.decisive_test());
    const DecisiveTest& test = *advisor.decisive_test();
    EXPECT_EQ(test.kind, OperationKind::kAllreduce);
    EXPECT_EQ(test.pays_above < test.modelled, pays) << test.text();
    // Five calls that are as much longer make up what is missing.
    const double longer =
        advisor.baseline()->end().seconds() + 5 * (test.pays_above.seconds() - test.modelled.seconds());
    EXPECT_NEAR(advisor.best_hardware()->end().seconds() / longer, 1 - kWorthwhile, 1e-6);
  }
}

TEST_F(Advised, FreeChangesAreReplaysOfTheHostWithThem) {
  configuration_.sections["host"]["eager_limit"] = {"1024", RawValue::Type::kNumber, "test"};
  options_.backends = {registry_.find("host"), registry_.find("sharp")};
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  advisor.weigh();
  advisor.find_free_changes();
  const auto limit = std::ranges::find_if(advisor.free_changes(), [](const ReportFreeChange& one) {
    return one.name.starts_with("eager messages of up to ");
  });
  ASSERT_NE(limit, advisor.free_changes().end());
  const std::string value = limit->name.substr(std::string("eager messages of up to ").size());
  Configuration changed = configuration_;
  changed.sections["host"]["eager_limit"] = {value.substr(0, value.find(' ')), RawValue::Type::kNumber,
                                             "test"};
  EXPECT_EQ(limit->end, end(changed, "host"));
  EXPECT_LT(limit->end.seconds(), (1 - kWorthwhile) * advisor.baseline()->end().seconds());
  if (advisor.free_changes().size() > 1) {
    EXPECT_EQ(advisor.free_changes().back().name, "all of these together");
  }
}

TEST_F(Advised, LimitsInProductionAreWhatTheModelDeclines) {
  Operation sum;
  sum.kind = OperationKind::kAllreduce;
  sum.element = ElementType::kInt32;
  sum.function = ReduceFunction::kSum;
  sum.bytes = 64;
  sum.elements = 16;
  sum.ranks = 8;
  std::vector<test::Tape> tapes(8);
  for (test::Tape& tape : tapes) tape.add(tape.collective(sum));
  const auto limits = [&](const char* backend) {
    options_.backends = {registry_.find("host"), registry_.find(backend)};
    Advisor advisor(configuration_, registry_, test::source_of(tapes), options_);
    advisor.rank_backends();
    advisor.find_production_limits();
    EXPECT_EQ(advisor.best_hardware() == nullptr, advisor.production_limits().empty()) << backend;
    return fmt::format("{}", fmt::join(advisor.production_limits(), "\n"));
  };
  const std::string quantum = limits("sharp");
  EXPECT_THAT(quantum, HasSubstr("types: no allreduce with sum of float_extended, complex"));
  EXPECT_THAT(quantum, HasSubstr("functions: no allreduce of int32 with prod, functions of the program"));
  EXPECT_THAT(quantum, HasSubstr("sharp.job_share = 20 %: "));
  EXPECT_THAT(quantum, HasSubstr("sharp.reproducible = false: "));
  EXPECT_THAT(quantum, HasSubstr("changes with the nodes of the ranks"));
  configuration_.sections["sharp"]["preset"] = {"switch_ib2", RawValue::Type::kText, "test"};
  const std::string older = limits("sharp");
  EXPECT_THAT(older, HasSubstr("types: no allreduce with sum of int8, int16, uint8, uint16, float_extended"));
  EXPECT_THAT(older, HasSubstr("sizes: it carries allreduce to 4 KiB"));
  EXPECT_THAT(limits("dpu"), HasSubstr("does not depend on the nodes of the ranks"));
}

TEST(InProduction, EveryNameIsAParameter) {
  const Registry registry{built_in_backends()};
  std::size_t names = 0;
  for (const BackendDescription* backend : registry.all()) {
    names += backend->in_production.size();
    for (const std::string_view name : backend->in_production)
      EXPECT_NE(find_parameter(backend->parameters, name), nullptr) << backend->name << "." << name;
  }
  EXPECT_GT(names, registry.all().size());
}

TEST_F(Advised, AlgorithmsAreFasterThanTheChosenOnes) {
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  advisor.weigh();
  advisor.find_algorithms();
  const WorldSetting host = *world_setting(configuration_, registry_, *registry_.find("host"), source_.ranks);
  for (const AlgorithmChoice& choice : advisor.algorithms()) {
    EXPECT_LT(choice.fastest, choice.usual);
    EXPECT_FALSE(choice.best.empty());
    EXPECT_EQ(choice.ranks, source_.ranks);
  }
  ASSERT_TRUE(advisor.weighing().sides.tuned);
  EXPECT_LE(*advisor.weighing().sides.tuned, advisor.baseline()->end());
  EXPECT_TRUE(advisor.knows_algorithms());
}

TEST_F(Advised, AThreadThatMakesProgressIsTriedAsAReplayHasIt) {
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  advisor.weigh();
  configuration_.sections["host"]["progress"] = {"thread", RawValue::Type::kText, "test"};
  ASSERT_TRUE(advisor.weighing().sides.threaded);
  EXPECT_EQ(*advisor.weighing().sides.threaded, end(configuration_, "host"));
  Advisor own(configuration_, registry_, source_, options_);
  own.rank_backends();
  own.weigh();
  EXPECT_FALSE(own.weighing().sides.threaded) << "the baseline has one";
  std::vector<test::Tape> still = tapes_;
  for (test::Tape& tape : still) {
    for (test::Tape::Entry& entry : tape.entries) entry.beside.times.computing = 0;
  }
  Advisor without({}, registry_, test::source_of(still), options_);
  without.rank_backends();
  without.weigh();
  EXPECT_FALSE(without.weighing().sides.threaded) << "nothing is computed beside";
}

TEST_F(Advised, TheMemoryOfItsNodesGivesARange) {
  const auto weighed = [&] {
    Advisor advisor(configuration_, registry_, source_, options_);
    advisor.rank_backends();
    advisor.weigh();
    const Weighing& weighing = advisor.weighing();
    return std::pair(weighing, ratio_of(weighing.hardware->fair().end(), weighing.sides.baseline));
  };
  EXPECT_FALSE(weighed().first.memory) << "no rank shares a node";
  configuration_.machine.ranks_per_node = 4;
  const auto [shared, now] = weighed();
  ASSERT_TRUE(shared.memory);
  EXPECT_LT(shared.memory->low, shared.memory->high);
  EXPECT_LE(shared.memory->low, now);
  EXPECT_GE(shared.memory->high, now);
}

TEST_F(Advised, DeclinedOperationsHaveEqualErrorsOnBothSides) {
  // Switches carry the sums. The host carries the exchanges, over either side.
  const auto operation = [](OperationKind kind, std::size_t bytes) {
    Operation one;
    one.kind = kind;
    one.element = ElementType::kFloat64;
    one.function = ReduceFunction::kSum;
    one.bytes = bytes;
    one.elements = bytes / sizeof(double);
    one.ranks = 8;
    return one;
  };
  const auto spread_of = [&](int exchanges) {
    std::vector<test::Tape> tapes(8);
    for (test::Tape& tape : tapes) {
      const auto add = [&](OperationKind kind, std::size_t bytes, std::string name) {
        tape.add(tape.collective(operation(kind, bytes)));
        tape.as(std::move(name));
      };
      for (int i = 0; i < 10; ++i) add(OperationKind::kAllreduce, 8, "MPI_Allreduce");
      for (int i = 0; i < exchanges; ++i) add(OperationKind::kAlltoall, 1024, "MPI_Alltoall");
    }
    options_.backends = {registry_.find("host"), registry_.find("sharp")};
    Advisor advisor(configuration_, registry_, test::source_of(tapes), options_);
    advisor.rank_backends();
    advisor.weigh();
    const RatioRange range = advisor.weighing().range.value_or(RatioRange{1, 1});
    return range.high / range.low;
  };
  const double whole = spread_of(0);
  const double partly = spread_of(4);
  EXPECT_GT(whole, 3);
  EXPECT_GT(partly, 1.05);
  EXPECT_LT(partly, 0.75 * whole);
}

/// Replays of several thousand events look at the time, too.
TEST_F(Advised, KnowsThatItsLastReplayWasStopped) {
  const Operation sum = sum_over(2);
  std::vector<test::Tape> tapes(2);
  for (test::Tape& tape : tapes) {
    for (int i = 0; i < 10'000; ++i) tape.add(tape.collective(sum));
  }
  bool is_over = false;
  options_.backends = {registry_.find("host"), registry_.find("sharp")};
  options_.progress = [&is_over](const std::string& what) { return !what.empty() || !is_over; };
  Advisor advisor(configuration_, registry_, test::source_of(tapes), options_);
  advisor.rank_backends();
  advisor.weigh();
  ASSERT_FALSE(advisor.cut_short());
  is_over = true;
  advisor.find_mix();
  EXPECT_TRUE(advisor.cut_short());
  EXPECT_FALSE(advisor.knows_mix());
}

TEST_F(Advised, EndsWhenTimeIsUp) {
  options_.until = Advisor::Clock::now();
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  EXPECT_TRUE(advisor.candidates().empty());
  EXPECT_TRUE(advisor.cut_short());
  advisor.find_mix();
  advisor.find_algorithms();
  EXPECT_FALSE(advisor.knows_mix());
  EXPECT_FALSE(advisor.knows_algorithms());
  advisor.weigh();
  EXPECT_EQ(advisor.untried().size(), registry_.all().size());
  const ReportAnswer answer = answer_of(advisor, {"it", "it"});
  EXPECT_FALSE(answer.complete);
  EXPECT_THAT(answer.answer, HasSubstr("no comparison is possible"));
}

TEST_F(Advised, TriesTheCheapestFirstAndNamesUntriedBackends) {
  // The first turn of each backend but the host ends at once, which leaves time for three more.
  int turns = 0;
  std::vector<std::string> tried;
  options_.progress = [&](const std::string& what) {
    if (what.ends_with(": the program")) tried.push_back(what.substr(0, what.find(':')));
    turns += what.ends_with(": the program") ? 1 : 0;
    return turns <= 4;
  };
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  EXPECT_EQ(advisor.candidates().size(), 4U);
  EXPECT_EQ(advisor.untried().size(), registry_.all().size() - 4);
  EXPECT_EQ(tried.front(), baseline_name());
  const ReportAnswer answer = answer_of(advisor, {"it", "it"});
  EXPECT_FALSE(answer.complete);
  EXPECT_THAT(answer.answer,
              testing::StartsWith(fmt::format("best so far, 4 of {} tried: ", registry_.all().size())));
  EXPECT_EQ(answer.bars.back().note, "not tried (time limit)");
  EXPECT_THAT(answer_text(answer), HasSubstr("not tried (time limit)"));
}

TEST_F(Advised, CommunicationWithoutAModelIsNamedAndMayPreventAnAnswer) {
  Advisor plain(configuration_, registry_, source_, options_);
  plain.rank_backends();
  const double in_calls = plain.baseline()->run->in_calls.seconds() * 1e9 / 8;
  const auto answer = [&](double part, std::uint64_t bytes, std::uint16_t file_call = 0) {
    std::vector<test::Tape> tapes = solver(8);
    for (test::Tape& tape : tapes) {
      tape.lasts(static_cast<std::uint64_t>(part * in_calls));
      file_call == 0 ? tape.outside(bytes) : tape.native();
      tape.last().event.call = file_call;
    }
    Advisor advisor(configuration_, registry_, test::source_of(tapes), options_);
    advisor.rank_backends();
    advisor.weigh();
    return answer_of(advisor, {"it", "it"});
  };
  EXPECT_THAT(answer(0.005, 0).but, testing::Not(HasSubstr("not modelled")));
  const ReportAnswer named = answer(0.05, 0);
  EXPECT_THAT(named.but, HasSubstr("not modelled: MPI_Send, 4."));
  EXPECT_NE(named.kind, "unknown");
  const ReportAnswer unknown = answer(1, 1'000'000);
  EXPECT_EQ(unknown.kind, "unknown");
  EXPECT_THAT(unknown.but, HasSubstr("not modelled: MPI_Send, 7.6 MiB, 92 % of all bytes"));
  EXPECT_FALSE(unknown.holds);
  EXPECT_THAT(answer(0.001, 0).answer, testing::Not(HasSubstr("unknown")));
  EXPECT_THAT(answer(0.001, 1'000'000'000).answer, HasSubstr("of all bytes have no model"));
  EXPECT_NE(answer(1, 0, test::Tape::kFileCall).kind, "unknown") << "files are not communication";
}

/// Sums, which switches carry, and long messages beside computing, on which a DPU makes progress.
class AdvisedOverlap : public Advised {
 protected:
  AdvisedOverlap() : Advised(16) {
    const Operation sum = sum_over(16);
    tapes_.assign(16, {});
    for (int rank = 0; rank < 16; ++rank) {
      test::Tape& tape = tapes_[static_cast<std::size_t>(rank)];
      for (int step = 0; step < 4; ++step) {
        const auto in = tape.irecv((rank + 15) % 16, 1 << 20);
        const auto out = tape.isend((rank + 1) % 16, 1 << 20);
        tape.compute(150'000);
        tape.wait({in, out});
        for (int i = 0; i < 10; ++i) tape.add(tape.collective(sum));
      }
    }
    source_ = test::source_of(tapes_);
  }
};

TEST_F(AdvisedOverlap, AMixIsWhatAReplayWithItsRoutesTakesOnHardwareThatNodesHold) {
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  advisor.find_mix();
  ASSERT_TRUE(advisor.mix());
  for (const std::string& name : advisor.mix()->backends())
    EXPECT_TRUE(name != "aie" && name != "tinsel") << name << " stands beside the nodes";
  EXPECT_THAT(routes_toml(*advisor.mix()), HasSubstr("[[route]]"));
  EXPECT_LT(advisor.mix()->end, advisor.candidates().front().fair().end());
}

TEST(KindOf, AMixMustBeClearlyBetterThanEveryOtherSideAtTheSameLinkRate) {
  const auto kind = [](int mix, int hardware, std::optional<int> tuned = {}) {
    Sides sides;
    sides.baseline = Time::us(1000);
    sides.mix = Time::us(mix);
    sides.hardware = Time::us(hardware);
    sides.own_link = Time::us(500);
    if (tuned) sides.tuned = Time::us(*tuned);
    return kind_of(sides);
  };
  EXPECT_EQ(kind(960, 1100), AnswerKind::kMix);
  EXPECT_EQ(kind(980, 1100), AnswerKind::kLink) << "the gain is the faster link";
  EXPECT_EQ(kind(900, 920), AnswerKind::kHardware);
  EXPECT_EQ(kind(880, 920), AnswerKind::kMix);
  EXPECT_EQ(kind(880, 920, 890), AnswerKind::kAlgorithm);
}

TEST_F(AdvisedOverlap, AMixThatIsClearlyBestIsTheAnswer) {
  Advisor advisor(configuration_, registry_, source_, options_);
  advisor.rank_backends();
  advisor.weigh();
  EXPECT_NE(advisor.weighing().kind, AnswerKind::kMix);
  advisor.find_mix();
  ASSERT_TRUE(advisor.mix());
  EXPECT_EQ(advisor.weighing().kind, AnswerKind::kMix);
  const ReportAnswer answer = answer_of(advisor, {"it", "it"});
  EXPECT_EQ(answer.kind, "mix");
  EXPECT_EQ(answer.end, advisor.mix()->end);
  EXPECT_THAT(answer.why, HasSubstr(" alone is "));
  EXPECT_THAT(answer_text(answer), HasSubstr("next  offramp advise it --routes offramp.toml\n"));
  EXPECT_EQ(answer.bars.front().name, "mix");
}

TEST(OneRank, DoesNotCommunicate) {
  Registry registry(built_in_backends());
  std::vector<test::Tape> tapes(1);
  tapes[0].compute(50'000);
  Advisor::Options options;
  options.backends = {registry.find("host"), registry.find("sharp")};
  const Configuration configuration;
  Advisor advisor(configuration, registry, test::source_of(tapes), options);
  advisor.rank_backends();
  advisor.weigh();
  const ReportAnswer answer = answer_of(advisor, {"it", "it"});
  EXPECT_EQ(answer.kind, "nothing");
  EXPECT_THAT(answer.answer, HasSubstr("one rank does not communicate"));
}

AlgorithmChoice choice_of(OperationKind kind, int ranks, std::size_t bytes, const char* algorithm) {
  AlgorithmChoice choice;
  choice.kind = kind;
  choice.ranks = ranks;
  choice.bytes = bytes;
  choice.calls = 1;
  choice.usual = Time::us(2);
  choice.fastest = Time::us(1);
  choice.best = algorithm;
  return choice;
}

/// The algorithm that a selection tree of MPICH leads to. Walks it as MPICH does: down the first branch that
/// applies, without backtracking. Empty if there is none, in which case MPICH ends the program.
std::string mpich_choice(const nlohmann::ordered_json& node, const std::map<std::string, std::string>& facts,
                         const std::map<std::string, std::uint64_t>& numbers) {
  for (const auto& [question, next] : node.items()) {
    if (question.starts_with("algorithm=")) return question.substr(question.find('=') + 1);
    const std::size_t sign = question.find_first_of("<=");
    const std::string what = question.substr(0, sign);
    const std::string value = question.substr(question.find_first_not_of("<=", sign));
    const bool less = question[sign] == '<';
    bool holds = value == "any";
    if (const auto number = numbers.find(what); number != numbers.end() && !holds) {
      if (value == "pow2") {
        holds = less ? number->second < std::bit_floor(numbers.at("comm_size"))
                     : std::has_single_bit(number->second);
      } else {
        const std::uint64_t limit = std::stoull(value);
        holds = less && (question[sign + 1] == '=' ? number->second <= limit : number->second < limit);
      }
    } else if (const auto fact = facts.find(what); fact != facts.end() && !holds) {
      holds = fact->second == value;
    }
    if (holds) return mpich_choice(next, facts, numbers);
  }
  return {};
}

TEST(MpichRules, HoldForTheirSizesAndLeaveTheRestAsItIs) {
  const std::vector<AlgorithmChoice> choices = {
      choice_of(OperationKind::kBcast, 4, 8, "scatter_allgather_ring"),
      choice_of(OperationKind::kBcast, 4, 1024, "scatter_allgather_ring"),
      choice_of(OperationKind::kBcast, 12, 1 << 20, "binomial"),
      choice_of(OperationKind::kBcast, 16, 4096, "pipeline"),                // which MPICH lacks
      choice_of(OperationKind::kAllgather, 12, 1000, "recursive_doubling"),  // for powers of two only
      choice_of(OperationKind::kAllgather, 8, 1000, "ring"),
      choice_of(OperationKind::kAllreduce, 4, 4, "rabenseifner")};
  const std::string text = mpich_rules(choices);
  const auto tree = nlohmann::ordered_json::parse(text);
  const auto chosen = [&](const std::string& collective, std::uint64_t ranks, std::uint64_t bytes,
                          const std::string& built_in = "yes", std::uint64_t count = 1 << 20) {
    const bool total = collective == "allgather";
    return mpich_choice(tree.at("collective=" + collective),
                        {{"comm_type", "intra"},
                         {"is_op_built_in", built_in},
                         {"is_commutative", "yes"},
                         {"is_sendbuf_inplace", "no"}},
                        {{"comm_size", ranks},
                         {total ? "total_msg_size" : "avg_msg_size", total ? bytes * ranks : bytes},
                         {"count", count}});
  };
  EXPECT_EQ(chosen("bcast", 4, 7), "MPIR_Bcast_intra_binomial");
  for (const std::uint64_t bytes : {8U, 100U, 1024U})
    EXPECT_EQ(chosen("bcast", 4, bytes), "MPIR_Bcast_intra_scatter_ring_allgather") << bytes;
  EXPECT_EQ(chosen("bcast", 4, 1025), "MPIR_Bcast_intra_binomial");
  EXPECT_EQ(chosen("bcast", 3, 100), "MPIR_Bcast_intra_binomial");
  EXPECT_EQ(chosen("bcast", 5, 100), "MPIR_Bcast_intra_binomial");
  EXPECT_EQ(chosen("bcast", 12, 1 << 20), "MPIR_Bcast_intra_binomial");
  EXPECT_EQ(chosen("bcast", 12, (1 << 20) + 1), "MPIR_Bcast_intra_scatter_ring_allgather");
  EXPECT_EQ(chosen("bcast", 16, 4096), "MPIR_Bcast_intra_binomial");
  EXPECT_EQ(chosen("allgather", 12, 1000), "MPIR_Allgather_intra_brucks");
  EXPECT_EQ(chosen("allgather", 8, 1000), "MPIR_Allgather_intra_ring");
  EXPECT_EQ(chosen("allgather", 8, 999), "MPIR_Allgather_intra_recursive_doubling");
  EXPECT_EQ(chosen("allreduce", 4, 4), "MPIR_Allreduce_intra_reduce_scatter_allgather");
  EXPECT_EQ(chosen("allreduce", 4, 4, "yes", 1), "MPIR_Allreduce_intra_recursive_doubling")
      << "no element for each";
  EXPECT_EQ(chosen("allreduce", 4, 4, "no"), "MPIR_Allreduce_intra_recursive_doubling");
  EXPECT_EQ(chosen("allreduce", 8, 4), "MPIR_Allreduce_intra_recursive_doubling");
  for (const auto& [collective, node] : tree.items()) {
    for (const char* type : {"intra", "inter"}) {
      for (const char* no : {"yes", "no"})
        EXPECT_NE(
            mpich_choice(node,
                         {{"comm_type", type},
                          {"is_op_built_in", no},
                          {"is_commutative", no},
                          {"is_sendbuf_inplace", no},
                          {"is_block_regular", no},
                          {"is_node_consecutive", no},
                          {"comm_hierarchy", "flat"}},
                         {{"comm_size", 6}, {"avg_msg_size", 99}, {"total_msg_size", 600}, {"count", 9}}),
            "")
            << collective;
    }
  }
  EXPECT_EQ(tree.size(), 2U * 22U);
  EXPECT_EQ(mpich_rules({choice_of(OperationKind::kBcast, 16, 4096, "pipeline")}), "");
}

TEST(TunedRules, LeaveTheRestToTheFixedOnes) {
  const std::string rules = tuned_rules({choice_of(OperationKind::kAllreduce, 4, 8, "ring"),
                                         choice_of(OperationKind::kBcast, 16, 0, "binomial"),
                                         choice_of(OperationKind::kAllreduce, 4, 9, "rabenseifner"),
                                         choice_of(OperationKind::kBcast, 16, 4096, "han")});
  EXPECT_EQ(rules,
            "2  # collectives\n"
            "2  # allreduce\n2  # sizes of communicators\n4  # ranks\n"
            "4  # message sizes: from so many bytes on, algorithm, fan-out, segment\n"
            "0 0 0 0\n8 4 0 0\n9 6 0 0\n10 0 0 0\n"
            "5  # ranks\n1  # message sizes: from so many bytes on, algorithm, fan-out, segment\n0 0 0 0\n"
            "7  # bcast\n2  # sizes of communicators\n16  # ranks\n"
            "2  # message sizes: from so many bytes on, algorithm, fan-out, segment\n"
            "0 6 0 0\n1 0 0 0\n"
            "17  # ranks\n1  # message sizes: from so many bytes on, algorithm, fan-out, segment\n0 0 0 0\n");
  EXPECT_EQ(tuned_rules({choice_of(OperationKind::kBcast, 16, 4096, "han")}), "");
  EXPECT_EQ(tuned_rules_json({choice_of(OperationKind::kBcast, 16, 4096, "han")}), "");
}

TEST(TunedRules, AreJsonForRelease6) {
  const auto file =
      nlohmann::json::parse(tuned_rules_json({choice_of(OperationKind::kAllreduce, 4, 8, "ring"),
                                              choice_of(OperationKind::kAllreduce, 4, 64, "ring"),
                                              choice_of(OperationKind::kAllreduce, 4, 65, "rabenseifner"),
                                              choice_of(OperationKind::kAllreduce, 8, 8, "ring"),
                                              choice_of(OperationKind::kBcast, 16, 4096, "han")}));
  const auto expected =
      nlohmann::json::parse(R"({"rule_file_version": 3, "module": "tuned", "collectives": {"allreduce": [
    {"comm_size_min": 4, "comm_size_max": 4, "rules": [
      {"msg_size_min": 8, "msg_size_max": 64, "alg": "ring"},
      {"msg_size_min": 65, "msg_size_max": 65, "alg": "rabenseifner"}]},
    {"comm_size_min": 8, "comm_size_max": 8, "rules": [{"msg_size_min": 8, "msg_size_max": 8, "alg": "ring"}]}]}})");
  EXPECT_EQ(file, expected);
}

TEST(TunedRules, FollowTheLibrary) {
  const std::vector<AlgorithmChoice> choices = {choice_of(OperationKind::kBarrier, 4, 0, "bruck"),
                                                choice_of(OperationKind::kAllreduce, 4, 64, "rabenseifner")};
  const auto barrier = [&](const std::string& text) {
    return nlohmann::json::parse(text)["collective=barrier"]["comm_type=intra"]["comm_size<=4"].dump();
  };
  EXPECT_EQ(barrier(mpich_4_0_rules(choices)), R"({"algorithm=MPIR_Barrier_intra_dissemination":{}})");
  EXPECT_EQ(barrier(mpich_rules(choices)), R"({"algorithm=MPIR_Barrier_intra_k_dissemination":{"k=2":{}}})");
  const auto subtrees = nlohmann::ordered_json::parse(mpich_subtrees(choices));
  EXPECT_EQ(subtrees.size(), 2U);
  const auto& sums = subtrees.at("name=allreduce-intra-auto");
  EXPECT_EQ(sums.at("comm_size<=4").at("avg_msg_size<=64").dump(),
            R"({"builtin_op":{"!count_ge_pof2":{"algorithm=MPIR_Allreduce_intra_recursive_doubling":{}},)"
            R"("any":{"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather":{}}},)"
            R"("any":{"algorithm=MPIR_Allreduce_intra_recursive_doubling":{}}})");
  EXPECT_TRUE(sums.contains("any"));
  for (const auto& [library, format] : {std::pair("Open MPI v4.1.4", "openmpi"),
                                        {"Open MPI v5.0.3", "openmpi"},
                                        {"Open MPI v6.0.0rc1", "openmpi-6"},
                                        {"MPICH 4.0.2", "mpich-4.0"},
                                        {"MPICH 4.3.2", "mpich"},
                                        {"MPICH 5.0.1", "mpich"},
                                        {"", "openmpi"}})
    EXPECT_EQ(tuning_format_of(library), format) << library;
}

TEST(AModelError, IsOfFiguresThatNothingIsFittedTo) {
  const auto row = [](double published, double ours, bool fitted, const char* bound) {
    ValidationRow made;
    made.published = published;
    made.ours = ours;
    made.fitted = fitted;
    made.bound = bound;
    return made;
  };
  const std::optional<ModelError> error =
      model_error({row(100, 110, false, ""), row(100, 100, true, ""), row(100, 70, false, ""),
                   row(1, 9, false, "less than 10")});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->figures, 2U);
  EXPECT_NEAR(error->median, 0.3, 1e-9);
  EXPECT_NEAR(error->largest, 0.3, 1e-9);
  EXPECT_FALSE(model_error({})) << "no published figures";
}

TEST(AnErrorBound, HasNineFiguresAtLeastAndElseIsThatOfTheNextCoarserClass) {
  using enum OperationKind;
  const auto figures = [](std::string_view side, OperationKind kind, std::size_t bytes, int ranks,
                          int per_node) {
    const auto bound = error_bound(side, OperationClass{kind, bytes, ranks, per_node});
    return bound ? bound->figures : 0;
  };
  for (const OperationKind kind : {kAllreduce, kAllgather, kAlltoall, kBcast, kSend}) {
    for (const std::size_t bytes : {8U, 4096U, 1U << 20}) {
      for (const int per_node : {1, 32}) {
        const std::size_t many = figures("host", kind, bytes, 256, per_node);
        EXPECT_GE(many, 9U) << to_string(kind) << " " << bytes << " " << per_node;
        EXPECT_LE(many, error_bound("host", per_node > 1)->figures);
      }
    }
  }
  EXPECT_LT(figures("host", kAllreduce, 1 << 20, 256, 1), figures("host", kSend, 1 << 20, 256, 1));
  EXPECT_EQ(figures("cclo", kAllreduce, 8, 4, 1), 0U) << "fitted to the only machines with it";
}

TEST(ARatioError, IsThatOfPairsWhereThereAreAny) {
  const OperationClass sum{OperationKind::kAllreduce, 8, 128, 1};
  const RatioError pairs = ratio_error("sharp", "host", sum);
  ASSERT_TRUE(pairs.of_pairs);
  EXPECT_EQ(pairs.host_factor(1), 1);
  EXPECT_NEAR(pairs.hardware_factor(1) * pairs.hardware_factor(-1), 1, 1e-9);
  EXPECT_THAT(pairs.text(), HasSubstr("pairs within x"));
  EXPECT_THAT(pairs.text(), HasSubstr(", n 1"));
  EXPECT_FALSE(ratio_error("sharp", "host", {OperationKind::kBarrier, 0, 128, 1}).of_pairs)
      << "sums say little of barriers";
  EXPECT_FALSE(ratio_error("dpu", "host", sum).is_known()) << "only allgatherv was measured on both";
  const RatioError unknown = ratio_error("aie", "host", sum);
  EXPECT_FALSE(unknown.is_known());
  EXPECT_THAT(unknown.text(), HasSubstr("not known: too few figures of aie"));
}

/// Adds a sum of one number, by name.
void add_sum(test::Tape& tape, int ranks) {
  tape.add(tape.collective(sum_over(ranks)));
  if (tape.functions.empty()) tape.as("MPI_Allreduce");
  tape.entries.back().event.call = test::Tape::kNamed;
}

/// A sum of one number over all ranks, several times.
std::vector<test::Tape> sums(int ranks, std::uint64_t computing) {
  std::vector<test::Tape> tapes(static_cast<std::size_t>(ranks));
  for (test::Tape& tape : tapes) {
    for (int i = 0; i < 5; ++i) {
      if (computing > 0) tape.compute(computing);
      add_sum(tape, ranks);
    }
  }
  return tapes;
}

/// A solver whose steps compute for a time of their own. seed: of one run.
std::vector<test::Tape> noisy_solver(int ranks, std::uint64_t seed) {
  std::vector<test::Tape> tapes(static_cast<std::size_t>(ranks));
  for (test::Tape& tape : tapes) {
    for (int step = 0; step < 40; ++step) {
      tape.compute(5'000 + splitmix(seed) % 20'000);
      add_sum(tape, ranks);
    }
  }
  return tapes;
}

TEST(TheNoiseOfComputing, IsKnownWhereCallsAreRepeated) {
  const std::vector<test::Tape> tapes = noisy_solver(4, 1);
  const auto noisy = computing_noise(test::source_of(tapes), {});
  ASSERT_TRUE(noisy);
  EXPECT_EQ(noisy->mean, 1);
  // 40 times of 5 to 25 us, evenly distributed: 15 us on average with a deviation of 5.8 us.
  EXPECT_NEAR(noisy->share, 1.645 * 5.8 / 15 / std::sqrt(40), 0.02);
  const std::vector<test::Tape> even = sums(4, 20'000);
  EXPECT_EQ(computing_noise(test::source_of(even), {})->share, 0);
  std::vector<test::Tape> once(2);
  for (test::Tape& tape : once) {
    tape.compute(50'000);
    tape.add(tape.collective(sum_over(2)));
  }
  EXPECT_FALSE(computing_noise(test::source_of(once), {})) << "no call is repeated";
}

TEST(TheNoiseOfComputing, OfSeveralRecordingsIsThatOfTheirMean) {
  const std::vector<test::Tape> first = sums(2, 10'000);
  const std::vector<test::Tape> second = sums(2, 11'000);
  const std::vector<test::Tape> third = sums(2, 12'000);
  const auto noise =
      computing_noise(test::source_of(first), {test::source_of(second), test::source_of(third)});
  ASSERT_TRUE(noise);
  EXPECT_NEAR(noise->mean, 1.1, 1e-9);
  EXPECT_NEAR(noise->share, 2.92 * 0.1 / std::sqrt(3) / 1.1, 1e-9);
}

class AnAnswerAboutARun : public testing::Test {
 protected:
  [[nodiscard]] Weighing weighing(const std::vector<test::Tape>& tapes,
                                  std::vector<ReplaySource> repetitions = {}) {
    Advisor::Options options;
    for (const char* name : {"host", "sharp"}) options.backends.push_back(registry_.find(name));
    options.repetitions = std::move(repetitions);
    Advisor advisor(configuration_, registry_, test::source_of(tapes), std::move(options));
    advisor.rank_backends();
    advisor.weigh();
    return advisor.weighing();
  }

  Registry registry_{built_in_backends()};
  Configuration configuration_;
};

TEST_F(AnAnswerAboutARun, HasTheNoiseOfComputingInItsRange) {
  const std::vector<test::Tape> tapes = noisy_solver(8, 1);
  const Weighing one = weighing(tapes);
  ASSERT_TRUE(one.range && one.noise);
  EXPECT_GT(*one.noise, 0);
  EXPECT_LT(*one.noise, 0.2);
  const std::vector<test::Tape> second = noisy_solver(8, 2);
  const std::vector<test::Tape> third = noisy_solver(8, 3);
  const Weighing several = weighing(tapes, {test::source_of(second), test::source_of(third)});
  ASSERT_TRUE(several.range && several.noise);
  EXPECT_NE(*several.noise, *one.noise);
  const std::vector<test::Tape> even = sums(8, 20'000);
  EXPECT_FALSE(weighing(even).noise) << "equal times have no noise";
}

class ACurve : public testing::Test {
 protected:
  RankCurve curve(std::initializer_list<const char*> backends) {
    for (const char* name : backends) options_.backends.push_back(registry_.find(name));
    return {configuration_, registry_, options_};
  }
  [[nodiscard]] Time end(const char* backend, int ranks, std::uint64_t computing) const {
    const std::vector<test::Tape> tapes = sums(ranks, computing);
    ReplayOptions options;
    if (computing > 0) options.compute.kind = Compute::Mode::kMeasured;
    const auto setting = world_setting(configuration_, registry_, *registry_.find(backend), ranks);
    auto result = replay(*setting, test::source_of(tapes), options);
    EXPECT_TRUE(result) << result.error();
    return result->modelled_time;
  }

  Registry registry_{built_in_backends()};
  Configuration configuration_;
  Advisor::Options options_;
};

TEST_F(ACurve, HasTheTimesOfReplays) {
  for (const std::uint64_t computing : {0U, 20'000U}) {
    options_.backends.clear();
    RankCurve found = curve({"host", "aie"});
    for (const int ranks : {2, 16}) {
      const std::vector<test::Tape> tapes = sums(ranks, computing);
      EXPECT_TRUE(found.add(test::source_of(tapes)));
    }
    EXPECT_EQ(found.with_computing(), computing > 0);
    ASSERT_EQ(found.points().size(), 2U);
    for (const CurvePoint& point : found.points()) {
      for (const BackendResult& cell : point.cells) {
        if (cell.backend == kTunedHost) {
          EXPECT_LE(cell.end(), point.cell_of("host")->end());
        } else {
          EXPECT_EQ(cell.end(), end(cell.backend.c_str(), point.ranks, computing)) << cell.backend;
        }
      }
    }
  }
}

TEST_F(ACurve, SaysFromHowManyRanksOnHardwarePaysAndUpToWhere) {
  RankCurve found = curve({"host", "aie", "dpu"});
  for (const int ranks : {2, 16, 64, 512}) {
    const std::vector<test::Tape> tapes = sums(ranks, 0);
    EXPECT_TRUE(found.add(test::source_of(tapes)));
  }
  const auto ranges = paying_ranges(found, "aie");
  ASSERT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges[0].from, 16);
  EXPECT_EQ(ranges[0].to, 64);  // the array has no room for 512
  EXPECT_FALSE(ranges[0].to_the_end);
  EXPECT_THAT(paying_text(found, "aie"),
              testing::StartsWith("aie pays from 16 to 64 ranks, not yet at 2 (1."));
  EXPECT_THAT(paying_text(found, "aie"), HasSubstr(", no result at 512"));
  EXPECT_THAT(lacking_text(found, "aie"), HasSubstr("aie has no valid result at 512 ranks: "));
  EXPECT_THAT(lacking_text(found, "aie"), HasSubstr("the array has 400 tiles"));
  EXPECT_THAT(paying_text(found, "dpu"), HasSubstr("dpu never pays: "));
  EXPECT_EQ(answer_of(found, "sums").answer, "sums: aie pays from 16 to 64 ranks");
  EXPECT_EQ(lacking_text(found, "host"), "");
}

TEST_F(ACurve, HasAThresholdForEachEndOfTheRange) {
  RankCurve found = curve({"host", "sharp", "aie"});
  std::vector<std::vector<test::Tape>> all;
  for (const int ranks : {2, 16, 128}) all.push_back(sums(ranks, 20'000));
  for (const std::vector<test::Tape>& tapes : all) EXPECT_TRUE(found.add(test::source_of(tapes)));
  EXPECT_FALSE(thresholds_of(found, "sharp")) << "not computed";
  found.find_ranges();
  EXPECT_FALSE(thresholds_of(found, "aie")) << "its model's error is not known";
  const auto from = thresholds_of(found, "sharp");
  ASSERT_TRUE(from && from->perhaps);
  for (const CurvePoint& point : found.points()) {
    const auto range = point.fair_range("sharp");
    ASSERT_TRUE(range);
    EXPECT_LE(range->low, *point.fair_ratio("sharp"));
    EXPECT_GE(range->high, *point.fair_ratio("sharp"));
    EXPECT_TRUE(point.ranks < *from->perhaps || range->low < 0.99) << point.ranks;
    EXPECT_TRUE(!from->surely || point.ranks < *from->surely || range->high < 0.99) << point.ranks;
  }
  EXPECT_THAT(answer_of(found, "sums").answer, HasSubstr(fmt::format("{} ranks", *from->perhaps)));
}

TEST_F(ACurve, DoesNotTryMoreRanksThanHardwareHasOutgrown) {
  RankCurve found = curve({"host", "aie"});
  for (const int ranks : {16, 512, 600}) {
    const std::vector<test::Tape> tapes = sums(ranks, 0);
    EXPECT_TRUE(found.add(test::source_of(tapes)));
  }
  ASSERT_EQ(found.points().size(), 3U);
  EXPECT_GT(found.points()[1].cell_of("aie")->end(), Time());  // tried
  EXPECT_EQ(found.points()[2].cell_of("aie")->end(), Time());
  EXPECT_EQ(found.points()[2].cell_of("aie")->why_not(), found.points()[1].cell_of("aie")->why_not());
  EXPECT_THAT(lacking_text(found, "aie"), HasSubstr("aie has no valid result at 512, 600 ranks: "));
}

TEST_F(ACurve, ReportsThatNoHardwarePays) {
  RankCurve found = curve({"host", "dpu", "tinsel"});
  found.refuse(3, "there is no such grid");
  for (const int ranks : {2, 4}) {
    const std::vector<test::Tape> tapes = sums(ranks, 0);
    EXPECT_TRUE(found.add(test::source_of(tapes)));
  }
  EXPECT_EQ(answer_of(found, "sums").answer, "sums: no hardware pays up to 4 ranks");
  EXPECT_TRUE(paying_ranges(found, "tinsel").empty());
}

TEST_F(ACurve, ThatIsCutShortKeepsItsResults) {
  int asked = 0;
  options_.progress = [&asked](const std::string& what) { return what.empty() || ++asked <= 4; };
  RankCurve found = curve({"host", "aie"});
  const std::vector<test::Tape> few = sums(2, 0);
  const std::vector<test::Tape> more = sums(16, 0);
  EXPECT_TRUE(found.add(test::source_of(few)));
  EXPECT_FALSE(found.add(test::source_of(more)));  // the host only
  EXPECT_TRUE(found.cut_short());
  ASSERT_EQ(found.points().size(), 2U);
  EXPECT_EQ(found.points()[1].cells.size(), 1U);
  EXPECT_THAT(paying_text(found, "aie"), HasSubstr(" at 2 ranks"));
  EXPECT_EQ(answer_of(found, "sums").answer, "sums: no hardware pays up to 2 ranks");
}

}  // namespace
}  // namespace offramp
