#include "tools/predict.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "lib/configuration/names.hpp"
#include "lib/replay/forecast.hpp"
#include "lib/report/write_report.hpp"
#include "tools/plot.hpp"
#include "tools/progress.hpp"
#include "tools/setup.hpp"
#include "tools/tool.hpp"
#include "tools/validation.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;

struct Question {
  Operation operation;
  const BackendDescription* backend;
};

struct Answer {
  Question question;
  Forecast forecast;
  std::optional<std::int64_t> cycles;
  Footing footing = {};
};

template <typename T, typename Parse>
T parse_name(const std::string& word, std::string_view what, int count, Parse parse) {
  if (const std::optional<T> value = parse(word)) return *value;
  std::vector<std::string_view> names;
  names.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) names.push_back(to_string(static_cast<T>(i)));
  throw Misuse{fmt::format("unknown {} {}{}", what, in_quotes(word), suggestion(word, names))};
}

/// MPI_Iallreduce is an allreduce that does not block: its operation is the same.
OperationKind parse_kind(const std::string& word) {
  const std::size_t letter = word.starts_with("MPI_") ? 4 : 0;
  if (!parse_operation(word) && letter < word.size() && (word[letter] == 'I' || word[letter] == 'i')) {
    const std::string blocking = word.substr(letter + 1);
    if (const std::optional<OperationKind> kind = parse_operation(blocking))
      throw Misuse{fmt::format("unknown operation {}; its time, up to its end, is that of {}",
                               in_quotes(word), to_string(*kind))};
  }
  return parse_name<OperationKind>(word, "operation", static_cast<int>(OperationKind::kCount),
                                   parse_operation);
}

std::size_t parse_bytes(const std::string& text) {
  const std::optional<double> value = parse_quantity(text, "B");
  if (!value || *value < 0 || *value > 0x1p46 || *value != std::floor(*value))
    throw Misuse{fmt::format("{} is no number of bytes; write 65536, 64K or 1MiB (units: {})",
                             in_quotes(text), units_beside("B"))};
  return static_cast<std::size_t>(*value);
}

int parse_ranks(const std::string& text) {
  const std::optional<double> value = parse_quantity(text, "");
  if (!value || *value < 1 || *value > 1 << 20 || *value != std::floor(*value))
    throw Misuse{fmt::format("{} is no number of ranks", in_quotes(text))};
  return static_cast<int>(*value);
}

Operation operation_of(const PredictOptions& options) {
  Operation operation;
  operation.kind = parse_kind(options.operation);
  operation.element = reduces(operation.kind) ? ElementType::kInt32 : ElementType::kByte;
  if (!options.type.empty())
    operation.element = parse_name<ElementType>(
        options.type, "type", static_cast<int>(ElementType::kMixed) + 1, parse_element_type);
  if (!reduces(operation.kind) && !options.function.empty())
    throw Misuse{fmt::format("a {} reduces nothing: it has no function", to_string(operation.kind))};
  if (reduces(operation.kind)) {
    operation.function = ReduceFunction::kSum;
    if (!options.function.empty())
      operation.function = parse_name<ReduceFunction>(
          options.function, "function", static_cast<int>(ReduceFunction::kUser) + 1, parse_reduce_function);
  }
  operation.ranks = options.ranks;
  operation.root = has_root(operation.kind) ? options.root : 0;
  const std::size_t bytes = parse_bytes(options.bytes);
  operation.bytes = operation.kind == OperationKind::kBarrier ? 0 : bytes;
  return operation;
}

void set_elements(Operation& operation) {
  const std::size_t size = element_bytes(operation.element);
  if (operation.bytes % size != 0)
    throw Misuse{fmt::format("{} bytes are not whole elements of {} ({} bytes each)", operation.bytes,
                             to_string(operation.element), size)};
  operation.elements = operation.bytes / size;
}

/// The points of a sweep, in order; one point without.
std::vector<Operation> points_of(const PredictOptions& options) {
  const Operation base = operation_of(options);
  std::vector<Operation> points;
  const auto add = [&](Operation point) {
    set_elements(point);
    points.push_back(point);
  };
  if (options.sweep.empty()) {
    add(base);
    return points;
  }
  const auto equals = options.sweep.find('=');
  const auto colon = options.sweep.find(':', equals);
  const std::string what = options.sweep.substr(0, equals);
  if (colon == std::string::npos || (what != "bytes" && what != "ranks"))
    throw Misuse{fmt::format("--sweep {} is not bytes=FROM:TO or ranks=FROM:TO, with :xFACTOR if not doubled",
                             in_quotes(options.sweep))};
  std::string last = options.sweep.substr(colon + 1);
  double factor = 2;
  if (const auto second = last.find(":x"); second != std::string::npos) {
    const std::optional<double> parsed = parse_quantity(last.substr(second + 2), "");
    if (!parsed || *parsed < 1.01)
      throw Misuse{fmt::format("{} is no factor above 1", in_quotes(last.substr(second + 2)))};
    factor = *parsed;
    last = last.substr(0, second);
  }
  const std::string first = options.sweep.substr(equals + 1, colon - equals - 1);
  const bool bytes = what == "bytes";
  const std::size_t from = bytes ? parse_bytes(first) : static_cast<std::size_t>(parse_ranks(first));
  const std::size_t to = bytes ? parse_bytes(last) : static_cast<std::size_t>(parse_ranks(last));
  if (from > to) throw Misuse{fmt::format("--sweep {} goes backwards", in_quotes(options.sweep))};
  const std::size_t step = bytes ? element_bytes(base.element) : 1;
  std::size_t value = from;
  do {
    Operation point = base;
    if (bytes) {
      point.bytes = value - value % step;
    } else {
      point.ranks = static_cast<int>(value);
    }
    const bool new_point =
        points.empty() || points.back().bytes != point.bytes || points.back().ranks != point.ranks;
    if (new_point) add(point);
    const auto next = static_cast<std::size_t>(std::llround(static_cast<double>(value) * factor));
    value = value == 0 ? step : std::max(next, value + 1);
  } while (value <= to);
  return points;
}

ForecastSetting setting_of(const Setup& setup, const BackendDescription& backend, int ranks,
                           bool check = false) {
  Result<Settings> settings = setup.configuration->settings_for(backend);
  if (!settings) throw Misuse{settings.error()};
  const MachineOptions& machine = setup.configuration->machine;
  if (const std::string problem = machine.problem(ranks); !problem.empty()) throw Misuse{problem};
  ForecastSetting setting{backend, std::move(*settings), setup.configuration->faults, machine.layout(ranks)};
  setting.check = check;
  setting.network = setup.configuration->network;
  setting.network.least_nodes = std::max(setting.network.least_nodes, machine.nodes);
  setting.stragglers = setup.configuration->stragglers;
  return setting;
}

/// code: kNotWritten where a file could not be.
std::vector<Answer> ask(const Setup& setup, const std::vector<Operation>& points,
                        const PredictOptions& options, int& code) {
  std::vector<Answer> answers;
  const ProgressLine progress;
  const std::size_t all = points.size() * setup.backends.size();
  std::size_t done = 0;
  bool any = false;
  std::string first_problem;
  for (const Operation& point : points) {
    for (const BackendDescription* backend : setup.backends) {
      Answer answer{{point, backend}, {}, {}};
      const Question& now = answer.question;
      progress.say("{}/{} {} {} ranks {} bytes", ++done, all, now.backend->name, now.operation.ranks,
                   now.operation.bytes);
      const ForecastSetting setting = setting_of(setup, *backend, point.ranks, options.check);
      const RecordOptions to_files =
          setup.backends.size() > 1 ? options.records.of_backend(backend->name) : options.records;
      to_files.check();
      std::unique_ptr<ReplayRecords> records = to_files.records(point.ranks);
      Result<Forecast> result = forecast(setting, point, options.repeat, options.what_if, records.get());
      if (!result) {
        if (first_problem.empty()) first_problem = result.error();
        answer.forecast.declined = result.error();
        answers.push_back(std::move(answer));
        continue;
      }
      any = true;
      answer.forecast = std::move(*result);
      if (setting.backend.footing != nullptr)
        answer.footing = setting.backend.footing(setting.settings, setting.machine, point.ranks);
      const bool recorded = records != nullptr && answer.forecast.declined.empty();
      if (recorded && to_files.write(*records) != kDone) code = kNotWritten;
      if (answer.forecast.declined.empty()) {
        answer.cycles = engine_cycles(setting, answer.forecast);
      } else if (could_be_larger(setting, point)) {
        answer.forecast.declined += "; --what-if forecasts it with a larger one";
      }
      answers.push_back(std::move(answer));
    }
  }
  if (!any && !first_problem.empty()) throw Misuse{first_problem};
  return answers;
}

Json json_of_answer(const Answer& answer, int repeat) {
  const Operation& o = answer.question.operation;
  Json json = {{"operation", to_string(o.kind)},
               {"backend", answer.question.backend->name},
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
  json["stands_on"] = offramp::json_of(answer.footing);
  json["cycles"] = answer.cycles ? Json(*answer.cycles) : Json(nullptr);
  json["wire"] = offramp::json_of(answer.forecast.wire);
  if (answer.forecast.what_if) json["what_if"] = true;
  if (!answer.forecast.note.empty()) json["note"] = answer.forecast.note;
  return json;
}

void print_json(const std::vector<Answer>& answers, int repeat) {
  if (answers.size() == 1) {
    fmt::print("{}\n", json_of_answer(answers.front(), repeat).dump(2));
    return;
  }
  Json all = Json::array();
  for (const Answer& answer : answers) all.push_back(json_of_answer(answer, repeat));
  fmt::print("{}\n", all.dump(2));
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

void print_csv(const std::vector<Answer>& answers) {
  fmt::print("operation,backend,ranks,bytes,time_ns,cycles,packets,payload_bytes,wire_bytes,declined,note\n");
  for (const Answer& a : answers) {
    const Operation& o = a.question.operation;
    fmt::print("{},{},{},{},", to_string(o.kind), a.question.backend->name, o.ranks, o.bytes);
    if (!a.forecast.declined.empty()) {
      fmt::print(",,,,,{},\n", quoted(a.forecast.declined));
      continue;
    }
    const WireCounters& w = a.forecast.wire;
    fmt::print("{:.3f},{},{},{},{},,{}\n", in_nanoseconds(a.forecast.time),
               a.cycles ? fmt::format("{}", *a.cycles) : "", w.packets, w.payload_bytes, w.wire_bytes,
               a.forecast.note.empty() ? "" : quoted(a.forecast.note));
  }
}

void print_table(const std::vector<Answer>& answers, int repeat) {
  fmt::print("# {}{}, modelled\n", to_string(answers.front().question.operation.kind),
             repeat != 1 ? fmt::format(", {} times", repeat) : "");
  fmt::print("{:<10} {:>8} {:>12} {:>18} {:>14} {:>12} {:>16}\n", "# backend", "ranks", "bytes", "time (us)",
             "cycles", "packets", "wire bytes");
  for (const Answer& a : answers) {
    const Operation& o = a.question.operation;
    fmt::print("{:<10} {:>8} {:>12} ", a.question.backend->name, o.ranks, o.bytes);
    if (!a.forecast.declined.empty()) {
      fmt::print("declined: {}\n", printable(a.forecast.declined));
      continue;
    }
    fmt::print("{:>18.6f} {:>14} {:>12} {:>16}{}\n", in_microseconds(a.forecast.time),
               a.cycles ? fmt::format("{}", *a.cycles) : "-", a.forecast.wire.packets,
               a.forecast.wire.wire_bytes, a.forecast.what_if ? "  " + printable(a.forecast.note) : "");
  }
  const int ranks = answers.back().question.operation.ranks;
  for (const Answer& a : answers) {
    const bool last = a.question.operation.ranks == ranks &&
                      a.question.operation.bytes == answers.back().question.operation.bytes;
    if (last && !a.footing.text.empty())
      fmt::print("# {} stands on {}\n", a.question.backend->name, a.footing.text);
  }
}

/// Before anything is computed for it.
void refuse_other_pictures(const std::string& file) {
  for (const std::string_view ending : {".png", ".jpg", ".jpeg", ".gif", ".pdf", ".eps", ".webp"}) {
    if (file.ends_with(ending))
      throw Misuse{
          fmt::format("--svg writes SVG, and {} is named otherwise; end the name in .svg", in_quotes(file))};
  }
}

int write_plot(const PredictOptions& options, const Setup& setup, const std::vector<Answer>& answers) {
  const bool over_ranks = options.sweep.starts_with("ranks");
  Plot plot{.title = fmt::format("{}, modelled time", options.operation),
            .x = over_ranks ? "ranks" : "bytes",
            .y = "us"};
  for (const BackendDescription* backend : setup.backends) {
    PlotLine line{.name = std::string(backend->name), .points = {}};
    for (const Answer& a : answers) {
      if (a.question.backend != backend || !a.forecast.declined.empty()) continue;
      const Operation& o = a.question.operation;
      line.points.emplace_back(over_ranks ? o.ranks : static_cast<double>(o.bytes),
                               in_microseconds(a.forecast.time));
      if (a.forecast.what_if && line.dashed_from == PlotLine::kNever)
        line.dashed_from = line.points.size() - 1;
    }
    if (line.dashed_from != PlotLine::kNever) line.name += " (dashed: what if)";
    plot.lines.push_back(std::move(line));
  }
  return write_file(options.svg, svg(plot));
}

}  // namespace

int predict(const PredictOptions& options) try {
  refuse_other_pictures(options.svg);
  const Setup setup(options.overrides, options.backends);
  if (const std::string problem = options.svg.empty() ? "" : option_problem("--svg", options.svg);
      !problem.empty())
    throw Misuse{problem};
  const std::vector<Operation> points = points_of(options);
  if (points.size() > 1 && !(options.records.trace.empty() && options.records.capture.empty()))
    throw Misuse{"--trace and --capture are of one point: leave out --sweep"};
  setup.tell_sources();
  int written = kDone;
  const std::vector<Answer> answers = ask(setup, points, options, written);
  const int plotted = options.svg.empty() ? kDone : write_plot(options, setup, answers);
  if (options.json) {
    print_json(answers, options.repeat);
  } else if (options.csv) {
    print_csv(answers);
  } else {
    print_table(answers, options.repeat);
  }
  std::set<std::string> notes;
  for (std::string& note : setup.notes()) notes.insert(std::move(note));
  for (const Answer& answer : answers) {
    if (answer.forecast.note.empty() || answer.forecast.what_if) continue;
    notes.insert(fmt::format("{}: {}", answer.question.backend->name, answer.forecast.note));
  }
  for (const std::string& note : notes) complain(note);
  const bool any = std::any_of(answers.begin(), answers.end(),
                               [](const Answer& a) { return a.forecast.declined.empty(); });
  if (plotted != kDone) return plotted;
  if (written != kDone) return written;
  return any ? kDone : kDeclined;
} catch (const Misuse& misuse) {
  complain(misuse.text);
  return kUsage;
}

namespace {

constexpr std::string_view kValidation = "validation";

void list_topics(const BackendDescription& backend) {
  for (const ExplainTopic& topic : backend.topics)
    fmt::print("{:<10} {:<14} {}\n", backend.name, topic.topic, topic.description);
  if (backend.validation != nullptr)
    fmt::print("{:<10} {:<14} {}\n", backend.name, kValidation, "published figures beside the model's");
}

/// Returns the exit code.
int show_validation(const BackendDescription& backend, const std::string& plot) {
  const ValidationRows rows = backend.validation();
  if (!plot.empty()) return write_file(plot, validation_plot(rows, backend.name));
  fmt::print("{}", validation_table(rows));
  return kDone;
}

}  // namespace

int explain(const ExplainOptions& options) try {
  const Setup setup(options.about.overrides, options.about.backends);
  const BackendDescription& backend = *setup.backends.front();
  if (options.topic.empty()) {
    const auto every = setup.registry.all();
    for (const BackendDescription* b :
         options.about.backends.empty() ? std::vector(every.begin(), every.end()) : setup.backends)
      list_topics(*b);
    return kDone;
  }
  if (!options.svg.empty() && options.topic != kValidation)
    throw Misuse{fmt::format("--svg plots the topic {} and no other", kValidation)};
  std::vector<std::string_view> names;
  if (backend.validation != nullptr) {
    if (options.topic == kValidation) return show_validation(backend, options.svg);
    names.push_back(kValidation);
  }
  for (const ExplainTopic& topic : backend.topics) {
    names.push_back(topic.topic);
    if (topic.topic != options.topic) continue;
    Operation operation;
    if (!options.about.operation.empty()) {
      operation = operation_of(options.about);
      set_elements(operation);
    }
    const ForecastSetting setting =
        setting_of(setup, backend, std::max(operation.ranks, options.about.ranks));
    const Explanation explanation =
        topic.render({setting.settings, setting.machine, operation, options.arguments});
    if (!explanation.error.empty()) throw Misuse{explanation.error};
    setup.tell_sources();
    fmt::print("{}", explanation.text);
    return kDone;
  }
  if (access(options.topic.c_str(), F_OK) == 0)
    throw Misuse{fmt::format("{} is a file; of a report with receipts, name a call: --call N --rank RANK",
                             in_quotes(options.topic))};
  throw Misuse{fmt::format("the backend {} has no topic {}{}", backend.name, in_quotes(options.topic),
                           suggestion(options.topic, names))};
} catch (const Misuse& misuse) {
  complain(misuse.text);
  return kUsage;
}

}  // namespace offramp::tool
