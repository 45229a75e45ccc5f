#include "lib/report/settled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lib/core/names.hpp"
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

}  // namespace

void add_settled(Json& lane, const Settled& settled) {
  const ReplayResult& result = *settled.result;
  if (result.path) lane["critical_path"] = path_json(*result.path);
  lane["phases"] = phases_json(result);
  lane["resources"] = resources_json(result);
  if (!result.links.empty()) lane["links"] = links_json(result);
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
