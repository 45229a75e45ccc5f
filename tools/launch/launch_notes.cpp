// These are warnings and never prevent the start. A preloaded library counts as an MPI tool if its ELF
// symbols define MPI functions; Offramp and MPI libraries themselves are left out by name.
#include "tools/launch/launch_notes.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "lib/base/text_format.hpp"
#include "tools/launch/elf_image.hpp"

namespace offramp::tool {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Compares real paths, since installations often contain symbolic links.
bool is_below(const std::string& file, const std::string& folder) {
  std::error_code error;
  const std::string path = fs::canonical(file, error).string();
  const std::string above = fs::canonical(folder, error).string();
  return !error && !above.empty() && path.starts_with(above == "/" ? above : above + "/");
}

/// Returns whether srun can find a controller: within a job, or by a configuration file.
bool has_slurm_here() {
  if (!variable("SLURM_JOB_ID").empty() || !variable("SLURM_CONF").empty()) return true;
  std::error_code error;
  for (const char* const file : {"/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf"}) {
    if (fs::exists(file, error)) return true;
  }
  return false;
}

/// The libraries preloaded beside Offramp that define MPI functions.
std::vector<std::string> tools_among(const RunOptions& options) {
  std::vector<std::string> preloaded = options.preload;
  std::istringstream existing(variable("LD_PRELOAD"));
  for (std::string path; std::getline(existing, path, ':');) preloaded.push_back(path);
  std::erase_if(preloaded, [](const std::string& path) {
    const std::string name = fs::path(path).filename().string();
    // These define MPI functions without being tools.
    for (const char* const other : {"libofframp", "libmpi.so", "libmpich"}) {
      if (name.starts_with(other)) return true;
    }
    const Result<ElfImage> image = read_elf(path);
    return !image || image->definitions.empty();
  });
  return preloaded;
}

}  // namespace

std::string launcher_problem(const Launcher& launcher) {
  const std::string prefix = variable("OPAL_PREFIX");
  if (launcher.kind == Launcher::Kind::kOpenMpi && !prefix.empty() && !is_below(launcher.path, prefix))
    return fmt::format(
        "OPAL_PREFIX is {}, but {} belongs to another Open MPI; if it fails with \"unknown option\", unset "
        "OPAL_PREFIX",
        printable(prefix), printable(launcher.path));
  if (launcher.kind == Launcher::Kind::kSlurm && !has_slurm_here())
    return fmt::format(
        "no slurm.conf and no Slurm job here: if {} cannot reach a controller, use --launcher mpirun",
        printable(launcher.path));
  return {};
}

std::vector<std::string> notes_on_launch(const Launcher& launcher, const MpiUse& use,
                                         const RunOptions& options) {
  std::vector<std::string> notes;
  if (std::string problem = launcher_problem(launcher); !problem.empty()) notes.push_back(std::move(problem));
  if (!use.sanitizer.empty())
    notes.push_back(
        fmt::format("{} is built with AddressSanitizer, which has to be loaded first: {} is preloaded",
                    printable(options.command.front()), printable(use.sanitizer)));
  for (const std::string& tool : tools_among(options))
    notes.push_back(
        fmt::format("{} wraps MPI functions: its own messages count as the program's", printable(tool)));
  return notes;
}

}  // namespace offramp::tool
