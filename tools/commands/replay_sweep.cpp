// `offramp replay --sweep`. Validates all points before the first replay. Points are replayed
// side by side, each with its own configuration. Rows are in order, so the output does not depend on the
// number of threads; those of CSV are printed as soon as all earlier ones are complete.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "lib/answers/advice/answer_of.hpp"
#include "lib/answers/replay/free_communication.hpp"
#include "lib/answers/report/read_report.hpp"
#include "lib/answers/report/write_report.hpp"
#include "lib/base/format.hpp"
#include "lib/base/side_by_side.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/pattern.hpp"
#include "simulators/world/text_fields.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/commands/sweep.hpp"
#include "tools/text/progress.hpp"
#include "tools/text/replay_output.hpp"
#include "tools/text/report_tables.hpp"

namespace offramp::tool {
namespace {

/// Fields of pattern:NAME:RANKS:BYTES that a sweep may change, like keys.
constexpr std::pair<std::string_view, std::size_t> kOfPatterns[] = {{"ranks", 2}, {"bytes", 3}};

bool is_pattern(const std::string& file) {
  return file.starts_with(kPatternPrefix);
}

/// The swept field of a pattern. `nullopt`: `key` is a configuration key.
std::optional<std::size_t> pattern_field(const std::string& file, const std::string& key) {
  if (!is_pattern(file)) return std::nullopt;
  for (const auto& [name, field] : kOfPatterns) {
    if (key == name) return field;
  }
  return std::nullopt;
}

/// Replaces a field of a pattern, whose own parameter precedes them: pattern:shift:1:16:64KiB.
std::string with_field(const std::string& file, std::size_t field, const std::string& value) {
  const std::vector<std::string_view> fields = split(file, ':');
  std::vector<std::string> parts(fields.begin(), fields.end());
  const auto kinds = pattern_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const PatternKind& one) {
    return parts.size() > 1 && one.name == parts[1];
  });
  if (kind != kinds.end() && !kind->parameter.empty()) ++field;
  if (field >= parts.size()) throw Misuse{fmt::format("{} has no such number to sweep", in_quotes(file))};
  parts[field] = value;
  return fmt::format("{}", fmt::join(parts, ":"));
}

/// A combination of values, and its program.
struct Point {
  std::vector<std::string> values;  // of the axes
  std::string file;
  std::vector<Override> overrides;

  [[nodiscard]] Setup setup(const ReplayToolOptions& options) const {
    return Setup(overrides, options.backends, Setup::Wanted::kCompared);
  }
};

std::vector<Point> points_of(const ReplayToolOptions& options, const std::vector<SweepAxis>& axes) {
  std::size_t count = 1;
  for (const SweepAxis& axis : axes) count *= axis.values.size();
  if (count > kMostSweepPoints)
    throw Misuse{
        fmt::format("--sweep: {} points exceed the maximum of {}", count_text(count), kMostSweepPoints)};
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
  return points;
}

std::vector<std::string> names_of(const Setup& setup) {
  std::vector<std::string> names = {std::string(baseline_name())};
  for (const BackendDescription* const backend : setup.backends) names.emplace_back(backend->name);
  return names;
}

/// The full keys that an axis changes, or the field of a pattern.
std::set<std::string> keys_of(const SweepAxis& axis, const ReplayToolOptions& options, const Setup& setup) {
  if (pattern_field(options.files.front(), axis.key)) return {"pattern:" + axis.key};
  const auto keys =
      resolved_keys({axis.key, axis.values.front(), {}, options.backends}, setup.registry, names_of(setup));
  return {keys.begin(), keys.end()};
}

/// Throws Misuse if a key is swept twice, or both swept and set.
void refuse_repeated_keys(const ReplayToolOptions& options, const std::vector<SweepAxis>& axes,
                          const Setup& setup) {
  std::set<std::string> swept;
  for (const SweepAxis& axis : axes) {
    for (const std::string& key : keys_of(axis, options, setup)) {
      if (!swept.insert(key).second)
        throw Misuse{fmt::format("--sweep {}: {} is already swept", axis.key, in_quotes(key))};
    }
  }
  for (const Override& one : options.overrides) {
    if (one.key == "config" || one.key == "route" || one.key == "details") continue;
    const auto keys = resolved_keys(one, setup.registry, names_of(setup));
    if (std::all_of(keys.begin(), keys.end(), [&](const std::string& key) { return swept.contains(key); }))
      throw Misuse{
          fmt::format("{}: {} is also swept; leave out one of them", one.origin, in_quotes(one.key))};
  }
}

/// Throws Misuse if any point is invalid. Returns warnings about settings without effect, without duplicates.
std::set<std::string> checked_notes(const std::vector<Point>& points, const ReplayToolOptions& options,
                                    const std::vector<SweepAxis>& axes) {
  std::set<std::string> notes;
  for (const Point& point : points) {
    const Setup setup = point.setup(options);
    if (&point == &points.front()) refuse_repeated_keys(options, axes, setup);
    if (is_pattern(point.file))
      static_cast<void>(ReplayInput(point.file, options.partial, ReplayInput::Notes::kKept));
    for (std::string& note : setup.notes()) notes.insert(std::move(note));
  }
  return notes;
}

/// The results at one point over all backends.
struct PointRows {
  std::vector<BackendResult> rows;
  bool with_computing = false;  // the modelled times include computing
};

/// went_on: called with the number of events that were replayed meanwhile.
PointRows rows_at(const Point& point, const ReplayToolOptions& options, const ReplayInput& input,
                  const std::function<void(std::uint64_t events)>& went_on) {
  const Setup setup = point.setup(options);
  ReplayOptions how;
  how.compute = setup.configuration->compute;
  how.arrival = options.modelled_arrival ? Arrival::kModelled : Arrival::kRecorded;
  how.partial = options.partial;
  how.compare_undisturbed = false;
  PointRows all;
  for (const BackendDescription* backend : setup.backends) {
    std::uint64_t noted = 0;
    how.progress = [&](const ReplayProgress& now) {
      went_on(now.events - std::min(now.events, noted));
      noted = now.events;
      return !is_interrupted();
    };
    BackendResult& row = all.rows.emplace_back(BackendResult{std::string(backend->name)});
    Result<WorldSetting> setting =
        world_setting(input.configuration(setup), setup.registry, *backend, input.ranks());
    if (!setting) {
      row.problem = setting.error();
      continue;
    }
    setting->check = options.check;
    Result<ReplayResult> result = offramp::replay(*setting, input.source(), how);
    if (!result) {
      row.problem = problem_text(point.file, result.error());
      continue;
    }
    if (result->stopped) continue;
    if (!result->unfinished.empty() && result->done() == 0) {
      row.problem = nothing_replayed_text(point.file, *result);
      continue;
    }
    row = backend_result_of(backend->name, *result);
    row.part = part_text(*result, input.recorded_events);
    const bool computes = computing_of(*result).any();
    if (how.compute.kind != Compute::Mode::kNone) {
      all.with_computing = all.with_computing || computes;
    } else if (computes) {
      noted = 0;
      if (const auto run = replay_with_computing(*setting, input.source(), how)) row.run = whole_run_of(*run);
    }
  }
  return all;
}

std::optional<Time> modelled(const BackendResult& row) {
  return row.problem.empty() ? std::optional(row.modelled_time) : std::nullopt;
}
std::optional<Time> run_of(const BackendResult& row) {
  return row.run ? std::optional(row.run->end) : std::nullopt;
}

/// time: modelled or run_of.
std::optional<double> ratio_in(const BackendResult& row, const BackendResult& first,
                               std::optional<Time> (*time)(const BackendResult&)) {
  const std::optional<Time> own = time(row);
  const std::optional<Time> base = time(first);
  if (!own || !base || *base <= Time() || !row.counts()) return std::nullopt;
  return own->seconds() / base->seconds();
}

class SweepPrinter {
 public:
  SweepPrinter(const ReplayToolOptions& options, const std::vector<SweepAxis>& axes) : options_(options) {
    if (options.json) return;
    if (options.csv) {
      for (const SweepAxis& axis : axes) fmt::print("{},", csv_cell(axis.key));
      fmt::print("backend,modelled_ns,ratio,run_ns,run_ratio,carries_program,refused\n");
      return;
    }
    for (std::size_t i = 0; i < axes.size(); ++i)
      table_ += fmt::format("{:<18} ", fmt::format("{}{}", i == 0 ? "# " : "", printable(axes[i].key)));
    table_ += fmt::format("{:<10} {:>18} {:>8} {:>18} {:>8} {:>9}\n", "backend", "modelled (us)", "ratio",
                          "run (us)", "ratio", "carried");
  }

  /// Prints the rows of a point as soon as it is replayed; as text, it keeps them.
  void add(const Point& point, const std::vector<SweepAxis>& axes, const std::vector<BackendResult>& rows) {
    for (const BackendResult& row : rows) {
      if (options_.json) {
        add_json(point, axes, row, rows.front());
      } else if (options_.csv) {
        print_csv(point, row, rows.front());
      } else {
        add_text(point, row, rows.front());
      }
    }
    if (options_.csv) flush_output();
  }
  [[nodiscard]] const std::string& table() const { return table_; }
  void end() const {
    if (options_.json) fmt::print("{}\n", json_.dump(2, ' ', false, Json::error_handler_t::replace));
  }

 private:
  void add_json(const Point& point, const std::vector<SweepAxis>& axes, const BackendResult& row,
                const BackendResult& first) {
    Json& one = json_.emplace_back(Json::object());
    for (std::size_t i = 0; i < axes.size(); ++i) one[axes[i].key] = point.values[i];
    one["backend"] = row.backend;
    if (row.problem.empty()) {
      one["modelled_time_ns"] = in_nanoseconds(row.modelled_time);
      one["carries_program"] = row.counts();
    }
    if (row.run) one["run_ns"] = in_nanoseconds(row.run->end);
    one["base"] = first.backend;
    if (const auto ratio = ratio_in(row, first, modelled)) one["ratio"] = *ratio;
    if (const auto ratio = ratio_in(row, first, run_of)) one["run_ratio"] = *ratio;
    if (!row.problem.empty()) one["refused"] = row.problem;
  }
  /// Times in nanoseconds, and ratios, at full precision. Cells without a value are empty.
  static void print_csv(const Point& point, const BackendResult& row, const BackendResult& first) {
    const auto time = [](std::optional<Time> one) {
      return one ? fmt::format("{:.3f}", in_nanoseconds(*one)) : std::string();
    };
    const auto ratio = [](std::optional<double> one) {
      return one ? fmt::format("{}", *one) : std::string();
    };
    for (const std::string& value : point.values) fmt::print("{},", csv_cell(value));
    fmt::print("{},{},{},{},{},{},{}\n", csv_cell(row.backend), time(modelled(row)),
               ratio(ratio_in(row, first, modelled)), time(run_of(row)), ratio(ratio_in(row, first, run_of)),
               !row.problem.empty() ? ""
               : row.counts()       ? "true"
                                    : "false",
               csv_cell(row.problem));
  }
  void add_text(const Point& point, const BackendResult& row, const BackendResult& first) {
    for (const std::string& value : point.values) table_ += fmt::format("{:<18} ", printable(value));
    const auto ratio = [](std::optional<double> one) {
      return one ? fmt::format("{:.3f}", *one) : std::string("-");
    };
    table_ += fmt::format(
        "{:<10} {:>18} {:>8} {:>18} {:>8} {:>9}{}\n", row.backend,
        row.problem.empty() ? fmt::format("{:.3f}", in_microseconds(row.modelled_time)) : "refused",
        ratio(ratio_in(row, first, modelled)),
        row.run ? fmt::format("{:.3f}", in_microseconds(row.run->end)) : "-",
        ratio(ratio_in(row, first, run_of)), row.problem.empty() ? row.time.text() : "-",
        row.problem.empty() ? "" : "  " + printable(row.problem, 200));
  }

  const ReplayToolOptions& options_;
  std::string table_;
  Json json_ = Json::array();
};

/// The summary after the rows.
class Sentences {
 public:
  Sentences(const std::vector<Point>& points, const std::vector<SweepAxis>& axes,
            const std::vector<PointRows>& all)
      : points_(points), axes_(axes), all_(all) {}

  /// all must not be empty.
  [[nodiscard]] ReportAnswer answer(const std::string& name) const {
    const std::size_t inner = axes_.size() > 1 ? axes_[1].values.size() : 1;
    const std::size_t backends = all_.front().rows.size();
    bool has_runs = true;
    for (const PointRows& point : all_) {
      for (const BackendResult& row : point.rows) has_runs = has_runs && (row.run || !row.problem.empty());
    }
    std::vector<std::string> names;
    std::vector<std::string> objections;
    std::vector<SweepSide> sides;
    for (std::size_t i = 0; i < all_.size(); ++i) names.push_back(place(i, "="));
    for (std::size_t backend = 0; backend < backends; ++backend) {
      SweepSide& side = sides.emplace_back(SweepSide{all_.front().rows[backend].backend, {}});
      for (const PointRows& point : all_) {
        const BackendResult& row = point.rows[backend];
        const bool is_valid = row.problem.empty() && (backend == 0 || row.counts());
        side.times.push_back(is_valid ? has_runs ? run_of(row) : modelled(row) : std::nullopt);
        if (!row.part.empty()) objections.push_back("incomplete: " + row.part);
      }
      const std::size_t idle = not_carried_count(backend);
      if (idle > 0)
        objections.push_back(
            fmt::format("{} does not carry it at {} of {} points", side.name, idle, all_.size()));
    }
    ReportAnswer answer = answer_of_sweep(sides, names, has_runs || includes_computing(), name, inner == 1);
    std::ranges::stable_sort(objections);
    objections.erase(std::unique(objections.begin(), objections.end()), objections.end());
    answer.but = clauses_text(objections);
    return answer;
  }

  void print() const {
    const std::size_t backends = all_.empty() ? 0 : all_.front().rows.size();
    const std::size_t inner = axes_.size() > 1 ? axes_[1].values.size() : 1;
    for (std::size_t second = 0; second < inner; ++second) {
      for (std::size_t backend = 1; backend < backends; ++backend) {
        const std::string text = crossover(backend, second, inner);
        if (!text.empty()) fmt::print("# {}\n", text);
      }
    }
    for (std::size_t backend = 0; backend < backends; ++backend) print_not_carried(backend);
    for (std::size_t backend = 0; backend < backends; ++backend) print_deployment(backend);
    std::set<std::string> parts;
    for (const PointRows& point : all_) {
      for (const BackendResult& row : point.rows) {
        if (!row.part.empty() && parts.insert(row.part).second) fmt::print("# incomplete: {}\n", row.part);
      }
    }
  }

 private:
  [[nodiscard]] bool includes_computing() const {
    return std::any_of(all_.begin(), all_.end(), [](const PointRows& p) { return p.with_computing; });
  }
  [[nodiscard]] std::size_t not_carried_count(std::size_t backend) const {
    return static_cast<std::size_t>(std::count_if(all_.begin(), all_.end(), [&](const PointRows& point) {
      return !point.rows[backend].why_not_carried().empty();
    }));
  }
  /// "latency = 500ns, ranks_per_node = 4"
  [[nodiscard]] std::string place(std::size_t point, std::string_view equals = " = ") const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      texts.push_back(fmt::format("{}{}{}", axes_[i].key, equals, points_[point].values[i]));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  /// Compares along the first axis for one value of the second: by runs if they are known at all points,
  /// otherwise by communication. Hardware has no time where it does not carry the program.
  [[nodiscard]] std::string crossover(std::size_t backend, std::size_t second, std::size_t inner) const {
    bool has_runs = true;
    std::vector<std::string> at;
    std::array<SweepSide, 2> runs;
    std::array<SweepSide, 2> communication;
    for (std::size_t i = second; i < all_.size(); i += inner) {
      const std::array rows = {&all_[i].rows.front(), &all_[i].rows[backend]};
      if (!rows[0]->counts() || !rows[1]->counts()) continue;
      at.push_back(fmt::format("{}={}", axes_[0].key, points_[i].values[0]));
      for (std::size_t side = 0; side < rows.size(); ++side) {
        runs[side].name = communication[side].name = rows[side]->backend;
        runs[side].times.push_back(run_of(*rows[side]));
        communication[side].times.push_back(modelled(*rows[side]));
        has_runs = has_runs && rows[side]->run;
      }
    }
    const std::array<SweepSide, 2>& shown = has_runs ? runs : communication;
    const std::string text = crossover_text(shown[1], shown[0], at);
    if (text.empty()) return {};
    return fmt::format("by {}{}: {}", has_runs || includes_computing() ? "the run" : "communication",
                       inner > 1 ? fmt::format(", {} = {}", axes_[1].key, axes_[1].values[second]) : "",
                       text);
  }

  /// Prints where the hardware does not carry the program, and the reason at the first such point.
  void print_not_carried(std::size_t backend) const {
    const std::size_t count = not_carried_count(backend);
    if (count == 0) return;
    std::size_t first = 0;
    while (all_[first].rows[backend].counts()) ++first;
    fmt::print("# at {} {}\n",
               count == all_.size()
                   ? "every point"
                   : fmt::format("{} of {} points, first at {},", count, all_.size(), place(first)),
               all_[first].rows[backend].why_not_carried());
  }

  /// Prints the hardware's deployment; if it changes along the sweep, at the first and the last point.
  void print_deployment(std::size_t backend) const {
    std::vector<std::size_t> known;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].rows[backend].deployment.text.empty()) known.push_back(i);
    }
    if (known.empty()) return;
    const auto ground = [&](std::size_t point) -> const std::string& {
      return all_[point].rows[backend].deployment.text;
    };
    const bool alike = std::all_of(known.begin(), known.end(),
                                   [&](std::size_t point) { return ground(point) == ground(known.front()); });
    const std::string& name = all_.front().rows[backend].backend;
    if (alike) {
      fmt::print("# {} runs on {}\n", name, ground(known.front()));
    } else {
      fmt::print("# at {} {} runs on {}; at {} on {}\n", place(known.front()), name, ground(known.front()),
                 place(known.back()), ground(known.back()));
    }
  }

  const std::vector<Point>& points_;
  const std::vector<SweepAxis>& axes_;
  const std::vector<PointRows>& all_;  // of the completed points
};

/// Reasons of refusals without duplicates, if no point has a result; otherwise empty.
std::set<std::string> refusals_of(const std::vector<PointRows>& all) {
  std::set<std::string> reasons;
  for (const PointRows& point : all) {
    for (const BackendResult& row : point.rows) {
      if (row.problem.empty()) return {};
      reasons.insert(row.problem);
    }
  }
  return reasons;
}

}  // namespace

int replay_sweep(const ReplayToolOptions& options) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : options.sweeps) axes.push_back(sweep_axis(text));
  if (axes.size() > 2) throw Misuse{"--sweep allows at most two axes"};
  const std::vector<Point> points = points_of(options, axes);
  const std::set<std::string> notes = checked_notes(points, options, axes);
  watch_for_interrupt();
  points.front().setup(options).print_sources();
  std::vector<PointRows> all;           // from the first point on, without gaps
  std::optional<SweepPrinter> printer;  // created with the first result
  // Opened programs by file, each for one thread at a time. Opening the first one prints its notes.
  std::multimap<std::string, ReplayInput> idle;
  idle.emplace(std::piecewise_construct, std::tuple(points.front().file),
               std::tuple(points.front().file, options.partial));
  {
    const ProgressLine progress;
    std::atomic<std::uint64_t> events = 0;
    std::atomic<std::size_t> replayed = 0;
    std::mutex mutex;  // guards the programs and the results
    std::vector<std::optional<PointRows>> done(points.size());
    const auto take = [&](const std::string& file) {
      std::unique_lock lock(mutex);
      auto taken = idle.extract(file);
      lock.unlock();
      if (!taken.empty()) return std::move(taken.mapped());
      return ReplayInput(file, options.partial, ReplayInput::Notes::kKept);
    };
    side_by_side(points.size(), static_cast<std::size_t>(options.threads), [&](std::size_t at) {
      const Point& point = points[at];
      if (is_interrupted()) return;
      ReplayInput input = take(point.file);
      PointRows rows = rows_at(point, options, input, [&](std::uint64_t more) {
        progress.show("{} of {} points, {} events", replayed.load(), points.size(), events += more);
      });
      ++replayed;
      const std::scoped_lock lock(mutex);
      idle.emplace(point.file, std::move(input));
      if (is_interrupted()) return;
      done[at] = std::move(rows);
      for (std::size_t i = all.size(); i < done.size() && done[i]; ++i) {
        progress.clear();
        if (!printer) printer.emplace(options, axes);
        all.push_back(std::move(*done[i]));
        printer->add(points[i], axes, all.back().rows);
      }
    });
  }
  if (printer) printer->end();
  if (!options.json && !options.csv && !all.empty()) {
    const Sentences sentences(points, axes, all);
    const std::string name = std::filesystem::path(options.files.front()).filename().string();
    fmt::print("{}", answer_text(sentences.answer(name), line_width()));
    if (points.front().setup(options).configuration->details) {
      fmt::print("\n{}", printer->table());
      sentences.print();
    }
  }
  for (const std::string& note : notes) warn(note);
  if (is_interrupted()) {
    warn(fmt::format("interrupted: {} of {} points were replayed", all.size(), points.size()));
    return kInterrupted;
  }
  const std::set<std::string> refusals = refusals_of(all);
  if (refusals.empty()) return kDone;
  for (const std::string& reason : refusals) warn(reason);
  warn("nothing could be replayed at any point");
  return kUsage;
}

}  // namespace offramp::tool
