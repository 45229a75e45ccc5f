// offramp explain: drawings and tables of modelled hardware, by topic of its backend.
//
// A topic belongs to a backend; `validation` exists for each backend with published figures, and a report
// with --call is handled by receipt.cpp. An unknown topic is answered with the closest name, the backend that
// has it, or the command that the user may have meant. hwloc is used only for the topic `config`, which needs
// hosts.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "lib/answers/advice/advice.hpp"
#include "lib/answers/advice/held_out.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/command.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/commands/question.hpp"
#include "tools/commands/receipt.hpp"
#include "tools/launch/dpu_host.hpp"
#include "tools/page/plot.hpp"

namespace offramp::tool {
namespace {

constexpr std::string_view kValidation = "validation";
constexpr std::string_view kServiceConfig = "config";

void list_topics(const BackendDescription& backend) {
  for (const ExplainTopic& topic : backend.topics)
    fmt::print("{:<10} {:<14} {}\n", backend.name, topic.topic, topic.description);
  if (backend.validation != nullptr)
    fmt::print("{:<10} {:<14} {}\n", backend.name, kValidation,
               "published figures compared with the model's; with several backends, the accuracy of each");
}

std::vector<std::string_view> topics_of(const BackendDescription& backend) {
  std::vector<std::string_view> names;
  for (const ExplainTopic& topic : backend.topics) names.push_back(topic.topic);
  if (backend.validation != nullptr) names.push_back(kValidation);
  return names;
}

/// An error for a topic that the backend lacks, with a suggestion. is_named: the user named the backend.
std::string without_topic(const Registry& registry, const BackendDescription& backend, bool is_named,
                          const std::string& topic) {
  if (access(topic.c_str(), F_OK) == 0 || topic.ends_with(".json"))
    return fmt::format("{} is not a topic; to see a call of a report with receipts, add --call N --rank RANK",
                       in_quotes(topic));
  std::vector<std::string> all;
  std::vector<std::string_view> owners;
  for (const BackendDescription* const one : registry.all()) {
    const std::vector<std::string_view> topics = topics_of(*one);
    if (!topics.empty()) all.push_back(fmt::format("{}: {}", one->name, fmt::join(topics, ", ")));
    if (std::find(topics.begin(), topics.end(), topic) != topics.end()) owners.push_back(one->name);
  }
  std::string instead = is_named ? fmt::format("; topics: {}", fmt::join(topics_of(backend), ", "))
                                 : fmt::format("; topics by backend: {}", fmt::join(all, "; "));
  if (const std::string_view close = closest(topic, topics_of(backend)); !close.empty())
    instead = fmt::format("; did you mean \"{}\"?", close);
  if (!owners.empty()) instead = fmt::format("; --backend {} has it", fmt::join(owners, " or "));
  return fmt::format("the backend {} has no topic {}{}", backend.name, in_quotes(topic), instead);
}

/// Replaces "machine" and "topology=FILE" in the arguments of `config` by what hwloc finds. Throws Misuse.
std::vector<std::string> with_hosts(const std::vector<std::string>& arguments) {
  constexpr std::string_view kTopology = "topology=";
  std::vector<std::string> words;
  for (const std::string& argument : arguments) {
    if (argument != "machine" && !argument.starts_with(kTopology)) {
      words.push_back(argument);
      continue;
    }
    const auto host = look_at_dpu_host(argument == "machine" ? "" : argument.substr(kTopology.size()));
    if (!host) throw Misuse{host.error()};
    words.insert(words.end(), host->begin(), host->end());
  }
  return words;
}

// --- validation: published figures and the model's ---

std::string figure(double value) {
  return value < 1e4 ? fmt::format("{:.5g}", value) : fmt::format("{:.0f}", value);
}

/// Rows with a published bound instead of a figure have no error.
std::string error_of(const ValidationRow& row) {
  if (!row.bound.empty() || row.published == 0) return "";
  const double percent = 100 * (row.ours / row.published - 1);
  return std::abs(percent) < 0.005 ? "0" : fmt::format("{:+.2f} %", percent);
}

PlotLine& line_of(Plot& plot, std::string_view name) {
  const auto found = std::find_if(plot.lines.begin(), plot.lines.end(),
                                  [&](const PlotLine& line) { return line.name == name; });
  if (found != plot.lines.end()) return *found;
  PlotLine line{.name = std::string(name), .points = {}};
  line.joined = false;
  return plot.lines.emplace_back(std::move(line));
}

/// A table in Markdown.
std::string validation_table(const ValidationRows& rows) {
  std::string table =
      "| quantity | published | ours | error | fitted | source, reason |\n"
      "|---|---|---|---|---|---|\n";
  for (const ValidationRow& row : rows)
    table += fmt::format("| {}{}{} | {} | {} | {} | {} | {} |\n", row.quantity, row.unit.empty() ? "" : ", ",
                         row.unit, row.bound.empty() ? figure(row.published) : row.bound, figure(row.ours),
                         error_of(row), row.fitted ? "yes" : "no", row.source);
  return table;
}

/// A table of how far to trust each backend, by its validation.
std::string trust_table(const std::vector<const BackendDescription*>& backends) {
  std::string table =
      "| hardware | published figures | fitted to | compared | half of these are within | nine tenths | the "
      "worst | other machines, one rank a node | several ranks | pairs with the host | "
      "parameters, assumed, inferred or fitted |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const BackendDescription* backend : backends) {
    const ValidationRows rows = backend->validation == nullptr ? ValidationRows() : backend->validation();
    const auto fitted =
        std::count_if(rows.begin(), rows.end(), [](const ValidationRow& row) { return row.fitted; });
    const auto open = std::count_if(backend->parameters.begin(), backend->parameters.end(),
                                    [](const Parameter& one) { return is_open(one.source); });
    const std::optional<ModelError> error = model_error(rows);
    const auto percent = [&](double ModelError::*part) {
      return error ? percent_text(*error.*part, 1) : std::string("-");
    };
    const auto bound = [](std::string_view side, bool several) {
      const auto found = error_bound(side, several);
      return found ? fmt::format("{} of {}", found->text(), found->machines) : std::string("unknown");
    };
    table += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} of {} |\n", backend->name,
                         rows.size(), fitted, error ? error->figures : 0, percent(&ModelError::median),
                         percent(&ModelError::nine_tenths), percent(&ModelError::largest),
                         bound(backend->name, false), bound(backend->name, true),
                         bound(fmt::format("{} over {}", backend->name, baseline_name()), false), open,
                         backend->parameters.size());
  }
  return table;
}

/// The model's figures over the published ones, as SVG. Rows without figures are omitted. A line shows where
/// both are equal; there is one series per unit, and fitted figures are series of their own.
std::string validation_plot(const ValidationRows& rows, std::string_view backend) {
  Plot plot{.title = fmt::format("{}: ratio of the model's figures to the published ones", backend),
            .x = "published",
            .y = "ours",
            .lines = {{.name = "equal", .points = {}, .colour = "#8a8a8a"}},
            .x_base = Plot::Base::kTen};
  double least = INFINITY;
  double most = 0;
  for (const ValidationRow& row : rows) {
    if (error_of(row).empty() || row.ours <= 0) continue;
    const std::string unit(row.unit.empty() ? std::string_view("numbers") : row.unit);
    line_of(plot, unit + (row.fitted ? ", fitted" : "")).points.emplace_back(row.published, row.ours);
    least = std::min({least, row.published, row.ours});
    most = std::max({most, row.published, row.ours});
  }
  if (most > 0) plot.lines.front().points = {{least, least}, {most, most}};
  return svg(plot);
}

/// Returns the exit code.
int show_validation(const BackendDescription& backend, const std::string& plot) {
  const ValidationRows rows = backend.validation();
  if (!plot.empty()) return write_file(plot, validation_plot(rows, backend.name));
  fmt::print("{}", validation_table(rows));
  return kDone;
}

// --- the command ---

struct ExplainOptions {
  std::string topic;  // empty: list the topics
  Asked asked;
  std::vector<std::string> arguments;
  std::string svg;  // for the topic validation: file for a plot
};

int explain(const ExplainOptions& options) {
  const Setup setup(options.asked.overrides, options.asked.backends);
  const BackendDescription& backend = *setup.backends.front();
  if (const BackendDescription* const named = setup.registry.find(options.topic)) {
    list_topics(*named);
    return kDone;
  }
  if (parse_operation(options.topic))
    throw Misuse{
        fmt::format("{0} is an operation: offramp predict {0} --compare all shows its time on all hardware",
                    printable(options.topic))};
  if (options.topic.empty()) {
    const auto every = setup.registry.all();
    for (const BackendDescription* b :
         options.asked.backends.empty() ? std::vector(every.begin(), every.end()) : setup.backends)
      list_topics(*b);
    return kDone;
  }
  if (!options.svg.empty() && options.topic != kValidation)
    throw Misuse{fmt::format("--svg plots only the topic {}", kValidation)};
  if (options.topic == kValidation && setup.backends.size() > 1) {
    if (!options.svg.empty()) throw Misuse{"--svg needs a single backend"};
    fmt::print("{}", trust_table(setup.backends));
    return kDone;
  }
  if (backend.validation != nullptr && options.topic == kValidation)
    return show_validation(backend, options.svg);
  for (const ExplainTopic& topic : backend.topics) {
    if (topic.topic != options.topic) continue;
    Operation operation;
    if (!options.asked.operation.empty()) {
      operation = operation_of(options.asked);
      set_elements(operation);
    }
    const ForecastSetting setting =
        setting_of(setup, backend, std::max(operation.ranks, options.asked.ranks));
    const std::vector<std::string> words =
        topic.topic == kServiceConfig ? with_hosts(options.arguments) : options.arguments;
    MachineLayout machine = setting.machine;
    if (options.asked.operation.empty()) operation.ranks = options.asked.ranks;
    machine.switches = switches_of(setting.network, operation.ranks, machine);
    const Explanation explanation = topic.render({setting.settings, machine, operation, words});
    if (!explanation.error.empty()) throw Misuse{explanation.error};
    setup.print_sources();
    fmt::print("{}", explanation.text);
    return kDone;
  }
  throw Misuse{without_topic(setup.registry, backend, !options.asked.backends.empty(), options.topic)};
}

class ExplainCommand final : public Command {
 public:
  explicit ExplainCommand(CLI::App& app) : Command(app), question_(app, options_.asked) {
    add_value(app, "topic", options_.topic, "TOPIC",
              "the topic, or a report; by default, the topics are listed");
    add_value(app, "arguments", options_.arguments, "ARGUMENT", "arguments of the topic");
    add_value(app, "--operation", options_.asked.operation, "OPERATION",
              "the operation, for topics that need one");
    add_value(app, "--call", receipt_.call, "N", "show the stages of this call; counted from 1")
        ->check(whole_number(1));
    add_value(app, "--rank", receipt_.rank, "RANK", "the rank that made the call")
        ->check(whole_number(0, INT32_MAX));
    add_svg(app, options_.svg, "with validation: write a plot (SVG) to this file");
    app.add_flag("--timeline", receipt_.timeline, "with --call: list every step in order of time");
    add_json(app, receipt_.json)->description("with --call or --rank: print JSON");
  }
  int execute(std::vector<std::string>) override {
    std::string problem = question_.collect();
    if (is_set("--call") || is_set("--rank")) {
      receipt_.report = options_.topic;
      if (problem.empty() && receipt_.report.empty()) problem = "no report";
      if (problem.empty() && !options_.arguments.empty())
        problem = fmt::format("unexpected argument {}", in_quotes(options_.arguments.front()));
      if (problem.empty()) return receipt(receipt_);
    }
    // Topics accept questions as words, and these two also as options.
    if (is_set("--ranks")) options_.arguments.push_back(fmt::format("ranks={}", options_.asked.ranks));
    if (is_set("--bytes")) options_.arguments.push_back("bytes=" + options_.asked.bytes);
    return problem.empty() ? explain(options_) : refuse(problem);
  }

 private:
  ExplainOptions options_;
  ReceiptOptions receipt_;
  QuestionOptions question_;
};

const Registered<ExplainCommand> explain_command(
    {.name = "explain",
     .place = 70,
     .summary = "explain the modelled hardware, its validation, or the time of one call",
     .about = "With --call or --rank, shows the stages of one call, or lists the calls, from a report with "
              "receipts:\n"
              "  offramp explain --call 127 --rank 3 report.json",
     .often = {"-h", "--backend", "--operation", "-n", "--bytes", "--call", "--rank", "--network", "--set",
               "--config", "--json"},
     .exits = {{kUsage,
                "the command line or the configuration is wrong, the topic is unknown, or the file is not a "
                "report with receipts"},
               {kNotWritten}}});

}  // namespace
}  // namespace offramp::tool
