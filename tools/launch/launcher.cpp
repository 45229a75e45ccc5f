// A launcher's kind is found by its name or the file that it links to, and only then by running it with
// --version, which starts a process. Each program after a colon needs Open MPI's and Slurm's words again,
// while Hydra's -genv applies to all. An option with an unknown number of values makes the following program
// unknown, too.
#include "tools/launch/launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "lib/base/mpi_family.hpp"
#include "lib/base/text_format.hpp"
#include "tools/launch/child.hpp"

namespace offramp::tool {
namespace {

using LauncherKind = Launcher::Kind;

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// Classifies by the name of the resolved file, otherwise by its version output.
LauncherKind kind_of(const std::string& path) {
  std::error_code ignored;
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string target = std::filesystem::canonical(path, ignored).filename().string();
  for (const std::string& text : {name, target}) {
    if (text == "srun") return LauncherKind::kSlurm;
    if (contains_any(text, {"hydra", "mpich"})) return LauncherKind::kHydra;
    if (contains_any(text, {"orterun", "prterun", "prte", "openmpi"})) return LauncherKind::kOpenMpi;
  }
  const std::string said = version_output_of(path);
  if (contains_any(said, {"HYDRA", "Hydra"})) return LauncherKind::kHydra;
  if (contains_any(said, {"slurm"})) return LauncherKind::kSlurm;
  return LauncherKind::kOpenMpi;
}

/// Slurm starts the programs of every family.
bool belongs(LauncherKind kind, std::string_view family) {
  return kind == LauncherKind::kSlurm || (kind == LauncherKind::kHydra) == (family == "mpich");
}

void add(std::vector<std::string>& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

constexpr std::string_view kNextProgram = ":";

/// The number of values of a launcher's option. `nullopt` if unknown.
std::optional<std::size_t> values_of(std::string_view option) {
  for (const std::string_view one :
       {"-n",           "-np",   "--n",    "--np",  "-c",       "-x",        "-wdir",
        "--wdir",       "-wd",   "-H",     "-host", "--host",   "-hostfile", "--hostfile",
        "-machinefile", "-path", "--path", "-f",    "--map-by", "--bind-to", "--rank-by"}) {
    if (option == one) return 1;
  }
  for (const std::string_view one : {"-env", "-genv", "-mca", "--mca"}) {
    if (option == one) return 2;
  }
  if (option == "--oversubscribe" || option.find('=') != std::string_view::npos) return 0;
  return std::nullopt;
}

bool is_rank_count(std::string_view option) {
  return option == "-n" || option == "-np" || option == "--n" || option == "--np" || option == "-c";
}

}  // namespace

Result<Launcher> find_launcher(const std::string& wanted, std::string_view of_program) {
  const std::string_view family = of_program.empty() ? kMpiFamily : of_program;
  if (!wanted.empty()) {
    if (const std::string path = find_program(wanted); !path.empty()) {
      const LauncherKind kind = kind_of(path);
      const std::string_view own = kind == LauncherKind::kHydra ? "mpich" : "openmpi";
      // The launcher decides only if Offramp has a library for its family.
      const bool decides = of_program.empty() && kind != LauncherKind::kSlurm && !library_path(own).empty();
      return Launcher{kind, path, std::string(decides ? own : family)};
    }
    return failure(fmt::format("cannot find the launcher {} (--launcher)", in_quotes(wanted)));
  }
  static constexpr std::array kOfOpenMpi = {"mpirun", "mpirun.openmpi", "prterun"};
  static constexpr std::array kOfMpich = {"mpirun", "mpirun.mpich", "mpiexec.hydra"};
  for (const char* name : family == "mpich" ? kOfMpich : kOfOpenMpi) {
    const std::string path = find_program(name);
    if (path.empty()) continue;
    if (const LauncherKind kind = kind_of(path); belongs(kind, family))
      return Launcher{kind, path, std::string(family)};
  }
  if (std::getenv("SLURM_JOB_ID") != nullptr) {
    if (const std::string path = find_program("srun"); !path.empty())
      return Launcher{LauncherKind::kSlurm, path, std::string(family)};
  }
  return failure(fmt::format("cannot find the mpirun of {}; install it, or name the launcher with --launcher",
                             name_of_mpi_family(family)));
}

std::vector<FurtherProgram> further_programs(const std::vector<std::string>& command) {
  std::vector<FurtherProgram> programs;
  for (auto at = std::find(command.begin(), command.end(), kNextProgram); at != command.end();
       at = std::find(at, command.end(), kNextProgram)) {
    FurtherProgram& program = programs.emplace_back();
    for (++at; at != command.end() && *at != kNextProgram;) {
      if (!at->starts_with('-')) {
        program.name = *at;
        break;
      }
      const std::optional<std::size_t> values = values_of(*at);
      // With an unknown option, the next word may be a value or the program.
      if (!values || *values >= static_cast<std::size_t>(command.end() - at)) break;
      if (is_rank_count(*at)) program.ranks = std::atoi((at + 1)->c_str());
      at += static_cast<std::ptrdiff_t>(1 + *values);
    }
  }
  return programs;
}

LaunchedCommand launch_line(const Launcher& launcher, int ranks, bool too_many, const Variables& variables,
                            const std::vector<std::string>& more, const std::vector<std::string>& command) {
  LaunchedCommand line;
  std::vector<std::string>& words = line.words;
  std::vector<std::string> of_each;  // words that each program after a colon needs again
  words = {launcher.path};
  if (ranks > 0) add(words, {"-n", fmt::format("{}", ranks)});
  switch (launcher.kind) {
    case LauncherKind::kOpenMpi:
      line.environment = mpirun_environment();
      if (too_many) add(words, {"--oversubscribe"});
      for (const auto& [name, value] : variables) add(of_each, {"-x", fmt::format("{}={}", name, value)});
      words.insert(words.end(), of_each.begin(), of_each.end());
      break;
    case LauncherKind::kHydra:
      for (const auto& [name, value] : variables) add(words, {"-genv", name, value});
      break;
    case LauncherKind::kSlurm: {
      // srun ends a variable at a comma, so it must inherit such values. That excludes preloaded libraries,
      // which would also apply to srun itself.
      std::string exported = "--export=ALL";
      for (const auto& [name, value] : variables) {
        if (value.find(',') == std::string::npos)
          exported += fmt::format(",{}={}", name, value);
        else
          line.environment.emplace_back(name, value);
      }
      if (too_many) add(words, {"--overcommit"});
      if (std::none_of(more.begin(), more.end(),
                       [](const std::string& word) { return word.starts_with("--mpi"); }))
        add(words, {launcher.family == "mpich" ? "--mpi=pmi2" : "--mpi=pmix"});
      add(words, {exported});
      add(of_each, {exported});
      break;
    }
  }
  words.insert(words.end(), more.begin(), more.end());
  for (const std::string& word : command) {
    words.push_back(word);
    if (word == kNextProgram) words.insert(words.end(), of_each.begin(), of_each.end());
  }
  return line;
}

}  // namespace offramp::tool
