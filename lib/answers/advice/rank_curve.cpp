// Each hardware is replayed once at each number of ranks, with the program's computing where there is any,
// and a second time without it where the hardware declines something: whether it carries the program is
// judged by the time of its operations alone, as everywhere.
#include "lib/answers/advice/rank_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"

namespace offramp {

const CurveCell* CurvePoint::of(std::string_view backend) const {
  const auto found =
      std::ranges::find_if(cells, [&](const CurveCell& one) { return one.backend->name == backend; });
  return found == cells.end() ? nullptr : &*found;
}

std::optional<double> CurvePoint::ratio(std::string_view backend) const {
  const CurveCell* const host = of("host");
  const CurveCell* const other = of(backend);
  if (host == nullptr || other == nullptr || !host->counts() || !other->counts()) return std::nullopt;
  return ratio_of(*other->end, *host->end);
}

RankCurve::RankCurve(const Configuration& configuration, const Registry& registry, Advisor::Options options)
    : configuration_(configuration), registry_(registry), options_(std::move(options)) {
  ReplayOptions& replay = options_.replay;
  replay.details = replay.sizes = replay.certificate = replay.compare_undisturbed = false;
  replay.observer = nullptr;
  replay.clock_reads = nullptr;
  replay.progress = [this](const ReplayProgress&) {
    return Advisor::Clock::now() < options_.until && (options_.progress == nullptr || options_.progress(""));
  };
}

bool RankCurve::may_go_on(const std::string& what) {
  const bool go_on =
      Advisor::Clock::now() < options_.until && (options_.progress == nullptr || options_.progress(what));
  cut_short_ = cut_short_ || !go_on;
  return go_on;
}

Result<ReplayResult> RankCurve::replayed(const WorldSetting& setting, const ReplaySource& source,
                                         bool computes) {
  ReplayOptions how = options_.replay;
  if (computes) how.compute.kind = Compute::Kind::kMeasured;
  Result<ReplayResult> result = replay(setting, source, how);
  if (result && result->stopped) cut_short_ = true;
  return result;
}

/// Where the search is cut short, it is of no use.
CurveCell RankCurve::cell_of(const BackendDescription& backend, const ReplaySource& source) {
  CurveCell cell{.backend = &backend, .end = {}, .why_not = {}};
  const Result<WorldSetting> setting = world_setting(configuration_, registry_, backend, source.ranks);
  if (!setting) {
    cell.why_not = setting.error();
    return cell;
  }
  if (const CurveCell* const too_many = outgrown(backend.name)) {
    cell.why_not = too_many->why_not;
    return cell;
  }
  // What did not carry the program on fewer ranks is likely not to carry it here.
  if (with_computing() && lacked(backend.name)) {
    Result<ReplayResult> alone = replayed(*setting, source, false);
    cell.why_not = alone ? why_not_carried(backend.name, alone->total()) : alone.error();
    if (cut_short_ || !cell.why_not.empty()) return cell;
  }
  Result<ReplayResult> result = replayed(*setting, source, with_computing());
  if (result && !result->stopped && !has_computing_) {
    has_computing_ = options_.replay.compute.kind == Compute::Kind::kNone && computing_of(*result).any();
    if (*has_computing_) result = replayed(*setting, source, true);
  }
  if (!result) {
    cell.why_not = result.error();
    return cell;
  }
  cell.end = result->modelled_time;
  cell.footing = result->footing;
  Counters counters = result->total();
  if (with_computing() && counters.times.declined > Time() && !cut_short_) {
    if (Result<ReplayResult> alone = replayed(*setting, source, false)) counters = alone->total();
  }
  cell.why_not = why_not_carried(backend.name, counters);
  return cell;
}

const CurveCell* RankCurve::outgrown(std::string_view backend) const {
  const CurveCell* last = nullptr;
  bool has_counted = false;
  for (const CurvePoint& point : points_) {
    const CurveCell* const cell = point.of(backend);
    if (cell == nullptr) continue;
    has_counted = has_counted || cell->counts();
    last = cell;
  }
  return has_counted && !last->counts() ? last : nullptr;
}

bool RankCurve::lacked(std::string_view backend) const {
  for (auto point = points_.rbegin(); point != points_.rend(); ++point) {
    if (const CurveCell* const cell = point->of(backend)) return !cell->counts();
  }
  return false;
}

bool RankCurve::add(const ReplaySource& source) {
  points_.push_back({.ranks = source.ranks, .refused = {}, .cells = {}});
  for (const BackendDescription* backend : options_.backends) {
    if (!may_go_on(
            fmt::format("{}, {}", counted(static_cast<std::uint64_t>(source.ranks), "rank"), backend->name)))
      return false;
    CurveCell cell = cell_of(*backend, source);
    if (cut_short_) return false;
    points_.back().cells.push_back(std::move(cell));
  }
  return true;
}

void RankCurve::refuse(int ranks, std::string why) {
  points_.push_back({.ranks = ranks, .refused = std::move(why), .cells = {}});
}

namespace {

/// One hardware beside the host at one number of ranks.
struct Compared {
  int ranks;
  std::optional<double> ratio;  // nothing: the hardware has no time that counts there

  [[nodiscard]] bool pays() const { return ratio && *ratio < 1; }
};

/// Where the host has a time, and it was found out what the hardware has.
std::vector<Compared> compared(const RankCurve& curve, std::string_view backend) {
  std::vector<Compared> all;
  for (const CurvePoint& point : curve.points()) {
    const CurveCell* const host = point.of("host");
    if (host == nullptr || !host->counts() || point.of(backend) == nullptr) continue;
    all.push_back({point.ranks, point.ratio(backend)});
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

/// The hardware that has the least time over the host's at the last point at which any can be compared.
struct Closest {
  std::string_view backend;
  const CurvePoint* point = nullptr;
  double ratio = 0;
};
std::optional<Closest> closest_at_last(const RankCurve& curve) {
  for (auto point = curve.points().rbegin(); point != curve.points().rend(); ++point) {
    std::optional<Closest> best;
    for (const BackendDescription* backend : curve.backends()) {
      if (backend->name == "host") continue;
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

std::string paying_text(const RankCurve& curve, std::string_view backend) {
  const std::vector<Compared> all = compared(curve, backend);
  const auto least = std::ranges::min_element(all, {}, [](const Compared& one) {
    return one.ratio.value_or(std::numeric_limits<double>::infinity());
  });
  if (least == all.end() || !least->ratio) return {};
  const std::vector<PayingRange> ranges = paying_ranges(curve, backend);
  if (ranges.empty())
    return fmt::format("{} pays nowhere: {:.3f} of the host's time at {} ranks is the least", backend,
                       *least->ratio, number(least->ranks));
  std::vector<std::string> texts;
  for (const PayingRange& range : ranges) {
    const auto begin = std::ranges::find(all, range.from, &Compared::ranks);
    const auto end = std::ranges::find(all, range.to, &Compared::ranks);
    std::vector<std::string> limits = {range_text(range, all)};
    const auto limit = [&](std::string_view what, const Compared& one) {
      limits.push_back(one.ratio ? fmt::format("{} at {} ({:.3f})", what, number(one.ranks), *one.ratio)
                                 : fmt::format("has no time at {}", number(one.ranks)));
    };
    if (begin != all.begin()) limit("not yet", *(begin - 1));
    if (end + 1 != all.end()) limit("no longer", *(end + 1));
    texts.push_back(fmt::format("{}", fmt::join(limits, ", ")));
  }
  return fmt::format("{} pays {}", backend, fmt::join(texts, "; "));
}

std::string lacking_text(const RankCurve& curve, std::string_view backend) {
  std::vector<int> lacking;
  std::string why;
  std::size_t tried = 0;
  for (const CurvePoint& point : curve.points()) {
    const CurveCell* const cell = point.of(backend);
    if (cell == nullptr) continue;
    ++tried;
    if (cell->counts()) continue;
    if (lacking.empty()) why = cell->why_not;
    lacking.push_back(point.ranks);
  }
  if (lacking.empty()) return {};
  std::vector<std::string> numbers;
  numbers.reserve(lacking.size());
  for (const int ranks : lacking) numbers.push_back(number(ranks));
  return fmt::format("{} has no time that counts at {} ranks{}: {}", backend, fmt::join(numbers, ", "),
                     lacking.size() == tried && tried > 1 ? ", which is nowhere" : "", why);
}

std::string verdict_text(const RankCurve& curve, const std::string& program) {
  const auto closest = closest_at_last(curve);
  if (!closest)
    return fmt::format("{}: no hardware can be compared with the plain host at any of these numbers of ranks",
                       program);
  std::vector<std::string> paying;
  for (const BackendDescription* backend : curve.backends()) {
    const std::vector<PayingRange> ranges = paying_ranges(curve, backend->name);
    if (backend->name == "host" || ranges.empty()) continue;
    const std::vector<Compared> all = compared(curve, backend->name);
    std::vector<std::string> texts;
    texts.reserve(ranges.size());
    for (const PayingRange& range : ranges) texts.push_back(range_text(range, all));
    paying.push_back(fmt::format("{} pays {}", backend->name, fmt::join(texts, " and ")));
  }
  const std::string_view what = curve.with_computing() ? "the run" : "communication";
  const CurveCell& best = *closest->point->of(closest->backend);
  const CurveCell& host = *closest->point->of("host");
  const std::string there =
      fmt::format("{} {} over {} instead of {} over host", what, time_text(in_nanoseconds(*best.end)),
                  closest->backend, time_text(in_nanoseconds(*host.end)));
  std::string text =
      paying.empty()
          ? fmt::format(
                "{}: no hardware pays up to {} ranks; {} comes closest there, with {:.3f} of the host's time "
                "({})",
                program, number(closest->point->ranks), closest->backend, closest->ratio, there)
          : fmt::format("{}: {}. At {} ranks {} {}, with {:.3f} of the host's time ({})", program,
                        fmt::join(paying, ", "), number(closest->point->ranks), closest->backend,
                        closest->ratio < 1 ? "is the fastest hardware" : "comes closest", closest->ratio,
                        there);
  const std::string ground = other_ground_text(best.footing, host.footing);
  if (!ground.empty())
    text += fmt::format(". {} {} there", closest->backend, ground.substr(std::string_view("it ").size()));
  return text;
}

}  // namespace offramp
