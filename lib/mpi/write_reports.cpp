#include "lib/mpi/write_reports.hpp"

#include <array>
#include <cstdio>
#include <utility>

#include "lib/configuration/mpi_family.hpp"
#include "lib/configuration/output_file.hpp"
#include "lib/mpi/pmpi.hpp"
#include "lib/mpi/session.hpp"
#include "lib/mpi/world_apart.hpp"
#include "lib/mpi/write_recording.hpp"
#include "lib/report/replay_records.hpp"
#include "lib/report/report.hpp"

namespace offramp {

RunFacts facts_of(Session& session) {
  RunFacts facts;
  for (const std::string& word : own_command()) facts.command.push_back(clean_text(word));
  facts.date = date_text();
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (pmpi::Get_library_version(text.data(), &length) == MPI_SUCCESS) {
    facts.mpi = release_of_mpi_library(text.data());
  }
  facts.ucx = session.fabric().version();
  facts.settings = session.settings;
  return facts;
}

std::string own_contribution(Session& session) {
  RankNotes notes;
  notes.clock_reads = session.clock_reads;
  notes.communicator_name = [&session](std::uint64_t context) {
    return session.communicators.name_of(context);
  };
  if (!session.configuration().report.empty()) notes.host = look_at_host();
  return rank_report(session.engine, kFunctionNames, notes);
}

namespace {

Settled settle(const Session& session, recording::Recording& recorded, const std::string& backend,
               ReplayObserver* observer) {
  const Configuration& configuration = session.configuration();
  ReplayOptions options;
  options.compute = configuration.compute;
  options.sizes = !configuration.report.empty();
  options.details = configuration.details && options.sizes;
  options.certificate = configuration.certificate;
  options.observer = observer;
  const auto setting = world_setting(configuration, session.registry(), *session.registry().find(backend),
                                     session.engine.ranks());
  if (!setting) return {backend, {}, setting.error()};
  Result<ReplayResult> result = replay(*setting, recorded, options);
  if (!result) return {backend, {}, result.error()};
  return {backend, std::move(*result), {}};
}

/// The backend that carries the run, and what its simulation records.
Settled settle_own(const Session& session, recording::Recording& recorded) {
  const Configuration& configuration = session.configuration();
  ReplayRecords records(session.engine.ranks(), {!configuration.trace.empty(), configuration.receipts,
                                                 !configuration.capture.empty()});
  Settled settled =
      settle(session, recorded, configuration.backend, records.wanted().any() ? &records : nullptr);
  const auto write = [](const char* what, const std::string& path, const std::string& problem) {
    if (!problem.empty()) tell_lost(what, path, problem);
  };
  if (!configuration.trace.empty())
    write("trace", configuration.trace, records.write_trace(configuration.trace));
  if (!configuration.capture.empty())
    write("capture", configuration.capture, records.write_captures(configuration.capture));
  if (configuration.receipts.any()) settled.receipts = records.receipts_json();
  for (const std::string& line : records.notes()) (void)std::fprintf(stderr, "offramp: %s\n", line.c_str());
  return settled;
}

/// The run over each backend, the one that carried it first.
std::vector<Settled> settle(const Session& session, Recorded& recorded) {
  const Configuration& configuration = session.configuration();
  std::vector<Settled> all;
  if (!recorded.recording || !recorded.unsettled.empty()) {
    all.push_back({configuration.backend,
                   {},
                   recorded.unsettled.empty() ? recorded.recording.error() : recorded.unsettled});
    return all;
  }
  for (const std::string& backend : configuration.settled_backends())
    all.push_back(all.empty() ? settle_own(session, *recorded.recording)
                              : settle(session, *recorded.recording, backend, nullptr));
  return all;
}

/// At rank 0.
void write_reports(const Session& session, const RunFacts& facts, const std::vector<std::string>& ranks,
                   Recorded& recorded) {
  const Configuration& configuration = session.configuration();
  const std::string report = run_report(ranks, facts, configuration, settle(session, recorded));
  if (!configuration.report.empty()) {
    const std::string problem = write_output(configuration.report, report);
    if (!problem.empty()) tell_lost("report", configuration.report, problem);
  }
  if (!configuration.summary) return;
  const std::string text = summary(report);
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace

void write_outputs(Session& session) {
  if (!session.carries && session.recorder == nullptr) return;
  const WorldApart apart;
  Recorded recorded = session.recorder != nullptr
                          ? gather_recording(session, apart)
                          : Recorded{Result<recording::Recording>::failure("settle_limit is 0")};
  write_recording(session, apart, recorded);
  if (!session.carries) return;
  const std::vector<std::string> ranks = apart.gather(own_contribution(session));
  if (apart.rank() == 0) write_reports(session, facts_of(session), ranks, recorded);
  (void)apart.hear(true);  // no rank leaves before the files have their names
}

}  // namespace offramp
