#include "tools/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "lib/configuration/mpi_family.hpp"
#include "lib/configuration/names.hpp"
#include "tools/child.hpp"

namespace offramp::tool {
namespace {

using Kind = Launcher::Kind;

bool contains_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

/// By the name of the file that is run in the end; else by what it says of itself.
Kind kind_of(const std::string& path) {
  std::error_code ignored;
  const std::string name = std::filesystem::path(path).filename().string();
  const std::string target = std::filesystem::canonical(path, ignored).filename().string();
  for (const std::string& text : {name, target}) {
    if (text == "srun") return Kind::kSlurm;
    if (contains_any(text, {"hydra", "mpich"})) return Kind::kHydra;
    if (contains_any(text, {"orterun", "prterun", "prte", "openmpi"})) return Kind::kOpenMpi;
  }
  const std::string said = version_said_by(path);
  if (contains_any(said, {"HYDRA", "Hydra"})) return Kind::kHydra;
  if (contains_any(said, {"slurm"})) return Kind::kSlurm;
  return Kind::kOpenMpi;
}

bool belongs(Kind kind, std::string_view family) {
  return kind == Kind::kSlurm || (kind == Kind::kHydra) == (family == "mpich");
}

void add(std::vector<std::string>& words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
}

}  // namespace

Result<Launcher> find_launcher(const std::string& wanted, std::string_view family) {
  if (!wanted.empty()) {
    const std::string path = find_program(wanted);
    if (!path.empty()) return Launcher{kind_of(path), path, std::string(family)};
    return Result<Launcher>::failure(
        fmt::format("cannot find {}; install {} or name what starts its programs with --launcher",
                    in_quotes(wanted), name_of_mpi_family(family)));
  }
  static constexpr std::array kOfOpenMpi = {"mpirun", "mpirun.openmpi", "prterun"};
  static constexpr std::array kOfMpich = {"mpirun", "mpirun.mpich", "mpiexec.hydra"};
  for (const char* name : family == "mpich" ? kOfMpich : kOfOpenMpi) {
    const std::string path = find_program(name);
    if (path.empty()) continue;
    if (const Kind kind = kind_of(path); belongs(kind, family))
      return Launcher{kind, path, std::string(family)};
  }
  if (std::getenv("SLURM_JOB_ID") != nullptr) {
    if (const std::string path = find_program("srun"); !path.empty())
      return Launcher{Kind::kSlurm, path, std::string(family)};
  }
  return Result<Launcher>::failure(
      fmt::format("cannot find the mpirun of {}; install it or name what starts its programs with --launcher",
                  name_of_mpi_family(family)));
}

LaunchedCommand launch_line(const Launcher& launcher, int ranks, bool too_many, const Variables& variables,
                            const std::vector<std::string>& more, const std::vector<std::string>& command) {
  LaunchedCommand line;
  std::vector<std::string>& words = line.words;
  words = {launcher.path};
  if (ranks > 0) add(words, {"-n", fmt::format("{}", ranks)});
  switch (launcher.kind) {
    case Kind::kOpenMpi:
      line.environment = mpirun_environment();
      if (too_many) add(words, {"--oversubscribe"});
      for (const auto& [name, value] : variables) add(words, {"-x", fmt::format("{}={}", name, value)});
      break;
    case Kind::kHydra:
      for (const auto& [name, value] : variables) add(words, {"-genv", name, value});
      break;
    case Kind::kSlurm: {
      // A comma ends a variable there; srun hands on what it finds itself. That is no way for what is
      // preloaded, which would be put in front of srun, too.
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
      break;
    }
  }
  words.insert(words.end(), more.begin(), more.end());
  words.insert(words.end(), command.begin(), command.end());
  return line;
}

}  // namespace offramp::tool
