// Gathers and writes the reports at the end of a run.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "lib/mpi/pmpi.hpp"
#include "lib/mpi/session.hpp"
#include "lib/report/report.hpp"
#include "lib/report/trace.hpp"

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

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  for (char& c : text) {
    if (c == '\0') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  }
  return text;
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

/// The ranks append their parts one after the other; the first that cannot write stops those behind it.
void write_trace(Session& session) {
  const TraceRecorder* const trace = session.trace();
  if (trace == nullptr) return;
  const int rank = session.engine.rank();
  const int ranks = session.engine.ranks();
  const std::string& path = session.configuration().trace;
  constexpr int kTag = 1;
  int going = 1;
  if (rank > 0) native.Recv(&going, 1, MPI_INT, rank - 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (going != 0) {
    std::string text = rank == 0 ? kTraceBegin : kTraceSeparator;
    text += trace_events(*trace, rank);
    if (rank + 1 == ranks) text += kTraceEnd;
    going = write_file(path, text, rank == 0 ? O_TRUNC : O_APPEND, "trace") ? 1 : 0;
  }
  if (rank + 1 < ranks) native.Send(&going, 1, MPI_INT, rank + 1, kTag, MPI_COMM_WORLD);
  if (trace->dropped() > 0)
    (void)std::fprintf(stderr, "offramp: rank %d: the trace ends before %llu more spans\n", rank,
                       static_cast<unsigned long long>(trace->dropped()));
}

}  // namespace

void write_reports(Session& session) {
  const Configuration& configuration = session.configuration();
  write_trace(session);
  const std::vector<std::string> ranks = gather_strings(rank_report(session.engine, kFunctionNames));
  if (session.engine.rank() != 0) return;
  const std::string report = run_report(ranks, command_line());
  if (!configuration.report.empty()) write_file(configuration.report, report, O_TRUNC, "report");
  if (configuration.summary) {
    const std::string text = summary(report);
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

}  // namespace offramp
