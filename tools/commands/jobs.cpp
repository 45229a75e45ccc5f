// Runs several programs at once on one network, and compares each with running alone on the same nodes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <deque>

#include "lib/answers/advice/answer_of.hpp"
#include "lib/answers/replay/free_communication.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/answers/report/write_report.hpp"
#include "lib/base/configuration/job_places.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/text/progress.hpp"
#include "tools/text/recording_info.hpp"
#include "tools/text/replay_output.hpp"

namespace offramp::tool {
namespace {

struct Job {
  Job(std::string name_, bool partial) : name(std::move(name_)), input(name, partial) {}
  std::string name;
  ReplayInput input;
  JobNodes wanted;
  ReplayJob ranks;         // world ranks
  std::vector<int> nodes;  // of the machine
};

/// Splits NAME[:NODES]. A text that is a program's name as a whole is not split.
std::pair<std::string, std::optional<std::vector<int>>> name_and_nodes(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || access(text.c_str(), F_OK) == 0 || trace::open_program(text))
    return {text, std::nullopt};
  auto nodes = parse_nodes(text.substr(colon + 1));
  if (!nodes) return {text, std::nullopt};
  return {text.substr(0, colon), std::move(nodes)};
}

/// All jobs with their nodes, and their world.
class Jobs {
 public:
  Jobs(const ReplayToolOptions& options, const Configuration& configuration)
      : machine_(configuration.machine.layout(1)),
        nodes_(configuration.machine.nodes),
        network_(configuration.network) {
    network_.least_nodes = std::max(network_.least_nodes, nodes_);
    for (const std::string& file : options.files) jobs_.emplace_back(file, options.partial);
    for (const std::string& text : options.jobs) {
      auto [name, nodes] = name_and_nodes(text);
      jobs_.emplace_back(std::move(name), options.partial).wanted.asked = std::move(nodes);
    }
    if (!options.background.empty()) {
      auto background = parse_background(options.background);
      if (!background) throw Misuse{"--background " + background.error()};
      background_ = std::move(*background);
      background_.seed = network_.seed;
    }
    place(!options.background.empty());
  }

  [[nodiscard]] const std::deque<Job>& all() const { return jobs_; }
  [[nodiscard]] const NetworkOptions& network() const { return network_; }
  [[nodiscard]] const MachineLayout& machine() const { return machine_; }
  [[nodiscard]] int ranks() const { return ranks_; }
  [[nodiscard]] std::size_t background_nodes() const { return background_.ranks.size(); }

  /// Describes all jobs for the report: their ranks, without the background.
  [[nodiscard]] recording::Description description() const {
    recording::Description all;
    const ReplayJob& last = jobs_.back().ranks;
    all.ranks = last.first + last.ranks;
    for (const Job& job : jobs_)
      all.facts.emplace_back("program", (all.facts.empty() ? "" : "+ ") + job.name);
    return all;
  }

  [[nodiscard]] std::vector<RecordingFacts> recordings(bool with_checksums) const {
    std::vector<RecordingFacts> all;
    for (const Job& job : jobs_) {
      all.push_back(job.input.facts);
      if (with_checksums) all.back().checksum = checksum_text(job.input.program);
    }
    return all;
  }
  /// The sum of ReplayInput::recorded_events. 0 if any is unknown, as for patterns.
  [[nodiscard]] std::uint64_t recorded_events() const {
    std::uint64_t events = 0;
    for (const Job& job : jobs_) {
      if (job.input.recorded_events == 0) return 0;
      events += job.input.recorded_events;
    }
    return events;
  }

  /// One job alone, or all jobs with the background traffic.
  [[nodiscard]] ReplaySource source(const Job* alone) const {
    ReplaySource source;
    source.ranks = ranks_;
    if (alone == nullptr) source.background = background_;
    for (const Job& job : jobs_) {
      if (alone == nullptr || alone == &job) source.jobs.push_back(job.ranks);
    }
    source.has_arrival =
        std::all_of(jobs_.begin(), jobs_.end(), [](const Job& job) { return job.input.program.has_arrival; });
    source.read = [this](int rank) {
      const auto job = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& one) {
        return rank >= one.ranks.first && rank - one.ranks.first < one.ranks.ranks;
      });
      return job->input.program.read(rank - job->ranks.first);
    };
    return source;
  }

 private:
  void place(bool others) {
    std::vector<JobNodes> wanted;
    for (Job& job : jobs_) {
      job.wanted.nodes = machine_.nodes(job.input.ranks());
      wanted.push_back(job.wanted);
    }
    auto placed = place_jobs(network_, wanted, others);
    if (!placed) throw Misuse{placed.error()};
    const int per_node = machine_.ranks_per_node;
    if (nodes_ > 0 && static_cast<int>(placed->size()) > nodes_)
      throw Misuse{
          fmt::format("machine.nodes: the jobs need {} nodes with {} ranks each, but the machine has {}",
                      placed->size(), per_node, nodes_)};
    std::size_t next = 0;
    for (Job& job : jobs_) {
      job.ranks = {static_cast<int>(next) * per_node, job.input.ranks()};
      const auto first = placed->begin() + static_cast<std::ptrdiff_t>(next);
      job.nodes.assign(first, first + job.wanted.nodes);
      next += static_cast<std::size_t>(job.wanted.nodes);
    }
    for (; next < placed->size(); ++next) background_.ranks.push_back(static_cast<int>(next) * per_node);
    if (others && background_.ranks.size() < 2)
      throw Misuse{"--background: the number of nodes that the jobs leave free is only " +
                   std::to_string(background_.ranks.size()) + "; use a larger network"};
    const std::size_t ranks = placed->size() * static_cast<std::size_t>(per_node);
    if (ranks > std::size_t{1} << 20) throw Misuse{"the jobs have more than 2^20 ranks in total"};
    ranks_ = static_cast<int>(ranks);
  }

  MachineLayout machine_;  // jobs do not share nodes
  int nodes_;              // 0: as many as the jobs need
  NetworkOptions network_;
  std::deque<Job> jobs_;  // a deque: sources refer to its elements
  BackgroundTraffic background_;
  int ranks_ = 0;
};

/// Adds the jobs' runs with computing, if it was recorded and the result leaves it out.
void add_whole_runs(Settled& replayed, const WorldSetting& setting, const Jobs& jobs,
                    const ReplayOptions& how) {
  if (how.compute.kind != Compute::Mode::kNone || !computing_of(*replayed.result).any()) return;
  ReplaySource alone = jobs.source(nullptr);
  alone.background = {};  // background traffic is communication
  const auto run = replay_with_computing(setting, jobs.source(nullptr), how);
  const auto free = replay_with_computing(free_communication(setting), alone, how);
  for (SettledJob& job : replayed.jobs) {
    const Computing computing = computing_of(*replayed.result, job.ranks);
    if (!run || !free || !computing.any()) continue;
    job.run = whole_run_of(*run, job.ranks);
    job.times = {computing, whole_run_of(*free, job.ranks)};
  }
}

/// `nullopt` if interrupted, or if refused; a refusal is added to `refused`.
std::optional<Settled> replay_over(const BackendDescription& backend, const ReplayToolOptions& options,
                                   const Setup& setup, const Jobs& jobs, std::vector<BackendResult>& refused,
                                   RecordFiles& files) {
  Result<WorldSetting> setting = world_setting(*setup.configuration, setup.registry, backend, jobs.ranks());
  if (!setting) throw Misuse{setting.error()};
  setting->check = options.check;
  setting->network = jobs.network();
  setting->machine = jobs.machine();
  const ProgressLine progress;
  const auto options_for = [&](const Job* alone, ReplayObserver* observer) {
    ReplayOptions how;
    how.sizes = options.needs_report() && alone == nullptr;
    how.partial = options.partial;
    how.compute = setup.configuration->compute;
    how.details = setup.configuration->details && alone == nullptr;
    how.arrival = options.modelled_arrival ? Arrival::kModelled : Arrival::kRecorded;
    how.compare_undisturbed = alone == nullptr;
    how.observer = observer;
    how.progress = [&, alone](const ReplayProgress& now) {
      progress.show("{}: {}: {} events", backend.name, alone == nullptr ? "all jobs" : alone->name,
                    now.events);
      return !is_interrupted();
    };
    return how;
  };
  const auto run = [&](const Job* alone, ReplayObserver* observer) -> std::optional<ReplayResult> {
    Result<ReplayResult> result = offramp::replay(*setting, jobs.source(alone), options_for(alone, observer));
    if (!result) {
      refused.push_back({std::string(backend.name), problem_text({}, result.error())});
      return std::nullopt;
    }
    return result->stopped ? std::nullopt : std::optional(std::move(*result));
  };
  const std::unique_ptr<ReplayRecords> records = files.records(backend.name, jobs.source(nullptr).ranks);
  std::optional<ReplayResult> together = run(nullptr, records.get());
  if (!together) return std::nullopt;
  Settled replayed = settled_over(backend.name, std::move(*together));
  if (records != nullptr) files.write(backend.name, *records);
  if (options.records.receipts.any()) replayed.receipts = records->receipts_json();
  for (const Job& job : jobs.all()) {
    const std::optional<ReplayResult> alone = run(&job, nullptr);
    if (!alone) return std::nullopt;
    replayed.jobs.push_back({job.name, job.ranks, job.nodes, alone->end(job.ranks)});
  }
  add_whole_runs(replayed, *setting, jobs, options_for(nullptr, nullptr));
  return replayed;
}

void print_table(const Settled& replayed, const Jobs& jobs) {
  const ReplayResult& together = *replayed.result;
  fmt::print("# {}: {:.3f} us modelled, {} jobs{}\n", replayed.backend,
             in_microseconds(together.modelled_time), replayed.jobs.size(),
             jobs.background_nodes() > 0
                 ? fmt::format(", traffic between {} other nodes", jobs.background_nodes())
                 : std::string());
  fmt::print("  {:>3} {:<20} {:>5} {:<10} {:>13} {:>13} {:>8}\n", "job", "program", "ranks", "nodes",
             "modelled (us)", "alone (us)", "slowdown");
  for (std::size_t i = 0; i < replayed.jobs.size(); ++i) {
    const SettledJob& job = replayed.jobs[i];
    fmt::print("  {:>3} {:<20} {:>5} {:<10} {:>13.3f} {:>13.3f} {:>8.3f}\n", i + 1,
               cut_text(printable(job.program), 20), job.ranks.ranks, cut_text(text_of_nodes(job.nodes), 10),
               in_microseconds(together.end(job.ranks)), in_microseconds(job.alone), job.slowdown(together));
  }
  for (std::size_t i = 0; i < replayed.jobs.size(); ++i) {
    const SettledJob& job = replayed.jobs[i];
    if (!job.run) continue;
    fmt::print(
        "  job {} with its computing: {:.3f} us; {}\n", i + 1, in_microseconds(job.run->end),
        share_in_calls_text(replayed.backend, job.run->in_calls, job.run->sum, job.times->free.in_calls));
  }
  print_resources(together);
  print_links(together);
  print_disturbance(together);
}

}  // namespace

int replay_jobs(const ReplayToolOptions& options) {
  check_reports(options);
  const Setup setup(options.overrides, options.backends, Setup::Wanted::kCompared);
  const Jobs jobs(options, *setup.configuration);
  setup.print_sources();
  watch_for_interrupt();
  RecordFiles files(options.records, setup.backends.size());
  std::vector<Settled> all;
  std::vector<BackendResult> refused;
  for (const BackendDescription* backend : setup.backends) {
    const std::size_t before = refused.size();
    std::optional<Settled> replayed = replay_over(*backend, options, setup, jobs, refused, files);
    if (!replayed && refused.size() == before) break;
    if (!replayed) continue;
    all.push_back(std::move(*replayed));
  }
  int code = files.finish();
  print_refusals(refused, all.empty());
  const recording::Description description = jobs.description();
  RunFacts facts =
      facts_of_replay(description, jobs.recordings(options.json || options.needs_report()), setup);
  if (!all.empty()) facts.replayed_part = part_text(*all.front().result, jobs.recorded_events());
  RunReport report;
  if (options.json || options.needs_report())
    report = report_of(all, refused, description.ranks, facts, setup);
  if (!all.empty()) report.answer = answer_of_jobs(all, jobs.background_nodes());
  if (options.json) {
    Json json = json_of_facts(report, facts);
    json["background_nodes"] = jobs.background_nodes();
    if (report.answer) json["answer"] = json_of(*report.answer);
    Json& results = json["results"] = Json::array();
    LongLists lists;
    for (std::size_t i = 0; i < all.size(); ++i) results.push_back(json_of(report.lanes[i], all[i], lists));
    json["refused"] = json_of(refused);
    json["interrupted"] = is_interrupted();
    print_long_json(json, lists);
  } else {
    if (report.answer) fmt::print("{}", answer_text(*report.answer, line_width()));
    for (const Settled& replayed : all) {
      if (setup.configuration->details) print_table(replayed, jobs);
    }
    if (!facts.replayed_part.empty()) warn("incomplete: " + facts.replayed_part);
  }
  for (const std::string& note : setup.notes()) warn(note);
  if (!all.empty() && write_reports(options.report, options.html, {report}) != kDone) code = kNotWritten;
  if (!is_interrupted()) return code;
  warn("interrupted: the missing backends were not replayed");
  return kInterrupted;
}

}  // namespace offramp::tool
