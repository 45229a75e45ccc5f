#include "lib/mpi/write_recording.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/output_file.hpp"
#include "lib/mpi/pmpi.hpp"
#include "lib/mpi/session.hpp"
#include "lib/mpi/world.hpp"
#include "lib/mpi/write_reports.hpp"
#include "lib/recording/reader.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

/// All ranks, on a communicator on which no message of the program waits that it has not received. Not a
/// duplicate: that would call the program's functions for its attributes.
MPI_Comm world_apart() {
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm apart = MPI_COMM_NULL;
  pmpi::Comm_group(MPI_COMM_WORLD, &all);
  native.Comm_create(MPI_COMM_WORLD, all, &apart);
  pmpi::Group_free(&all);
  return apart;
}

/// From one rank to rank 0: messages of MPI have no more than so many bytes.
constexpr std::size_t kPiece = std::size_t{1} << 30;

void send_part(MPI_Comm comm, const std::string& part) {
  std::uint64_t size = part.size();
  native.Send(&size, 1, MPI_UINT64_T, 0, 0, comm);
  for (std::size_t at = 0; at < part.size(); at += kPiece)
    native.Send(part.data() + at, static_cast<int>(std::min(kPiece, part.size() - at)), MPI_BYTE, 0, 0, comm);
}

std::string receive_part(MPI_Comm comm, int rank) {
  std::uint64_t size = 0;
  native.Recv(&size, 1, MPI_UINT64_T, rank, 0, comm, MPI_STATUS_IGNORE);
  std::string part(size, '\0');
  for (std::size_t at = 0; at < part.size(); at += kPiece)
    native.Recv(part.data() + at, static_cast<int>(std::min(kPiece, part.size() - at)), MPI_BYTE, rank, 0,
                comm, MPI_STATUS_IGNORE);
  return part;
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

recording::Description describe(Session& session) {
  const RunFacts facts = facts_of(session);
  const HostFacts host = look_at_host();
  recording::Description description;
  description.ranks = session.engine.ranks();
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
                     session.carries ? session.configuration().backend : std::string("the MPI library"));
  for (const SettingInForce& setting : facts.settings) {
    if (!setting.is_default()) known.emplace_back("setting " + setting.key, setting.value);
  }
  return description;
}

}  // namespace

std::unique_ptr<ProgramRecorder> make_recorder(const Configuration& configuration, bool threads) {
  if (configuration.record.empty()) return nullptr;
  recording::RecorderOptions options;
  options.rank = world_rank();
  options.ranks = world_size();
  options.calls = ProgramRecorder::call_names();
  options.spill = recording::part_path(configuration.record, options.rank);
  options.keep = true;
  return std::make_unique<ProgramRecorder>(options, threads);
}

void write_recording(Session& session) {
  recording::Recorder& recorder = session.recorder->recorder();
  const int rank = session.engine.rank();
  const std::string& path = session.configuration().record;
  const std::string beside = recording::part_path(path, rank);
  std::string own = recorder.finish();
  if (own.empty()) own = contents_of(beside);  // which may be on another host than rank 0
  MPI_Comm apart = world_apart();
  int written = 1;
  if (rank != 0) {
    send_part(apart, own);
  } else {
    std::vector<std::string> parts = {std::move(own)};
    for (int other = 1; other < session.engine.ranks(); ++other) parts.push_back(receive_part(apart, other));
    auto whole = recording::Recording::from_parts(describe(session), std::move(parts));
    const std::string problem = whole ? whole->write(path) : whole.error();
    if (!problem.empty()) tell_lost("recording", path, problem);
    written = problem.empty() ? 1 : 0;
  }
  native.Bcast(&written, 1, MPI_INT, 0, apart);
  native.Comm_free(&apart);
  if (written != 0) (void)unlink(beside.c_str());
}

}  // namespace offramp
