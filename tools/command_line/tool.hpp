// Functions that the files of the `offramp` command share. Those that do a subcommand return its exit code.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "lib/base/output_file.hpp"

namespace offramp::tool {

// 126 and 127 as in shells. Other codes of `run` are those of mpirun.
enum ExitCode : int {
  kDone = 0,
  kBroken = 1,      // this installation of offramp is incomplete
  kUsage = 2,       // the command line or the configuration is wrong
  kDeclined = 3,    // the hardware cannot carry the request
  kIncomplete = 3,  // the time limit was reached
  kFoundFailures = 4,
  kNotWritten = kOutputLost,  // the output could not be written
  kNotExecutable = 126,
  kNotFound = 127,  // the program, or mpirun
  kInterrupted = 130,
};

/// The columns of a line: COLUMNS, or the width of the terminal that is standard output, but at most 80.
std::size_t line_width();

/// Runs the whole command with the words of its command line. Returns the exit code of the process.
int run_command_line(const std::vector<std::string>& words);

struct RunOptions {
  int ranks = 0;                    // 0: mpirun decides
  std::vector<Override> overrides;  // in the order in which they apply
  std::vector<std::string> preload;
  std::vector<std::string> mpirun_arguments;
  std::string mpirun;  // name or path of the launcher; empty: the one for the program
  bool dry_run = false;
  bool verbose = false;
  bool returns = false;  // run() returns even if it has nothing to do after the program
  std::vector<std::string> command;
};
/// Runs a program on Offramp. Returns its launcher's exit code, or one of its own. A signal that interrupted
/// it ends this process, too.
int run(const RunOptions& options);

/// The suffix of recordings in a folder.
inline constexpr std::string_view kRecordingSuffix = ".rec";

using Variables = std::vector<std::pair<std::string, std::string>>;
/// Variables that mpirun itself needs and its environment lacks.
Variables mpirun_environment();

/// A parameter's default in the configuration's notation.
std::string default_text(const Parameter& parameter);

/// Why a file that an option names cannot be written. Empty if it can.
std::string option_problem(std::string_view option, const std::string& path);
/// Phrases a problem that is already known.
std::string option_problem(std::string_view option, const std::string& path, const std::string& problem);

/// Writes a file completely or not at all. Warns on failure; returns the exit code.
int write_file(const std::string& path, std::string_view text, Naming naming = Naming::kTyped);

/// Flushes printed output. Failures are reported when the command ends.
void flush_output();

/// Prints "offramp: text" on standard error, with controls escaped.
void warn(std::string_view text);

/// Escapes characters that could control the terminal. Line breaks are kept.
std::string without_controls(std::string_view text);

/// The MPI family of libofframp.so: "openmpi" or "mpich". Others use libofframp-FAMILY.so.
inline constexpr std::string_view kMpiFamily = OFFRAMP_MPI_FAMILY;
/// The path of the library to preload for a family, beside this program's folder, as in a build or an
/// installation. Empty if it is missing.
std::string library_path(std::string_view family = kMpiFamily);

/// The path of a helper program that users do not call. Empty if it is missing.
std::string helper_path(const std::string& name);

/// Searches a command as a shell does. Empty if it is not found. The file may not be executable.
std::string find_program(const std::string& name);

/// The machine as offramp sees it. problems: sentences with advice.
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

/// The cores that this process may use.
int core_count();

/// Probes the machine. Loads libraries in child processes, because they change signal handlers and more.
Machine look_at_machine();

/// Quotes a word for a shell if necessary.
std::string shell_word(const std::string& text);

}  // namespace offramp::tool
