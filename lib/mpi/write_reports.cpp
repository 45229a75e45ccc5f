#include "lib/mpi/write_reports.hpp"

#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstring>

#include "lib/core/output_file.hpp"
#include "lib/mpi/pmpi.hpp"
#include "lib/mpi/session.hpp"
#include "lib/report/report.hpp"

namespace offramp {
namespace {

std::vector<std::string> gather_strings(const std::string& own) {
  int ranks = 1;
  int rank = 0;
  pmpi::Comm_size(MPI_COMM_WORLD, &ranks);
  pmpi::Comm_rank(MPI_COMM_WORLD, &rank);
  int length = static_cast<int>(own.size());
  std::vector<int> lengths(static_cast<std::size_t>(ranks));
  native.Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> offsets(lengths.size());
  int total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    offsets[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  native.Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), offsets.data(), MPI_CHAR, 0,
                 MPI_COMM_WORLD);
  std::vector<std::string> parts;
  if (rank != 0) return parts;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    parts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
  return parts;
}

/// What a rank hands on to the next one that writes into the same file.
struct Turn {
  int going = 1;
  std::array<char, PATH_MAX> aside{};
};

/// This rank's part of a file; the last one gives the file its name. Empty, or what went wrong.
std::string write_part(const std::string& path, Turn& turn, bool first, bool last, const std::string& text) {
  Result<OutputFile> file = first ? OutputFile::create(path) : OutputFile::resume(path, turn.aside.data());
  if (!file) return file.error();
  file->write(text);
  if (last) return file->finish();
  std::string aside;
  std::string problem = file->leave(aside);
  if (problem.empty() && aside.size() >= turn.aside.size()) problem = "its name is too long";
  std::strncpy(turn.aside.data(), aside.c_str(), turn.aside.size() - 1);
  return problem;
}

/// The ranks' parts of one file, one after the other; the first that cannot write stops those behind it. The
/// last one tells rank 0 how it went, whose host has the file if another's has not.
template <typename Part>
void write_in_turn(Session& session, const std::string& path, const char* what, Part part) {
  const int rank = session.engine.rank();
  const bool last = rank + 1 == session.engine.ranks();
  constexpr int kTag = 1;
  Turn turn;
  if (rank > 0) native.Recv(&turn, sizeof turn, MPI_BYTE, rank - 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (turn.going != 0) {
    const std::string problem = write_part(path, turn, rank == 0, last, part(rank));
    if (!problem.empty()) tell_lost(what, path, problem);
    turn.going = problem.empty() ? 1 : 0;
  }
  if (session.engine.ranks() == 1) return;
  native.Send(&turn, sizeof turn, MPI_BYTE, last ? 0 : rank + 1, kTag, MPI_COMM_WORLD);
  if (rank > 0) return;
  const std::string own = turn.aside.data();
  native.Recv(&turn, sizeof turn, MPI_BYTE, session.engine.ranks() - 1, kTag, MPI_COMM_WORLD,
              MPI_STATUS_IGNORE);
  if (turn.going == 0 && !own.empty()) (void)unlink(own.c_str());
}

void tell_dropped(Session& session, const char* what, std::uint64_t count) {
  if (count > 0)
    (void)std::fprintf(stderr, "offramp: rank %d: %s, without %llu more\n", session.engine.rank(), what,
                       static_cast<unsigned long long>(count));
}

void write_trace(Session& session) {
  const TraceRecorder* const trace = session.observers().trace.get();
  if (trace == nullptr) return;
  const int ranks = session.engine.ranks();
  write_in_turn(session, session.configuration().trace, "trace", [&](int rank) {
    std::string text = rank == 0 ? kTraceBegin : kTraceSeparator;
    text += trace_events(*trace);
    if (rank + 1 == ranks) text += kTraceEnd;
    return text;
  });
  tell_dropped(session, "the trace is full", trace->dropped());
}

/// Where another part follows, its last brace is left out.
std::string left_open(const std::string& report) {
  return report.substr(0, report.rfind('}'));
}

/// report: at rank 0.
void write_report(Session& session, const std::string& report) {
  const std::string& path = session.configuration().report;
  const ReceiptRecorder* const receipts = session.observers().receipts.get();
  if (receipts == nullptr) {
    const std::string problem = session.engine.rank() == 0 ? write_output(path, report) : std::string();
    if (!problem.empty()) tell_lost("report", path, problem);
    return;
  }
  const int ranks = session.engine.ranks();
  write_in_turn(session, path, "report", [&](int rank) {
    std::string text = rank == 0 ? left_open(report) + ",\n\"receipts\": [\n" : ",\n";
    text += receipts->json(rank);
    if (rank + 1 == ranks) text += "]\n}\n";
    return text;
  });
  tell_dropped(session, "the receipts are full", receipts->dropped());
}

/// The critical path of every lane, at rank 0. Empty where the ranks know too much to bring together.
std::vector<std::optional<CriticalPath>> gather_paths(Session& session) {
  constexpr long long kMostBytes = 1LL << 29;  // also keeps the offsets of a gather in their range
  std::vector<std::optional<CriticalPath>> paths;
  for (const auto& lane : session.engine.lanes()) {
    const std::string own = lane->path->packed(lane->clock);
    long long bytes = static_cast<long long>(own.size());
    long long all = 0;
    native.Allreduce(&bytes, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    paths.emplace_back();
    if (all > kMostBytes) continue;
    const std::vector<std::string> logs = gather_strings(own);
    paths.back() = critical_path(logs);
  }
  return paths;
}

}  // namespace

RunFacts facts_of(Session& session) {
  RunFacts facts;
  for (const std::string& word : own_command()) facts.command.push_back(clean_text(word));
  facts.date = date_text();
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (pmpi::Get_library_version(text.data(), &length) == MPI_SUCCESS) {
    const std::string_view version(text.data());
    facts.mpi = version.substr(0, version.find_first_of(",\n"));
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
  for (const auto& units : session.observers().units) notes.units.push_back(units.get());
  return rank_report(session.engine, kFunctionNames, notes);
}

void write_capture(Session& session) {
  const CaptureRecorder* const capture = session.observers().capture.get();
  if (capture == nullptr) return;
  const std::string path = capture_path(session.configuration().capture, session.engine.rank());
  const std::string problem = write_output(path, capture->pcap());
  if (!problem.empty()) tell_lost("capture", path, problem);
  tell_dropped(session, "the capture is full", capture->dropped());
}

void write_reports(Session& session) {
  const Configuration& configuration = session.configuration();
  write_trace(session);
  write_capture(session);
  const std::vector<std::string> ranks = gather_strings(own_contribution(session));
  const bool wanted = !configuration.report.empty() && configuration.details;
  const auto paths = wanted ? gather_paths(session) : std::vector<std::optional<CriticalPath>>();
  std::string report;
  if (session.engine.rank() == 0) report = run_report(ranks, facts_of(session), configuration, paths);
  if (!configuration.report.empty()) write_report(session, report);
  if (session.engine.rank() == 0 && configuration.summary) {
    const std::string text = summary(report);
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

}  // namespace offramp
