// What changes the answer: replays with one parameter at half and at twice its value. Candidates are
// parameters whose value no document states (assumed, inferred, fitted), and those that every side has in
// some form.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include "lib/answers/advice/advice.hpp"

namespace offramp {
namespace {

constexpr std::size_t kInfluences = 5;
/// True for parameters that every side of a comparison has in some form.
bool is_shared(std::string_view parameter) {
  constexpr std::string_view kShared[] = {"latency", "bandwidth", "link", "overhead", "clock", "pcie"};
  return std::find(std::begin(kShared), std::end(kShared), parameter) != std::end(kShared);
}

}  // namespace

std::vector<Advisor::Trial> Advisor::sides_with(const std::string& what, const WorldSetting& best,
                                                const WorldSetting& host, const Parameter& parameter,
                                                bool of_host, double value) {
  std::vector<Trial> sides = {{what, best}, {what, std::nullopt}};
  const Settings::Value wanted{parameter.kind == ParameterKind::kInteger ? std::round(value) : value, {}};
  if (!of_host) {
    sides[0].setting->settings.set(parameter.name, wanted);
    return sides;
  }
  sides[1].setting.emplace(host);
  for (Trial& side : sides) side.setting->host_settings->set(parameter.name, wanted);
  sides[1].setting->settings.set(parameter.name, wanted);
  return sides;
}

void Advisor::find_influences() {
  const Candidate* const best = best_hardware();
  const Candidate* const base = baseline();
  if (best == nullptr || base == nullptr) return;
  const double now = ratio_of(best->fair().end(), base->end());
  const Result<WorldSetting> best_setting = setting_of(*best->description);
  const Result<WorldSetting> host_setting = setting_of(baseline_);
  if (!best_setting || !host_setting) return;
  /// A parameter, and its influence once that is known.
  struct Tried {
    const Parameter* parameter;
    bool of_host;
    double value;
    double half;
    double twice;
    Influence found;
  };
  std::vector<Tried> tried;
  for (const bool of_host : {false, true}) {
    const BackendDescription& backend = of_host ? baseline_ : *best->description;
    const Settings& settings = of_host ? host_setting->settings : best_setting->settings;
    for (const Parameter& parameter : backend.parameters) {
      if (!is_number(parameter) || (!is_open(parameter.source) && !is_shared(parameter.name))) continue;
      const auto allowed = [&](double one) { return std::clamp(one, parameter.minimum, parameter.maximum); };
      const double value = value_in_force(backend, settings, parameter);
      const double half = value > 0 ? allowed(value / 2) : value;
      const double twice = value > 0                 ? allowed(value * 2)
                           : parameter.plausible > 0 ? parameter.plausible
                                                     : value;
      if (half == twice) continue;
      Tried& one = tried.emplace_back(Tried{&parameter, of_host, value, half, twice, {}});
      one.found.key = fmt::format("{}.{}", backend.name, parameter.name);
      one.found.value = in_unit(fmt::format("{:.6g}", value > 0 ? value : twice), parameter.unit);
      one.found.source = parameter.source;
      one.found.is_zero = value <= 0;
    }
  }
  // By parameter, the ratios with values below and above the one in force.
  const auto ratios_around = [&](const std::string& what, const auto& below, const auto& above) {
    std::vector<Trial> trials;
    std::vector<std::size_t> known;  // values in force
    for (const Tried& one : tried) {
      for (const double value : {below(one), above(one)}) {
        if (value == one.value) known.push_back(trials.size() / 2);
        std::ranges::move(value == one.value ? std::vector<Trial>(2)
                                             : sides_with(one.found.key + what, *best_setting, *host_setting,
                                                          *one.parameter, one.of_host, value),
                          std::back_inserter(trials));
      }
    }
    std::vector<std::optional<double>> ratios = ratios_of(trials);
    for (const std::size_t i : known) ratios[i] = now;
    return ratios;
  };
  const auto far = ratios_around("", std::mem_fn(&Tried::half), std::mem_fn(&Tried::twice));
  std::vector<Tried> known;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (!far[2 * i] || !far[2 * i + 1]) continue;
    Tried& one = known.emplace_back(tried[i]);
    one.found.at_half = *far[2 * i];
    one.found.at_twice = *far[2 * i + 1];
  }
  tried_ = known.size();
  std::ranges::stable_sort(known, std::ranges::greater(), [now](const Tried& one) {
    return std::pair(one.found.turns_round(now), one.found.span(now));
  });
  if (known.size() > kInfluences) known.resize(kInfluences);
  const bool is_about_hardware = weighing_.kind != AnswerKind::kNothing &&
                                 weighing_.kind != AnswerKind::kAlgorithm &&
                                 weighing_.kind != AnswerKind::kMix;
  if (is_about_hardware && !known.empty() && known.front().found.turns_round(now)) weighing_.holds = false;
  tried = std::move(known);
  const auto scaled = [](double factor) {
    return [factor](const Tried& one) {
      return std::clamp(factor * one.value, one.parameter->minimum, one.parameter->maximum);
    };
  };
  const auto near = ratios_around(", 10 %", scaled(0.9), scaled(1.1));
  for (std::size_t i = 0; i < tried.size(); ++i) {
    Influence& one = influences_.emplace_back(std::move(tried[i].found));
    if (tried[i].value <= 0) continue;
    one.at_less = near[2 * i];
    one.at_more = near[2 * i + 1];
  }
}

}  // namespace offramp
