// Each point has an advisor of its own that only ranks the backends. A backend that carried fewer ranks and
// failed at its last point is not tried again at more, and its reason is repeated. A paying range consists of
// consecutive compared points, without interpolation between them.
#include "lib/answers/advice/rank_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/base/format.hpp"

namespace offramp {
namespace {

// The ratio to the host from which on more ranks are not tried: it hardly ever turns round.
constexpr double kHopeless = 8;

}  // namespace

const BackendResult* CurvePoint::cell_of(std::string_view backend) const {
  const auto found = std::ranges::find(cells, backend, &BackendResult::backend);
  return found == cells.end() ? nullptr : &*found;
}

std::optional<double> CurvePoint::ratio(std::string_view backend) const {
  const BackendResult* const host = cell_of(baseline_name());
  const BackendResult* const other = cell_of(backend);
  if (host == nullptr || other == nullptr || !host->counts() || !other->counts()) return std::nullopt;
  return ratio_of(other->end(), host->end());
}

std::optional<double> CurvePoint::fair_ratio(std::string_view backend) const {
  const BackendResult* const tuned = cell_of(kTunedHost);
  const auto to_host = ratio(backend);
  if (!has_many_nodes || tuned == nullptr || backend == kTunedHost || !to_host) return to_host;
  return std::max(*to_host, ratio_of(cell_of(backend)->end(), tuned->end()));
}

std::optional<RatioRange> CurvePoint::fair_range(std::string_view backend) const {
  const auto found = ranges.find(backend);
  if (found == ranges.end()) return std::nullopt;
  const double against_tuned = *fair_ratio(backend) / *ratio(backend);
  return RatioRange{found->second.low * against_tuned, found->second.high * against_tuned};
}

RankCurve::RankCurve(const Configuration& configuration, const Registry& registry, Advisor::Options options)
    : configuration_(configuration), registry_(registry), options_(std::move(options)) {
  options_.runs_alone = true;
}

bool RankCurve::may_go_on(const std::string& what) {
  const bool go_on =
      Advisor::Clock::now() < options_.until && (options_.progress == nullptr || options_.progress(what));
  cut_short_ = cut_short_ || !go_on;
  return go_on;
}

std::string RankCurve::outgrown(std::string_view backend) const {
  const CurvePoint* last = nullptr;
  bool has_counted = false;
  for (const CurvePoint& point : points_) {
    const BackendResult* const cell = point.cell_of(backend);
    if (cell == nullptr) continue;
    has_counted = has_counted || cell->counts();
    last = &point;
  }
  if (!has_counted) return {};
  if (const BackendResult* const cell = last->cell_of(backend); !cell->counts()) return cell->why_not();
  const auto ratio = is_baseline(backend) ? std::nullopt : last->ratio(backend);
  if (!ratio || *ratio < kHopeless) return {};
  return fmt::format("not tried, as it is {} at {} ranks", slower_text(*ratio),
                     count_text(static_cast<std::uint64_t>(last->ranks)));
}

bool RankCurve::add(const ReplaySource& source) {
  points_.push_back({.ranks = source.ranks, .refused = {}, .cells = {}});
  sources_[source.ranks] = source;
  Advisor::Options options = options_;
  std::erase_if(options.backends,
                [&](const BackendDescription* backend) { return !outgrown(backend->name).empty(); });
  options.progress = [this, &source](const std::string& what) {
    return options_.progress == nullptr ||
           options_.progress(what.empty() ? what : fmt::format("{} ranks, {}", source.ranks, what));
  };
  Advisor advisor(configuration_, registry_, source, std::move(options));
  advisor.rank_backends();
  has_computing_ = advisor.has_computing();
  for (const BackendDescription* backend : options_.backends) {
    if (std::string why = outgrown(backend->name); !why.empty()) {
      points_.back().cells.push_back({std::string(backend->name), std::move(why)});
      continue;
    }
    for (const Candidate& one : advisor.candidates()) {
      if (one.description == backend) points_.back().cells.emplace_back(one.fair()).time = one.time;
    }
  }
  points_.back().has_many_nodes =
      configuration_.machine.layout(source.ranks).nodes(source.ranks) >= kManyNodes;
  if (const auto tuned = advisor.end_of_tuned())
    points_.back().cells.push_back({.backend = std::string(kTunedHost), .modelled_time = *tuned});
  cut_short_ = cut_short_ || advisor.cut_short();
  return !advisor.cut_short();
}

void RankCurve::find_ranges() {
  Advisor::Options options = options_;
  std::erase_if(options.backends, [](const BackendDescription* one) { return !has_error_bounds(one->name); });
  for (CurvePoint& point : points_) {
    if (point.cells.empty() || cut_short_ || options.backends.size() < 2) continue;
    Advisor advisor(configuration_, registry_, sources_.at(point.ranks), options);
    advisor.rank_backends();
    for (const Candidate& one : advisor.candidates()) {
      const auto range = is_baseline(one.backend) ? std::nullopt : advisor.range_of(one);
      if (range) point.ranges[one.backend] = *range;
    }
  }
}

void RankCurve::refuse(int ranks, std::string why) {
  points_.push_back({.ranks = ranks, .refused = std::move(why), .cells = {}});
}

namespace {

/// One hardware compared with the host at one number of ranks.
struct Compared {
  int ranks;
  std::optional<double> ratio;  // `nullopt`: the hardware has no valid time

  [[nodiscard]] bool pays() const { return ratio && offramp::pays(*ratio); }
};

/// The points at which the host has a valid time and the hardware was tried.
std::vector<Compared> compared(const RankCurve& curve, std::string_view backend) {
  std::vector<Compared> all;
  for (const CurvePoint& point : curve.points()) {
    const BackendResult* const host = point.cell_of(baseline_name());
    if (host == nullptr || !host->counts() || point.cell_of(backend) == nullptr) continue;
    all.push_back({point.ranks, point.fair_ratio(backend)});
  }
  return all;
}

std::string number(int ranks) {
  return count_text(static_cast<std::uint64_t>(ranks));
}

/// "from 128 ranks on", "from 128 to 512 ranks", "at 128 ranks"
std::string range_text(const PayingRange& range, const std::vector<Compared>& all) {
  if (range.from == all.front().ranks && range.to_the_end && all.size() > 1)
    return fmt::format("at every number of ranks from {} to {}", number(range.from), number(range.to));
  if (range.to_the_end && all.size() > 1) return fmt::format("from {} ranks on", number(range.from));
  if (range.from == range.to) return fmt::format("at {} ranks", number(range.from));
  return fmt::format("from {} to {} ranks", number(range.from), number(range.to));
}

/// "surely from 32, perhaps from 8 ranks". Empty if not known, or if it pays at neither end.
std::string thresholds_text(const RankCurve& curve, std::string_view backend) {
  const auto from = thresholds_of(curve, backend);
  if (!from || !from->perhaps) return {};
  if (!from->surely) return fmt::format("perhaps from {} ranks on, surely at none", number(*from->perhaps));
  if (from->surely == from->perhaps) return fmt::format("surely from {} ranks on", number(*from->surely));
  return fmt::format("surely from {}, perhaps from {} ranks", number(*from->surely), number(*from->perhaps));
}

/// The hardware with the lowest ratio to the host at the last point that allows a comparison.
struct Closest {
  std::string_view backend;
  const CurvePoint* point = nullptr;
  double ratio = 0;
};
std::optional<Closest> closest_at_last(const RankCurve& curve) {
  for (auto point = curve.points().rbegin(); point != curve.points().rend(); ++point) {
    std::optional<Closest> best;
    for (const BackendDescription* backend : curve.backends()) {
      if (is_baseline(backend->name)) continue;
      const auto ratio = point->ratio(backend->name);
      if (ratio && (!best || *ratio < best->ratio)) best = Closest{backend->name, &*point, *ratio};
    }
    if (best) return best;
  }
  return std::nullopt;
}

}  // namespace

std::vector<PayingRange> paying_ranges(const RankCurve& curve, std::string_view backend) {
  std::vector<PayingRange> ranges;
  bool pays = false;
  for (const Compared& one : compared(curve, backend)) {
    if (one.pays() && !pays) ranges.push_back({one.ranks, one.ranks});
    if (one.pays()) ranges.back().to = one.ranks;
    pays = one.pays();
  }
  if (pays) ranges.back().to_the_end = true;
  return ranges;
}

std::optional<Thresholds> thresholds_of(const RankCurve& curve, std::string_view backend) {
  Thresholds found;
  bool is_known = false;
  for (const CurvePoint& point : curve.points()) {
    if (!point.ratio(backend)) continue;
    const auto range = point.fair_range(backend);
    if (!range) return std::nullopt;
    is_known = true;
    const auto follow = [&](double ratio, std::optional<int>& from) {
      if (ratio >= 1 - kWorthwhile)
        from.reset();
      else if (!from)
        from = point.ranks;
    };
    follow(range->high, found.surely);
    follow(range->low, found.perhaps);
  }
  return is_known ? std::optional(found) : std::nullopt;
}

std::string paying_text(const RankCurve& curve, std::string_view backend) {
  const std::vector<Compared> all = compared(curve, backend);
  const auto least = std::ranges::min_element(all, {}, [](const Compared& one) {
    return one.ratio.value_or(std::numeric_limits<double>::infinity());
  });
  if (least == all.end() || !least->ratio) return {};
  const std::vector<PayingRange> ranges = paying_ranges(curve, backend);
  if (ranges.empty())
    return fmt::format("{} never pays: its lowest ratio to the host's time is {:.3f} at {} ranks", backend,
                       *least->ratio, number(least->ranks));
  std::vector<std::string> texts;
  for (const PayingRange& range : ranges) {
    const auto begin = std::ranges::find(all, range.from, &Compared::ranks);
    const auto end = std::ranges::find(all, range.to, &Compared::ranks);
    std::vector<std::string> limits = {range_text(range, all)};
    const auto limit = [&](std::string_view what, const Compared& one) {
      limits.push_back(one.ratio ? fmt::format("{} at {} ({:.3f})", what, number(one.ranks), *one.ratio)
                                 : fmt::format("no result at {}", number(one.ranks)));
    };
    if (begin != all.begin()) limit("not yet", *(begin - 1));
    if (end + 1 != all.end()) limit("no longer", *(end + 1));
    texts.push_back(fmt::format("{}", fmt::join(limits, ", ")));
  }
  if (const std::string text = thresholds_text(curve, backend); !text.empty()) texts.push_back(text);
  return fmt::format("{} pays {}", backend, fmt::join(texts, "; "));
}

std::string lacking_text(const RankCurve& curve, std::string_view backend) {
  std::vector<int> lacking;
  std::string why;
  std::size_t tried = 0;
  for (const CurvePoint& point : curve.points()) {
    const BackendResult* const cell = point.cell_of(backend);
    if (cell == nullptr) continue;
    ++tried;
    if (cell->counts()) continue;
    if (lacking.empty()) why = cell->why_not();
    lacking.push_back(point.ranks);
  }
  if (lacking.empty()) return {};
  std::vector<std::string> numbers;
  numbers.reserve(lacking.size());
  for (const int ranks : lacking) numbers.push_back(number(ranks));
  return fmt::format("{} has no valid result at {} ranks{}: {}", backend, fmt::join(numbers, ", "),
                     lacking.size() == tried && tried > 1 ? ", which are all" : "", why);
}

ReportAnswer answer_of(const RankCurve& curve, const std::string& program) {
  ReportAnswer answer;
  answer.of_run = curve.with_computing();
  const auto closest = closest_at_last(curve);
  if (!closest) {
    answer.answer = headline(program, "no hardware has a result at any of these numbers of ranks");
    answer.kind = "unknown";
    return answer;
  }
  std::vector<std::string> paying;
  std::vector<std::string> lacking;
  std::vector<std::string> sure;
  std::vector<const BackendDescription*> backends = curve.backends();
  std::ranges::stable_sort(backends, {}, [&](const BackendDescription* one) {
    return closest->point->ratio(one->name).value_or(std::numeric_limits<double>::infinity());
  });
  std::vector<std::string_view> others;  // that pay, too
  for (const BackendDescription* backend : backends) {
    if (is_baseline(backend->name)) continue;
    const std::vector<PayingRange> ranges = paying_ranges(curve, backend->name);
    const std::string text = lacking_text(curve, backend->name);
    lacking.push_back(text.substr(0, text.find(": ")));  // the reason is longer than a line
    const std::string thresholds = thresholds_text(curve, backend->name);
    if (!ranges.empty() && !paying.empty()) others.push_back(backend->name);
    if (!ranges.empty())
      paying.push_back(fmt::format(
          "{} pays {}", backend->name,
          thresholds.empty() ? range_text(ranges.front(), compared(curve, backend->name)) : thresholds));
    if (ranges.empty() && !thresholds.empty())
      sure.push_back(fmt::format("{} {}", backend->name, thresholds));
    if (!ranges.empty() && !thresholds_of(curve, backend->name) && !curve.cut_short())
      sure.push_back(fmt::format("error of {} unknown", backend->name));
  }
  const int last = closest->point->ranks;
  int tried = 0;  // the last number of ranks of all hardware
  for (const CurvePoint& point : curve.points())
    if (point.cells.size() >= curve.backends().size()) tried = point.ranks;
  if (paying.empty()) {
    answer.answer = headline(
        program, tried > 0 ? fmt::format("no hardware pays up to {} ranks", number(tried)) : "no answer yet");
  } else {
    answer.answer = headline(program, paying.front(),
                             others.empty() ? "" : fmt::format("; also {}", fmt::join(others, ", ")));
  }
  answer.kind = paying.empty() ? "baseline" : "hardware";
  answer.candidate = closest->backend;
  const auto from = thresholds_of(curve, closest->backend);
  answer.holds = from && from->surely;
  if (curve.cut_short()) sure.emplace_back("surely and perhaps: not computed");
  answer.sure = clauses_text(sure);
  const BackendResult& best = *closest->point->cell_of(closest->backend);
  answer.end = best.end();
  answer.baseline = closest->point->cell_of(baseline_name())->end();
  paying.erase(paying.begin(), paying.begin() + (paying.empty() ? 0 : 1));
  std::vector<std::string> why = {fmt::format("at {} ranks {} takes {}, {} {}", number(last),
                                              closest->backend, time_text(answer.end), baseline_name(),
                                              time_text(answer.baseline))};
  why.insert(why.end(), paying.begin(), paying.end());
  answer.why = clauses_text(why);
  const double carried = best.time.share().value_or(1);
  if (carried < 1 - kWorthwhile)
    lacking.insert(lacking.begin(), fmt::format("{} offloads {} of the host's communication",
                                                closest->backend, percent_text(carried, 1)));
  if (best.deployment.node_bits_per_second == 0 && !best.deployment.text.empty())
    lacking.push_back(fmt::format("{} runs on {}", closest->backend, best.deployment.text));
  answer.but = clauses_text(lacking);
  answer.next = fmt::format("--ranks {} alone shows the confidence and the reasons", last);
  return answer;
}

}  // namespace offramp
