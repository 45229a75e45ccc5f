#include "tools/replay.hpp"

#include <fmt/core.h>

#include <utility>

#include "lib/core/names.hpp"
#include "lib/core/replay.hpp"
#include "lib/report/report.hpp"
#include "tools/progress.hpp"
#include "tools/replay_output.hpp"
#include "tools/report.hpp"
#include "tools/setup.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {
namespace {

/// Until Ctrl-C. code: kNotWritten where a file could not be.
std::vector<Replayed> replay_all(const ReplayToolOptions& options, const Setup& setup, const Played& played,
                                 int& code) {
  std::vector<Replayed> all;
  for (const BackendDescription* backend : setup.backends) {
    Result<WorldSetting> setting = world_setting(*setup.configuration, setup.registry, *backend);
    if (!setting) throw Misuse{setting.error()};
    (*setting).check = options.check;
    const ProgressLine progress;
    const int ranks = played.description.ranks;
    ReplayOptions how;
    how.compute = setup.configuration->compute;
    how.details = setup.configuration->details;
    how.arrival = options.modelled_arrival ? Arrival::kModelled : Arrival::kRecorded;
    const RecordOptions to_files =
        setup.backends.size() > 1 ? options.records.of_backend(backend->name) : options.records;
    to_files.check();
    const std::unique_ptr<ReplayRecords> records = to_files.records(ranks);
    how.observer = records.get();
    how.progress = [&](const ReplayProgress& now) {
      progress.say("{}: {} events, {} of {} ranks done", backend->name, now.events, now.ranks_ended, ranks);
      return !is_interrupted();
    };
    Result<ReplayResult> result = offramp::replay(*setting, played.source, how);
    if (!result) throw Misuse{fmt::format("{}: {}", options.file, lines_of(result.error()))};
    if ((*result).stopped) break;
    all.push_back({backend->name, std::move(*result), {}});
    if (records != nullptr && to_files.write(*records) != kDone) code = kNotWritten;
    if (options.records.receipts.any()) all.back().receipts = records->receipts_json();
    if (is_interrupted()) break;
  }
  return all;
}

void print_json(const std::vector<Replayed>& all, const recording::Description& description) {
  Json facts = Json::object();
  for (const auto& [key, value] : description.facts) facts[key] = value;
  Json results = Json::array();
  for (const Replayed& replayed : all) results.push_back(json_of(replayed));
  const Json json = {{"ranks", description.ranks},
                     {"facts", facts},
                     {"results", results},
                     {"interrupted", is_interrupted()}};
  // Names may be of any bytes.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

/// As a run writes it, with the backends in their order.
std::string report_of(std::vector<Replayed>& all, const recording::Description& description,
                      const Setup& setup) {
  std::vector<Settled> settled;
  for (Replayed& replayed : all)
    settled.push_back(
        {std::string(replayed.backend), std::move(replayed.result), {}, std::move(replayed.receipts)});
  RunFacts facts = offramp::facts_of(description);
  facts.settings = settings_in_force(*setup.configuration, setup.registry);
  return replay_report(description.ranks, facts, *setup.configuration, settled);
}

/// Returns the exit code. Nothing is left of `all`.
int write_reports(const ReplayToolOptions& options, std::vector<Replayed>& all,
                  const recording::Description& description, const Setup& setup) {
  if (all.empty() || (options.report.empty() && options.html.empty())) return kDone;
  const std::string text = report_of(all, description, setup);
  const int code = options.report.empty() ? kDone : write_file(options.report, text);
  if (options.html.empty() || code != kDone) return code;
  Result<RunReport> report = parse_report(text, options.file);
  if (!report) throw Misuse{report.error()};
  std::vector<RunReport> reports;
  reports.push_back(std::move(*report));
  return write_file(options.html, report_page(reports));
}

void print_comparison(const std::vector<Replayed>& all) {
  const Time first = all.front().result.modelled_time;
  fmt::print("{:<10} {:>18} {:>8}\n", "# backend", "modelled (us)", "ratio");
  for (const Replayed& replayed : all) {
    const Time time = replayed.result.modelled_time;
    fmt::print("{:<10} {:>18.3f} {:>8}\n", replayed.backend, microseconds(time),
               first > Time() ? fmt::format("{:.3f}", time.seconds() / first.seconds()) : "-");
  }
}

}  // namespace

int replay(const ReplayToolOptions& options) try {
  if (!options.jobs.empty() || !options.background.empty()) return replay_jobs(options);
  Setup setup(options.overrides, options.backends);
  if (options.backends.empty() && !setup.configuration->compared.empty())
    setup = Setup(options.overrides, setup.configuration->settled_backends());
  const Played played(options.file);
  for (const auto& [option, path] : {std::pair("--report", &options.report), {"--html", &options.html}}) {
    if (path->empty()) continue;
    if (const std::string problem = option_problem(option, *path); !problem.empty()) throw Misuse{problem};
  }
  watch_for_interrupt();
  int code = kDone;
  std::vector<Replayed> all = replay_all(options, setup, played, code);
  if (options.json) {
    print_json(all, played.description);
  } else {
    for (const Replayed& replayed : all) print_result(replayed);
    if (all.size() > 1) print_comparison(all);
  }
  for (const std::string& note : setup.notes()) complain(note);
  if (write_reports(options, all, played.description, setup) != kDone) code = kNotWritten;
  if (!is_interrupted()) return code;
  complain(fmt::format("interrupted: {} of {} backends were replayed", all.size(), setup.backends.size()));
  return kInterrupted;
} catch (const Misuse& misuse) {
  complain(misuse.text);
  return kUsage;
}

}  // namespace offramp::tool
