// Open MPI's mpirun sets OMPI_COMM_WORLD_*; hydra (MPICH, Intel MPI) and Slurm's PMI-2 set PMI_*; PMIx alone
// sets only the rank. Slurm's own variables come last: under salloc they describe mpirun's daemons. A batch
// script, which runs once, has SLURM_PROCID and SLURM_NTASKS, too; only srun sets SLURM_STEP_NUM_TASKS.
#include "lib/base/launched_job.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace offramp {
namespace {

using Variable = std::function<const char*(const char*)>;

/// The number at the beginning of the value; nullopt if it is missing or negative.
std::optional<int> number_in(const Variable& variable, const char* name) {
  const char* const text = variable(name);
  if (text == nullptr) return std::nullopt;
  int number = -1;
  const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
  return error == std::errc() && number >= 0 ? std::optional(number) : std::nullopt;
}

// The variables of one launcher.
struct Names {
  const char* rank;
  const char* size;
};
constexpr Names kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "PMI_SIZE"},
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
};

}  // namespace

LaunchedJob launched_job(const Variable& variable) {
  for (const Names& names : kLaunchers) {
    const std::optional<int> rank = number_in(variable, names.rank);
    if (!rank) continue;
    const int size = number_in(variable, names.size).value_or(0);
    // Left over from another job, as in a shell started by one.
    if (size != 0 && *rank >= size) continue;
    return {*rank, size};
  }
  return {};
}

LaunchedJob launched_job() {
  return launched_job([](const char* name) { return std::getenv(name); });
}

}  // namespace offramp
