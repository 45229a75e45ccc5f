// Ranks may be on machines that share no file system, and a rank's file may be full. So each rank sends a
// mark of its part (size and checksum). Rank 0 compares it with the file of that name that it sees itself,
// and requests a copy of what differs. Parts in memory are gathered, parts in files stay where they are, and
// an index refers to them unless they are joined.
#include "lib/run/mpi/runtime/write_recording.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/base/format.hpp"
#include "lib/base/output_file.hpp"
#include "lib/run/mpi/runtime/session.hpp"
#include "lib/run/mpi/runtime/write_reports.hpp"
#include "lib/run/native/world_comm.hpp"
#include "offramp/version.hpp"

namespace offramp {
namespace {

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
  for (const LoadedObject& object : facts.objects)
    known.emplace_back(std::string(kObjectFact) + object.name, object.build_id + " " + object.path);
  for (const SettingInForce& setting : facts.settings) {
    if (!setting.is_default()) known.emplace_back("setting " + setting.key, setting.value);
  }
  return description;
}

/// Identifies the contents of a rank's part for other ranks.
std::string encode(const std::optional<recording::PartMark>& mark) {
  return mark ? fmt::format("{} {}", mark->bytes, mark->checksum) : std::string();
}

/// The loss if this rank's file could not be written and its part did not fit into memory. Names the host.
std::string loss_of(const recording::Recorder& recorder, int rank, bool rest_in_memory) {
  const bool lost = !recorder.complete() || (rank == 0 && rest_in_memory && recorder.has_written());
  if (!lost) return {};
  return fmt::format("rank {} on {} ends early: {}", rank, look_at_host().name, recorder.problem());
}

/// The first loss, and how many more ranks have one.
std::string first_of(const std::vector<std::string>& losses) {
  std::string first;
  std::uint64_t others = 0;
  for (const std::string& loss : losses) {
    others += static_cast<std::uint64_t>(!loss.empty() && !first.empty());
    if (first.empty()) first = loss;
  }
  return others == 0 ? first : fmt::format("{} (and {} more)", first, counted(others, "rank"));
}

/// Sends this rank's part to rank 0: its file, then the rest in memory.
void send_part(const FinalizeComm& finalize_comm, const std::string& path, std::string_view memory) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 20U);
  finalize_comm.send_pieces([&] {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(file.gcount()));
    // The rest in memory is the last piece but one: the empty piece after it ends the transfer.
    return piece.empty() ? std::exchange(memory, std::string_view()) : piece;
  });
}

/// Returns why this rank could not write the part of another. Empty on success.
std::string receive_part(const FinalizeComm& finalize_comm, int rank, const std::string& path,
                         std::vector<CreatedFile>& created) {
  Result<OutputFile> file = OutputFile::create(path, Naming::kDerived);
  // All pieces are received, also if the file cannot be created: the sender waits for that.
  finalize_comm.receive_pieces(rank, [&](std::string_view piece) {
    if (file) file->write(piece);
  });
  if (!file) return file.error();
  created.push_back(file->created());
  return file->finish().error();
}

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Joins the parts of all ranks at rank 0. Parts in files stay in place. Rank 0 gets copies of parts in
/// memory, and of files that it cannot see completely: the rank has its own file system, or its file is
/// incomplete.
Result<recording::Recording> parts_of_all(Session& session, const FinalizeComm& finalize_comm,
                                          Recorded& recorded) {
  const std::string& path = recorded.path;
  const recording::Recorder& recorder = session.recorder()->recorder();
  const auto path_of = [&](std::size_t rank) { return recording::part_path(path, static_cast<int>(rank)); };
  const std::string own = path_of(static_cast<std::size_t>(finalize_comm.rank()));
  std::string memory = session.recorder()->finish();
  bool in_file = recorder.has_written();
  // A part beside another output is only needed until the run is settled. It is moved to memory if its file
  // is incomplete.
  if (in_file && !memory.empty() && session.configuration().record.empty()) {
    memory.insert(0, contents(own));
    in_file = false;
  }
  const std::string own_loss = loss_of(recorder, finalize_comm.rank(), in_file && !memory.empty());
  recorded.cut_ranks = finalize_comm.sum(own_loss.empty() ? 0 : 1);
  const std::string loss = first_of(finalize_comm.gather(own_loss));
  if (!loss.empty()) report_incomplete("recording", loss);
  std::vector<std::string> in_memory =
      finalize_comm.gather(in_file ? std::string() : std::exchange(memory, {}));
  if (finalize_comm.has_dropped()) return failure("rank 0 is out of memory");
  const bool is_whole = in_file && (memory.empty() || finalize_comm.rank() == 0);
  const std::vector<std::string> marks =
      finalize_comm.gather(is_whole ? encode(recording::mark_of_part(own)) : std::string());
  std::vector<int> unseen;
  for (std::size_t rank = 0; rank < marks.size(); ++rank) {
    // Equal size and checksum: rank 0 reads the same file, so no copy is needed.
    const bool seen = !marks[rank].empty() && marks[rank] == encode(recording::mark_of_part(path_of(rank)));
    unseen.push_back(seen || !in_memory[rank].empty() ? 0 : 1);
  }
  recorded.was_copied = finalize_comm.scatter(unseen) && finalize_comm.rank() != 0;
  if (recorded.was_copied) send_part(finalize_comm, own, memory);
  // The other ranks have done their part. Only rank 0 has the recording.
  if (finalize_comm.rank() != 0) return failure("it is at rank 0");
  std::vector<recording::RecordingPart> parts(marks.size());
  std::string problem;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    parts[rank] = {std::move(in_memory[rank]), path_of(rank)};
    if (unseen[rank] == 0 || rank == 0) continue;
    const std::string lost =
        receive_part(finalize_comm, static_cast<int>(rank), parts[rank].path, recorded.parts);
    if (problem.empty() && !lost.empty())
      problem = fmt::format("cannot copy the part of rank {}: {}; the parts stay in place", rank, lost);
  }
  if (!problem.empty()) return failure(problem);
  Result<recording::Recording> recording = failure("");
  problem = problem_of_step([&] {
    recording = recording::Recording::from_parts(describe(session), std::move(parts));
    return recording.error();
  });
  return problem.empty() ? std::move(recording) : failure(problem);
}

}  // namespace

std::string recording_path(const Configuration& configuration) {
  if (!configuration.record.empty()) return configuration.record;
  for (const std::string* path : {&configuration.report, &configuration.trace, &configuration.capture}) {
    if (!path->empty() && !output_target(*path).empty()) return *path + ".recording";
  }
  return {};
}

void remove_earlier_recording(const Configuration& configuration) {
  const std::string path = recording_path(configuration);
  if (path.empty()) return;
  const Result<recording::Recording> earlier = recording::Recording::open(path);
  if (!earlier) return;
  const bool in_parts = earlier->is_in_parts(path);
  if (in_parts || configuration.record.empty()) (void)unlink(path.c_str());
  for (int rank = world_size(); in_parts && rank < earlier->description().ranks; ++rank)
    (void)unlink(recording::part_path(path, rank).c_str());
}

std::unique_ptr<ProgramRecorder> make_recorder(const Configuration& configuration, bool threads) {
  const std::string path = recording_path(configuration);
  const bool settles = !configuration.off() && configuration.settle_limit > 0 &&
                       (configuration.summary || configuration.clock == Clock::kSettled || !path.empty());
  if (configuration.record.empty() && !settles) return nullptr;
  recording::RecorderOptions options;
  options.rank = world_rank();
  options.ranks = world_size();
  options.calls = ProgramRecorder::call_names();
  if (!path.empty()) options.file = recording::part_path(path, options.rank);
  const bool times =
      !path.empty() || !configuration.report.empty() || configuration.compute.kind != Compute::Mode::kNone;
  return std::make_unique<ProgramRecorder>(options, threads, times);
}

Recorded gather_recording(Session& session, const FinalizeComm& finalize_comm) {
  const recording::Recorder& recorder = session.recorder()->recorder();
  const Configuration& configuration = session.configuration();
  Recorded recorded{failure("it is at rank 0"), recording_path(configuration)};
  const bool in_memory = recorded.path.empty();
  const std::uint64_t events = finalize_comm.sum(recorder.events());
  // A recording that the user asked for has no limit: it is written in any case.
  if (configuration.record.empty() && events > configuration.settle_limit) {
    const std::string what_to_do =
        in_memory ? "raise it, or write a recording (--record FILE) for offramp replay"
                  : fmt::format("its recording is in {}: offramp replay computes its modelled times",
                                recorded.path);
    recorded.unsettled = fmt::format("the run has {} events, more than settle_limit = {}; {}", events,
                                     configuration.settle_limit, what_to_do);
  }
  if (const std::uint64_t ranks = in_memory ? finalize_comm.sum(recorder.complete() ? 0 : 1) : 0; ranks > 0)
    recorded.unsettled = fmt::format(
        "the recording of {} does not fit into memory; write it to a file with --record FILE, for offramp "
        "replay",
        counted(ranks, "rank"));
  if (in_memory && !recorded.unsettled.empty()) return recorded;
  recorded.parts.push_back(recorder.created());
  recorded.recording = parts_of_all(session, finalize_comm, recorded);
  if (recorded.cut_ranks > 0)
    recorded.unsettled =
        fmt::format("the recording of {} ends early; offramp replay --partial {} shows the part that exists",
                    counted(recorded.cut_ranks, "rank"), recorded.path);
  recorded.keep_file = !in_memory && (!configuration.record.empty() || !recorded.unsettled.empty());
  return recorded;
}

void write_recording(Session& session, const FinalizeComm& finalize_comm, Recorded& recorded) {
  if (!recorded.keep_file) return;
  std::string problem;
  bool joins = session.configuration().joins_parts;
  const Naming naming = session.configuration().record.empty() ? Naming::kDerived : Naming::kTyped;
  if (finalize_comm.rank() == 0) {
    auto& recording = recorded.recording;
    joins = joins || !recording || !recording->is_in_parts(recorded.path);
    problem = problem_of_step([&] {
      return !recording ? recording.error()
             : joins    ? recording->write(recorded.path, naming).error()
                        : recording->write_index(recorded.path, naming).error();
    });
    if (!problem.empty()) {
      report_lost("recording", recorded.path, problem);
    } else {  // the parts are removed, or are read through the index
      recorded.recording = recording::Recording::open(recorded.path);
    }
  }
  // No part is removed before the file that replaces it is complete.
  if (!finalize_comm.broadcast(problem.empty())) return;
  if (finalize_comm.broadcast(joins) || recorded.was_copied) remove_parts(recorded);
}

void remove_parts(const Recorded& recorded) {
  for (const CreatedFile& part : recorded.parts) remove_output(part);
}

}  // namespace offramp
