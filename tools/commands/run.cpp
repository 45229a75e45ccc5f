// offramp run: validates the configuration once, then becomes the launcher (mpirun or another) with all
// variables set. If files will be written, it stays and reports on them.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lib/answers/report/outputs.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/format.hpp"
#include "lib/base/launched_job.hpp"
#include "lib/base/mpi_family.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/text_format.hpp"
#include "lib/programs/import/program.hpp"
#include "lib/programs/recording/reader.hpp"
#include "simulators/world/text_fields.hpp"
#include "tools/command_line/options.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/launch/check.hpp"
#include "tools/launch/elf_image.hpp"
#include "tools/launch/launch_notes.hpp"
#include "tools/launch/launch_options.hpp"
#include "tools/launch/launcher.hpp"
#include "tools/text/recording_info.hpp"

namespace offramp::tool {

std::string shell_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

Variables mpirun_environment() {
  Variables variables;
  if (geteuid() != 0) return variables;
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) {
    if (std::getenv(name) == nullptr) variables.emplace_back(name, "1");
  }
  return variables;
}

namespace {

std::string shell_line(const LaunchedCommand& plan) {
  std::string line;
  for (const auto& [name, value] : plan.environment) line += fmt::format("{}={} ", name, shell_word(value));
  for (const std::string& word : plan.words) line += shell_word(word) + " ";
  line.pop_back();
  return line;
}

/// Variables that make every rank read the configuration that was validated here.
std::map<std::string, std::string> exported(const ConfigSources& config_sources,
                                            const Configuration& configuration, const Registry& registry) {
  std::map<std::string, std::string> variables = config_sources.environment;
  const auto names = variables_by_key(registry);
  std::vector<std::string> options;
  std::vector<std::string> in_use = configuration.settled_backends();
  in_use.emplace_back(baseline_name());
  for (const Override& o : config_sources.overrides) {
    for (const std::string& key : resolved_keys(o, registry, in_use)) {
      const auto found = names.find(key);
      if (found == names.end()) continue;
      variables[found->second] = o.value;
      options.push_back(fmt::format("{}={}", found->second, o.origin));
    }
  }
  variables.erase("OFFRAMP_OPTIONS");
  if (!options.empty()) variables["OFFRAMP_OPTIONS"] = fmt::format("{}", fmt::join(options, ","));
  variables.erase("OFFRAMP_CONFIG");
  // An absolute path, because ranks may start in another folder.
  if (!configuration.file.empty())
    variables["OFFRAMP_CONFIG"] = std::filesystem::absolute(configuration.file).string();
  return variables;
}

/// Tools of --preload come first, so that their wrappers see the program's calls and pass them on to offramp.
/// The current LD_PRELOAD comes last.
std::string preload_list(const RunOptions& options, const std::string& library) {
  std::string list;
  for (const std::string& tool : options.preload) list += tool + ":";
  list += library;
  const char* const existing = std::getenv("LD_PRELOAD");
  return existing == nullptr || *existing == '\0' ? list : list + ":" + existing;
}

/// For calls that LD_PRELOAD does not reach (lib/run/audit). Empty if it is not installed.
std::string audit_list(const std::string& library) {
  const std::filesystem::path audit =
      std::filesystem::path(library).parent_path() / "offramp/offramp-audit.so";
  std::error_code error;
  if (!std::filesystem::exists(audit, error)) return {};
  const char* const existing = std::getenv("LD_AUDIT");
  return audit.string() + (existing == nullptr || *existing == '\0' ? "" : ":" + std::string(existing));
}

/// With an audit library, the dynamic linker reserves static thread-local memory before it knows the
/// program's libraries. This adds what they need to glibc's own reserve. is_known: the program needs all of
/// them itself, as a script does not.
std::string tunables_for_audit(const RunOptions& options, const std::string& preloaded, bool is_known) {
  constexpr std::size_t kUnknown = 16384;  // B
  std::size_t bytes = 512;                 // B, glibc's own default
  std::vector<std::string> files = {find_program(options.command.front())};
  for (const FurtherProgram& program : further_programs(options.command))
    files.push_back(find_program(program.name));
  for (const std::string_view file : split(preloaded, ':')) files.emplace_back(file);
  const char* const existing = std::getenv("GLIBC_TUNABLES");
  std::string tunables = existing == nullptr || *existing == '\0' ? "" : existing + std::string(":");
  if (const std::size_t at = tunables.rfind(kStaticTls); at != std::string::npos)
    bytes = std::strtoull(tunables.c_str() + at + kStaticTls.size(), nullptr, 0);
  bytes += std::max(thread_local_bytes_of(files), is_known ? 0 : kUnknown);
  return fmt::format("{}{}{}", tunables, kStaticTls, bytes);
}

bool mention(const std::vector<std::string>& arguments, std::initializer_list<const char*> words) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& argument) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return argument.find(word) != std::string::npos; });
  });
}

bool hosts_are_named(const std::vector<std::string>& mpirun_arguments) {
  return mention(mpirun_arguments, {"hostfile", "machinefile", "-host", "-H"});
}

bool names_slots(const std::vector<std::string>& mpirun_arguments) {
  return hosts_are_named(mpirun_arguments) ||
         mention(mpirun_arguments, {"oversubscribe", "OVERSUBSCRIBE", "hwthread", "HWTHREAD"});
}

/// 0: the launcher decides.
int ranks_of(const RunOptions& options) {
  int ranks = options.ranks;
  for (const FurtherProgram& program : further_programs(options.command)) ranks += program.ranks;
  return ranks;
}

LaunchedCommand make_plan(const RunOptions& options, const Launcher& launcher, const std::string& library,
                          const std::map<std::string, std::string>& configured, bool is_known) {
  Variables variables = {{"LD_PRELOAD", preload_list(options, library)}};
  if (const std::string audit = audit_list(library); !audit.empty()) {
    variables.emplace_back("LD_AUDIT", audit);
    variables.emplace_back("GLIBC_TUNABLES", tunables_for_audit(options, variables.front().second, is_known));
  }
  // UCX patches memory functions and installs signal handlers when loaded; offramp needs neither.
  if (std::getenv("UCX_MEM_EVENTS") == nullptr) variables.emplace_back("UCX_MEM_EVENTS", "n");
  if (std::getenv("UCX_ERROR_SIGNALS") == nullptr) variables.emplace_back("UCX_ERROR_SIGNALS", "");
  variables.insert(variables.end(), configured.begin(), configured.end());
  const bool too_many = ranks_of(options) > core_count() && !names_slots(options.mpirun_arguments);
  return launch_line(launcher, options.ranks, too_many, variables, options.mpirun_arguments, options.command);
}

/// Returns only if the launcher cannot be started.
int replace_process(const LaunchedCommand& plan) {
  for (const auto& [name, value] : plan.environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<std::string> words = plan.words;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(pointers.front(), pointers.data());
  warn(fmt::format("cannot start {}: {}", words.front(), std::strerror(errno)));
  return kNotExecutable;
}

volatile pid_t supervised = 0;
int ended_by = 0;  // the signal that ended the launcher; 0: none

/// Forwards signals from processes. The terminal's signals reach the child directly.
void hand_on(int signal, siginfo_t* info, void*) {
  if (info->si_code <= 0 && supervised > 0) kill(supervised, signal);
}

/// Redirects standard output to /dev/null, and input unless it is a file, which the second run rereads.
void hide_output() {
  const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  dup2(nowhere, STDOUT_FILENO);
  struct stat input {};
  if (fstat(STDIN_FILENO, &input) != 0 || !S_ISREG(input.st_mode)) dup2(nowhere, STDIN_FILENO);
}

/// Like replace_process(), but returns the exit code when the program has ended.
int supervise(const LaunchedCommand& plan, bool hidden = false) {
  const pid_t child = fork();
  if (child < 0) {
    warn(fmt::format("cannot start {}: {}", plan.words.front(), std::strerror(errno)));
    return kNotExecutable;
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (hidden) hide_output();
    _exit(replace_process(plan));
  }
  supervised = child;
  struct sigaction action {};
  action.sa_sigaction = hand_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  supervised = 0;
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  ended_by = WTERMSIG(status);
  return 128 + ended_by;
}

/// A folder for temporary files, which the destructor removes.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string folder = (std::filesystem::temp_directory_path(error) / "offramp-XXXXXX").string();
    if (mkdtemp(folder.data()) != nullptr) folder_ = folder;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  /// Empty if the folder could not be created.
  [[nodiscard]] std::string path(const char* file) const {
    return folder_.empty() ? "" : folder_ + "/" + file;
  }

 private:
  std::string folder_;
};

/// The first run of clock = settled writes only the file of times, and its output is hidden.
std::map<std::string, std::string> for_first_run(std::map<std::string, std::string> variables) {
  for (const char* output : {"OFFRAMP_REPORT", "OFFRAMP_RECORD", "OFFRAMP_TRACE", "OFFRAMP_CAPTURE",
                             "OFFRAMP_FAULTS_RECORD", "OFFRAMP_COMPARE"})
    variables[output] = "";
  for (const char* flag : {"OFFRAMP_SUMMARY", "OFFRAMP_CERTIFICATE", "OFFRAMP_DETAILS"})
    variables[flag] = "false";
  variables["OFFRAMP_RECEIPTS"] = "none";
  return variables;
}

/// A file that the run will write, with its previous state.
struct Expected {
  const char* what;
  std::string path;
  struct stat before {};

  Expected(const char* what_, const std::string& path_) : what(what_), path(path_) {
    if (stat(path.c_str(), &before) != 0) before = {};
  }
  /// True if the file was replaced: files are written aside and renamed.
  [[nodiscard]] bool is_written() const {
    struct stat now {};
    return stat(path.c_str(), &now) == 0 &&
           (now.st_ino != before.st_ino || now.st_mtim.tv_sec != before.st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != before.st_mtim.tv_nsec);
  }
};

/// The files that rank 0 will write, if they are visible from here.
std::vector<Expected> expected_files(const Configuration& configuration, const RunOptions& options,
                                     const Launcher& launcher) {
  std::vector<Expected> files;
  const bool elsewhere = hosts_are_named(options.mpirun_arguments) || launcher.kind == Launcher::Kind::kSlurm;
  if (elsewhere || (configuration.off() && !configuration.records_only())) return files;
  const auto add = [&files](const char* what, const std::string& path) {
    if (!path.empty() && !output_target(path).empty()) files.emplace_back(what, path);
  };
  add("recording", configuration.record);
  if (configuration.off()) return files;
  add("report", configuration.report);
  add("trace", configuration.trace);
  return files;
}

/// Relative to this folder if it is in it.
std::string shown_path(const std::string& path) {
  std::error_code error;
  const std::string shown = std::filesystem::proximate(path, error).string();
  return error || shown.starts_with("..") ? path : shown;
}

/// is_one: no other recordings of the program are made.
void report_recording(const std::string& path, bool is_one) {
  const auto program = trace::open_program(path);
  if (!program || !program->recording) return;
  std::uint64_t bytes = 0;
  const int ranks = program->description.ranks;
  for (int rank = 0; rank < ranks; ++rank) bytes += program->recording->bytes(rank);
  const std::string shown = shown_path(path);
  warn(fmt::format("recorded {} of {} in {} ({})", counted(events_of(*program), "event"),
                   counted(static_cast<std::uint64_t>(ranks), "rank"), printable(shown),
                   bytes_text(static_cast<double>(bytes))));
  const auto native = recording::native_times_of(*program->recording);
  if (native && *native)
    warn(native_text(**native) + ((*native)->cores_are_short ? "; cores were short" : ""));
  if (is_one) warn(fmt::format("next  offramp advise {}", printable(shell_word(shown))));
}

/// After a failed program: says what was recorded.
void report_parts(const std::vector<Expected>& files, const std::string& path, int code, bool is_one) {
  const auto recording =
      std::find_if(files.begin(), files.end(), [&](const Expected& file) { return file.path == path; });
  if (recording == files.end()) return;
  if (recording->is_written()) {
    report_recording(path, is_one);
    return warn(fmt::format("the recording is complete, but the program ended with exit code {}", code));
  }
  if (!recording::mark_of_part(recording::part_path(path, 0))) return;
  const std::string shown = shell_word(shown_path(path));
  warn(fmt::format(
      "the recording ends early: {}.rank-N have what the ranks did until then; {}offramp replay {} --partial",
      shown, std::filesystem::exists(path) ? "remove the older recording of that name, then " : "", shown));
}

/// After a successful program: checks its files. Returns the exit code.
int look_for(const std::vector<Expected>& files, const Configuration& configuration, bool is_one) {
  int code = kDone;
  for (const Expected& file : files) {
    if (!file.is_written()) {
      warn(fmt::format("the program succeeded but wrote no {} {}: did it call MPI_Init?", file.what,
                       in_quotes(file.path)));
      code = kNotWritten;
    } else if (file.path == configuration.record && configuration.summary) {
      report_recording(file.path, is_one);
    }
  }
  return code;
}

/// True if ranks may run on hosts where the file of carried ranks is not visible.
bool may_be_elsewhere(const RunOptions& options, const Launcher& launcher) {
  if (hosts_are_named(options.mpirun_arguments) || launcher.kind == Launcher::Kind::kSlurm) return true;
  for (const char* name :
       {"SLURM_JOB_ID", "PBS_NODEFILE", "LSB_JOBID", "PE_HOSTFILE", "COBALT_NODEFILE", "HYDRA_HOST_FILE",
        "HYDRA_HOST_ENV", "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

/// After a successful program: each carried rank has written its number into the file, and that of the ranks
/// of its MPI_COMM_WORLD, which are all carried then. Returns false after a warning if ranks are missing.
bool all_are_carried(const std::string& file, const RunOptions& options, const MpiUse& use,
                     const Launcher& launcher) {
  const auto expected = static_cast<std::size_t>(std::max(1, ranks_of(options)));
  std::set<std::size_t> carried;
  std::ifstream lines(file);
  if (!lines) return true;  // it could not be written
  for (std::size_t rank = 0, all = 0; lines >> rank >> all; carried.insert(rank)) {
    if (all >= expected) return true;
  }
  std::vector<std::size_t> missing;
  for (std::size_t rank = 0; rank < expected; ++rank) {
    if (!carried.contains(rank)) missing.push_back(rank);
  }
  if (missing.empty()) return true;
  const bool is_certain = !may_be_elsewhere(options, launcher);
  const std::string who = carried.empty()
                              ? "no rank was"
                              : ranks_text(missing) + (missing.size() == 1 ? " was not" : " were not");
  if (!is_certain) {
    warn(fmt::format("note: as far as this host can see, {} carried", who));
  } else if (use.none && !use.starts) {
    warn(fmt::format("{} made no MPI call, so no rank was carried; name an MPI program after --",
                     in_quotes(options.command.front())));
  } else {
    warn(fmt::format(
        "{} carried: MPI_Init was not called, or not with LD_PRELOAD and LD_AUDIT as offramp run sets them{}",
        who, use.obstacle.empty() ? "" : "; " + use.obstacle));
  }
  return !is_certain;
}

/// use: set if the program can be started.
int check_command(const std::string& name, MpiUse& use) {
  const std::string path = find_program(name);
  if (path.empty()) {
    const bool here = name.find('/') == std::string::npos && std::filesystem::exists(name);
    warn(fmt::format("cannot find the program {}; {}", in_quotes(name),
                     here ? fmt::format("did you mean ./{}?", printable(name)) : "is the path right?"));
    return kNotFound;
  }
  if (std::filesystem::is_directory(path) || access(path.c_str(), X_OK) != 0) {
    warn(fmt::format("cannot run {}: it is not an executable file", in_quotes(path)));
    return kNotExecutable;
  }
  use = survey_of(path);
  if (!use.other_mpi.empty()) {
    warn(fmt::format("cannot run {}: it {}", in_quotes(name), use.other_mpi));
    return kNotExecutable;
  }
  return kDone;
}

/// Returns false after a warning if a path cannot be an entry of LD_PRELOAD.
bool check_entry(const std::string& path, const char* what) {
  if (path.find_first_of(": ") == std::string::npos) return true;
  warn(fmt::format("cannot preload {}: blanks and colons end a name in LD_PRELOAD; {} a folder without them",
                   in_quotes(path), what));
  return false;
}

/// Returns an exit code after a warning if a library of --preload does not exist, which ld.so would ignore.
int check_preloads(const RunOptions& options) {
  const Result<ElfImage> program = read_elf(find_program(options.command.front()));
  for (const std::string& list : options.preload) {
    if (std::filesystem::exists(list) && !check_entry(list, "move it to")) return kUsage;
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t end = std::min(list.find_first_of(": ", at), list.size());
      const std::string name = list.substr(at, end - at);
      at = end + 1;
      const bool is_resolved_later = name.empty() || name.find('$') != std::string::npos;
      if (is_resolved_later || !find_library(name, program ? *program : ElfImage()).empty()) continue;
      const bool here = name.find('/') == std::string::npos && std::filesystem::exists(name);
      warn(fmt::format("cannot find the library {} (--preload){}", in_quotes(name),
                       here ? fmt::format("; did you mean ./{}?", printable(name)) : ""));
      return kNotFound;
    }
  }
  return kDone;
}

/// Checks that all programs of the command exist, and use the MPI library of the first.
int check_commands(const std::vector<std::string>& command, MpiUse& use) {
  if (const int problem = check_command(command.front(), use); problem != kDone) return problem;
  for (const FurtherProgram& program : further_programs(command)) {
    if (program.name.empty()) continue;
    MpiUse other;
    if (const int problem = check_command(program.name, other); problem != kDone) return problem;
    if (use.family.empty() || other.family.empty() || use.family == other.family) continue;
    warn(fmt::format("cannot run {} and {} in one job: one uses {}, the other {}", in_quotes(command.front()),
                     in_quotes(program.name), name_of_mpi_family(use.family),
                     name_of_mpi_family(other.family)));
    return kNotExecutable;
  }
  return kDone;
}

int run_once(RunOptions options) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr && !options.dry_run) {
    if (launched_job().rank == 0)
      warn("mpirun started offramp, but offramp starts mpirun: offramp record -n RANKS -o FILE -- PROGRAM");
    return kUsage;
  }
  ConfigSources config_sources = ConfigSources::of_process();
  config_sources.overrides = options.overrides;
  Registry registry(built_in_backends());
  auto configuration = load_configuration(config_sources, registry);
  const bool is_counted =
      configuration && !options.dry_run && (!configuration->off() || configuration->records_only());
  std::optional<TemporaryFolder> temporary;
  if (is_counted) temporary.emplace();
  const bool runs_twice = configuration && configuration->clock == Clock::kSettled && !configuration->off() &&
                          configuration->times.empty();
  if (runs_twice && !options.dry_run) {
    if (hosts_are_named(options.mpirun_arguments)) {
      warn(
          "--clock settled with ranks on other hosts needs a file on a shared file system, --set times=FILE: "
          "the first run writes it, the next one reads it");
      return kUsage;
    }
    config_sources.overrides.push_back({"times", temporary->path("times"), "--clock settled"});
    configuration = load_configuration(config_sources, registry);
  }
  if (!configuration) {
    warn(configuration.error());
    return kUsage;
  }
  if (options.dry_run) {  // otherwise rank 0 prints them
    for (const std::string& note : configuration->notes) warn(note);
  }
  // Ranks on other hosts may have other folders, which MPI_Init checks.
  if (const std::string problem =
          hosts_are_named(options.mpirun_arguments) ? "" : problem_of_outputs(*configuration, 0);
      !problem.empty()) {
    warn(problem);
    return kUsage;
  }
  if (const std::string sources = settings_read(*configuration); !sources.empty() && configuration->summary)
    warn(sources);
  MpiUse use;
  if (const int problem = check_commands(options.command, use); problem != kDone) return problem;
  // Other hosts may have other libraries.
  if (!options.dry_run && !hosts_are_named(options.mpirun_arguments)) {
    if (const int problem = check_preloads(options); problem != kDone) return problem;
  }
  const auto launcher = find_launcher(options.mpirun, use.family);
  if (!launcher) {
    warn(launcher.error());
    return kNotFound;
  }
  const std::string library = library_path(launcher->family);
  if (library.empty()) {
    warn("cannot find libofframp.so beside this program; build or install it");
    return kBroken;
  }
  if (!check_entry(library, "install Offramp in")) return kUsage;
  if (use.none)
    warn(fmt::format(
        "note: {} calls no MPI function itself; Offramp carries the calls of MPI programs that it starts",
        printable(options.command.front())));
  for (const std::string& note : notes_on_launch(*launcher, use, options)) warn("note: " + note);
  if (!use.sanitizer.empty()) options.preload.insert(options.preload.begin(), use.sanitizer);
  std::map<std::string, std::string> variables = exported(config_sources, *configuration, registry);
  const bool is_linked = !use.family.empty() && further_programs(options.command).empty();
  const std::string carried = is_counted ? temporary->path("carried") : "";
  if (std::ofstream(carried).is_open()) variables[kCarriedVariable] = carried;
  const LaunchedCommand plan = make_plan(options, *launcher, library, variables, is_linked);
  if (options.dry_run) {
    fmt::print("{}\n", shell_line(plan));
    return kDone;
  }
  if (options.verbose) warn(shell_line(plan));
  if (runs_twice) {
    const off_t input = lseek(STDIN_FILENO, 0, SEEK_CUR);
    const int code =
        supervise(make_plan(options, *launcher, library, for_first_run(variables), is_linked), true);
    if (code != kDone) {
      warn(fmt::format("the first of the two runs for --clock settled ended with exit code {}", code));
      return code;
    }
    if (input >= 0) (void)lseek(STDIN_FILENO, input, SEEK_SET);
  }
  const std::vector<Expected> files = expected_files(*configuration, options, *launcher);
  if (files.empty() && !is_counted && !options.returns) return replace_process(plan);
  const int code = supervise(plan);
  if (code == kDone && is_counted && !all_are_carried(carried, options, use, *launcher)) return kNotWritten;
  if (code == kDone) return look_for(files, *configuration, !options.returns);
  report_parts(files, configuration->record, code, !options.returns);
  return code;
}

}  // namespace

int run(const RunOptions& options) {
  const int code = run_once(options);
  if (ended_by != 0) {  // as the launcher, now that no temporary file is left
    (void)std::signal(ended_by, SIG_DFL);
    (void)std::raise(ended_by);
  }
  return code;
}

namespace {

class RunCommand final : public Command {
 public:
  explicit RunCommand(CLI::App& app)
      : Command(app),
        launch_(app, options_),
        keys_(app,
              {KeyGroup::kSettings, KeyGroup::kNetwork, KeyGroup::kMachine, KeyGroup::kStragglers,
               KeyGroup::kComputing, KeyGroup::kDetails, KeyGroup::kRun},
              Paths::kAbsolute) {
    // Texts: the ranks read and validate the keys backend and compare.
    add_value(app, "--backend", backend_, "BACKEND", description_of("backend"));
    add_value(app, "--compare", compared_, "BACKEND,...", description_of("compare"));
  }

  int execute(std::vector<std::string> program) override {
    launch_.collect(std::move(program));
    if (const std::size_t comma = backend_.find(','); comma != std::string::npos) {  // as in replay
      compared_ = backend_.substr(comma + 1) + (compared_.empty() ? "" : "," + compared_);
      backend_.resize(comma);
    }
    if (is_set("--backend")) options_.overrides.push_back({"backend", backend_, "--backend"});
    if (!compared_.empty()) options_.overrides.push_back({"compare", compared_, "--compare"});
    const std::string problem = keys_.collect(names_in({backend_, compared_}), options_.overrides);
    return problem.empty() ? run(options_) : refuse(problem);
  }

 private:
  RunOptions options_;
  LaunchOptions launch_;
  KeyOptions keys_;
  std::string backend_;
  std::string compared_;
};

const Registered<RunCommand> run_command(
    {.name = "run",
     .place = 10,
     .summary = "run an MPI program over a backend",
     .about =
         R"(The program and its arguments follow --. Settings come from the built-in defaults, then offramp.toml in this
folder (or --config), OFFRAMP_* variables, and these options; later ones win.

A tool that wraps MPI calls has to be loaded before Offramp to see them: name it with --preload. Libraries that
LD_PRELOAD names already are loaded after Offramp.)",
     .often = {"-h", "--backend", "-n", "--compare", "--report", "--record", "--details", "--trace", "--set",
               "--config", "--network", "--ranks-per-node", "--launcher", "--launcher-args"},
     .exits = launch_exits(),
     .runs_program = true});

}  // namespace

}  // namespace offramp::tool
