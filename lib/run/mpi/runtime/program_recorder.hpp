// Turns the program's MPI calls into the events of its recording (lib/programs/recording). The same calls
// give the same events whichever backend carries them, or none.
//
// Needs the session's lock, like all that a call does.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/answers/report/call_sites.hpp"
#include "lib/programs/recording/recorder.hpp"
#include "lib/run/engine/collective.hpp"
#include "lib/run/mpi/marshal/point.hpp"
#include "lib/run/mpi/runtime/call_place.hpp"
#include "lib/run/native/table.hpp"

namespace offramp {

/// The bit of a recorded send.
constexpr std::uint8_t flag_of(SendMode mode) {
  std::uint8_t flag = 0;
  if (mode == SendMode::kSynchronous) flag = recording::kSynchronous;
  if (mode == SendMode::kBuffered) flag = recording::kBuffered;
  return flag;
}

/// Asks whether something has happened, and may find that nothing has.
constexpr bool is_question(Function function) {
  switch (function) {
    case Function::kTest:
    case Function::kTestall:
    case Function::kTestany:
    case Function::kTestsome:
    case Function::kRequest_get_status:
    case Function::kIprobe:
    case Function::kImprobe:
      return true;
    default:
      return false;
  }
}

/// Of one thread: what its calls need to know of each other. Times are in ticks of the processor's counter.
struct CallWatch {
  std::uint64_t entered = 0;
  std::uint64_t left = 0;     // 0: it was in no call yet
  std::uint64_t outside = 0;  // spent between calls, and not recorded yet
  std::uint64_t cpu = 0;      // CPU time in nanoseconds, and when it was read
  std::uint64_t cpu_read = 0;
  CallPlace place;      // of the call
  bool silent = false;  // no event in this call yet
  int depth = 0;        // calls that this thread is in: the library makes some within others
  int hidden = 0;       // not 0: what is called now is the library's affair
  // Questions that find nothing, one after the other, are read as a run: the clock at the 1st, 2nd, 4th, 8th,
  // and then every 8th of them.
  bool asks = false;               // the last call was one
  bool unread = false;             // the clock was not read when this call began
  std::uint32_t unread_calls = 0;  // since it was
  std::uint32_t to_skip = 0;       // questions at which it need not be read
  std::uint32_t step = 0;          // of these at the next reading, and one more
  std::uint64_t shortest = 0;      // such a call
};

class ProgramRecorder {
 public:
  using Event = recording::Event;
  using EventKind = recording::EventKind;

  /// times: the CPU time between calls is recorded too, which costs each call two readings of a counter.
  ProgramRecorder(const recording::RecorderOptions& options, bool threads, bool times = true);

  [[nodiscard]] recording::Recorder& recorder() { return recorder_; }
  /// Several threads are in calls at once from now on, and blocking calls have a begin and an end.
  void share(bool threads) { is_shared_ = threads; }
  /// What follows is the calling thread's, wherever there may be several. Threads of the library, which are
  /// hidden from the first, record nothing.
  void switch_to_this_thread() {
    if (thread_ == 0 && watch_.hidden > 0) return;
    if (thread_ == 0) thread_ = ++threads_;
    recorder_.switch_to(thread_ - 1);
  }

  /// While there is one, this thread is in a call that the library carries, and that is recorded already:
  /// what it calls within is not the program's.
  class Hidden {
   public:
    Hidden() { ++watch_.hidden; }
    ~Hidden() { --watch_.hidden; }
    Hidden(const Hidden&) = delete;
    Hidden& operator=(const Hidden&) = delete;
  };

  // The CPU time between calls: what passes from leave() to enter() of one thread.
  [[gnu::always_inline]] void enter(Function function, CallPlace place) {
    if (watch_.depth++ > 0) return;
    watch_.silent = true;
    watch_.place = place;
    if (!times_) return;
    if (is_question(function) && watch_.to_skip > 0) {
      --watch_.to_skip;
      ++watch_.unread_calls;
      watch_.unread = true;
    } else {
      begin_time(is_question(function));
    }
  }
  /// A call without an event gets an empty one.
  [[gnu::always_inline]] void leave(Function function) {
    if (--watch_.depth > 0) return;
    if (watch_.silent) [[unlikely]]
      add_native(function);
    if (!times_ || std::exchange(watch_.unread, false)) return;
    end_time();
  }
  /// That this rank's calls are in.
  [[nodiscard]] const std::vector<LoadedObject>& objects() const { return objects_; }
  /// In MPI_Finalize, which is the last event.
  void close();
  /// After MPI_Init: what the program has done before is not counted.
  void restart();

  [[nodiscard]] static Event message_event(Function function, EventKind kind, const Point& point,
                                           std::uint8_t flags);
  /// Such an event, again. wildcard: its number as one.
  std::uint32_t started(Function function, const Event& again, std::uint32_t& wildcard);
  /// A message or a receive. Returns the request, if it begins one.
  std::uint32_t message(Function function, EventKind kind, const Point& point, std::uint8_t flags = 0);
  /// The same in a call that does not return before it is over: with threads it has an end of its own.
  std::uint32_t begin(Function function, EventKind kind, const Point& point, std::uint8_t flags = 0);
  std::uint32_t begin(Function function, const Operation& operation, const CollectiveBuffers& buffers,
                      std::uint32_t communicator);
  void end(Function function, std::uint32_t request) {
    if (is_shared_) wait(function, request);
  }
  /// A nonblocking collective.
  std::uint32_t collective(Function function, const Operation& operation, const CollectiveBuffers& buffers,
                           std::uint32_t communicator);
  /// A probe that has found a message of so many bytes. Returns the request of a claim.
  std::uint32_t probe(Function function, EventKind kind, const Point& point, std::size_t bytes,
                      recording::Match match);

  /// The number of the wildcard that was added last, if the arguments are one; else 0.
  [[nodiscard]] std::uint32_t wildcard(int source, int tag) const {
    const bool any = source == kAnySource || tag == MPI_ANY_TAG;
    return any && watch_.hidden == 0 ? recorder_.wildcards() : 0;
  }
  template <typename Receive>
  [[nodiscard]] std::uint32_t wildcard(const Receive& receive) const {
    return wildcard(receive.peer, receive.tag);
  }
  void matched(std::uint32_t wildcard, int source, int tag) {
    if (wildcard != 0) recorder_.matched(wildcard, {source, tag});
  }

  // The program learns that requests are done. Requests with the number 0 have no event.
  void wait(Function function, std::uint32_t request, std::uint8_t flags = 0);
  void wait_all(Function function, std::span<const std::uint32_t> requests, std::uint8_t flags = 0);
  /// Of these requests those at the given places.
  void wait_some(Function function, std::span<const std::uint32_t> requests, std::span<const int> places,
                 recording::EventFlag flag);
  void cancel(Function function, std::uint32_t request) { about(EventKind::kCancel, function, request); }
  void free(Function function, std::uint32_t request) { about(EventKind::kFree, function, request); }
  /// What was begun has failed to begin.
  void take_back(Function function, std::uint32_t request) {
    cancel(function, request);
    free(function, request);
  }
  void polled(Function function) {
    if (watch_.hidden > 0) return;
    watch_.silent = false;
    watch_.asks = true;
    recorder_.polled(static_cast<std::uint16_t>(function));
  }

  /// The next question, if it finds nothing like the one before, is only counted: no clock is read for it.
  [[nodiscard]] bool asks_again() const {
    return watch_.to_skip > 0 && watch_.depth == 0 && watch_.hidden == 0;
  }
  /// So it was, without enter() and leave().
  void found_nothing_again(Function function) {
    --watch_.to_skip;
    ++watch_.unread_calls;
    recorder_.polled(static_cast<std::uint16_t>(function));
  }
  /// While there is one, what is called is a part of the call that this thread is in.
  class Within {
   public:
    Within() { ++watch_.depth; }
    ~Within() { --watch_.depth; }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;
  };

  /// A new communicator or place; returns its number. id: its members agree on it.
  std::uint32_t communicator(Function function, const Context& members, std::uint64_t id);
  std::uint32_t communicator(Function function, const Context& made) {
    return communicator(function, made, made.id());
  }
  /// A persistent collective, whose starts are collectives on the number that this returns. parent: that of
  /// its communicator.
  std::uint32_t persistent(Function function, const Context& place, std::uint32_t parent);
  /// The clocks of all members meet. Returns a request unless it blocks.
  std::uint32_t meet(Function function, std::uint32_t communicator, bool blocking);
  /// This rank tells its clock and hears those of others. The same.
  std::uint32_t exchange(Function function, std::uint32_t communicator, int subject, std::span<const int> to,
                         std::span<const int> from, bool blocking);
  /// MPI_Wtime, where it is to say modelled time. Returns how many calls the program has made since the one
  /// before, but for those that only ask; nothing if this one is the library's affair.
  std::optional<std::uint64_t> clock_read();
  /// MPI_Pcontrol, which is not among the generated functions.
  void phase(int level, std::string_view name);
  /// The names that Event::call counts.
  static std::span<const char* const> call_names();

 private:
  std::uint32_t new_communicator(Event made, const Context& members, std::uint64_t id);
  static constinit inline thread_local CallWatch watch_{};
  static constinit inline thread_local std::uint32_t thread_ = 0;  // counted from 1; 0: not seen yet

  static Event event(EventKind kind, Function function, std::uint8_t flags);
  std::uint32_t add(Event event);
  void add_native(Function function);
  /// What Event::site counts.
  [[gnu::always_inline]] std::uint32_t number_of(CallPlace place) {
    const KnownSite& known = known_site(place.site);
    return known.site == place.site && known.up == 0 ? known.number : number_of_other(place);
  }
  std::uint32_t number_of_other(CallPlace place);
  void begin_time(bool asks_again);
  void end_time();
  void end_run(std::uint64_t now, std::uint64_t gaps, bool asks_again);
  void read_late();
  Event collective_event(Function function, const Operation& operation, const CollectiveBuffers& buffers,
                         std::uint32_t communicator);
  void about(EventKind kind, Function function, std::uint32_t request);
  std::uint32_t list_of(std::span<const int> values);
  std::uint32_t distances(std::span<const std::uint32_t> requests);
  std::uint64_t cpu_time_of(std::uint64_t ticks, std::uint64_t now);
  void read_cpu_time(std::uint64_t now);
  void measure_ticks();

  struct KnownSite {
    const void* site = nullptr;
    std::uint32_t number = 0;
    /// Not 0: the site is in a layer of the MPI library, whose own return address stands so many words
    /// further up the stack.
    std::uint32_t up = 0;
  };
  static constexpr std::size_t kKnownSites = 64;  // at hand; a power of two
  KnownSite& known_site(const void* site) {
    return known_sites_[reinterpret_cast<std::uintptr_t>(site) >> 2U & (kKnownSites - 1)];
  }
  const KnownSite& look_up(CallPlace place);

  recording::Recorder recorder_;
  std::array<KnownSite, kKnownSites> known_sites_;
  std::unordered_map<const void*, KnownSite> sites_;
  std::vector<LoadedObject> objects_;  // that they are in
  bool is_shared_;
  std::uint32_t threads_ = 0;  // that have recorded anything
  bool times_;
  std::uint32_t communicators_ = recording::kFirstMade;
  std::uint64_t calls_ = 0;  // see clock_read()
  std::vector<std::uint64_t> scratch_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::uint32_t> chosen_;
  // Nanoseconds of a tick of the processor's counter, known better the longer it runs.
  std::uint64_t first_ticks_;
  std::uint64_t first_time_;
  double tick_ = 0;
  std::uint64_t brief_gap_ = 0;  // in ticks
  // What has been recorded goes to the file every second: the program may be killed.
  std::uint64_t flushed_ = 0;
  std::uint64_t between_flushes_ = 0;
};

}  // namespace offramp
