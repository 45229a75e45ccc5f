#include "lib/mpi/runtime/write_recording.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "lib/configuration/output_file.hpp"
#include "lib/mpi/runtime/session.hpp"
#include "lib/mpi/runtime/write_reports.hpp"
#include "lib/native/world_comm.hpp"
#include "lib/report/words.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

recording::Description describe(Session& session) {
  const RunFacts facts = facts_of(session);
  const HostFacts host = look_at_host();
  recording::Description description;
  description.ranks = session.engine().ranks();
  auto& known = description.facts;
  std::string arguments;
  for (std::size_t i = 1; i < facts.command.size(); ++i)
    arguments += (arguments.empty() ? "" : " ") + facts.command[i];
  known.emplace_back("program", facts.command.empty() ? std::string() : facts.command.front());
  known.emplace_back("arguments", arguments);
  known.emplace_back("date", facts.date);
  known.emplace_back("host", host.name);
  known.emplace_back("processor", host.cpu);
  known.emplace_back("cores", std::to_string(host.cores));
  known.emplace_back("mpi", facts.mpi);
  known.emplace_back("offramp", OFFRAMP_VERSION);
  known.emplace_back("carried by",
                     session.carries() ? session.configuration().backend : std::string("the MPI library"));
  for (const SettingInForce& setting : facts.settings) {
    if (!setting.is_default()) known.emplace_back("setting " + setting.key, setting.value);
  }
  return description;
}

}  // namespace

std::string recording_path(const Configuration& configuration) {
  if (!configuration.record.empty()) return configuration.record;
  for (const std::string* path : {&configuration.report, &configuration.trace, &configuration.capture}) {
    if (!path->empty() && !output_target(*path).empty()) return *path + ".recording";
  }
  return {};
}

std::unique_ptr<ProgramRecorder> make_recorder(const Configuration& configuration, bool threads) {
  const bool has_file = !configuration.record.empty();
  const bool settles = !configuration.off() && configuration.settle_limit > 0 &&
                       (configuration.summary || configuration.clock == Clock::kSettled ||
                        !recording_path(configuration).empty());
  if (!has_file && !settles) return nullptr;
  recording::RecorderOptions options;
  options.rank = world_rank();
  options.ranks = world_size();
  options.calls = ProgramRecorder::call_names();
  if (has_file) options.spill = recording::part_path(configuration.record, options.rank);
  options.keep = has_file;
  // What an earlier run has left.
  if (const std::string path = recording_path(configuration); !has_file && !path.empty())
    (void)unlink(recording::part_path(path, options.rank).c_str());
  const bool times =
      has_file || !configuration.report.empty() || configuration.compute.kind != Compute::Kind::kNone;
  return std::make_unique<ProgramRecorder>(options, threads, times);
}

Recorded gather_recording(Session& session, const WorldApart& apart) {
  using Recording = Result<recording::Recording>;
  recording::Recorder& recorder = session.recorder()->recorder();
  const Configuration& configuration = session.configuration();
  const std::uint64_t cut = apart.sum(recorder.complete() ? 0 : 1);
  const std::uint64_t events = apart.sum(recorder.events());
  Recorded recorded{Recording::failure("it is at rank 0"), configuration.record};
  if (configuration.record.empty() && cut > 0) {
    recorded.recording = Recording::failure(
        fmt::format("the recording of {} does not fit into memory; with --record FILE it is written to a "
                    "file, which offramp replay settles",
                    counted(cut, "rank")));
    return recorded;
  }
  if (configuration.record.empty() && events > configuration.settle_limit) {
    const std::string too_long = fmt::format("the run has {} events, which is above settle_limit = {}",
                                             events, configuration.settle_limit);
    recorded.path = recording_path(configuration);
    if (recorded.path.empty()) {
      recorded.recording = Recording::failure(
          too_long + "; raise it, or write a recording (--record FILE) and settle it with offramp replay");
      return recorded;
    }
    recorded.unsettled =
        fmt::format("{}; its recording is in {}: offramp replay settles it", too_long, recorded.path);
  }
  std::string own = recorder.finish();
  // It may be on another host than rank 0.
  if (own.empty()) own = contents_of(recording::part_path(configuration.record, session.engine().rank()));
  std::vector<std::string> parts = apart.gather(std::move(own));
  if (apart.rank() == 0)
    recorded.recording = recording::Recording::from_parts(describe(session), std::move(parts));
  return recorded;
}

void write_recording(Session& session, const WorldApart& apart, Recorded& recorded) {
  if (recorded.path.empty()) return;
  std::string problem;
  if (apart.rank() == 0) {
    problem = recorded.recording ? recorded.recording->write(recorded.path) : recorded.recording.error();
    if (!problem.empty()) tell_lost("recording", recorded.path, problem);
  }
  if (apart.hear(problem.empty()))
    (void)unlink(recording::part_path(recorded.path, session.engine().rank()).c_str());
}

bool leave_recording(Session& session) {
  const Configuration& configuration = session.configuration();
  if (session.recorder() == nullptr || !configuration.record.empty()) return false;
  const std::string path = recording_path(configuration);
  bool first = true;
  for (int rank = 0; rank < session.engine().ranks() && first; ++rank)
    first = access(recording::part_path(path, rank).c_str(), F_OK) != 0;
  const std::string own = recording::part_path(path, session.engine().rank());
  const std::string problem = write_output(own, session.recorder()->recorder().finish());
  if (!problem.empty()) tell_lost("recording", own, problem);
  return first && problem.empty();
}

}  // namespace offramp
