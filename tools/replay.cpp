#include "tools/replay.hpp"

#include <fmt/core.h>

#include <utility>

#include "lib/core/names.hpp"
#include "lib/core/replay.hpp"
#include "tools/progress.hpp"
#include "tools/replay_output.hpp"
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
    all.push_back({backend->name, std::move(*result), {}, {}});
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
  check_reports(options);
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
