// Bounds for any machine and all backends: more bytes take longer, twice the bytes take at most about twice
// as long, and a faster unit or an idle neighbour never hurts.
//
// Units serve first come first served. So a message that arrives a little earlier may precede one on which
// more depends, and the program ends later: anomalies of list scheduling (Graham, 1969). A schedule is never
// worse than twice the best one; random programs here stay far below that, and the tests check it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "backends/dpu/parameters.hpp"
#include "offramp/kernel/random.hpp"
#include "tests/built_in_names.hpp"
#include "tests/model/support.hpp"
#include "tests/seeds.hpp"

namespace offramp {
namespace {

constexpr std::size_t kMebibyte = 1 << 20;

struct Sent {
  int from = 0;
  int to = 0;
  std::size_t bytes = 0;
};
/// Messages that a program waits for together.
using Round = std::vector<Sent>;
using Rounds = std::vector<Round>;

/// Among the ranks first, first + step, ..., below `ranks`.
Rounds draw_rounds(std::uint64_t seed, int ranks, int first = 0, int step = 1) {
  std::uint64_t state = seed;
  const auto below = [&state](std::uint64_t bound) { return splitmix(state) % bound; };
  const auto members = static_cast<std::uint64_t>((ranks - first + step - 1) / step);
  const auto member = [&] { return first + step * static_cast<int>(below(members)); };
  Rounds rounds(4);
  for (Round& round : rounds) {
    for (std::uint64_t i = 0; i < 2 * members; ++i) {
      const Sent sent{member(), member(), std::size_t{64} << below(14)};
      if (sent.from != sent.to) round.push_back(sent);
    }
  }
  return rounds;
}

Task<void> play(RankHandle& rank, const std::vector<Rounds>& programs, std::size_t scale) {
  for (const Rounds& rounds : programs) {
    for (const Round& round : rounds) {
      std::vector<RankRequest> requests;
      for (const Sent& sent : round) {
        if (sent.to == rank.rank()) requests.push_back(rank.irecv(sent.from, sent.bytes * scale));
      }
      for (const Sent& sent : round) {
        if (sent.from == rank.rank()) requests.push_back(rank.isend(sent.to, sent.bytes * scale));
      }
      co_await rank.wait_all(requests);
    }
  }
}

struct Setting {
  WorldBackend backend;
  int ranks = 8;
  int ranks_per_node = 2;
};

/// The end of the last one of the given ranks.
Time end_of(const Setting& setting, const World::Program& program, int step = 1) {
  WorldOptions options;
  options.ranks = setting.ranks;
  options.machine.ranks_per_node = setting.ranks_per_node;
  options.check = true;
  World world(options, setting.backend);
  EXPECT_EQ(world.run(program), "");
  EXPECT_EQ(world.violations(), std::vector<std::string>());
  Time end;
  for (int rank = 0; rank < setting.ranks; rank += step) end = later(end, world.clock(rank));
  return end;
}

Time end_of(const Setting& setting, const std::vector<Rounds>& programs, std::size_t scale = 1,
            int step = 1) {
  return end_of(
      setting, [&](RankHandle& rank) { return play(rank, programs, scale); }, step);
}

Setting setting_of(const char* name) {
  return {test::with_host(test::hardware(name))};
}

double quotient(Time a, Time b) {
  return a.seconds() / b.seconds();
}

/// The largest of several ratios, with its place.
struct Worst {
  double ratio = 0;
  std::string where;
  void add(double value, const std::string& at) {
    if (value > ratio) ratio = value, where = at;
  }
};

/// The parameters of a backend that are rates.
std::vector<std::string> rates_of(const BackendDescription& backend) {
  std::vector<std::string> rates;
  for (const Parameter& parameter : backend.parameters) {
    const bool is_rate = parameter.unit == "Gb/s" || parameter.unit == "GB/s" || parameter.unit == "MHz";
    if (is_rate && parameter.kind == ParameterKind::kReal &&
        2 * parameter.default_number <= parameter.maximum)
      rates.emplace_back(parameter.name);
  }
  return rates;
}

/// The effective rate of a backend. dpu does not describe the values that zeros select for its card.
double rate_in_force(const BackendDescription& backend, const Settings& settings, const std::string& rate) {
  const double set = settings.real(rate);
  if (set > 0 || backend.name != "dpu")
    return value_in_force(backend, settings, *find_parameter(backend.parameters, rate));
  const dpu::CardSpec card = dpu::driver_of(settings, {}, 8, {}).platform.card;
  const std::map<std::string, Bandwidth> rates = {{"combine", card.combine}, {"arm_copy", card.arm_copy},
                                                  {"link", card.link},       {"pcie", card.pcie},
                                                  {"dram", card.dram},       {"dma_write", card.dma_write}};
  return in_gigabits(rates.at(rate));
}

Setting with_doubled(const std::string& name, const std::string& rate) {
  Setting setting = setting_of(name.c_str());
  Settings& settings = setting.backend.settings;
  settings.set(rate, {2 * rate_in_force(*setting.backend.backend, settings, rate), {}});
  return setting;
}

/// One message, or one collective of all ranks.
std::vector<std::pair<std::string, World::Program>> single_operations(const Setting& setting) {
  std::vector<std::pair<std::string, World::Program>> all;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{3000}, std::size_t{65536}, kMebibyte}) {
    all.emplace_back(fmt::format("send of {} B", bytes), [bytes](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) co_await rank.send(rank.size() - 1, bytes);
      if (rank.rank() == rank.size() - 1) co_await rank.receive(0, bytes);
    });
    for (const OperationKind kind : {OperationKind::kBcast, OperationKind::kAllreduce,
                                     OperationKind::kAllgather, OperationKind::kAlltoall}) {
      Operation operation;
      operation.kind = kind;
      operation.bytes = bytes;
      operation.ranks = setting.ranks;
      operation.element = ElementType::kFloat32;
      operation.function = ReduceFunction::kSum;
      operation.elements = bytes / 4;
      all.emplace_back(fmt::format("{} of {} B", to_string(kind), bytes),
                       [operation](RankHandle& rank) -> Task<void> { co_await rank.collective(operation); });
    }
  }
  return all;
}

/// The slowdown that a doubled rate may cause, since a choice suits the usual rate: aie's windows suit the
/// usual rate of its ports. For tinsel, the cause is the order in which an alltoall's messages reach a unit.
double choice_for_usual_rates(std::string_view name) {
  return name == "aie" ? 0.19 : name == "tinsel" ? 0.015 : 0;
}

TEST(Bounds, ADoubledRateNeverMakesAnOperationSlower) {
  for (const char* const name : test::built_in_names()) {
    const Setting usual = setting_of(name);
    Worst worst;
    for (const auto& [what, program] : single_operations(usual)) {
      const Time before = end_of(usual, program);
      for (const std::string& rate : rates_of(*usual.backend.backend))
        worst.add(quotient(end_of(with_doubled(name, rate), program), before),
                  fmt::format("{}, {}", rate, what));
    }
    fmt::print("{}: at most {:.4f} with a doubled rate ({})\n", name, worst.ratio, worst.where);
    EXPECT_LE(worst.ratio, 1 + 0.0005 + choice_for_usual_rates(name)) << name << ": " << worst.where;
  }
}

/// Few programs become slower, none by much, and all together do not.
TEST(Bounds, ADoubledRateMakesAProgramSlowerByAnomaliesAtMost) {
  constexpr int kPrograms = 20;
  for (const char* const name : test::built_in_names()) {
    Worst worst;
    std::map<std::string, double> sums;
    for (std::uint64_t seed = 1; seed <= kPrograms; ++seed) {
      const std::vector<Rounds> program = {draw_rounds(seed, 8)};
      const Time before = end_of(setting_of(name), program);
      for (const std::string& rate : rates_of(*setting_of(name).backend.backend)) {
        const double ratio = quotient(end_of(with_doubled(name, rate), program), before);
        worst.add(ratio, fmt::format("{}, seed {}", rate, seed));
        sums[rate] += ratio;
      }
    }
    fmt::print("{}: at most {:.4f} with a doubled rate ({})\n", name, worst.ratio, worst.where);
    // A core of the dpu works first come, first served, so a faster link may put one READ before another.
    EXPECT_LE(worst.ratio,
              std::max(std::string_view(name) == "dpu" ? 1.13 : 1.1, 1 + choice_for_usual_rates(name)))
        << name << ": " << worst.where;
    for (const auto& [rate, sum] : sums)
      EXPECT_LE(sum / kPrograms, 1 + 0.0005 + choice_for_usual_rates(name)) << name << ": " << rate;
  }
}

TEST(Bounds, AnotherJobMakesAProgramFasterByAnomaliesAtMost) {
  for (const char* const name : test::built_in_names()) {
    Worst worst;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Setting setting = setting_of(name);
      const Rounds own = draw_rounds(seed, setting.ranks, 0, 2);
      const Rounds others = draw_rounds(seed + 1000, setting.ranks, 1, 2);
      const Time alone = end_of(setting, {own}, 1, 2);
      worst.add(quotient(alone, end_of(setting, {own, others}, 1, 2)), fmt::format("seed {}", seed));
    }
    fmt::print("{}: at most {:.4f} alone over beside another job ({})\n", name, worst.ratio, worst.where);
    EXPECT_LE(worst.ratio, 1.08) << name << ": " << worst.where;
  }
}

TEST(Bounds, TwiceTheBytesTakeAboutTwiceAsLongAtMost) {
  for (const char* const name : test::built_in_names()) {
    double least = std::numeric_limits<double>::max();
    Worst most;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const std::vector<Rounds> program = {draw_rounds(seed, 8)};
      const double ratio = quotient(end_of(setting_of(name), program, 2), end_of(setting_of(name), program));
      least = std::min(least, ratio);
      most.add(ratio, fmt::format("seed {}", seed));
    }
    fmt::print("{}: twice the bytes take {:.3f} to {:.3f} times as long\n", name, least, most.ratio);
    EXPECT_GE(least, 1) << name;
    EXPECT_LE(most.ratio, 2.3) << name << ": " << most.where;
  }
}

/// Hardware that uses one algorithm of a collective for all sizes up to this many bytes.
struct OneAlgorithm {
  std::string name;
  Setting setting;
  std::vector<OperationKind> kinds;
  std::size_t from = 8;
};

std::vector<OneAlgorithm> one_algorithm_each() {
  using Kind = OperationKind;
  const std::vector<Kind> all = {Kind::kBcast,     Kind::kReduce,    Kind::kGather,  Kind::kScatter,
                                 Kind::kAllgather, Kind::kAllreduce, Kind::kAlltoall};
  OneAlgorithm second{"cclo, second generation", setting_of("cclo"), all, 2048};  // by rendezvous
  second.setting.backend.settings.set("profile", {0, "gen2"});
  return {{"tinsel", setting_of("tinsel"), all},
          {"zrlmpi", setting_of("zrlmpi"), {Kind::kBcast, Kind::kReduce, Kind::kGather, Kind::kScatter}},
          {"cclo", setting_of("cclo"), {Kind::kBcast, Kind::kReduce, Kind::kGather, Kind::kAllgather}},
          second};
}

TEST(Bounds, MoreBytesAreNeverFasterWithOneAlgorithm) {
  for (const OneAlgorithm& one : one_algorithm_each()) {
    for (const OperationKind kind : one.kinds) {
      Time before;
      for (std::size_t bytes = one.from; bytes < 300000;
           bytes += std::max<std::size_t>(4, bytes * 3 / 40 * 4)) {
        Operation operation;
        operation.kind = kind;
        operation.bytes = bytes;
        operation.ranks = one.setting.ranks;
        operation.element = ElementType::kFloat32;
        operation.function = ReduceFunction::kSum;
        operation.elements = bytes / 4;
        const Time time =
            end_of(one.setting, [&](RankHandle& rank) -> Task<void> { co_await rank.collective(operation); });
        // Short last fragments of tinsel are read beside the ones before them.
        EXPECT_GE(time.seconds(), 0.997 * before.seconds())
            << one.name << ", " << to_string(kind) << " of " << bytes << " B";
        before = time;
      }
    }
  }
}

}  // namespace
}  // namespace offramp
