// What starts the ranks of an MPI program: Open MPI's mpirun, MPICH's (Hydra), or Slurm's srun. They differ
// in how a variable is given to all ranks and in what they ask of whom.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {

struct Launcher {
  enum class Kind : std::uint8_t { kOpenMpi, kHydra, kSlurm };
  Kind kind = Kind::kOpenMpi;
  std::string path;
  std::string family;  // of the MPI library whose programs it is to start
};

/// Finds what starts the ranks. `wanted` is a name or path; without it, the launcher of the family is
/// searched, then srun within a Slurm allocation. `of_program` is the family of the program's MPI library. It
/// is empty for programs that load the library themselves: their family is that of the launcher `wanted`, or
/// Offramp's own.
Result<Launcher> find_launcher(const std::string& wanted, std::string_view of_program);

/// A program behind a colon in a command: `./a : -n 2 ./b` (MPMD).
struct FurtherProgram {
  std::string name;  // empty: it stands behind an option that is not known here
  int ranks = 0;     // 0: the command does not say
};
std::vector<FurtherProgram> further_programs(const std::vector<std::string>& command);

/// The command line that starts `ranks` (0: the launcher decides) of a command with these variables. `more`
/// are the user's own arguments for the launcher. Each program of the command gets the variables; too_many:
/// more ranks than cores, and it may need to be told.
struct LaunchedCommand {
  Variables environment;  // for the launcher itself
  std::vector<std::string> words;
};
LaunchedCommand launch_line(const Launcher& launcher, int ranks, bool too_many, const Variables& variables,
                            const std::vector<std::string>& more, const std::vector<std::string>& command);

}  // namespace offramp::tool
