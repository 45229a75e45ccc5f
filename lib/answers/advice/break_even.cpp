// What would have to be true: the value of a parameter that no document states at which the hardware is no
// longer faster, and the one measurement on the user's own machine that would decide.
//
// - Break-even: bisection on a logarithmic scale between the value in force and the nearest tried value at
// which
//   the hardware gains nothing. Parameters whose influence is one-sided within kFarthest are not named.
// - The measurement: the blocking collective that takes the most time over the baseline, among those that the
//   hardware carries. A call that takes longer than modelled is taken to make the run longer by as much, and
//   all else stays as modelled. So the hardware pays from the time on at which it saves kWorthwhile of the
//   run: less than the modelled time if it pays now, and more if not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "lib/answers/advice/advice.hpp"
#include "lib/answers/replay/forecast.hpp"
#include "lib/base/format.hpp"

namespace offramp {
namespace {

constexpr double kFarthest = 16;  // times the value in force, or a part of it
constexpr int kSteps = 8;         // leaves 1 % of the first interval, which is a factor of 16 at most
constexpr std::size_t kBreakEvens = 2;
constexpr std::size_t kMostMeasurable = 8;  // collectives that are forecast

}  // namespace

void Advisor::find_break_even() {
  const Candidate* const best = best_hardware();
  const Candidate* const base = baseline();
  if (best == nullptr || base == nullptr) return;
  const Result<WorldSetting> best_setting = setting_of(*best->description);
  const Result<WorldSetting> host_setting = setting_of(baseline_);
  if (!best_setting || !host_setting) return;
  const double now = ratio_of(best->fair().end(), base->end());
  const bool is_ahead = pays(now);
  for (Influence& one : influences_) {
    const Parameter* const parameter = find_parameter(
        best->description->parameters, std::string_view(one.key).substr(one.key.find('.') + 1));
    const bool of_hardware = one.key.starts_with(fmt::format("{}.", best->backend));
    if (!of_hardware || parameter == nullptr || !is_open(one.source) || break_evens_.size() == kBreakEvens)
      continue;
    const double value = value_in_force(*best->description, best_setting->settings, *parameter);
    if (value <= 0 || one.at_half == one.at_twice) continue;
    // Towards the end at which the answer would be another one.
    const bool rises = (one.at_twice > one.at_half) == is_ahead;
    double near = value;
    double far =
        std::clamp(rises ? value * kFarthest : value / kFarthest, parameter->minimum, parameter->maximum);
    const auto still_holds = [&](double tried) -> std::optional<bool> {
      const auto ratio = ratios_of(sides_with(one.key + ", break-even", *best_setting, *host_setting,
                                              *parameter, false, tried))
                             .front();
      return ratio ? std::optional(pays(*ratio) == is_ahead) : std::nullopt;
    };
    const auto at_far = far > 0 ? still_holds(far) : std::nullopt;
    if (!at_far) continue;
    for (int step = 0; step < kSteps && !*at_far; ++step) {
      const double middle = std::sqrt(near * far);
      const auto holds = still_holds(middle);
      if (!holds) return;
      (*holds ? near : far) = middle;
    }
    // The first whole number at which it does not hold.
    if (!*at_far && parameter->kind == ParameterKind::kInteger) near = std::round(near) + (rises ? 1 : -1);
    break_evens_.push_back({one.key, value, *at_far ? far : near, std::string(parameter->unit), one.source,
                            rises, is_ahead, !*at_far});
  }
}

std::string BreakEven::text() const {
  const std::string_view backend = std::string_view(key).substr(0, key.find('.'));
  const auto quantity = [&](double amount) {
    return in_unit(fmt::format("{:g}", std::stod(fmt::format("{:.3g}", amount))), unit);
  };
  // "fitted", of a source that goes on with the measurement.
  const std::string_view kind = std::string_view(source).substr(0, source.find_first_of(" ,:"));
  return fmt::format("{} {} {} {} {} (now {}, {})", backend, is_ahead ? "pays" : "does not pay",
                     is_reached ? fmt::format("while {} is", key) : fmt::format("whatever {} is,", key),
                     is_reached ? rises ? "below" : "above"
                     : rises    ? "up to"
                                : "down to",
                     quantity(at), quantity(value), kind);
}

void Advisor::find_decisive_test() {
  const Candidate* const best = best_hardware();
  const Candidate* const base = baseline();
  if (best == nullptr || base == nullptr) return;
  read_traffic();
  Time most;
  std::size_t forecasts = 0;
  for (const Traffic& traffic : traffic_) {
    const Operation& operation = traffic.operation;
    if (operation.kind == OperationKind::kSend || operation.nonblocking || operation.ranks < 2 ||
        operation.ranks > kLargestForecast)
      continue;
    if (++forecasts > kMostMeasurable || !may_go_on("the test that decides")) return;
    const auto time_over = [&](const BackendDescription& backend) -> std::optional<Time> {
      Result<WorldSetting> setting = world_setting(equal_links_, registry_, backend, operation.ranks);
      Result<Forecast> forecast = setting ? offramp::forecast(*setting, operation) : failure(setting.error());
      return forecast && forecast->declined.empty() ? std::optional(forecast->time) : std::nullopt;
    };
    const auto host = time_over(baseline_);
    const double calls = static_cast<double>(traffic.calls) / source_.ranks;
    const Time all = host ? Time::ps(std::llround(static_cast<double>(host->count()) * calls)) : Time();
    if (all <= most || !time_over(*best->description)) continue;
    const double missing = best->fair().end().seconds() / (1 - kWorthwhile) - base->end().seconds();
    const double pays_above = host->seconds() + missing / calls;
    most = all;
    decisive_.reset();
    if (pays_above > 0)
      decisive_ = DecisiveTest{
          operation.kind, operation.bytes, operation.ranks, *host, Time::ps(std::llround(pays_above * 1e12)),
          best->backend};
  }
}

std::string DecisiveTest::text() const {
  return fmt::format("osu_{} of {} on {} decides: {} pays if it takes more than {} (the model: {})",
                     to_string(kind), bytes_text(std::uint64_t{bytes}),
                     counted(static_cast<std::uint64_t>(ranks), "rank"), backend, time_text(pays_above),
                     time_text(modelled));
}

}  // namespace offramp
