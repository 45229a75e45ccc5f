// Launchers of MPI programs: mpirun of Open MPI, mpirun of MPICH (Hydra), and srun of Slurm. They differ in
// how all ranks receive a variable, and in their conditions for starting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {

/// A launcher that was found on this machine.
struct Launcher {
  enum class Kind : std::uint8_t { kOpenMpi, kHydra, kSlurm };
  Kind kind = Kind::kOpenMpi;
  std::string path;
  std::string family;  // of the MPI library whose programs it starts
};

/// Finds a launcher: `wanted`, a name or path; otherwise the launcher of the family, then srun within a Slurm
/// allocation. of_program: the family of the program's MPI library. It is empty if the program loads the
/// library itself; then the family is that of `wanted`, or Offramp's own.
Result<Launcher> find_launcher(const std::string& wanted, std::string_view of_program);

/// A program after a colon in a command: `./a : -n 2 ./b` (MPMD).
struct FurtherProgram {
  std::string name;  // empty: it follows an unknown option
  int ranks = 0;     // 0: not specified
};
/// All programs of a command except the first.
std::vector<FurtherProgram> further_programs(const std::vector<std::string>& command);

/// The command line that starts `ranks` (0: the launcher decides) of a command with these variables, which
/// each of its programs receives. more: the user's arguments for the launcher. too_many: more ranks than
/// cores, which some launchers must be allowed.
struct LaunchedCommand {
  Variables environment;  // for the launcher itself
  std::vector<std::string> words;
};
LaunchedCommand launch_line(const Launcher& launcher, int ranks, bool too_many, const Variables& variables,
                            const std::vector<std::string>& more, const std::vector<std::string>& command);

}  // namespace offramp::tool
