// Replays a recorded program in a simulated world, over any hardware. Each rank repeats its recorded events,
// as the engine handled them in the run. Recordings lack the time of failed polls; and whether a receive with
// a named source was cancelled in time is decided by the world.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/replay/background.hpp"
#include "lib/answers/replay/clock_reads.hpp"
#include "lib/answers/replay/replay_result.hpp"
#include "lib/answers/replay/world_setting.hpp"
#include "lib/programs/recording/reader.hpp"

namespace offramp {

/// The origin of the events: a recording, or what a test builds.
struct ReplaySource {
  int ranks = 0;  // of the world
  /// Called once per rank, with its rank in the world.
  std::function<std::unique_ptr<recording::Reader>(int rank)> read;
  /// Independent programs, in the order of their ranks. Empty: one of all ranks. Other ranks do nothing.
  std::vector<ReplayJob> jobs = {};
  /// Traffic of other nodes while the jobs run.
  BackgroundTraffic background = {};
  /// The recording contains the order of arrival. If not, the world decides it, whatever the options say.
  bool has_arrival = true;
  bool is_concurrent = false;  // several threads may read at once, each with readers of its own
};

/// The number of replays to simulate side by side, for the cores and the memory of a usual machine. 1 if they
/// cannot read at once.
std::size_t worlds_at_once(const ReplaySource& source);

/// How wildcards and waits for one of several requests resolve.
enum class Arrival : std::uint8_t {
  kRecorded,
  /// By modelled time. A wait for requests that have completed already is skipped; at the end, a rank waits
  /// for the open requests that its recorded program saw complete.
  kModelled
};

/// What the callback sees.
struct ReplayProgress {
  std::uint64_t events = 0;  // replayed
  int ranks_ended = 0;
};

/// Observes each event of each rank, per thread in program order. References are valid during the call only.
class ReplayEvents {
 public:
  /// For blocking operations.
  static constexpr std::uint64_t kNoRequest = UINT64_MAX;

  /// Where and when something happened.
  struct ThreadPosition {
    int rank = 0;
    std::uint32_t thread = 0;
    Time at;  // on the thread's clock
  };
  /// An event with what is needed to read it.
  struct ReplayedEvent {
    const recording::Event& event;
    const recording::Reader& reader;  // resolves the event's lists
    std::string_view function;
    std::uint64_t request = kNoRequest;  // which the event would begin; counted from 0 per rank
    std::size_t made = 0;                // communicators of the rank before this event
  };

  virtual ~ReplayEvents() = default;
  /// An event begins, after the computing before it.
  virtual void begins(const ThreadPosition& place, const ReplayedEvent& replayed) = 0;
  /// Within the event that began last, the program learns that an operation has completed.
  virtual void completed(const ThreadPosition& place, std::uint64_t request, const Received& received) = 0;
  /// The event that began last has ended.
  virtual void ended(const ThreadPosition& place) = 0;
};

/// Observes what the ranks do in a replay. The calls of a thread, and the operations that they use, arrive in
/// program order. A message is first reported by used() or add_part() at its sender.
class ReplayObserver : public WorldLog {
 public:
  /// Receive the spans and packets of all ranks; null: none wanted.
  [[nodiscard]] virtual SpanSink* spans() = 0;
  [[nodiscard]] virtual PacketSink* packets() = 0;
  /// Receives all events; null: none wanted.
  [[nodiscard]] virtual ReplayEvents* events() { return nullptr; }
  /// A communicating call begins. What its rank uses from now on belongs to it.
  virtual void enter(int rank) = 0;
  /// The call has ended. function: its number, from 0. site: see recording::Reader::site().
  virtual void leave(int rank, std::uint16_t function, std::string_view name, std::string_view site,
                     Time begin, Time end) = 0;
  /// The rank's innermost phase, or null outside of phases. Valid during the call only.
  virtual void phase(int, const ReplayPhase*) {}

  /// Waits are collected by the replay itself, for the critical path.
  void waited(int, const MessageWait&) final {}
};

/// Must outlive the replay, with the observer and the functions.
struct ReplayOptions {
  Compute compute;  // kMeasured: the recorded CPU time
  Arrival arrival = Arrival::kRecorded;
  bool partial = false;  // a damaged recording ends its rank early, as a truncated one does, and is no error
  bool sizes = false;    // ReplayedRank::sizes
  bool details = false;  // ReplayedRank::units, ReplayResult::path
  bool certificate = false;  // ReplayedRank::certificate
  /// With stragglers: replay again without them, for ReplayResult::undisturbed.
  bool compare_undisturbed = true;
  ReplayObserver* observer = nullptr;
  /// Receives the modelled time of each recorded MPI_Wtime, by rank; null: not wanted.
  ClockReads* clock_reads = nullptr;
  /// Called every 16384 events, and between events about every 100 ms of wall time. False stops the replay.
  std::function<bool(const ReplayProgress& progress)> progress;
};

/// An error names the rank and the event if the recording is invalid, or what all ranks wait for. A truncated
/// recording is no error: see ReplayResult::unfinished.
Result<ReplayResult> replay(const WorldSetting& setting, const ReplaySource& source,
                            const ReplayOptions& options = {});

/// Refers to the recording, which must outlive it.
inline ReplaySource source_of(const recording::Recording& recorded) {
  return {.ranks = recorded.description().ranks,
          .read = [&recorded](int rank) { return recorded.read(rank); },
          .is_concurrent = true};
}

inline Result<ReplayResult> replay(const WorldSetting& setting, const recording::Recording& recorded,
                                   const ReplayOptions& options = {}) {
  return replay(setting, source_of(recorded), options);
}

}  // namespace offramp
