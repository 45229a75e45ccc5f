#include "lib/report/settled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/configuration/names.hpp"
#include "lib/report/words.hpp"

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;

std::string time_of(const Json& json, const char* key) {
  return time_text(json.at(key).get<double>() / 1000);
}

Json path_json(const CriticalPath& path) {
  Json by_rank = Json::array();
  for (const Time time : path.by_rank) by_rank.push_back(time.count());
  Json longest = Json::array();
  for (const CriticalPath::Step& step : path.longest)
    longest.push_back({{"source", step.source},
                       {"destination", step.destination},
                       {"bytes", step.bytes},
                       {"begin_ps", step.begin.count()},
                       {"end_ps", step.end.count()},
                       {"shared_links_ps", step.shared.count()}});
  return {{"on_ranks_ps", path.on_ranks.count()},   {"in_messages_ps", path.in_messages.count()},
          {"shared_links_ps", path.shared.count()}, {"messages", path.messages},
          {"by_rank_ps", std::move(by_rank)},       {"longest", std::move(longest)}};
}

Json phases_json(const ReplayResult& result) {
  Json phases = Json::array();
  for (const ReplayPhase& phase : result.phases) {
    Json each = Json::array();
    for (const Time time : phase.per_rank) each.push_back(time.count());
    phases.push_back({{"name", phase.name},
                      {"level", phase.level},
                      {"count", phase.count},
                      {"longest_ps", phase.longest().count()},
                      {"per_rank_ps", std::move(each)}});
  }
  return phases;
}

/// What is shared, of all places together.
Json resources_json(const ReplayResult& result) {
  struct Sum {
    std::uint64_t count = 0;
    const ReplayResource* busiest = nullptr;
    Time busy;
    Time waited;
    std::uint64_t bytes = 0;
  };
  std::map<std::string_view, Sum> sums;
  for (const ReplayResource& use : result.resources) {
    Sum& sum = sums[use.name];
    ++sum.count;
    if (sum.busiest == nullptr || sum.busiest->busy < use.busy) sum.busiest = &use;
    sum.busy += use.busy;
    sum.waited += use.waited;
    sum.bytes += use.bytes;
  }
  Json resources = Json::array();
  for (const auto& [name, sum] : sums)
    resources.push_back({{"name", name},
                         {"count", sum.count},
                         {"busy_ps", sum.busy.count()},
                         {"waited_ps", sum.waited.count()},
                         {"bytes", sum.bytes},
                         {"busiest_ps", sum.busiest->busy.count()},
                         {"busiest_first_rank", sum.busiest->first_rank}});
  return resources;
}

Json links_json(const ReplayResult& result) {
  Json links = Json::array();
  for (const LinkUse& link : result.links)
    links.push_back({{"name", link.name},
                     {"busy_ps", link.busy.count()},
                     {"waited_ps", link.waited.count()},
                     {"longest_wait_ps", link.longest.count()},
                     {"bytes", link.bytes}});
  return links;
}

Json disturbance_json(const ReplayResult::Disturbance& disturbance) {
  return {{"undisturbed_ps", disturbance.undisturbed.count()},
          {"longest_held_up_ps", disturbance.longest.count()}};
}

Json run_json(const WholeRun& run) {
  return {{"end_ps", run.end.count()}, {"in_calls_ps", run.in_calls.count()}, {"sum_ps", run.sum.count()}};
}

Json jobs_json(const Settled& settled) {
  const ReplayResult& result = *settled.result;
  Json jobs = Json::array();
  for (const SettledJob& job : settled.jobs) {
    Json calls = Json::object();
    const Counters counters = result.total(job.ranks);
    for (std::size_t i = 0; i < result.functions.size(); ++i) {
      const CallCounter& counter = counters.calls[i];
      if (counter.count > 0)
        calls[result.functions[i]] = {
            {"count", counter.count}, {"bytes", counter.bytes}, {"modelled_ps", counter.modelled.count()}};
    }
    Json one = {{"program", job.program},
                {"first_rank", job.ranks.first},
                {"ranks", job.ranks.ranks},
                {"nodes", text_of_nodes(job.nodes)},
                {"modelled_time_ps", result.end(job.ranks).count()},
                {"alone_ps", job.alone.count()},
                {"slowdown", job.slowdown(result)}};
    if (job.run) one["whole_run"] = run_json(*job.run);
    if (job.times) one["computing"] = computing_json(*job.times);
    if (const auto disturbance = result.disturbance(job.ranks))
      one["stragglers"] = disturbance_json(*disturbance);
    one["calls"] = std::move(calls);
    jobs.push_back(std::move(one));
  }
  return jobs;
}

}  // namespace

std::string text_of_nodes(const std::vector<int>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t end = i + 1;
    while (end < nodes.size() && nodes[end] == nodes[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", nodes[i]);
    if (end - i > 1) text += fmt::format("-{}", nodes[end - 1]);
    i = end;
  }
  return text;
}

Json computing_json(const ProgramTimes& program) {
  const Computing& computing = program.computing;
  return {{"sum_ps", computing.sum.count()},
          {"largest_ps", computing.largest.count()},
          {"brief_gaps_ps", computing.brief_gaps.count()},
          {"longer_gaps_ps", computing.longer_gaps.count()},
          {"free_run", run_json(program.free)}};
}

void add_settled(Json& lane, const Settled& settled) {
  const ReplayResult& result = *settled.result;
  if (!result.footing.text.empty())
    lane["stands_on"] = {{"text", result.footing.text},
                         {"node_bits_per_second", result.footing.node_bits_per_second}};
  if (result.path) lane["critical_path"] = path_json(*result.path);
  if (settled.run) lane["whole_run"] = run_json(*settled.run);
  lane["phases"] = phases_json(result);
  lane["resources"] = resources_json(result);
  if (!result.links.empty()) lane["links"] = links_json(result);
  if (const auto disturbance = result.disturbance()) lane["stragglers"] = disturbance_json(*disturbance);
  if (!settled.jobs.empty()) lane["jobs"] = jobs_json(settled);
}

Footing footing_of(const Json& lane) {
  if (!lane.contains("stands_on")) return {};
  const Json& ground = lane.at("stands_on");
  return {ground.at("text").get<std::string>(), ground.at("node_bits_per_second").get<std::int64_t>()};
}

std::string phases_text(const Json& report) {
  constexpr std::size_t kNamed = 8;
  std::string out;
  if (!report.contains("phases")) return out;
  const Json& phases = report.at("phases");
  for (std::size_t i = 0; i < std::min(kNamed, phases.size()); ++i)
    out += fmt::format("offramp: phase {}: {} on the rank that it takes longest\n",
                       printable(phases[i].at("name").get<std::string>()), time_of(phases[i], "longest_ps"));
  if (phases.size() > kNamed)
    out += fmt::format("offramp: {} more\n", counted(phases.size() - kNamed, "phase"));
  return out;
}

std::string stragglers_text(const Json& report) {
  if (!report.contains("stragglers")) return {};
  const Json& stragglers = report.at("stragglers");
  const double run = report.at("modelled_time_ps").get<double>();
  const double cost = run - stragglers.at("undisturbed_ps").get<double>();
  return fmt::format(
      "offramp: stragglers made the run {} {}, {} of it; they held up one processor for up to {}\n",
      time_text(std::abs(cost) / 1000), cost < 0 ? "shorter" : "longer", percent_text(std::abs(cost), run),
      time_of(stragglers, "longest_held_up_ps"));
}

std::string links_text(const Json& report) {
  constexpr std::size_t kNamed = 3;
  if (!report.contains("links")) return {};
  const Json& links = report.at("links");
  std::vector<const Json*> busiest;
  double waited = 0;
  for (const Json& link : links) {
    busiest.push_back(&link);
    waited += link.at("waited_ps").get<double>() / 1000;
  }
  std::stable_sort(busiest.begin(), busiest.end(), [](const Json* a, const Json* b) {
    return a->at("busy_ps").get<double>() > b->at("busy_ps").get<double>();
  });
  std::string out =
      fmt::format("offramp: {} of the network used; messages waited {} in all for one another\n",
                  counted(busiest.size(), "link"), time_text(waited));
  const double run = report.at("modelled_time_ps").get<double>();
  for (std::size_t i = 0; i < std::min(kNamed, busiest.size()); ++i) {
    const Json& link = *busiest[i];
    out += fmt::format("offramp: link {}: busy {} of the time, waited for {}\n",
                       printable(link.at("name").get<std::string>()),
                       percent_text(link.at("busy_ps").get<double>(), run), time_of(link, "waited_ps"));
  }
  return out;
}

}  // namespace offramp
