// The exit codes are listed here because both subcommands return the launcher's code if the program ran.
#include "tools/launch/launch_options.hpp"

#include <utility>

namespace offramp::tool {

LaunchOptions::LaunchOptions(CLI::App& app, RunOptions& options) : options_(options), launcher_(app) {
  add_ranks(app, options.ranks, "number of ranks (default: the launcher decides)");
  add_value(app, "--preload", options.preload, "LIBRARY", "preload this library (an MPI tool) before Offramp")
      ->allow_extra_args(false);
  app.add_flag("--dry-run", options.dry_run, "print the command line without running it");
  app.add_flag("-v,--verbose", options.verbose, "print the command line, then run it");
}

void LaunchOptions::collect(std::vector<std::string> program) {
  options_.command = std::move(program);
  options_.mpirun = launcher_.launcher();
  options_.mpirun_arguments = launcher_.arguments();
}

std::vector<ExitMeaning> launch_exits() {
  return {
      {kBroken, "libofframp.so was not found"},
      {kUsage},
      {kNotWritten, "the program succeeded, but a rank was not carried, or an output could not be written"},
      {kNotExecutable,
       "the program is not an executable file, or contains or is linked to another MPI library, or mpirun "
       "cannot be started"},
      {kNotFound, "the program, the launcher, or a library of --preload was not found"},
      {kAnyOther, "the launcher's exit code, which may equal one of those above"}};
}

}  // namespace offramp::tool
