// Random programs over every backend: they end, received data is the sent data, no invariant breaks, and a
// second run and another order of simultaneous events change nothing.
//
// tests/seeds.hpp sets their number.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "tests/model/programs.hpp"
#include "tests/model/support.hpp"
#include "tests/seeds.hpp"

namespace offramp {
namespace {

using test::Log;
using test::Schedule;
using test::Step;

struct Hardware {
  std::string name;
  WorldBackend backend;
  std::vector<OperationKind> kinds;  // of collectives
  std::uint64_t every = 1;           // used for one of so many seeds
};

/// The host carries accesses.
bool has_host(const Hardware& hardware) {
  return hardware.name == "host" || hardware.backend.host != nullptr;
}

/// The collectives that a backend carries, or all with a host beside it.
Hardware hardware(const std::string& name, const WorldBackend& backend, std::uint64_t every = 1) {
  Hardware chosen{name, backend, {}, every};
  const std::unique_ptr<Backend> asked = backend.backend->create({0, 2, backend.settings, {}});
  for (int kind = 1; kind < static_cast<int>(OperationKind::kCount); ++kind) {
    Operation operation;
    operation.kind = static_cast<OperationKind>(kind);
    if (backend.host != nullptr || asked->supports(operation).yes()) chosen.kinds.push_back(operation.kind);
  }
  return chosen;
}

std::vector<Hardware> all_hardware() {
  std::vector<Hardware> all = {hardware("host", test::hardware("host")),
                               hardware("zrlmpi", test::hardware("zrlmpi")),
                               hardware("zrlmpi mpe2", test::mpe2())};
  // Small messages and one collective by the host, the others by the engine: they keep their order.
  WorldBackend routed = test::with_host(test::mpe2());
  routed.rules = {{OperationKind::kSend, 0, 1000, 0, INT32_MAX, 0},
                  {OperationKind::kBcast, 0, SIZE_MAX, 0, 4, 0}};
  all.push_back(hardware("zrlmpi mpe2 and host", routed));
  for (const auto& [name, every] : {std::pair("cclo", 20), std::pair("dpu", 20), std::pair("tinsel", 20),
                                    std::pair("aie", 20), std::pair("sharp", 10)})
    all.push_back(hardware(name, test::with_host(test::hardware(name)), static_cast<std::uint64_t>(every)));
  // Slow memory, in which the steps of a call meet the messages that arrive.
  for (const std::string_view profile : {"seed", "gen2"}) {
    WorldBackend slow = test::with_host(test::hardware("cclo"));
    slow.settings.set("profile", {0, std::string(profile)});
    slow.settings.set("driver", {0, "mapped"});
    slow.settings.set("memory_bandwidth", {0.5, ""});
    slow.settings.set("latency", {10000, ""});
    all.push_back(hardware(fmt::format("cclo {}, slow memory", profile), slow, 20));
  }
  return all;
}

/// Everything that two runs must have in common.
struct Result {
  std::string error;
  std::vector<std::tuple<int, std::size_t, int, int, std::size_t, int, std::int64_t>> seen;
  std::vector<std::int64_t> clocks;
  std::vector<std::tuple<std::string_view, int, std::int64_t, std::int64_t, std::uint64_t>> resources;
  std::uint64_t messages = 0;
  friend bool operator==(const Result&, const Result&) = default;
};

/// Receives from any source got exactly the sent messages, in any order.
std::string missing_messages(const Schedule& schedule, std::size_t steps, const std::vector<Log>& logs) {
  for (std::size_t number = 0; number < steps; ++number) {
    const Step& step = schedule.steps[number];
    if (step.kind != Step::Kind::kGathering) continue;
    const std::vector<int>& members = schedule.communicators[static_cast<std::size_t>(step.communicator)];
    std::multiset<std::pair<int, std::size_t>> sent;
    for (std::size_t i = 0; i < step.senders.size(); ++i) sent.emplace(step.senders[i], step.sizes[i]);
    std::multiset<std::pair<int, std::size_t>> received;
    const auto receiver = static_cast<std::size_t>(members[static_cast<std::size_t>(step.to)]);
    for (const Log::Entry& entry : logs[receiver].entries) {
      if (entry.step == number) received.emplace(entry.received.source, entry.received.bytes);
    }
    if (sent != received) return fmt::format("step {}: other messages were received than sent", number);
  }
  return {};
}

/// Departures: a world that stops at some time makes an event of each, and of each step.
enum class Departures : std::uint8_t { kAtOnce, kAsEvents };

Result run(const Hardware& hardware, const Schedule& schedule, std::size_t steps, std::uint64_t shuffle,
           Departures departures = Departures::kAtOnce) {
  WorldOptions options;
  options.ranks = schedule.ranks;
  options.machine.ranks_per_node = schedule.ranks_per_node;
  options.check = true;
  options.shuffle_seed = shuffle;
  if (departures == Departures::kAsEvents) options.stop_at = Time::ps(std::int64_t{1} << 62);
  World world(options, hardware.backend);
  std::vector<Log> logs(static_cast<std::size_t>(schedule.ranks));
  Result result;
  result.error = world.run([&](RankHandle& rank) {
    return play(rank, schedule, steps, logs[static_cast<std::size_t>(rank.rank())]);
  });
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    const Log& log = logs[static_cast<std::size_t>(rank)];
    if (result.error.empty()) result.error = log.error;
    for (const auto& [step, received, clock] : log.entries)
      result.seen.emplace_back(rank, step, static_cast<int>(received.outcome), received.source,
                               received.bytes, received.tag, clock.count());
    result.clocks.push_back(world.clock(rank).count());
  }
  if (result.error.empty()) result.error = missing_messages(schedule, steps, logs);
  for (const std::string& violation : world.violations()) {
    if (result.error.empty()) result.error = violation;
  }
  for (const World::ResourceUse& use : world.resources())
    result.resources.emplace_back(use.name, use.first_rank, use.busy.count(), use.waited.count(), use.bytes);
  result.messages = world.messages();
  return result;
}

/// A text with the failure; empty if there is none.
std::string what_fails(const Hardware& hardware, const Schedule& schedule, std::size_t steps) {
  const Result first = run(hardware, schedule, steps, 0);
  if (!first.error.empty()) return first.error;
  if (run(hardware, schedule, steps, 0) != first) return "a second run has another result";
  if (run(hardware, schedule, steps, 0, Departures::kAsEvents) != first)
    return "departures as events change the result";
  for (const std::uint64_t shuffle : {1, 2}) {
    const Result other = run(hardware, schedule, steps, shuffle);
    if (other == first) continue;
    if (!other.error.empty()) return fmt::format("with shuffle seed {}: {}", shuffle, other.error);
    const auto difference =
        std::mismatch(first.seen.begin(), first.seen.end(), other.seen.begin(), other.seen.end());
    std::string where = "the clocks or resources at the end";
    if (difference.first != first.seen.end())
      where = fmt::format("rank {}, step {}", std::get<0>(*difference.first), std::get<1>(*difference.first));
    return fmt::format("shuffle seed {} changes the result: {}", shuffle, where);
  }
  return {};
}

/// The shortest failing prefix of the schedule that halving finds, and its failure.
std::string shortest_failure(const Hardware& hardware, const Schedule& schedule) {
  std::size_t good = 0;
  std::size_t bad = schedule.steps.size();
  while (bad - good > 1) {
    const std::size_t middle = good + (bad - good) / 2;
    (what_fails(hardware, schedule, middle).empty() ? good : bad) = middle;
  }
  std::string text = fmt::format("{} ranks, {} per node; after {} steps: {}\n", schedule.ranks,
                                 schedule.ranks_per_node, bad, what_fails(hardware, schedule, bad));
  for (std::size_t i = 0; i < bad; ++i) text += fmt::format("  {}: {}\n", i, describe(schedule.steps[i]));
  return text;
}

TEST(RandomPrograms, EndCorrectlyAndDeterministically) {
  const std::uint64_t first = test::first_seed();
  const std::uint64_t seeds = test::seeds();
  const std::vector<Hardware> all = all_hardware();
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    for (const Hardware& hardware : all) {
      if (seed % hardware.every != 0 && seeds > 1) continue;
      const Schedule schedule = test::draw_schedule(seed, hardware.kinds, has_host(hardware));
      const std::string failure = what_fails(hardware, schedule, schedule.steps.size());
      ASSERT_EQ(failure, "") << hardware.name << ", seed " << seed << ": "
                             << shortest_failure(hardware, schedule);
    }
  }
}

}  // namespace
}  // namespace offramp
