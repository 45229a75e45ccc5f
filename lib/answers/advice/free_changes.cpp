// What costs nothing: changes of the baseline that need no hardware, each replayed alone, and all that gain
// together.
//
// - Algorithms, a progress thread, the largest eager message, and ranks a node: what an mpirun option or a
// tuning
//   file sets.
// - Computing stays as recorded: more ranks on a node share caches and memory, which no replay knows. So a
// gain by
//   ranks a node is an upper bound, and its text says so.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "lib/answers/advice/answer_parts.hpp"
#include "lib/base/format.hpp"

namespace offramp {
namespace {

struct Try {
  std::string name;
  std::string how;
  std::function<void(Configuration&)> apply;
};

std::function<void(Configuration&)> host_value(const char* key, std::string value) {
  const bool is_number = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  return [key, value = std::move(value), is_number](Configuration& configuration) {
    configuration.sections[std::string(baseline_name())][key] = {
        value, is_number ? RawValue::Type::kNumber : RawValue::Type::kText, "advice"};
  };
}

/// Other limits than the one in force, with the option that sets them.
void add_eager_limits(std::vector<Try>& all, const BackendDescription& host, const Settings& settings) {
  const Parameter* const limit = find_parameter(host.parameters, "eager_limit");
  if (limit == nullptr) return;
  const double value = value_in_force(host, settings, *limit);
  const bool is_ucx = settings.choice("transport") == "ucx";
  for (const double factor : {0.25, 4.0, 16.0}) {
    const auto tried = static_cast<std::uint64_t>(std::clamp(value * factor, 64.0, 4194304.0));
    all.push_back(
        {fmt::format("eager messages of up to {} B", tried),
         is_ucx ? fmt::format("-x UCX_RNDV_THRESH={}", tried)
                : fmt::format("the eager limit of the transport, as --mca btl_tcp_eager_limit {}", tried),
         host_value("eager_limit", fmt::format("{}", tried))});
  }
}

/// Half and twice as many as now.
void add_ranks_per_node(std::vector<Try>& all, int now, int ranks) {
  for (const int tried : {now / 2, now * 2}) {
    if (tried < 1 || tried > ranks / 2 || tried == now) continue;
    all.push_back({fmt::format("{} a node, if computing does not suffer",
                               counted(static_cast<std::uint64_t>(tried), "rank")),
                   fmt::format("--map-by ppr:{0}:node, or -ppn {0} with MPICH", tried),
                   [tried](Configuration& configuration) {
                     configuration.machine.ranks_per_node = tried;
                     configuration.machine.nodes = 0;
                   }});
  }
}

}  // namespace

void Advisor::find_free_changes() {
  const Candidate* const base = baseline();
  const Result<WorldSetting> setting = setting_of(baseline_);
  if (base == nullptr || !setting || source_.ranks < 2) return;
  const Time now = base->end();
  const Sides& sides = weighing_.sides;
  std::vector<Try> gained;
  const auto keep = [&](const Try& one, const std::optional<Time>& end) {
    if (!end || 1 - ratio_of(*end, now) < kWorthwhile) return;
    free_changes_.push_back({one.name, one.how, *end});
    gained.push_back(one);
  };
  keep({"the fastest algorithms", "offramp advise --tuning FILE writes them for the MPI library",
        host_value("collectives", "best")},
       sides.tuned);
  keep({"progress by a thread, " + price_of_thread(weighing_.thread_share),
        "MPIR_CVAR_ASYNC_PROGRESS=1 with MPICH, or a library that has such a thread",
        host_value("progress", "thread")},
       sides.threaded);
  const auto trial_of = [&](const std::string& what, std::span<const Try> changes) {
    Configuration configuration = configuration_;
    for (const Try& one : changes) one.apply(configuration);
    return Trial{what, setting_with(configuration, baseline_)};
  };
  std::vector<Try> tries;
  add_eager_limits(tries, baseline_, setting->settings);
  const std::size_t limits = tries.size();
  add_ranks_per_node(tries, setting->machine.ranks_per_node, source_.ranks);
  // The best of each group.
  for (const auto& [first, last] : {std::pair<std::size_t, std::size_t>{0, limits}, {limits, tries.size()}}) {
    const std::span<const Try> group(tries.data() + first, last - first);
    std::vector<Trial> trials;
    for (const Try& one : group) trials.push_back(trial_of(one.name, {&one, 1}));
    const auto ends = ends_of(trials);
    const auto best = std::ranges::min_element(
        ends, {}, [](const std::optional<Time>& end) { return end.value_or(Time::never()); });
    if (best != ends.end()) keep(group[static_cast<std::size_t>(best - ends.begin())], *best);
  }
  std::ranges::stable_sort(free_changes_, {}, &ReportFreeChange::end);
  if (gained.size() < 2) return;
  if (const auto end = ends_of({trial_of("all free changes", gained)}).front())
    free_changes_.push_back({"all of these together", {}, *end});
}

}  // namespace offramp
