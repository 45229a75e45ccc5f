// Hydra, MPICH's launcher, speaks PMI-1 on a file descriptor: lines of `key=value`, with one answer each. A
// value put before MPI_Init is distributed by the barrier in it and can be read afterwards. The library uses
// the same protocol; an earlier `init` does not affect it.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "lib/run/native/announcement.hpp"

namespace offramp {
namespace {

struct Launcher {
  int socket = -1;
  std::string space;  // of keys; empty: nothing was published
} launcher;

/// The number in an environment variable. Negative if there is none.
int number_of(const char* variable) {
  const char* const text = std::getenv(variable);
  int number = -1;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), number);
  return number;
}

/// Returns the line of the answer. Empty on failure.
std::string ask(const std::string& question) {
  constexpr std::size_t kMost = 4096;
  constexpr int kPatience = 10'000;  // ms
  if (write(launcher.socket, question.data(), question.size()) != static_cast<ssize_t>(question.size()))
    return {};
  std::string answer;
  // Byte by byte: data after the line belongs to the library.
  for (char next = 0; answer.size() < kMost; answer += next) {
    pollfd ready{launcher.socket, POLLIN, 0};
    if (poll(&ready, 1, kPatience) != 1 || read(launcher.socket, &next, 1) != 1) return {};
    if (next == '\n') return answer;
  }
  return {};
}

/// A value in an answer, up to the next blank. Empty if it is missing.
std::string value_in(const std::string& answer, std::string_view name) {
  const std::string wanted = fmt::format(" {}=", name);
  const std::size_t at = answer.find(wanted);
  if (at == std::string::npos) return {};
  const std::string value = answer.substr(at + wanted.size());
  return value.substr(0, value.find(' '));
}

std::string key_of(int rank) {
  return fmt::format("offramp-{}", rank);
}

}  // namespace

void announce(const std::string& text) {
  launcher.socket = number_of("PMI_FD");
  // Other launchers also set PMI_FD, and may not accept a second `init`.
  if (launcher.socket < 0 || std::getenv("HYDI_CONTROL_FD") == nullptr) return;
  if (value_in(ask("cmd=init pmi_version=1 pmi_subversion=1\n"), "rc") != "0") return;
  const std::string space = value_in(ask("cmd=get_my_kvsname\n"), "kvsname");
  const std::string put =
      fmt::format("cmd=put kvsname={} key={} value={}\n", space, key_of(number_of("PMI_RANK")), text);
  if (!space.empty() && value_in(ask(put), "rc") == "0") launcher.space = space;
}

std::optional<std::vector<std::string>> announced(int ranks) {
  // The launcher's numbers are those of MPI_COMM_WORLD only if both have the same size.
  if (launcher.space.empty() || number_of("PMI_SIZE") != ranks) return std::nullopt;
  std::vector<std::string> texts;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string answer = ask(fmt::format("cmd=get kvsname={} key={}\n", launcher.space, key_of(rank)));
    if (answer.empty()) return std::nullopt;
    texts.push_back(value_in(answer, "rc") == "0" ? value_in(answer, "value") : std::string());
  }
  return texts;
}

std::string foreign_launcher() {
  // Another launcher's variables count only if MPICH's own are missing.
  const bool own = std::getenv("PMI_RANK") != nullptr || std::getenv("PMIX_RANK") == nullptr;
  return !own && number_of("OMPI_COMM_WORLD_SIZE") > 1 ? "Open MPI" : "";
}

}  // namespace offramp
