// Costs of a replay. usage: replay_cost BACKEND PATTERN
//
// The pattern is generated while it is read. Prints one JSON object: processor seconds of one core, events,
// and how many of them are sends and receives.
#include <fmt/core.h>

#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "lib/answers/replay/replay.hpp"
#include "lib/answers/replay/world_setting.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/programs/import/pattern.hpp"

namespace offramp {
namespace {

double processor_time() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Work {
  const BackendDescription* backend = nullptr;
  Pattern pattern;
};

int run(const Work& work, const Registry& registry) {
  const Result<WorldSetting> setting =
      world_setting(Configuration(), registry, *work.backend, work.pattern.ranks);
  const ReplaySource source{work.pattern.ranks, [&work](int rank) { return work.pattern.read(rank); }};
  const double begin = processor_time();
  const Result<ReplayResult> result = replay(*setting, source);
  const double seconds = processor_time() - begin;
  if (!result) {
    std::cerr << result.error() << '\n';
    return 1;
  }
  const std::uint64_t operations = 2 * result->messages;
  fmt::print(
      "{{\"backend\": \"{}\", \"program\": \"{}\", \"ranks\": {}, \"bytes\": {}, \"rounds\": {}, "
      "\"seconds\": {:.6f}, \"events\": {}, \"operations\": {}, \"operations_per_second\": {:.0f}, "
      "\"modelled_ps\": {}}}\n",
      work.backend->name, work.pattern.kind->name, work.pattern.ranks, work.pattern.bytes,
      work.pattern.rounds, seconds, result->events, operations, static_cast<double>(operations) / seconds,
      result->modelled_time.count());
  return 0;
}

}  // namespace
}  // namespace offramp

int main(int argc, char** argv) {
  using namespace offramp;
  const Registry registry(built_in_backends());
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 2 || registry.find(words[0]) == nullptr) {
    std::cerr << "usage: replay_cost BACKEND PATTERN\n";
    return 2;
  }
  const Result<Pattern> pattern = parse_pattern(words[1]);
  if (!pattern) {
    std::cerr << pattern.error() << '\n';
    return 2;
  }
  return run({registry.find(words[0]), *pattern}, registry);
}
