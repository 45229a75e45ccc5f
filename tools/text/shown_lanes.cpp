// Selects the lanes of reports to display, and labels them by their differences.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "tools/text/report.hpp"

namespace offramp::tool {

bool is_cosmetic_key(const std::string& key) {
  constexpr std::array<std::string_view, 10> kKeys = {"report",  "trace",        "capture", "receipts",
                                                      "summary", "certificate",  "details", "compare",
                                                      "backend", "faults.record"};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

std::string short_name(const std::string& file) {
  const std::filesystem::path path(file);
  const bool is_number = path.stem().string().find_first_not_of("0123456789") == std::string::npos;
  return (is_number ? path.parent_path().filename() / path.filename() : path.filename()).string();
}

namespace {

/// A property that may distinguish lanes.
struct Trait {
  std::string value;
  std::string text;  // for the label
};

/// A lane's program, number of ranks, and settings: general ones and those of its backend.
std::map<std::string, Trait> traits_of(const ShownLane& lane) {
  std::map<std::string, Trait> found;
  for (const SettingInForce& setting : lane.run->settings) {
    const auto dot = setting.key.find('.');
    const std::string section = dot == std::string::npos ? "" : setting.key.substr(0, dot);
    const bool general = section.empty() || section == "faults" || section == "machine" ||
                         section == "network" || section == "stragglers";
    const bool own = section == lane.lane->backend;
    if (is_cosmetic_key(setting.key) || (!general && !own)) continue;
    found[setting.key] = {setting.value, fmt::format("{} {}", own ? setting.key.substr(dot + 1) : setting.key,
                                                     setting.value.empty() ? "empty" : setting.value)};
  }
  found["ranks"] = {fmt::format("{}", lane.run->ranks), counted(lane.run->ranks, "rank")};
  if (lane.run->recordings.empty()) {
    const std::string& command = lane.run->command;
    const std::size_t end = std::min(command.find(' '), command.size());
    found["program"] = {
        command, std::filesystem::path(command.substr(0, end)).filename().string() + command.substr(end)};
    return found;
  }
  for (const RecordingFacts& recording : lane.run->recordings) {
    Trait& all = found["recording"];
    all.value += recording.checksum.empty() ? recording.file : recording.checksum;
    all.text += (all.text.empty() ? "" : " + ") + short_name(recording.file);
  }
  return found;
}

/// The settings in which a lane differs from others of its backend: "link 200 Gb/s, profile gen2". Empty if
/// that is not unique or too long.
std::string difference(const ShownLane& lane, const std::vector<const ShownLane*>& others) {
  constexpr std::size_t kMost = 3;
  constexpr std::size_t kLongest = 60;
  std::vector<std::string> parts;
  const auto own = traits_of(lane);
  std::set<std::string> keys;
  for (const ShownLane* other : others) {
    bool differs = false;
    const auto theirs = traits_of(*other);
    for (const auto& [key, trait] : own) {
      const auto found = theirs.find(key);
      if (found != theirs.end() && found->second.value == trait.value) continue;
      differs = true;
      keys.insert(key);
    }
    if (!differs) return {};
  }
  parts.reserve(keys.size());
  for (const std::string& key : keys) parts.push_back(own.at(key).text);
  const std::string text = fmt::format("{}", fmt::join(parts, ", "));
  return parts.size() > kMost || text.size() > kLongest ? std::string() : text;
}

}  // namespace

std::vector<ShownLane> shown_lanes(const std::vector<RunReport>& reports) {
  std::vector<ShownLane> lanes;
  for (const RunReport& report : reports) {
    if (!lanes.empty() && is_same_version(*lanes.back().run, report)) continue;
    for (const ReportLane& lane : report.lanes) lanes.push_back({lane.backend, &report, &lane});
  }
  const std::vector<ShownLane> plain = lanes;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    std::vector<const ShownLane*> others;
    for (const ShownLane& other : plain) {
      if (&other != &plain[i] && other.label == plain[i].label) others.push_back(&other);
    }
    if (others.empty()) continue;
    const std::string apart = difference(plain[i], others);
    lanes[i].label += fmt::format(" ({})", apart.empty() ? lanes[i].run->file : apart);
  }
  const auto host = std::find_if(lanes.begin(), lanes.end(),
                                 [](const ShownLane& lane) { return is_baseline(lane.lane->backend); });
  if (host != lanes.end()) host->baseline = true;
  return lanes;
}

const ShownLane* baseline_of(const std::vector<ShownLane>& lanes) {
  const auto found = std::find_if(lanes.begin(), lanes.end(), [](const ShownLane& l) { return l.baseline; });
  return found == lanes.end() || found->lane->communication <= Time() ? nullptr : &*found;
}

CallCounter sum_of(const std::vector<ReportCall>& calls) {
  CallCounter sum;
  for (const ReportCall& call : calls) sum += call;
  return sum;
}

}  // namespace offramp::tool
