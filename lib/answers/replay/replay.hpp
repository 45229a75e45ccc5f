// Replay: a recorded program again, in a world, on any hardware.
//
// Each rank does what its events say, as the engine of the run did at each call. What the recording does not
// have is left out: the time of questions that found nothing, and whether a receive that named its source was
// cancelled in time, which the world decides.
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

/// Where the events come from: a recording, or what a test makes up.
struct ReplaySource {
  int ranks = 0;  // of the world
  std::function<std::unique_ptr<recording::Reader>(int rank)> read;
  /// Programs that know nothing of each other, in the order of their ranks. Empty: one, of all ranks. Ranks
  /// of none do nothing.
  std::vector<ReplayJob> jobs = {};
  BackgroundTraffic background = {};
  /// It holds what the order of arrival decided. Else the world decides, whatever the options say.
  bool has_arrival = true;
};

/// Who decides what the order of arrival decided in the recorded run: what a wildcard takes, and which of
/// several requests is done first.
enum class Arrival : std::uint8_t {
  kRecorded,
  kModelled  // the world; a wait for what the program knows already is nothing then, and what it would have
             // known by its end is waited for there
};

struct ReplayProgress {
  std::uint64_t events = 0;  // replayed
  int ranks_ended = 0;
};

/// Is told each event of each rank in a replay, thread by thread in the order of the program. What an event
/// points to is there until the call returns.
class ReplayEvents {
 public:
  /// A request that there is none of: what blocks has none.
  static constexpr std::uint64_t kNoRequest = UINT64_MAX;

  struct ThreadPosition {
    int rank = 0;
    std::uint32_t thread = 0;
    Time at;  // on the thread's clock
  };
  struct ReplayedEvent {
    const recording::Event& event;
    const recording::Reader& reader;  // for the event's lists
    std::string_view function;
    std::uint64_t request = kNoRequest;  // that the event would begin: the rank's, counted from 0
    std::size_t made = 0;                // communicators that the rank has before it
  };

  virtual ~ReplayEvents() = default;
  /// What the program computes before it is over.
  virtual void begins(const ThreadPosition& place, const ReplayedEvent& replayed) = 0;
  /// The program has learned, within the event that began last, that an operation is over.
  virtual void completed(const ThreadPosition& place, std::uint64_t request, const Received& received) = 0;
  virtual void ended(const ThreadPosition& place) = 0;
};

/// Is told what the ranks do in a replay. Of the order only this is certain: the calls of a rank's thread,
/// and what they use, come in the order of the program, and a message is used or part of something at its
/// sender before anything else is told of it.
class ReplayObserver : public WorldLog {
 public:
  /// Who wants the spans and packets of all ranks; null: not told.
  [[nodiscard]] virtual SpanSink* spans() = 0;
  [[nodiscard]] virtual PacketSink* packets() = 0;
  /// Who wants all events; null: not told.
  [[nodiscard]] virtual ReplayEvents* events() { return nullptr; }
  /// A call of the program that communicates begins, and what its rank uses belongs to it.
  virtual void enter(int rank) = 0;
  /// It has ended. function: the number of the name, from 0 on. site: see recording::Reader::site().
  virtual void leave(int rank, std::uint16_t function, std::string_view name, std::string_view site,
                     Time begin, Time end) = 0;
  /// From now on the calls of the rank are in this phase, of those that are open the one that began last;
  /// null: in none. It is there during the call only.
  virtual void phase(int, const ReplayPhase*) {}

  void waited(int, const MessageWait&) final {}
};

struct ReplayOptions {
  Compute compute;  // kMeasured: the CPU time that was recorded
  Arrival arrival = Arrival::kRecorded;
  bool partial = false;      // a rank whose recording is damaged ends there, as one that was cut does
  bool sizes = false;        // ReplayedRank::sizes
  bool details = false;      // ReplayedRank::units, ReplayResult::path
  bool certificate = false;  // ReplayedRank::certificate
  /// With stragglers: once more without them, for ReplayResult::undisturbed.
  bool compare_undisturbed = true;
  ReplayObserver* observer = nullptr;
  /// Gets what each MPI_Wtime that was recorded says, at every rank; null: not wanted.
  ClockReads* clock_reads = nullptr;
  /// Called now and then. False: the replay ends where it is.
  std::function<bool(const ReplayProgress& progress)> progress;
};

/// An error names the rank and the event where the recording makes no sense, or what all ranks wait for. A
/// recording that was cut is none: see ReplayResult::unfinished.
Result<ReplayResult> replay(const WorldSetting& setting, const ReplaySource& source,
                            const ReplayOptions& options = {});

/// The recording stays where it is.
inline ReplaySource source_of(const recording::Recording& recorded) {
  return {recorded.description().ranks, [&recorded](int rank) { return recorded.read(rank); }};
}

inline Result<ReplayResult> replay(const WorldSetting& setting, const recording::Recording& recorded,
                                   const ReplayOptions& options = {}) {
  return replay(setting, source_of(recorded), options);
}

}  // namespace offramp
