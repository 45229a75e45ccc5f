#include "lib/report/partial.hpp"

#include <nlohmann/json.hpp>
#include <vector>

#include "lib/report/report.hpp"

namespace offramp {
namespace {

using Json = nlohmann::ordered_json;

std::string to_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

/// The file of the same run; null: it is none.
Json of_same_run(const std::string& text, const RankPart& part) {
  if (text.find(part.run) == std::string::npos) return nullptr;
  Json json = Json::parse(text, nullptr, false);
  const auto ranks = static_cast<std::size_t>(part.ranks);
  const bool same = json.is_object() && json.contains("run") && json["run"] == part.run &&
                    json.contains("parts") && json["parts"].is_array() && json["parts"].size() == ranks;
  return same ? json : nullptr;
}

}  // namespace

std::string partial_report(const std::string& old, const RankPart& part, const RunFacts& facts,
                           const Configuration& configuration) {
  const auto ranks = static_cast<std::size_t>(part.ranks);
  const auto own = static_cast<std::size_t>(part.rank);
  Json before = of_same_run(old, part);
  Json parts = before.is_null() ? Json(std::vector<Json>(ranks)) : std::move(before["parts"]);
  parts[own] = Json::parse(part.contribution);
  parts[own]["ended"] = part.reason;
  std::vector<std::string> contributions;
  for (const Json& contribution : parts)
    contributions.push_back(contribution.is_null() ? std::string() : to_text(contribution, -1));
  Json report = {{"run", part.run}};  // at the beginning, where the next rank looks for it
  report.update(Json::parse(run_report(contributions, facts, configuration, {})));
  report["parts"] = std::move(parts);
  return to_text(report, 2) + "\n";
}

}  // namespace offramp
