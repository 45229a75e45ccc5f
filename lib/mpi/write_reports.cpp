// Gathers and writes the reports at the end of a run.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

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

/// Of rank 0, whose report it is.
RunFacts facts_of(Session& session) {
  RunFacts facts;
  facts.command = own_command();
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

/// flags: how to open it besides for writing. False, with a message, when it cannot be written.
bool write_file(const std::string& path, const std::string& text, int flags, const char* what) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
  std::size_t written = 0;
  while (file >= 0 && written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  const bool complete = written == text.size();
  if (!complete)
    (void)std::fprintf(stderr, "offramp: cannot write the %s to %s: %s\n", what, path.c_str(),
                       std::strerror(errno));
  if (file >= 0) close(file);
  return complete;
}

/// The ranks' parts of one file, one after the other; the first that cannot write stops those behind it.
template <typename Part>
void write_in_turn(Session& session, const std::string& path, int flags, const char* what, Part part) {
  const int rank = session.engine.rank();
  constexpr int kTag = 1;
  int going = 1;
  if (rank > 0) native.Recv(&going, 1, MPI_INT, rank - 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (going != 0) going = write_file(path, part(rank), rank == 0 ? flags : O_APPEND, what) ? 1 : 0;
  if (rank + 1 < session.engine.ranks()) native.Send(&going, 1, MPI_INT, rank + 1, kTag, MPI_COMM_WORLD);
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
  write_in_turn(session, session.configuration().trace, O_TRUNC, "trace", [&](int rank) {
    std::string text = rank == 0 ? kTraceBegin : kTraceSeparator;
    text += trace_events(*trace);
    if (rank + 1 == ranks) text += kTraceEnd;
    return text;
  });
  tell_dropped(session, "the trace is full", trace->dropped());
}

/// Behind the report that rank 0 has written, whose last brace is left out.
void write_receipts(Session& session) {
  const ReceiptRecorder* const receipts = session.observers().receipts.get();
  const std::string& path = session.configuration().report;
  if (receipts == nullptr || path.empty()) return;
  const int ranks = session.engine.ranks();
  write_in_turn(session, path, O_APPEND, "report", [&](int rank) {
    std::string text = rank == 0 ? ",\n\"receipts\": [\n" : ",\n";
    text += receipts->json(rank);
    if (rank + 1 == ranks) text += "]\n}\n";
    return text;
  });
  tell_dropped(session, "the receipts are full", receipts->dropped());
}

void write_capture(Session& session) {
  const CaptureRecorder* const capture = session.observers().capture.get();
  if (capture == nullptr) return;
  const std::string path = capture_path(session.configuration().capture, session.engine.rank());
  write_file(path, capture->pcap(), O_TRUNC, "capture");
  tell_dropped(session, "the capture is full", capture->dropped());
}

/// Another part follows.
std::string left_open(const std::string& report) {
  return report.substr(0, report.rfind('}'));
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

void write_reports(Session& session) {
  const Configuration& configuration = session.configuration();
  write_trace(session);
  write_capture(session);
  RankNotes notes;
  notes.clock_reads = session.clock_reads;
  notes.communicator_name = [&session](std::uint64_t context) {
    return session.communicators.name_of(context);
  };
  if (!configuration.report.empty()) notes.host = look_at_host();
  for (const auto& units : session.observers().units) notes.units.push_back(units.get());
  const std::vector<std::string> ranks = gather_strings(rank_report(session.engine, kFunctionNames, notes));
  const bool wanted = !configuration.report.empty() && configuration.details;
  const auto paths = wanted ? gather_paths(session) : std::vector<std::optional<CriticalPath>>();
  std::string report;
  if (session.engine.rank() == 0) {
    report = run_report(ranks, facts_of(session), configuration, paths);
    const bool more = session.observers().receipts != nullptr;
    if (!configuration.report.empty())
      write_file(configuration.report, more ? left_open(report) : report, O_TRUNC, "report");
  }
  write_receipts(session);
  if (session.engine.rank() == 0 && configuration.summary) {
    const std::string text = summary(report);
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

}  // namespace offramp
