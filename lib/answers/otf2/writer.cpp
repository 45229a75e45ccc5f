// Writes the events of each location, then the definitions, which the library expects last. Sizes of
// collectives, regions, and groups follow Score-P, so that readers of its archives can read these.
#include "lib/answers/otf2/writer.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "lib/answers/replay/free_communication.hpp"
#include "lib/answers/report/replay_records.hpp"
#include "lib/base/output_folder.hpp"
#include "lib/base/registry/registry.hpp"
#include "lib/base/text_format.hpp"
#include "lib/base/trial_process.hpp"
#include "lib/programs/import/mpi_functions.hpp"
#include "lib/programs/import/otf2_library.hpp"
#include "lib/programs/import/otf2_records.hpp"

namespace offramp::otf2 {
namespace {

using Entry = Timeline::Entry;
using Track = Timeline::Track;

constexpr std::uint64_t kTicks = 1'000'000'000'000;  // picoseconds
constexpr std::uint32_t kProgram = 0;                // the region of the program itself; functions follow
// Groups; those of communicators follow.
constexpr std::uint32_t kLocations = 0;
constexpr std::uint32_t kSelfGroup = 1;
constexpr std::uint32_t kFirstGroup = 2;

OTF2_RegionRole role_of(const trace::Function& function) {
  using enum trace::FunctionKind;
  const OperationKind operation = function.operation;
  if (function.kind == kOther || function.kind == kUnknown || function.kind == kMaking)
    return OTF2_REGION_ROLE_FUNCTION;
  if (function.kind != kCollective) return OTF2_REGION_ROLE_POINT2POINT;
  if (operation == OperationKind::kBarrier) return OTF2_REGION_ROLE_BARRIER;
  if (OperationSet{OperationKind::kBcast, OperationKind::kScatter, OperationKind::kScatterv}.contains(
          operation))
    return OTF2_REGION_ROLE_COLL_ONE2ALL;
  if (has_root(operation)) return OTF2_REGION_ROLE_COLL_ALL2ONE;
  return traits_of(operation).is_prefix ? OTF2_REGION_ROLE_COLL_OTHER : OTF2_REGION_ROLE_COLL_ALL2ALL;
}

/// Numbers locations as Score-P does.
OTF2_LocationRef location_of(const Track& track) {
  return std::uint64_t{track.thread} << 32U | static_cast<std::uint64_t>(track.rank);
}

OTF2_FlushType before_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}

class Writer {
 public:
  Writer(const Timeline& timeline, OTF2_Archive* archive) : timeline_(timeline), archive_(archive) {}

  /// Returns an empty string, or an error.
  std::string write(const std::string& program) {
    constexpr OTF2_FlushCallbacks kFlush = {before_flush, nullptr};
    check(OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr));
    check(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
    check(OTF2_Archive_SetCreator(archive_, "Offramp"));
    const std::vector<const Track*> tracks = timeline_.tracks();
    events(tracks);
    definitions(tracks, program);
    return problem_;
  }
  /// The locations with the numbers of their events.
  [[nodiscard]] std::vector<std::pair<OTF2_LocationRef, std::uint64_t>> written() const {
    std::vector<std::pair<OTF2_LocationRef, std::uint64_t>> all;
    const std::vector<const Track*> tracks = timeline_.tracks();
    for (std::size_t i = 0; i < tracks.size(); ++i) all.emplace_back(location_of(*tracks[i]), counts_[i]);
    return all;
  }

 private:
  bool check(OTF2_ErrorCode code) {
    if (code != OTF2_SUCCESS && problem_.empty()) problem_ = text_of(code);
    return problem_.empty();
  }
  bool is_there(auto* pointer) { return pointer != nullptr ? problem_.empty() : check(OTF2_ERROR_INVALID); }

  // --- events ---

  void events(const std::vector<const Track*>& tracks) {
    if (!check(OTF2_Archive_OpenEvtFiles(archive_))) return;
    for (const Track* track : tracks) {
      OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(archive_, location_of(*track));
      if (!is_there(writer)) return;
      events_of(*track, writer);
      std::uint64_t count = 0;
      check(OTF2_EvtWriter_GetNumberOfEvents(writer, &count));
      counts_.push_back(count);
      if (!check(OTF2_Archive_CloseEvtWriter(archive_, writer))) return;
    }
    check(OTF2_Archive_CloseEvtFiles(archive_));
    // Locations need no local definitions, but some tools expect the files.
    if (!check(OTF2_Archive_OpenDefFiles(archive_))) return;
    for (const Track* track : tracks) {
      OTF2_DefWriter* const writer = OTF2_Archive_GetDefWriter(archive_, location_of(*track));
      if (!is_there(writer) || !check(OTF2_Archive_CloseDefWriter(archive_, writer))) return;
    }
    check(OTF2_Archive_CloseDefFiles(archive_));
  }

  void events_of(const Track& track, OTF2_EvtWriter* writer) {
    const std::vector<Entry>& entries = track.entries;
    if (entries.empty()) return;
    const auto time = [](Time at) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(at.count(), 0));
    };
    // A rank's first thread begins at time 0. The creation time of other threads is unknown.
    const std::uint64_t begin = track.thread == 0 ? 0 : time(entries.front().at);
    check(OTF2_EvtWriter_Enter(writer, nullptr, begin, kProgram));
    for (const Entry& entry : entries) {
      if (!check(event(entry, time(entry.at), writer))) return;
    }
    const std::uint64_t end = time(entries.back().at);
    check(OTF2_EvtWriter_Leave(writer, nullptr, end, kProgram));
    length_ = std::max(length_, end);
  }

  static OTF2_ErrorCode event(const Entry& one, std::uint64_t at, OTF2_EvtWriter* writer) {
    const auto peer = static_cast<std::uint32_t>(one.peer);
    const auto tag = static_cast<std::uint32_t>(one.tag);
    const std::uint32_t root =
        one.peer == Timeline::kNoRoot ? static_cast<std::uint32_t>(OTF2_COLLECTIVE_ROOT_NONE) : peer;
    const OTF2_CollectiveOp operation = operation_of(static_cast<OperationKind>(one.number));
    switch (one.kind) {
      case Timeline::EntryKind::kEnter:
        return OTF2_EvtWriter_Enter(writer, nullptr, at, kProgram + 1U + one.number);
      case Timeline::EntryKind::kLeave:
        return OTF2_EvtWriter_Leave(writer, nullptr, at, kProgram + 1U + one.number);
      case Timeline::EntryKind::kSend:
        return OTF2_EvtWriter_MpiSend(writer, nullptr, at, peer, one.communicator, tag, one.bytes);
      case Timeline::EntryKind::kSendBegun:
        return OTF2_EvtWriter_MpiIsend(writer, nullptr, at, peer, one.communicator, tag, one.bytes,
                                       one.request);
      case Timeline::EntryKind::kSendDone:
        return OTF2_EvtWriter_MpiIsendComplete(writer, nullptr, at, one.request);
      case Timeline::EntryKind::kReceive:
        return OTF2_EvtWriter_MpiRecv(writer, nullptr, at, peer, one.communicator, tag, one.bytes);
      case Timeline::EntryKind::kReceiveBegun:
        return OTF2_EvtWriter_MpiIrecvRequest(writer, nullptr, at, one.request);
      case Timeline::EntryKind::kReceiveDone:
        return OTF2_EvtWriter_MpiIrecv(writer, nullptr, at, peer, one.communicator, tag, one.bytes,
                                       one.request);
      case Timeline::EntryKind::kCancelled:
        return OTF2_EvtWriter_MpiRequestCancelled(writer, nullptr, at, one.request);
      case Timeline::EntryKind::kCollectiveBegun:
        return OTF2_EvtWriter_MpiCollectiveBegin(writer, nullptr, at);
      case Timeline::EntryKind::kCollective:
        return OTF2_EvtWriter_MpiCollectiveEnd(writer, nullptr, at, operation, one.communicator, root,
                                               one.bytes, one.received);
      case Timeline::EntryKind::kCollectiveRequest:
        return OTF2_EvtWriter_NonBlockingCollectiveRequest(writer, nullptr, at, one.request);
      case Timeline::EntryKind::kCollectiveDone:
        return OTF2_EvtWriter_NonBlockingCollectiveComplete(writer, nullptr, at, operation, one.communicator,
                                                            root, one.bytes, one.received, one.request);
      case Timeline::EntryKind::kAccess:
        return access(one, at, writer);
      case Timeline::EntryKind::kAccessDone:
        return OTF2_EvtWriter_RmaOpCompleteRemote(writer, nullptr, at, one.communicator, one.request);
      case Timeline::EntryKind::kLock:
        return OTF2_EvtWriter_RmaAcquireLock(writer, nullptr, at, one.communicator, peer, 0,
                                             OTF2_LOCK_EXCLUSIVE);
      case Timeline::EntryKind::kUnlock:
        return OTF2_EvtWriter_RmaReleaseLock(writer, nullptr, at, one.communicator, peer, 0);
      case Timeline::EntryKind::kFenceBegun:
        return OTF2_EvtWriter_RmaCollectiveBegin(writer, nullptr, at);
      case Timeline::EntryKind::kFence:
        return OTF2_EvtWriter_RmaCollectiveEnd(writer, nullptr, at, operation,
                                               OTF2_RMA_SYNC_LEVEL_PROCESS | OTF2_RMA_SYNC_LEVEL_MEMORY,
                                               one.communicator, OTF2_COLLECTIVE_ROOT_NONE, 0, 0);
    }
    return OTF2_SUCCESS;
  }

  static OTF2_ErrorCode access(const Entry& one, std::uint64_t at, OTF2_EvtWriter* writer) {
    const auto target = static_cast<std::uint32_t>(one.peer);
    const auto kind = static_cast<Access>(one.number);
    if (kind == Access::kWrite)
      return OTF2_EvtWriter_RmaPut(writer, nullptr, at, one.communicator, target, one.bytes, one.request);
    if (kind == Access::kRead)
      return OTF2_EvtWriter_RmaGet(writer, nullptr, at, one.communicator, target, one.received, one.request);
    const OTF2_RmaAtomicType type =
        one.received == 0 ? OTF2_RMA_ATOMIC_TYPE_ACCUMULATE : OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE;
    return OTF2_EvtWriter_RmaAtomic(writer, nullptr, at, one.communicator, target, type, one.bytes,
                                    one.received, one.request);
  }

  // --- definitions ---

  /// The reference of a string, which is written once.
  std::uint32_t text(const std::string& text) {
    const auto [known, is_new] = strings_.try_emplace(text, static_cast<std::uint32_t>(strings_.size()));
    if (is_new) check(OTF2_GlobalDefWriter_WriteString(definitions_, known->second, text.c_str()));
    return known->second;
  }

  void definitions(const std::vector<const Track*>& tracks, const std::string& program) {
    if (!problem_.empty()) return;
    definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    if (!is_there(definitions_)) return;
    check(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, kTicks, 0, length_ + 1,
                                                    OTF2_UNDEFINED_TIMESTAMP));
    text("");
    paradigm(OTF2_PARADIGM_MPI, "MPI", OTF2_PARADIGM_CLASS_PROCESS);
    region(kProgram, program.empty() ? "program" : program, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER);
    for (std::uint32_t i = 0; i < timeline_.functions().size(); ++i) {
      const std::string& name = timeline_.functions()[i];
      region(kProgram + 1 + i, name, role_of(trace::function_of(name)), OTF2_PARADIGM_MPI);
    }
    locations(tracks);
    communicators();
  }

  void paradigm(OTF2_Paradigm paradigm, const char* name, OTF2_ParadigmClass kind) {
    const std::uint32_t text_of_name = text(name);
    check(OTF2_GlobalDefWriter_WriteParadigm(definitions_, paradigm, text_of_name, kind));
  }

  void region(std::uint32_t number, const std::string& name, OTF2_RegionRole role, OTF2_Paradigm paradigm) {
    const std::uint32_t known = text(name);
    check(OTF2_GlobalDefWriter_WriteRegion(definitions_, number, known, known, text(""), role, paradigm,
                                           OTF2_REGION_FLAG_NONE, text(""), 0, 0));
  }

  void locations(const std::vector<const Track*>& tracks) {
    const std::uint32_t machine = text("modelled machine");
    check(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, 0, machine, text("machine"),
                                                   OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (int rank = 0; rank < timeline_.ranks(); ++rank) {
      const std::uint32_t name = text(fmt::format("MPI Rank {}", rank));
      check(OTF2_GlobalDefWriter_WriteLocationGroup(definitions_, static_cast<std::uint32_t>(rank), name,
                                                    OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                    OTF2_UNDEFINED_LOCATION_GROUP));
    }
    // A rank without events is a location, too.
    std::vector<bool> has_events(static_cast<std::size_t>(timeline_.ranks()));
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      location(*tracks[i], counts_[i]);
      if (tracks[i]->thread == 0) has_events[static_cast<std::size_t>(tracks[i]->rank)] = true;
    }
    for (int rank = 0; rank < timeline_.ranks(); ++rank) {
      if (!has_events[static_cast<std::size_t>(rank)]) location(Track{.rank = rank}, 0);
    }
  }

  void location(const Track& track, std::uint64_t events) {
    const std::uint32_t name =
        text(track.thread == 0 ? "Master thread" : fmt::format("Thread {}", track.thread));
    check(OTF2_GlobalDefWriter_WriteLocation(definitions_, location_of(track), name,
                                             OTF2_LOCATION_TYPE_CPU_THREAD, events,
                                             static_cast<std::uint32_t>(track.rank)));
  }

  void group(std::uint32_t number, OTF2_GroupType type, const std::vector<std::uint64_t>& members) {
    check(OTF2_GlobalDefWriter_WriteGroup(definitions_, number, text(""), type, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(members.size()),
                                          members.data()));
  }

  void communicators() {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(timeline_.ranks()));
    for (std::size_t rank = 0; rank < all.size(); ++rank) all[rank] = rank;
    group(kLocations, OTF2_GROUP_TYPE_COMM_LOCATIONS, all);
    group(kSelfGroup, OTF2_GROUP_TYPE_COMM_SELF, {});
    std::map<std::vector<std::uint64_t>, std::uint32_t> groups;
    const std::vector<std::vector<int>>& known = timeline_.communicators();
    for (std::uint32_t i = 0; i < known.size(); ++i) {
      std::uint32_t members = kSelfGroup;
      if (i != 1) {
        std::vector<std::uint64_t> list(known[i].begin(), known[i].end());
        if (i == 0) list = all;
        const auto [found, is_new] =
            groups.try_emplace(std::move(list), kFirstGroup + static_cast<std::uint32_t>(groups.size()));
        if (is_new) group(found->second, OTF2_GROUP_TYPE_COMM_GROUP, found->first);
        members = found->second;
      }
      const std::uint32_t name = text(i == 0 ? "MPI_COMM_WORLD" : i == 1 ? "MPI_COMM_SELF" : "");
      const std::uint32_t parent = i < 2 ? OTF2_UNDEFINED_COMM : 0;
      check(OTF2_GlobalDefWriter_WriteComm(definitions_, i, name, members, parent, OTF2_COMM_FLAG_NONE));
    }
    const std::vector<std::uint32_t>& windows = timeline_.windows();
    for (std::uint32_t i = 0; i < windows.size(); ++i)
      check(OTF2_GlobalDefWriter_WriteRmaWin(definitions_, i, text(""), windows[i], OTF2_RMA_WIN_FLAG_NONE));
  }

  const Timeline& timeline_;
  OTF2_Archive* archive_;
  OTF2_GlobalDefWriter* definitions_ = nullptr;
  std::map<std::string, std::uint32_t> strings_;
  std::vector<std::uint64_t> counts_;  // number of events per track
  std::uint64_t length_ = 0;
  std::string problem_;
};

/// While it exists, new files are accessible to their owner only.
class PrivateFiles {
 public:
  PrivateFiles() : before_(umask(S_IRWXG | S_IRWXO)) {}
  ~PrivateFiles() { umask(before_); }
  PrivateFiles& operator=(PrivateFiles&&) = delete;

 private:
  mode_t before_;
};

/// Reads the archive in a child process, because the library may crash on truncated files.
std::string try_to_read_back(const std::string& anchor,
                             const std::vector<std::pair<OTF2_LocationRef, std::uint64_t>>& events) {
  constexpr unsigned kSeconds = 10;
  constexpr std::uint64_t kEventsInASecond = 100'000;  // a hundredth of what OTF2 3.0 reads
  std::uint64_t all = 0;
  for (const auto& [location, count] : events) all += count;
  const auto seconds = static_cast<unsigned>(kSeconds + all / kEventsInASecond);
  const std::optional<std::string> problem =
      in_trial_process(seconds, [&] { return read_back(anchor, events).error(); });
  if (problem && problem->empty()) return {};
  return fmt::format("it is incomplete ({}); the disk may be full, or the size of files limited (ulimit -f)",
                     problem.value_or("the OTF2 library cannot read it back"));
}

}  // namespace

std::string write_archive(const Timeline& timeline, const std::string& program, const std::string& folder) {
  const auto unwritten = [&folder](const std::string& problem) {
    return problem.empty() ? problem : fmt::format("cannot write {}: {}", in_quotes(folder), problem);
  };
  Result<OutputFolder> output = OutputFolder::create(folder);
  if (!output) return unwritten(output.error());
  install_error_handler();
  const PrivateFiles files;
  constexpr std::uint64_t kChunk = std::uint64_t{1} << 20U;
  ArchiveHandle archive(OTF2_Archive_Open(output->path().c_str(), "traces", OTF2_FILEMODE_WRITE, kChunk,
                                          4 * kChunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE));
  if (archive == nullptr) return unwritten(text_of(OTF2_ERROR_INVALID));
  Writer writer(timeline, archive.get());
  std::string problem = writer.write(program);
  const OTF2_ErrorCode code = OTF2_Archive_Close(archive.release());
  if (problem.empty() && code != OTF2_SUCCESS) problem = text_of(code);
  if (problem.empty()) problem = try_to_read_back(output->path() + "/traces.otf2", writer.written());
  return unwritten(problem.empty() ? output->finish().error() : problem);
}

std::string write_program(const trace::Program& program, const std::string& folder,
                          std::vector<std::string>& unsupported) {
  const Registry registry(built_in_backends());
  Result<WorldSetting> setting =
      world_setting(Configuration(), registry, registry.baseline(), program.description.ranks);
  if (!setting) return setting.error();
  ReplayRecords records(program.description.ranks, {.timeline = true});
  ReplayOptions options;
  options.compute.kind = Compute::Mode::kMeasured;
  options.observer = &records;
  const ReplaySource source{
      .ranks = program.description.ranks, .read = program.read, .has_arrival = program.has_arrival};
  const Result<ReplayResult> result = replay(free_communication(*setting), source, options);
  if (!result) return result.error();
  if (!result->unfinished.empty()) return result->unfinished.front().text();
  const Timeline& timeline = *records.timeline();
  if (timeline.dropped() > 0)
    return fmt::format("it has {} more calls than Offramp writes into an archive", timeline.dropped());
  for (const std::string& one : timeline.unsupported()) unsupported.push_back(one);
  std::string name;
  for (const auto& [key, value] : program.description.facts) {
    if (key == "program") name = std::filesystem::path(value).filename().string();
  }
  return write_archive(timeline, name, folder);
}

}  // namespace offramp::otf2
