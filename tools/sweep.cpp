#include "tools/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "lib/configuration/names.hpp"
#include "lib/replay/free_communication.hpp"
#include "lib/replay/pattern.hpp"
#include "tools/progress.hpp"
#include "tools/replay_output.hpp"
#include "tools/setup.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

constexpr std::size_t kMostPoints = 4096;
/// Fields of pattern:NAME:RANKS:BYTES, which a sweep may change like keys.
constexpr std::pair<std::string_view, std::size_t> kOfPatterns[] = {{"ranks", 2}, {"bytes", 3}};

/// "x0.5us": a mark in front, a number, and what stands behind it.
struct Figure {
  std::string before;
  double number = 0;
  std::string unit;
};

std::optional<Figure> figure_of(const std::string& text) {
  Figure figure;
  std::string_view rest = text;
  if (rest.starts_with('x')) {
    figure.before = "x";
    rest.remove_prefix(1);
  }
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), figure.number);
  if (error != std::errc() || figure.number < 0) return std::nullopt;
  figure.unit = std::string(end, rest.data() + rest.size());
  return figure;
}

/// Two ends of a range; nothing: one is no figure, or they have no unit in common.
std::pair<std::optional<Figure>, std::optional<Figure>> in_one_unit(const std::string& from,
                                                                    const std::string& to) {
  const std::optional<Figure> first = figure_of(from);
  const std::optional<Figure> last = figure_of(to);
  if (!first || !last) return {};
  if (first->unit.empty() || last->unit.empty() || first->unit == last->unit) return {first, last};
  for (const char* unit : {"B", "ns", "Gb/s", "MHz"}) {
    const std::optional<double> least = parse_quantity(from, unit);
    const std::optional<double> most = parse_quantity(to, unit);
    if (least && most) return {Figure{"", *least, unit}, Figure{"", *most, unit}};
  }
  return {};
}

/// One combination of values, and the program with it.
struct Point {
  std::vector<std::string> values;  // of the axes
  std::string file;
  std::vector<Override> overrides;
};

/// The field of a pattern that is swept; nothing: it is a key.
std::optional<std::size_t> pattern_field(const std::string& file, const std::string& key) {
  if (!file.starts_with(kPatternPrefix)) return std::nullopt;
  for (const auto& [name, field] : kOfPatterns) {
    if (key == name) return field;
  }
  return std::nullopt;
}

/// pattern:shift:1:16:64KiB has a parameter of its own behind the name.
std::string with_field(const std::string& file, std::size_t field, const std::string& value) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= file.size();) {
    const std::size_t end = std::min(file.find(':', at), file.size());
    parts.push_back(file.substr(at, end - at));
    at = end + 1;
  }
  const auto kinds = pattern_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const PatternKind& one) {
    return parts.size() > 1 && one.name == parts[1];
  });
  if (kind != kinds.end() && !kind->parameter.empty()) ++field;
  if (field >= parts.size()) throw Misuse{fmt::format("{} has no such part to sweep", in_quotes(file))};
  parts[field] = value;
  return fmt::format("{}", fmt::join(parts, ":"));
}

std::vector<Point> points_of(const ReplayToolOptions& options, const std::vector<SweepAxis>& axes) {
  std::vector<Point> points = {{{}, options.files.front(), options.overrides}};
  for (const SweepAxis& axis : axes) {
    std::vector<Point> more;
    for (const Point& point : points) {
      for (const std::string& value : axis.values) {
        Point& next = more.emplace_back(point);
        next.values.push_back(value);
        if (const auto field = pattern_field(point.file, axis.key)) {
          next.file = with_field(point.file, *field, value);
        } else {
          next.overrides.push_back({axis.key, value, "--sweep " + axis.key, options.backends});
        }
      }
    }
    points = std::move(more);
  }
  if (points.size() > kMostPoints) throw Misuse{fmt::format("{} points are too many", points.size())};
  return points;
}

struct Row {
  std::string backend;
  std::optional<Time> modelled;
  std::optional<Time> run;  // with the program's computing
  std::string why;          // there is no time

  /// The run if it is known, the communication otherwise.
  [[nodiscard]] std::optional<Time> end() const { return run ? run : modelled; }
};

std::vector<Row> rows_at(const Point& point, const ReplayToolOptions& options, const ProgressLine& progress) {
  const Setup setup(point.overrides, options.backends, Setup::Wanted::kCompared);
  const Played played(point.file, options.partial);
  ReplayOptions how;
  how.compute = setup.configuration->compute;
  how.arrival = options.modelled_arrival ? Arrival::kModelled : Arrival::kRecorded;
  how.partial = options.partial;
  how.compare_undisturbed = false;
  std::vector<Row> rows;
  for (const BackendDescription* backend : setup.backends) {
    how.progress = [&](const ReplayProgress& now) {
      progress.say("{}: {}: {} events", fmt::join(point.values, ", "), backend->name, now.events);
      return !is_interrupted();
    };
    Row& row = rows.emplace_back(Row{std::string(backend->name), {}, {}, {}});
    Result<WorldSetting> setting =
        world_setting(*setup.configuration, setup.registry, *backend, played.ranks());
    if (!setting) throw Misuse{setting.error()};
    (*setting).check = options.check;
    Result<ReplayResult> result = offramp::replay(*setting, played.source(), how);
    if (!result) row.why = problem_text(point.file, result.error());
    if (!result || (*result).stopped) continue;
    row.modelled = (*result).modelled_time;
    if (how.compute.kind != Compute::Kind::kNone || !computing_of(*result).any()) continue;
    if (const auto run = replay_with_computing(*setting, played.source(), how)) row.run = run->modelled_time;
  }
  return rows;
}

std::string ratio_of(std::optional<Time> time, std::optional<Time> base) {
  return time && base && *base > Time() ? fmt::format("{:.3f}", time->seconds() / base->seconds()) : "-";
}

class Printer {
 public:
  Printer(const ReplayToolOptions& options, const std::vector<SweepAxis>& axes) : options_(options) {
    if (options.json) return;
    fmt::print("# {}\n", printable(options.files.front(), 200));
    for (std::size_t i = 0; i < axes.size(); ++i)
      fmt::print("{:<18} ", fmt::format("{}{}", i == 0 ? "# " : "", printable(axes[i].key)));
    fmt::print("{:<10} {:>18} {:>8} {:>18} {:>8}\n", "backend", "modelled (us)", "ratio", "run (us)",
               "ratio");
  }

  /// Prints the rows of a point as soon as it is replayed.
  void add(const Point& point, const std::vector<SweepAxis>& axes, const std::vector<Row>& rows) {
    for (const Row& row : rows) options_.json ? add_json(point, axes, row) : print(point, row, rows.front());
    if (!options_.json) std::fflush(stdout);
  }
  void end() const {
    if (options_.json) fmt::print("{}\n", json_.dump(2, ' ', false, Json::error_handler_t::replace));
  }

 private:
  void add_json(const Point& point, const std::vector<SweepAxis>& axes, const Row& row) {
    Json& one = json_.emplace_back(Json::object());
    for (std::size_t i = 0; i < axes.size(); ++i) one[axes[i].key] = point.values[i];
    one["backend"] = row.backend;
    if (row.modelled) one["modelled_time_ns"] = in_nanoseconds(*row.modelled);
    if (row.run) one["run_ns"] = in_nanoseconds(*row.run);
    if (!row.why.empty()) one["refused"] = row.why;
  }
  static void print(const Point& point, const Row& row, const Row& first) {
    for (const std::string& value : point.values) fmt::print("{:<18} ", printable(value));
    const auto time = [](std::optional<Time> one) {
      return one ? fmt::format("{:.3f}", microseconds(*one)) : std::string("-");
    };
    fmt::print("{:<10} {:>18} {:>8} {:>18} {:>8}{}\n", row.backend,
               row.why.empty() ? time(row.modelled) : "refused", ratio_of(row.modelled, first.modelled),
               time(row.run), ratio_of(row.run, first.run),
               row.why.empty() ? "" : "  " + printable(row.why, 200));
  }

  const ReplayToolOptions& options_;
  Json json_ = Json::array();
};

/// Along the first axis, for each value of the second one.
void print_crossovers(const std::vector<Point>& points, const std::vector<SweepAxis>& axes,
                      const std::vector<std::vector<Row>>& rows) {
  const std::size_t inner = axes.size() > 1 ? axes[1].values.size() : 1;
  for (std::size_t second = 0; second < inner && !rows.empty(); ++second) {
    for (std::size_t backend = 1; backend < rows.front().size(); ++backend) {
      std::vector<SweepPoint> line;
      for (std::size_t i = second; i < rows.size(); i += inner) {
        if (backend >= rows[i].size()) continue;
        line.push_back({fmt::format("{} = {}", axes[0].key, points[i].values[0]), rows[i].front().end(),
                        rows[i][backend].end()});
      }
      const std::string text =
          crossover_text(rows.front()[backend].backend, rows.front().front().backend, line);
      if (text.empty()) continue;
      fmt::print("# {}{}\n", inner > 1 ? fmt::format("{} = {}: ", axes[1].key, axes[1].values[second]) : "",
                 text);
    }
  }
}

}  // namespace

SweepAxis sweep_axis(const std::string& text) {
  const auto wrong = [&]() -> Misuse {
    return {fmt::format("--sweep {} is not KEY=FROM:TO, with :xFACTOR if not doubled or :+STEP",
                        in_quotes(text))};
  };
  const auto equals = text.find('=');
  const auto colon = text.find(':', equals);
  if (equals == std::string::npos || equals == 0 || colon == std::string::npos) throw wrong();
  std::string to = text.substr(colon + 1);
  double factor = 2;
  double step = 0;
  if (const auto more = to.find(':'); more != std::string::npos) {
    const std::string how = to.substr(more + 1);
    const auto number = how.size() > 1 ? parse_quantity(how.substr(1), "") : std::nullopt;
    if (!number || (how[0] == 'x' ? *number < 1.01 : how[0] != '+' || *number <= 0)) throw wrong();
    (how[0] == 'x' ? factor : step) = *number;
    to.resize(more);
  }
  auto [first, last] = in_one_unit(text.substr(equals + 1, colon - equals - 1), to);
  if (!first || !last || first->before != last->before || first->number > last->number ||
      (first->number == 0 && step == 0))
    throw wrong();
  const std::string& unit = first->unit.empty() ? last->unit : first->unit;
  SweepAxis axis{text.substr(0, equals), {}};
  constexpr double kRounding = 1 + 1e-9;
  for (std::size_t i = 0; axis.values.size() < kMostPoints; ++i) {
    const auto steps = static_cast<double>(i);
    const double value = step > 0 ? first->number + step * steps : first->number * std::pow(factor, steps);
    if (value > last->number * kRounding) break;
    axis.values.push_back(fmt::format("{}{:.10g}{}", first->before, value, unit));
  }
  return axis;
}

std::string crossover_text(std::string_view other, std::string_view base,
                           const std::vector<SweepPoint>& points) {
  std::vector<std::string> changes;
  std::optional<bool> faster;
  for (const SweepPoint& point : points) {
    if (!point.base || !point.other) continue;
    const bool now = *point.other < *point.base;
    if (!faster) changes.emplace_back(now ? "faster" : "not faster");
    if (faster && now != *faster)
      changes.push_back(fmt::format("{} from {} on", now ? "faster" : "not faster", point.text));
    faster = now;
  }
  if (changes.empty()) return {};
  if (changes.size() == 1)
    return *faster ? fmt::format("{} is faster than {} at every point", other, base)
                   : fmt::format("{} is nowhere faster than {}", other, base);
  return fmt::format("{} against {}: {} at first, {}", other, base, changes.front(),
                     fmt::join(changes.begin() + 1, changes.end(), ", "));
}

int replay_sweep(const ReplayToolOptions& options) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : options.sweeps) axes.push_back(sweep_axis(text));
  if (axes.size() > 2) throw Misuse{"--sweep has two axes at most"};
  const std::vector<Point> points = points_of(options, axes);
  watch_for_interrupt();
  std::vector<std::vector<Row>> rows;
  std::optional<Printer> printer;  // nothing is printed of what is refused
  {
    const ProgressLine progress;
    for (const Point& point : points) {
      std::vector<Row> now = rows_at(point, options, progress);
      if (is_interrupted()) break;
      if (!printer) printer.emplace(options, axes);
      printer->add(point, axes, now);
      rows.push_back(std::move(now));
    }
  }
  if (printer) printer->end();
  if (!options.json) print_crossovers(points, axes, rows);
  if (!is_interrupted()) return kDone;
  complain(fmt::format("interrupted: {} of {} points were replayed", rows.size(), points.size()));
  return kInterrupted;
}

}  // namespace offramp::tool
