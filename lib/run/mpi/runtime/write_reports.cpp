// The order of a run's last outputs: the recording is gathered and written, then each rank's contribution.
// Rank 0 settles the recording in worlds (class Settlement): over the backend that carried the run, whose
// world also writes trace, captures, and receipts, and over the backends to compare. Report and summary show
// the results. A file that cannot be written does not prevent the others.
#include "lib/run/mpi/runtime/write_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/answers/replay/free_communication.hpp"
#include "lib/answers/report/accounts.hpp"
#include "lib/answers/report/lanes.hpp"
#include "lib/answers/report/replay_records.hpp"
#include "lib/answers/report/report.hpp"
#include "lib/answers/report/write_report.hpp"
#include "lib/base/format.hpp"
#include "lib/base/mpi_family.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/own_process.hpp"
#include "lib/run/mpi/runtime/finalize_comm.hpp"
#include "lib/run/mpi/runtime/session.hpp"
#include "lib/run/mpi/runtime/write_recording.hpp"
#include "lib/run/native/pmpi.hpp"
#include "offramp/kernel/frame_pool.hpp"
#include "offramp/version.hpp"

namespace offramp {

/// Empty if the library does not identify itself.
static std::string mpi_library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (pmpi::Get_library_version(text.data(), &length) != MPI_SUCCESS) return {};
  return release_of_mpi_library(text.data());
}

RunFacts facts_of(Session& session) {
  RunFacts facts;
  // The command line may contain anything, and the report is shown on terminals and pages.
  for (const std::string& word : own_command()) facts.command.push_back(clean_text(word));
  facts.date = date_text();
  facts.mpi = mpi_library();
  facts.ucx = session.fabric().version();
  if (session.recorder() != nullptr) facts.objects = session.recorder()->objects();
  facts.settings = session.settings();
  return facts;
}

namespace {

std::vector<ReportPlace> places_of(Session& session) {
  std::vector<ReportPlace> places;
  for (const auto& [place, times] : session.engine().places().entries()) {
    const bool named = place.context != ArrivalPlace::kNoContext;
    places.push_back({kFunctionNames[place.function],
                      named ? session.marshal().communicators.name_of(place.context) : std::string(),
                      call_site(place.site), times});
  }
  return places;
}

/// This rank's part of the report, from its counters.
RunReport own_contribution(Session& session) {
  Engine& engine = session.engine();
  const Counters& counters = engine.lane().counters;
  RunReport rank;
  rank.version = OFFRAMP_VERSION;
  rank.lanes.push_back(lane_of_run(std::string(engine.lane().name()), static_cast<std::size_t>(engine.rank()),
                                   counters, kFunctionNames));
  rank.arrival_order_dependences = counters.arrival_order_dependences();
  rank.dependences = dependences_of(counters);
  rank.places = places_of(session);
  rank.elsewhere = engine.places().overflow_count();
  if (!session.configuration().report.empty()) {
    const HostFacts host = look_at_host();
    if (!host.name.empty()) rank.hosts.push_back({host, 1});
  }
  if (engine.malformed() > 0)
    rank.warnings.push_back(
        fmt::format("rank {} dropped {}", engine.rank(), counted(engine.malformed(), "malformed message")));
  if (engine.certificate() != nullptr)
    rank.data_certificate = fmt::format("{:016x}", engine.certificate()->of_data());
  return rank;
}

/// Wall time since construction, in nanoseconds.
class Stopwatch {
 public:
  [[nodiscard]] double passed() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// Prints the progress of a long simulation: after 3 s, and whenever the time has doubled. The program itself
/// has ended and prints nothing more.
class PatienceLines {
 public:
  explicit PatienceLines(std::uint64_t events) : events_(events) {}

  void on_progress(const std::string& backend, const ReplayProgress& progress) {
    if (watch_.passed() < next_) return;
    next_ *= 2;
    (void)std::fprintf(stderr,
                       "offramp: the program has ended; simulating its time over %s: %s of %s events\n",
                       backend.c_str(), count_text(progress.events).c_str(), count_text(events_).c_str());
  }

 private:
  static constexpr double kFirst = 3e9;  // ns
  std::uint64_t events_;
  Stopwatch watch_;
  double next_ = kFirst;
};

/// Settles the run in worlds.
class SettledBackends {
 public:
  SettledBackends(const Session& session, Recorded& recorded)
      : session_(session), recorded_(recorded), patience_(events_of(recorded)) {}
  /// The program goes on without the memory of worlds.
  ~SettledBackends() { detail::FramePool::trim(); }
  SettledBackends& operator=(SettledBackends&&) = delete;

  /// Settles over each backend; the one that carried the run comes first.
  std::vector<Settled> all();
  [[nodiscard]] const std::optional<ProgramTimes>& program() const { return whole_runs_.program(); }

 private:
  static std::uint64_t events_of(const Recorded& recorded) {
    std::uint64_t events = 0;
    if (!recorded.recording) return events;
    for (int rank = 0; rank < recorded.recording->description().ranks; ++rank)
      events += recorded.recording->read(rank)->events().value_or(0);
    return events;
  }
  /// clock_reads: as in ReplayOptions. If memory is exhausted, that is the result's problem.
  Settled over(const std::string& backend, ReplayObserver* observer, ClockReads* clock_reads = nullptr);
  std::string settle(Settled& settled, ReplayObserver* observer, ClockReads* clock_reads);
  /// Settles over the backend that carried the run, with the outputs of its simulation.
  Settled over_own();

  const Session& session_;
  Recorded& recorded_;
  WholeRuns whole_runs_;
  PatienceLines patience_;
};

Settled SettledBackends::over(const std::string& backend, ReplayObserver* observer, ClockReads* clock_reads) {
  Settled settled{{backend}};
  const std::string problem = problem_of_step([&] { return settle(settled, observer, clock_reads); });
  return problem.empty() ? std::move(settled) : Settled{{backend, problem}};
}

/// Returns why there is no result.
std::string SettledBackends::settle(Settled& settled, ReplayObserver* observer, ClockReads* clock_reads) {
  const Configuration& configuration = session_.configuration();
  ReplayOptions options;
  options.compute = configuration.compute;
  options.sizes = !configuration.report.empty();
  options.details = configuration.details && options.sizes;
  options.certificate = configuration.certificate;
  options.observer = observer;
  options.clock_reads = clock_reads;
  options.progress = [this, &settled](const ReplayProgress& progress) {
    if (session_.configuration().summary) patience_.on_progress(settled.backend, progress);
    return true;
  };
  // As a replay of the recording does.
  const Configuration followed = configuration_for_library(configuration, session_.registry(), mpi_library());
  const auto setting = world_setting(followed, session_.registry(),
                                     *session_.registry().find(settled.backend), session_.engine().ranks());
  if (!setting) return setting.error();
  const ReplaySource source = source_of(*recorded_.recording);
  Result<ReplayResult> result = whole_runs_.replay_and_run(*setting, source, options, settled.run);
  if (!result) return result.error();
  settled.result = std::move(*result);
  if (options.details) settled.accounts = accounts_of(*setting, source, options, *settled.result);
  return {};
}

Settled SettledBackends::over_own() {
  const Configuration& configuration = session_.configuration();
  ReplayRecords records(session_.engine().ranks(), {!configuration.trace.empty(), configuration.receipts,
                                                    !configuration.capture.empty()});
  // In the first of two runs with settled times, the world's clock readings are written for the second.
  const bool for_next_run = session_.settled_clock() != nullptr && session_.settled_clock()->is_first_run();
  ClockReads clock_reads;
  // A world without an observer is faster, so it gets one only if an output needs it.
  Settled settled = over(configuration.backend, records.wanted().any() ? &records : nullptr,
                         for_next_run ? &clock_reads : nullptr);
  const auto write = [](const char* what, const std::string& path, const auto& step) {
    if (path.empty()) return;
    if (const std::string problem = problem_of_step(step); !problem.empty()) report_lost(what, path, problem);
  };
  write("file of times", for_next_run ? configuration.times : std::string(), [&] {
    return settled.result ? write_clock_reads(configuration.times, clock_reads) : settled.problem;
  });
  write("trace", configuration.trace, [&] { return records.write_trace(configuration.trace); });
  write("capture", configuration.capture, [&] { return records.write_captures(configuration.capture); });
  if (configuration.receipts.any()) settled.receipts = records.receipts_json();
  for (const std::string& line : records.notes()) (void)std::fprintf(stderr, "offramp: %s\n", line.c_str());
  return settled;
}

std::vector<Settled> SettledBackends::all() {
  const Configuration& configuration = session_.configuration();
  std::vector<Settled> all;
  if (!recorded_.recording || !recorded_.unsettled.empty()) {
    all.push_back({{configuration.backend,
                    recorded_.unsettled.empty() ? recorded_.recording.error() : recorded_.unsettled}});
    if (session_.settled_clock() != nullptr && session_.settled_clock()->is_first_run())
      report_lost("file of times", configuration.times, all.back().problem);
    return all;
  }
  for (const std::string& backend : configuration.settled_backends())
    all.push_back(all.empty() ? over_own() : over(backend, nullptr));
  return all;
}

/// With clock = settled.
void report_settled_clock(Session& session, const FinalizeComm& finalize_comm) {
  SettledClock& clock = *session.settled_clock();
  clock.end();
  const std::uint64_t settled = finalize_comm.sum(clock.settled());
  const std::uint64_t others = finalize_comm.sum(clock.difference().empty() ? 0 : 1);
  const std::vector<std::string> differences = finalize_comm.gather(clock.difference());
  if (finalize_comm.rank() != 0) return;
  std::string text;
  const auto first = std::find_if(differences.begin(), differences.end(),
                                  [](const std::string& difference) { return !difference.empty(); });
  if (clock.is_first_run() && !output_lost() && session.configuration().summary) {
    text = fmt::format(
        "offramp: MPI_Wtime returned the machine's time; the next run with the same settings reads settled "
        "times from {}\n",
        session.configuration().times);
  } else if (first != differences.end()) {
    text = fmt::format(
        "offramp: this run differs from the first one: rank {}: {}{}; from there on, MPI_Wtime returns the "
        "machine's time\n",
        first - differences.begin(), *first,
        others > 1 ? fmt::format(" (and {} other ranks differ)", others - 1) : "");
  } else if (!clock.is_first_run() && session.configuration().summary) {
    text = fmt::format("offramp: MPI_Wtime returned settled times in {} calls\n", settled);
  }
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

/// At rank 0. gathered: bytes of recordings. gathering: the wall time for that in nanoseconds.
void write_reports(const Session& session, const RunFacts& facts, const std::vector<std::string>& ranks,
                   Recorded& recorded, std::uint64_t gathered, double gathering) {
  const Configuration& configuration = session.configuration();
  const Stopwatch simulating;
  SettledBackends settlement(session, recorded);
  const std::vector<Settled> settled = settlement.all();
  const double simulated = simulating.passed();
  const Stopwatch writing;
  const RunReport report = run_report(ranks, facts, configuration, settled, settlement.program());
  if (!configuration.report.empty()) {
    const std::string problem = write_output(configuration.report, report_text(report)).error();
    if (!problem.empty()) report_lost("report", configuration.report, problem);
  }
  if (!configuration.summary) return;
  std::string text = summary(report, configuration.details);
  if (configuration.details)
    text += fmt::format(
        "offramp: after the program, Offramp needed {} to gather {} of recordings, {} to simulate, {} to "
        "write\n",
        time_text(gathering), bytes_text(static_cast<double>(gathered)), time_text(simulated),
        time_text(writing.passed()));
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void write_outputs(Session& session) {
  if (!session.carries() && session.recorder() == nullptr) return;
  const Stopwatch gathering;
  const FinalizeComm finalize_comm;
  const std::uint64_t bytes =
      finalize_comm.sum(session.recorder() != nullptr ? session.recorder()->recorder().bytes() : 0);
  Recorded recorded = session.recorder() != nullptr ? gather_recording(session, finalize_comm)
                                                    : Recorded{failure("settle_limit is 0")};
  write_recording(session, finalize_comm, recorded);
  // A program that is only recorded has no report.
  if (!session.carries()) return;
  const std::vector<std::string> ranks = finalize_comm.gather(encode(own_contribution(session)));
  if (finalize_comm.rank() == 0) {
    // An exception in the report must not end a program that has succeeded.
    const std::string problem = problem_of_step([&] {
      write_reports(session, facts_of(session), ranks, recorded, bytes, gathering.passed());
      return std::string();
    });
    if (!problem.empty()) report_incomplete("report of this run", problem);
  }
  if (session.settled_clock() != nullptr) report_settled_clock(session, finalize_comm);
  // No rank ends before the files have their final names.
  const bool is_settled = finalize_comm.broadcast_sleeping(static_cast<bool>(recorded.recording));
  if (is_settled && !recorded.keep_file) remove_parts(recorded);
}

}  // namespace offramp
