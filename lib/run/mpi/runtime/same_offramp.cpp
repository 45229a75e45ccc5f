// No rank may send messages to find out: a rank without Offramp would match them with the program's receives.
#include "lib/run/mpi/runtime/same_offramp.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/format.hpp"
#include "lib/base/launched_job.hpp"
#include "lib/run/native/announcement.hpp"
#include "lib/run/native/native.h"
#include "lib/run/native/table.hpp"
#include "lib/run/native/world_comm.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

/// The result of foreign_launcher() before MPI_Init: Open MPI sets its launchers' variables even for a
/// process that none of them started.
std::string other_launcher;

/// speaks: this rank prints the line; the others wait for it.
[[noreturn]] void end_job(const std::string& why, bool speaks) {
  constexpr unsigned kPatience = 10;  // s
  if (speaks) {
    const std::string line = "offramp: " + why + "\n";  // one write: other processes write too
    (void)!write(STDERR_FILENO, line.data(), line.size());
  } else {
    // The line of the speaking rank should appear before the job ends.
    sleep(kPatience);
  }
  native.Abort(mpi_world(), 2);
  _exit(2);
}

/// The number at this place in a list from Open MPI's mpirun, with one number per program of the job.
/// `otherwise` if the list has no such place.
int number_in_list(const char* variable, int place, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  for (;; --place) {
    char* end = nullptr;
    const long number = std::strtol(text, &end, 10);
    if (end == text) return otherwise;
    if (place == 0) return static_cast<int>(number);
    text = end;
  }
}

/// This rank and those of the same program, as numbered by another MPI library's launcher.
std::vector<std::size_t> ranks_of_program() {
  // These are the variables of Open MPI's launcher, which has started a program for another MPI library.
  const char* const program = std::getenv("OMPI_MCA_orte_app_num");
  const int place = program != nullptr ? std::atoi(program) : 0;
  const int own = launched_job().rank;
  const int first = number_in_list("OMPI_FIRST_RANKS", place, own);
  const int count = number_in_list("OMPI_APP_CTX_NUM_PROCS", place, 1);
  std::vector<std::size_t> ranks;
  for (int rank = first; rank < first + count; ++rank) ranks.push_back(static_cast<std::size_t>(rank));
  return ranks;
}

/// For lists: "rank 1 has Offramp 0.2.0".
std::string versions_text(const std::map<std::string, std::vector<std::size_t>>& by_version) {
  std::string text;
  for (const auto& [version, ranks] : by_version) {
    const char* const has = ranks.size() == 1 ? "has" : "have";
    text += fmt::format("{}{} {} {}{}", text.empty() ? "" : "; ", ranks_text(ranks), has,
                        version.empty() ? "no Offramp" : "Offramp ", version);
  }
  return text;
}

}  // namespace

void announce_offramp() {
  static bool done = false;
  if (std::exchange(done, true)) return;
  other_launcher = foreign_launcher();
  announce(OFFRAMP_VERSION);
}

void end_job_unless_all_have_offramp() {
  if (!other_launcher.empty() && world_size() == 1) {
    const std::vector<std::size_t> ranks = ranks_of_program();
    const bool speaks = ranks.empty() || static_cast<int>(ranks.front()) == launched_job().rank;
    end_job(fmt::format("the launcher of {} started {} with a program for {}: each rank is alone in "
                        "its MPI_COMM_WORLD; start the program with the launcher of its own MPI library",
                        other_launcher, ranks_text(ranks), offramp_native_name()),
            speaks);
  }
  const auto texts = announced(world_size());
  // The launcher offers no way to compare, so the ranks go on.
  if (!texts) return;
  std::map<std::string, std::vector<std::size_t>> by_version;
  for (std::size_t rank = 0; rank < texts->size(); ++rank) by_version[(*texts)[rank]].push_back(rank);
  if (by_version.size() == 1 && !by_version.contains("")) return;
  // The first rank that has Offramp speaks: a rank without it cannot.
  const auto with = std::find_if(texts->begin(), texts->end(), [](const auto& one) { return !one.empty(); });
  end_job(
      versions_text(by_version) +
          ": all ranks of MPI_COMM_WORLD need the same Offramp; give its LD_PRELOAD and OFFRAMP_ variables "
          "to every program of the job, as offramp run does",
      with - texts->begin() == world_rank());
}

}  // namespace offramp
