// The replay uses the nodes and ranks per node of the recorded run, without routes and stragglers, whatever
// machine is configured. Runs that such a world cannot represent are not compared: Offramp carried the
// messages, cores were short, or ranks were not placed host by host. If the model is off by more than a
// quarter, the next step is a calibration.
#include "lib/answers/advice/native_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/answers/replay/free_communication.hpp"
#include "lib/answers/report/accounts.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"
#include "lib/base/printable.hpp"

namespace offramp {
namespace {

constexpr double kOff = 0.25;

/// Why the run cannot be modelled where it was recorded. Empty if it can.
std::string obstacle(const recording::NativeTimes& native, const recording::Description& description) {
  for (const auto& [key, value] : description.facts) {
    if (key == "carried by" && value != "the MPI library") return "Offramp carried its messages";
  }
  if (native.cores_are_short) return "cores were short";
  return native.is_in_blocks ? "" : "ranks are not placed host by host";
}

/// The modelled times of the sites that have native ones.
std::vector<NativeSite> sites_of(const recording::NativeTimes& native, const ReportAccounts& accounts) {
  std::vector<NativeSite> sites;
  for (const recording::CallTimes& call : native.calls) {
    const auto found =
        std::find_if(accounts.sites.begin(), accounts.sites.end(), [&](const ReportSiteAccount& site) {
          return site.function == call.function && site.site == call.site;
        });
    if (found != accounts.sites.end()) sites.push_back({call, found->parts.sum()});
  }
  return sites;
}

}  // namespace

std::optional<double> NativeComparison::ratio() const {
  if (!modelled || native.run == 0) return std::nullopt;
  return modelled->seconds() * 1e9 / static_cast<double>(native.run);
}

bool NativeComparison::is_off() const {
  return std::abs(ratio().value_or(1) - 1) > kOff;
}

std::optional<NativeComparison> compare_with_native(const Configuration& configuration,
                                                    const Registry& registry,
                                                    const recording::Recording& recording,
                                                    const ReplaySource& source, ReplayOptions options,
                                                    bool sites) {
  auto native = recording::native_times_of(recording);
  if (!native || !*native) return std::nullopt;
  NativeComparison comparison{std::move(**native), {}, {}, {}};
  comparison.why_not = obstacle(comparison.native, recording.description());
  if (!comparison.why_not.empty()) return comparison;
  Configuration there = configuration;
  there.machine.nodes = static_cast<int>(comparison.native.hosts);
  there.machine.ranks_per_node = static_cast<int>(comparison.native.ranks_per_host);
  there.routes.clear();
  there.stragglers = {};
  const Result<WorldSetting> setting = world_setting(there, registry, registry.baseline(), source.ranks);
  const auto result = setting ? replay_with_computing(*setting, source, options) : std::nullopt;
  if (!result || !result->unfinished.empty()) {
    comparison.why_not = "its machine cannot be modelled";
    return comparison;
  }
  comparison.modelled = result->modelled_time;
  options.compute.kind = Compute::Mode::kMeasured;
  if (!sites) return comparison;
  if (const auto accounts = accounts_of(*setting, source, options, *result))
    comparison.sites = sites_of(comparison.native, *accounts);
  return comparison;
}

void add_native(ReportAnswer& answer, const NativeComparison& comparison) {
  const recording::NativeTimes& native = comparison.native;
  answer.native = native_text(native);
  answer.native_run =
      Time::ns(static_cast<std::int64_t>(std::min<std::uint64_t>(native.run, INT64_MAX / 1000)));
  if (!comparison.modelled) {
    answer.native += fmt::format("; not compared: {}", comparison.why_not);
    return;
  }
  answer.native_modelled = *comparison.modelled;
  answer.native +=
      fmt::format("; host model {} (x{:.2f})", time_text(*comparison.modelled), *comparison.ratio());
  if (!comparison.is_off()) return;
  answer.sure = clauses_text(
      {fmt::format("the host model is x{:.2f} of your own run", *comparison.ratio()), answer.sure});
  answer.next = "offramp calibrate -o offramp.toml, where it was recorded; then repeat";
}

std::string native_sites_text(const NativeComparison& comparison) {
  if (comparison.sites.empty()) return {};
  constexpr std::size_t kShown = 10;
  std::string text =
      "# call sites where the program was recorded, all ranks: measured, and modelled over the host\n";
  text += fmt::format("  {:<22} {:<28} {:>9} {:>12} {:>12} {:>7}\n", "function", "call site", "calls",
                      "natively", "modelled", "ratio");
  for (std::size_t i = 0; i < std::min(kShown, comparison.sites.size()); ++i) {
    const auto& [native, modelled] = comparison.sites[i];
    const auto sum = static_cast<double>(native.sum);
    text +=
        fmt::format("  {:<22} {:<28} {:>9} {:>12} {:>12} {:>7}\n", printable(native.function),
                    cut_text(printable(native.site), 28), native.count, time_text(sum), time_text(modelled),
                    sum > 0 ? fmt::format("x{:.2f}", modelled.seconds() * 1e9 / sum) : "-");
  }
  if (comparison.sites.size() > kShown)
    text += fmt::format("  {}\n", and_more_text(comparison.sites.size() - kShown));
  return text;
}

}  // namespace offramp
