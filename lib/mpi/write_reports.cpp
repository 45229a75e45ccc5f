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

void write_file(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  std::size_t written = 0;
  while (file >= 0 && written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  if (written < text.size())
    (void)std::fprintf(stderr, "offramp: cannot write the report to %s: %s\n", path.c_str(),
                       std::strerror(errno));
  if (file >= 0) close(file);
}

}  // namespace

void write_reports(Session& session) {
  const Configuration& configuration = session.configuration();
  const std::vector<std::string> ranks = gather_strings(rank_report(session.engine, kFunctionNames));
  if (session.engine.rank() != 0) return;
  const std::string report = run_report(ranks, command_line());
  if (!configuration.report.empty()) write_file(configuration.report, report);
  if (configuration.summary) {
    const std::string text = summary(report);
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

}  // namespace offramp
