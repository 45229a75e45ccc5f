// Everything that may end the process or the run is checked before the session is built, so that nothing has
// to be undone. All ranks agree (agree()): a rank that continued alone would wait forever.
#include "lib/run/mpi/runtime/startup.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "lib/answers/report/outputs.hpp"
#include "lib/base/configuration/fault_script.hpp"
#include "lib/base/launched_job.hpp"
#include "lib/base/output_file.hpp"
#include "lib/run/engine/make_lane.hpp"
#include "lib/run/mpi/runtime/open_fabric.hpp"
#include "lib/run/mpi/runtime/program.hpp"
#include "lib/run/mpi/runtime/same_offramp.hpp"
#include "lib/run/mpi/runtime/write_recording.hpp"
#include "lib/run/native/native.h"
#include "lib/run/native/pmpi.hpp"
#include "lib/run/native/world_comm.hpp"
#include "offramp/kernel/immortal.hpp"

namespace offramp {
namespace {

bool same_everywhere(const std::string& text) {
  const std::vector<std::string> all = exchange_strings(text);
  return std::ranges::all_of(all, [&](const std::string& other) { return other == all.front(); });
}

/// Collective. Rank 0 empties the file before the others open it.
void record_faults(Configuration& configuration) {
  // Two turns: rank 0 creates the file in the first one, and the others open it in the second.
  for (const bool first : {true, false}) {
    std::string error;
    if (first == (world_rank() == 0)) {
      const auto log = open_fault_log(configuration.fault_record, first);
      if (log) configuration.faults.log = *log;
      error = log.error();
    }
    agree(error);
  }
}

/// The program may change its working directory.
void fix_folder_of_files(Configuration& configuration) {
  // Outputs are written at MPI_Finalize, when the folder may be another one.
  for (std::string* path : {&configuration.report, &configuration.record, &configuration.trace,
                            &configuration.capture, &configuration.times}) {
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(*path, error);
    if (!path->empty() && !error) *path = absolute.string();
  }
}

/// Spawned processes are a run of their own and write their own files. The local number of their job, which
/// Open MPI counts from 1, is put before the ending of the name.
void name_files_of_spawned(Configuration& configuration) {
  int initialized = 0;
  pmpi::Initialized(&initialized);
  if (initialized == 0) return;  // the parent is set by MPI_Init
  MPI_Comm parent = MPI_COMM_NULL;
  pmpi::Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) return;
  constexpr unsigned long kLocal = 0xffff;
  const char* job = std::getenv("PMIX_NAMESPACE");
  // PMIX_NAMESPACE is a number in Open MPI: its lower half counts the jobs of one launcher.
  const unsigned long number = job != nullptr ? std::strtoul(job, nullptr, 10) & kLocal : 0;
  for (std::string* path : {&configuration.report, &configuration.record, &configuration.trace,
                            &configuration.capture, &configuration.fault_record, &configuration.times}) {
    if (path->empty()) continue;
    const std::filesystem::path file(*path);
    *path = (file.parent_path() /
             fmt::format("{}.spawned-{}{}", file.stem().string(), number, file.extension().string()))
                .string();
  }
}

/// Only the recorder of the session is used.
void leave_to_native(Configuration& configuration) {
  configuration.backend = baseline_name();  // some valid backend is required
  configuration.compared.clear();
  configuration.routes.clear();
  configuration.clock = Clock::kWall;
  configuration.compute = {};
  configuration.summary = configuration.certificate = configuration.details = false;
  configuration.receipts = {};
  for (std::string* path :
       {&configuration.report, &configuration.trace, &configuration.capture, &configuration.fault_record})
    path->clear();
}

}  // namespace

void print_once(const std::string& text) {
  if (launched_job().rank != 0) return;
  const std::string line = "offramp: " + text + "\n";  // one write: other processes write too
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

void announce_carried() {
  const char* const path = secure_getenv(kCarriedVariable);
  const OpenFile file(path == nullptr ? -1 : open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  const std::string line = fmt::format("{} {}\n", launched_job().rank, world_size());
  // On a full disk, offramp run must not miss this rank.
  if (file.is_open() && write(file.get(), line.data(), line.size()) < 0) unlink(path);
}

bool is_off_by_environment() {
  // A program with raised rights must not take its configuration from its caller.
  const char* backend = secure_getenv("OFFRAMP_BACKEND");
  const char* record = secure_getenv("OFFRAMP_RECORD");
  return backend != nullptr && std::strcmp(backend, "off") == 0 && (record == nullptr || *record == '\0');
}

std::unique_ptr<Session> make_session(bool threads) {
  if (const char* reason = offramp_native_check()) {  // unknown MPI library: no communication is possible
    print_once(fmt::format("{}; the program runs without Offramp", reason));
    return nullptr;
  }
  end_job_unless_all_have_offramp();

  // Sessions and reports refer to the registry until the process ends.
  static Registry& registry = immortal(Registry{built_in_backends()});
  Result<Configuration> configuration = load_configuration(ConfigSources::of_process(), registry);
  agree(configuration.error());
  agree(same_everywhere(agreed_settings(*configuration)) ? std::string()
                                                         : "the ranks have different configurations");
  const bool carries = !configuration->off();
  if (!carries && !configuration->records_only()) return nullptr;
  if (!carries) leave_to_native(*configuration);
  fix_folder_of_files(*configuration);
  name_files_of_spawned(*configuration);
  if (world_rank() == 0) {
    for (const std::string& note : configuration->notes)
      (void)std::fprintf(stderr, "offramp: %s\n", note.c_str());
  }

  // Outputs that cannot be written end the run now rather than after hours of computing.
  agree(problem_of_outputs(*configuration, world_rank()));
  if (world_rank() == 0) remove_earlier_recording(*configuration);
  if (!configuration->fault_record.empty()) record_faults(*configuration);

  Result<std::unique_ptr<ProcessFabric>> fabric =
      carries ? open_fabric() : no_fabric(world_rank(), world_size());
  agree(fabric.error());
  Result<std::unique_ptr<Lane>> lane = make_lane(
      {*configuration, registry, world_rank(), world_size(), static_cast<std::size_t>(Function::kCount)});
  agree(lane.error());
  configuration->faults.log = nullptr;  // what is settled afterwards is not logged again
  SessionParts parts;
  clear_preload();  // the program's children are not part of the run
  parts.fabric = std::move(*fabric);
  parts.lane = std::move(*lane);
  parts.carries = carries;
  parts.threads = threads;
  parts.recorder = make_recorder(*configuration, threads);
  parts.settings = settings_in_force(*configuration, registry);
  if (configuration->clock == Clock::kSettled) {
    Result<SettledClock> settled = SettledClock::open(*configuration, world_rank(), world_size());
    if (settled && parts.recorder == nullptr)
      settled = failure("clock = settled needs a settle_limit above 0");
    agree(settled ? std::string() : settled.error());
    // If the file exists for some ranks only, the others would record while these read.
    const int first_runs = largest_of_all(settled->is_first_run() ? 1 : 0);
    agree(first_runs == (settled->is_first_run() ? 1 : 0)
              ? std::string()
              : fmt::format("times: {} exists only for some ranks", configuration->times));
    parts.settled_clock = std::move(*settled);
  }
  return std::make_unique<Session>(std::move(*configuration), registry, std::move(parts));
}

}  // namespace offramp
