// offramp predict: the time of an operation on modelled hardware.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "lib/answers/advice/answer_of.hpp"
#include "lib/answers/replay/forecast.hpp"
#include "lib/answers/report/write_report.hpp"
#include "lib/base/format.hpp"
#include "lib/base/side_by_side.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/memory_need.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/commands/question.hpp"
#include "tools/commands/sweep.hpp"
#include "tools/page/plot.hpp"
#include "tools/text/progress.hpp"
#include "tools/text/report_tables.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;

struct PredictOptions {
  Asked asked;
  int repeat = 1;        // consecutive operations
  std::string sweep;     // of bytes or ranks, see sweep_axis()
  int threads = 0;       // of a sweep; 0: one on each core
  std::string svg;       // plot into this file
  bool what_if = false;  // enlarge a memory instead of declining
  bool details = false;  // print the table below the answer
  bool check = false;    // verify the invariants of the simulation
  bool json = false;
  bool csv = false;
  RecordOptions records;
};

/// One operation over one backend.
struct Answer : ForecastSide {
  Operation operation = {};
  std::optional<std::int64_t> cycles = {};
};

/// The points of a sweep in order; without a sweep, one point.
std::vector<Operation> points_of(const PredictOptions& options) {
  const Operation base = operation_of(options.asked);
  std::vector<Operation> points;
  const auto add = [&](Operation point) {
    set_elements(point);
    points.push_back(point);
  };
  if (options.sweep.empty()) {
    add(base);
    return points;
  }
  const auto step = static_cast<double>(element_bytes(base.element));
  const SweepAxis axis = sweep_axis(options.sweep, step);
  const bool bytes = axis.key == "bytes";
  if (!bytes && axis.key != "ranks")
    throw Misuse{fmt::format("--sweep {}: only bytes and ranks can be swept", in_quotes(options.sweep))};
  for (const std::string& text : axis.values) {
    // Bytes are rounded down to whole elements, ranks to whole numbers.
    const double value = parse_quantity(text, bytes ? "B" : "").value_or(-1);
    Operation point = base;
    if (bytes) {
      point.bytes = parse_bytes(fmt::format("{:.0f}", std::floor(value / step) * step));
    } else {
      point.ranks = parse_ranks(fmt::format("{:.0f}", std::round(value)));
    }
    const bool new_point =
        points.empty() || points.back().bytes != point.bytes || points.back().ranks != point.ranks;
    if (new_point) add(point);
  }
  return points;
}

/// See Answer::band.
std::optional<std::pair<Time, Time>> band_of(const ForecastSetting& setting, const Setup& setup,
                                             const Operation& point, const PredictOptions& options) {
  std::vector<Time> ends;
  for (const bool most : {true, false}) {
    const auto end = at_end_of_band(setting, setup.registry.baseline(), point.ranks, most);
    if (!end) return std::nullopt;
    const Result<Forecast> result = forecast(*end, point, options.repeat, options.what_if, nullptr);
    if (!result || !result->declined.empty()) return std::nullopt;
    ends.push_back(result->time);
  }
  return std::pair(ends[0], ends[1]);
}

/// One point over one backend. problem: set if the question is invalid. recorded: may be null.
Answer answer_to(const Setup& setup, const Operation& point, const BackendDescription& backend,
                 const PredictOptions& options, std::string& problem, ReplayRecords* recorded) {
  Answer answer{{&backend}, point};
  const ForecastSetting setting = setting_of(setup, backend, point.ranks, options.check);
  Result<Forecast> result = forecast(setting, point, options.repeat, options.what_if, recorded);
  if (!result) {
    answer.forecast.declined = problem = result.error();
    return answer;
  }
  answer.forecast = std::move(*result);
  if (setting.backend.deployment != nullptr)
    answer.deployment = setting.backend.deployment(setting.settings, setting.machine, point.ranks);
  if (answer.forecast.declined.empty()) {
    answer.cycles = engine_cycles(setting, answer.forecast);
    answer.band = band_of(setting, setup, point, options);
  } else if (could_be_larger(setting, point)) {
    answer.forecast.declined += "; --what-if predicts the time with a larger one";
  }
  return answer;
}

/// At each point over each backend. code: set to kNotWritten if a file could not be written.
std::vector<Answer> answers_of(const Setup& setup, const std::vector<Operation>& points,
                               const PredictOptions& options, int& code) {
  const std::size_t width = setup.backends.size();
  std::vector<Answer> answers(points.size() * width);
  std::vector<std::string> problems(answers.size());
  const ProgressLine progress;
  RecordFiles files(options.records, width);
  const auto most = options.sweep.empty() ? std::size_t{1} : static_cast<std::size_t>(options.threads);
  side_by_side(answers.size(), most, [&](std::size_t at) {
    const Operation& point = points[at / width];
    const BackendDescription& backend = *setup.backends[at % width];
    progress.show("{}/{} {} {} ranks {} bytes", at + 1, answers.size(), backend.name, point.ranks,
                  point.bytes);
    const std::unique_ptr<ReplayRecords> records = files.records(backend.name, point.ranks);
    answers[at] = answer_to(setup, point, backend, options, problems[at], records.get());
    if (records != nullptr && answers[at].forecast.declined.empty()) files.write(backend.name, *records);
  });
  if (const int written = files.finish(); written != kDone) code = written;
  if (std::ranges::none_of(problems, &std::string::empty)) throw Misuse{problems.front()};
  return answers;
}

Json json_of_answer(const Answer& answer, int repeat) {
  const Operation& o = answer.operation;
  Json json = {{"operation", to_string(o.kind)},
               {"backend", answer.backend->name},
               {"ranks", o.ranks},
               {"bytes", o.bytes},
               {"root", o.root},
               {"type", to_string(o.element)}};
  if (reduces(o.kind)) json["function"] = to_string(o.function);
  if (repeat != 1) json["repeat"] = repeat;
  if (!answer.forecast.declined.empty()) {
    json["declined"] = answer.forecast.declined;
    return json;
  }
  json["time_ns"] = in_nanoseconds(answer.forecast.time);
  json["time_ps"] = answer.forecast.time.count();
  json["stands_on"] = offramp::json_of(answer.deployment);
  if (answer.band)
    json["band_ns"] = {in_nanoseconds(answer.band->first), in_nanoseconds(answer.band->second)};
  json["cycles"] = answer.cycles ? Json(*answer.cycles) : Json(nullptr);
  json["wire"] = offramp::json_of(answer.forecast.wire);
  if (answer.forecast.what_if) json["what_if"] = true;
  if (!answer.forecast.note.empty()) json["note"] = answer.forecast.note;
  return json;
}

/// The answer, if there is one, is in the first entry.
void print_json(const std::vector<Answer>& answers, int repeat, const std::optional<ReportAnswer>& answer) {
  if (answers.size() == 1) {
    fmt::print("{}\n", json_of_answer(answers.front(), repeat).dump(2));
    return;
  }
  Json all = Json::array();
  for (const Answer& one : answers) all.push_back(json_of_answer(one, repeat));
  if (answer) all.front()["answer"] = json_of(*answer);
  fmt::print("{}\n", all.dump(2));
}

void print_csv(const std::vector<Answer>& answers) {
  fmt::print("operation,backend,ranks,bytes,time_ns,cycles,packets,payload_bytes,wire_bytes,declined,note\n");
  for (const Answer& a : answers) {
    const Operation& o = a.operation;
    fmt::print("{},{},{},{},", to_string(o.kind), csv_cell(a.backend->name), o.ranks, o.bytes);
    if (!a.forecast.declined.empty()) {
      fmt::print(",,,,,{},\n", csv_cell(a.forecast.declined));
      continue;
    }
    const WireCounters& w = a.forecast.wire;
    fmt::print("{:.3f},{},{},{},{},,{}\n", in_nanoseconds(a.forecast.time),
               a.cycles ? fmt::format("{}", *a.cycles) : "", w.packets, w.payload_bytes, w.wire_bytes,
               csv_cell(a.forecast.note));
  }
}

void print_table(const std::vector<Answer>& answers, int repeat) {
  fmt::print("# {}{}, modelled\n", to_string(answers.front().operation.kind),
             repeat != 1 ? fmt::format(", {} times", repeat) : "");
  fmt::print("{:<10} {:>8} {:>12} {:>18} {:>14} {:>12} {:>16}\n", "# backend", "ranks", "bytes", "time (us)",
             "cycles", "packets", "wire bytes");
  for (const Answer& a : answers) {
    const Operation& o = a.operation;
    fmt::print("{:<10} {:>8} {:>12} ", a.backend->name, o.ranks, o.bytes);
    if (!a.forecast.declined.empty()) {
      fmt::print("declined: {}\n", printable(a.forecast.declined));
      continue;
    }
    fmt::print("{:>18.6f} {:>14} {:>12} {:>16}{}\n", in_microseconds(a.forecast.time),
               a.cycles ? fmt::format("{}", *a.cycles) : "-", a.forecast.wire.packets,
               a.forecast.wire.wire_bytes, a.forecast.what_if ? "  " + printable(a.forecast.note) : "");
  }
  const int ranks = answers.back().operation.ranks;
  for (const Answer& a : answers) {
    const bool last = a.operation.ranks == ranks && a.operation.bytes == answers.back().operation.bytes;
    if (last && !a.deployment.text.empty())
      fmt::print("# {} runs on {}\n", a.backend->name, a.deployment.text);
    if (last && a.band && a.band->first != a.band->second)
      fmt::print("# {}: {:.6f} to {:.6f} us with the fastest and the slowest memory of that class\n",
                 a.backend->name, in_microseconds(a.band->first), in_microseconds(a.band->second));
  }
}

/// Compares one operation over several backends.
ReportAnswer answer_of(const Setup& setup, const std::vector<Answer>& answers,
                       const PredictOptions& options) {
  const Operation& operation = answers.front().operation;
  Operation shortest = operation;
  shortest.bytes = std::min(operation.bytes, element_bytes(operation.element));
  set_elements(shortest);
  std::vector<ForecastSide> sides(answers.begin(), answers.end());
  for (ForecastSide& side : sides) {
    std::string problem;
    if (side.time())
      side.shortest = answer_to(setup, shortest, *side.backend, options, problem, nullptr).time();
  }
  const int per_node = setup.configuration->machine.layout(operation.ranks).ranks_per_node;
  std::optional<Time> tuned;
  ForecastSetting host = setting_of(setup, setup.registry.baseline(), operation.ranks, options.check);
  if (is_baseline(sides.front().backend->name) && host.machine.nodes(operation.ranks) >= kManyNodes) {
    ForecastSetting best = host;
    best.settings.set("collectives", {0, "best"});
    if (const auto found = forecast(best, operation, options.repeat); found && found->declined.empty())
      tuned = found->time;
  }
  const std::string what =
      operation.kind == OperationKind::kBarrier
          ? std::string(to_string(operation.kind))
          : fmt::format("{} of {}", to_string(operation.kind), bytes_text(std::uint64_t{operation.bytes}));
  ReportAnswer answer = answer_of_forecasts(
      sides, operation, per_node, tuned,
      fmt::format("{}, {}{}", what, counted(static_cast<std::uint64_t>(operation.ranks), "rank"),
                  options.repeat > 1 ? fmt::format(", {} times", options.repeat) : ""));
  answer.machine = machine_text(host, operation.ranks);
  answer.next = fmt::format("repeat with --sweep {}",
                            operation.kind == OperationKind::kBarrier ? "ranks=2:1024" : "bytes=8:1MiB");
  return answer;
}

/// The answer from all points of a sweep.
ReportAnswer answer_of_sweep(const Setup& setup, const std::vector<Answer>& answers,
                             const PredictOptions& options) {
  const std::size_t width = setup.backends.size();
  const bool over_ranks = options.sweep.starts_with("ranks");
  std::vector<std::string> points;
  for (std::size_t at = 0; at + width <= answers.size(); at += width) {
    const Operation& o = answers[at].operation;
    points.push_back(over_ranks ? counted(static_cast<std::uint64_t>(o.ranks), "rank")
                                : bytes_text(std::uint64_t{o.bytes}));
  }
  std::vector<SweepSide> sides;
  for (std::size_t side = 0; side < width; ++side) {
    SweepSide& one = sides.emplace_back(SweepSide{std::string(setup.backends[side]->name), {}});
    for (std::size_t i = 0; i < points.size(); ++i) one.times.push_back(answers[i * width + side].time());
  }
  return offramp::answer_of_sweep(sides, points, false, options.asked.operation);
}

/// Called before any computation.
void refuse_other_pictures(const std::string& file) {
  for (const std::string_view ending : {".png", ".jpg", ".jpeg", ".gif", ".pdf", ".eps", ".webp"}) {
    if (file.ends_with(ending))
      throw Misuse{fmt::format("--svg writes SVG: end the name {} in .svg", in_quotes(file))};
  }
}

int write_plot(const PredictOptions& options, const Setup& setup, const std::vector<Answer>& answers) {
  const bool over_ranks = options.sweep.starts_with("ranks");
  Plot plot{.title = fmt::format("{}, modelled time", options.asked.operation),
            .x = over_ranks ? "ranks" : "bytes",
            .y = "us"};
  std::vector<std::string> names;
  for (const BackendDescription* backend : setup.backends) names.emplace_back(backend->name);
  const std::vector<std::size_t> colours = colours_of(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const BackendDescription* const backend = setup.backends[i];
    PlotLine line{.name = names[i], .points = {}, .colour = colour_text(colours[i])};
    for (const Answer& a : answers) {
      if (a.backend != backend || !a.forecast.declined.empty()) continue;
      const Operation& o = a.operation;
      line.points.emplace_back(over_ranks ? o.ranks : static_cast<double>(o.bytes),
                               in_microseconds(a.forecast.time));
      if (a.forecast.what_if && line.dashed_from == PlotLine::kNever)
        line.dashed_from = line.points.size() - 1;
    }
    if (line.dashed_from != PlotLine::kNever) line.note = "dashed: what if";
    plot.lines.push_back(std::move(line));
  }
  return write_file(options.svg, svg(plot));
}

/// Throws Misuse if the point with the most ranks needs more memory than this machine has.
void refuse_too_large(const Setup& setup, const std::vector<Operation>& points,
                      const PredictOptions& options) {
  const auto most = std::max_element(
      points.begin(), points.end(), [](const Operation& a, const Operation& b) { return a.ranks < b.ranks; });
  for (const BackendDescription* backend : setup.backends) {
    const std::string problem = memory_problem(
        fmt::format("{} over {}", options.asked.operation, backend->name), most->ranks, [&](int ranks) {
          Operation trial = *most;
          trial.ranks = ranks;
          trial.root = std::min(trial.root, ranks - 1);
          std::string unanswered;
          (void)answer_to(setup, trial, *backend, options, unanswered, nullptr);
        });
    if (!problem.empty()) throw Misuse{problem};
  }
}

/// Prints one row per backend and point. Returns kDone or kUsage, or kDeclined if no row has a time.
int predict(const PredictOptions& options) {
  refuse_other_pictures(options.svg);
  const Setup setup(options.asked.overrides, options.asked.backends);
  check_file_of("--svg", options.svg);
  const std::vector<Operation> points = points_of(options);
  if (points.size() > 1 && !(options.records.trace.empty() && options.records.capture.empty()))
    throw Misuse{"--trace and --capture need a single point: leave out --sweep"};
  refuse_too_large(setup, points, options);
  setup.print_sources();
  int written = kDone;
  const std::vector<Answer> answers = answers_of(setup, points, options, written);
  const int plotted = options.svg.empty() ? kDone : write_plot(options, setup, answers);
  std::optional<ReportAnswer> answer;
  if (points.size() > 1 && !options.csv && !options.json) {
    answer = answer_of_sweep(setup, answers, options);
  } else if (answers.size() > 1 && !options.csv) {
    answer = answer_of(setup, answers, options);
  }
  const auto supposed = std::ranges::find_if(answers, [](const Answer& a) { return a.forecast.what_if; });
  if (answer && supposed != answers.end()) answer->but = clauses_text({supposed->forecast.note, answer->but});
  if (options.json) {
    print_json(answers, options.repeat, answer);
  } else if (options.csv) {
    print_csv(answers);
  } else {
    if (answer) fmt::print("{}", answer_text(*answer, line_width()));
    if (answer && options.details) fmt::print("\n");
    if (!answer || options.details) print_table(answers, options.repeat);
  }
  std::set<std::string> notes;
  if (const OperationKind kind = points.front().kind; options.asked.root != 0 && !has_root(kind))
    notes.insert(fmt::format("note: {} has no root; --root has no effect", to_string(kind)));
  for (std::string& note : setup.notes()) notes.insert(std::move(note));
  for (const Answer& one : answers) {
    const bool is_in_table = one.forecast.what_if && (!answer || options.details);
    if (one.forecast.note.empty() || is_in_table) continue;
    notes.insert(fmt::format("{}: {}", one.backend->name, one.forecast.note));
  }
  for (const std::string& note : notes) warn(note);
  const bool any = std::any_of(answers.begin(), answers.end(),
                               [](const Answer& a) { return a.forecast.declined.empty(); });
  if (plotted != kDone) return plotted;
  if (written != kDone) return written;
  return any ? kDone : kDeclined;
}

class PredictCommand final : public Command {
 public:
  explicit PredictCommand(CLI::App& app) : Command(app), question_(app, options_.asked) {
    add_value(app, "operation", options_.asked.operation, "OPERATION",
              "send, bcast, reduce, allreduce or MPI_Allreduce, ...");
    add_value(app, "--sweep", options_.sweep, "RANGE",
              "predict at several values from FROM to TO: doubled each time, multiplied (:xFACTOR), or "
              "increased (:+STEP), as in bytes=1:1MiB or ranks=2:4096");
    add_jobs(app, options_.threads);
    add_value(app, "--calls", options_.repeat, "N",
              "repeat the operation, as a loop in a program does; times and counts are totals")
        ->check(whole_number(1, 1'000'000'000))
        ->capture_default_str();
    add_check(app, options_.check);
    app.add_flag("--what-if", options_.what_if,
                 "predict as if the hardware had enough memory where it declines for lack of it; such points "
                 "are marked");
    app.add_flag("--details", options_.details,
                 "with several backends: print the table of exact times after the answer");
    add_svg(app, options_.svg);
    add_csv(app, options_.csv, add_json(app, options_.json));
    add_records(app, options_.records);
  }
  int execute(std::vector<std::string>) override {
    options_.asked.backends = without_repeats(options_.asked.backends);
    std::string problem = question_.collect();
    if (options_.sweep.empty() && options_.threads != 0 && problem.empty()) problem = "--jobs needs --sweep";
    if (problem.empty() && options_.asked.operation.empty()) problem = "OPERATION is missing";
    return problem.empty() ? predict(options_) : refuse(problem);
  }

 private:
  PredictOptions options_;
  QuestionOptions question_;
};

const Registered<PredictCommand> predict_command(
    {.name = "predict",
     .place = 50,
     .summary = "predict the time of one operation at any number of ranks",
     .about =
         R"(Simulates the drivers and devices of all ranks in this process, without data and without a launcher. All ranks
begin at time 0; the result is the time when the last one is done.)",
     .often = {"-h", "--backend", "-n", "--bytes", "--sweep", "--type", "--function", "--root", "--network",
               "--ranks-per-node", "--set", "--config", "--svg", "--json", "--csv", "--trace", "--details"},
     .exits = {{kUsage},
               {kDeclined, "the hardware declines the operation at every point"},
               {kNotWritten, "the plot, a trace, or a capture could not be written"}}});

}  // namespace
}  // namespace offramp::tool
