// What the files of the `offramp` command share. Functions that do a subcommand return the process's exit
// code.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/output_file.hpp"

namespace offramp::tool {

// 126 and 127 as in shells. Any other code of `run` is mpirun's.
enum ExitCode : int {
  kDone = 0,
  kBroken = 1,      // this installation of offramp is incomplete
  kUsage = 2,       // the command line or the configuration is wrong
  kDeclined = 3,    // the hardware cannot do what was asked of it
  kIncomplete = 3,  // not all that was asked for was tried: the time was over
  kFoundFailures = 4,
  kNotWritten = kOutputLost,  // what was asked for could not be written
  kNotExecutable = 126,
  kNotFound = 127,  // the program, or mpirun
  kInterrupted = 130,
};

/// The whole command, given the words of its command line. Returns the exit code of the process.
int run_command_line(const std::vector<std::string>& words);

struct RunOptions {
  int ranks = 0;                    // 0: mpirun decides
  std::vector<Override> overrides;  // in the order in which they apply
  std::vector<std::string> preload;
  std::vector<std::string> mpirun_arguments;
  std::string mpirun;  // what starts the ranks: a name or path; empty: what belongs to the program
  bool dry_run = false;
  bool verbose = false;
  bool returns = false;  // run() comes back even if it has nothing to do after the program
  std::vector<std::string> command;
};
int run(const RunOptions& options);

/// Of recordings in a folder.
inline constexpr std::string_view kRecordingSuffix = ".rec";

using Variables = std::vector<std::pair<std::string, std::string>>;
/// What mpirun itself has to find in its environment, where it is missing.
Variables mpirun_environment();

/// A parameter's default as the user writes it.
std::string default_text(const Parameter& parameter);

/// What is wrong with a file that an option names; empty: it can be written.
std::string option_problem(std::string_view option, const std::string& path);
/// The same of what is wrong with it already.
std::string option_problem(std::string_view option, const std::string& path, const std::string& problem);

/// Writes a file whole or not at all; complains, and returns the exit code.
int write_file(const std::string& path, std::string_view text);

/// Shows what is printed so far. The command says at its end if that failed.
void flush_output();

/// Prints "offramp: text" on standard error, without_controls().
void warn(std::string_view text);

/// Escapes the characters with which a file or a name could control the terminal. Ends of lines stay.
std::string without_controls(std::string_view text);

/// The family of MPI libraries that libofframp.so is for: "openmpi" or "mpich". For others there may be
/// libofframp-FAMILY.so.
inline constexpr std::string_view kMpiFamily = OFFRAMP_MPI_FAMILY;
/// The path of the library that goes in front of programs of a family: beside this program's folder, as in a
/// build and an installation. Empty: nowhere.
std::string library_path(std::string_view family = kMpiFamily);

/// The path of a program that is not meant to be called by itself. Empty: nowhere.
std::string helper_path(const std::string& name);

/// Looks a command up as a shell does. Empty: not found. The file may turn out not to be executable.
std::string find_program(const std::string& name);

/// What offramp found here. problems: in words, each with what to do.
struct Machine {
  int packages = 0;
  int cores = 0;
  int threads = 0;
  int numa_nodes = 0;
  std::string mpi;     // empty: not found
  std::string ucx;     // empty: not found
  std::string mpirun;  // first line of mpirun --version; empty: not found
  std::vector<std::string> problems;
};

/// Cores that this process may use.
int core_count();

/// Looks at everything. Libraries are asked in child processes: loading them changes signal handlers and
/// more.
Machine look_at_machine();

/// A word as a shell takes it.
std::string shell_word(const std::string& text);

}  // namespace offramp::tool
