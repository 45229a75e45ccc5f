// Turns the program's MPI calls into the events of its recording (lib/programs/recording). The events are the
// same whichever backend carries the calls, or none.
//
// Callers need the session's lock.
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/answers/report/call_sites.hpp"
#include "lib/programs/recording/recorder.hpp"
#include "lib/run/mpi/marshal/collective_call.hpp"
#include "lib/run/mpi/marshal/point.hpp"
#include "lib/run/mpi/runtime/call_place.hpp"
#include "lib/run/native/table.hpp"

namespace offramp {

/// The event flag of a send mode.
constexpr std::uint8_t flag_of(SendMode mode) {
  std::uint8_t flag = 0;
  if (mode == SendMode::kSynchronous) flag = recording::kSynchronous;
  if (mode == SendMode::kBuffered) flag = recording::kBuffered;
  return flag;
}

/// Returns true for functions that poll, and so may find nothing.
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

/// State that connects successive calls of one thread. Times are ticks of the processor's counter.
struct CallWatch {
  std::uint64_t entered = 0;
  std::uint64_t left = 0;     // 0: no call yet
  std::uint64_t outside = 0;  // time between calls, not recorded yet
  std::uint64_t cpu = 0;      // CPU time in nanoseconds, at cpu_read
  std::uint64_t cpu_read = 0;
  std::uint64_t idle = 0;    // time without CPU in nanoseconds, since `ready` was read
  std::uint64_t ready = 0;   // time ready to run without a processor, in nanoseconds
  CallPlace place;           // of the current call
  std::uint32_t site = 0;    // the number of its call site, once it has an event or has failed as a poll
  Function polled{};         // the last failed poll
  std::uint64_t ticket = 0;  // of its event that lasts, plus 1; 0: none
  bool silent = false;       // this call has no event yet
  bool is_modelled = false;  // this call has an event with a model
  int depth = 0;             // nesting: the library calls MPI functions within others
  int hidden = 0;            // above 0: calls are internal to the library
  // In a run of failed polls, the counter is read at the 1st, 2nd, 4th, 8th, and every 8th of them.
  bool was_poll = false;           // the last call was a failed poll
  bool unread = false;             // the counter was not read when this call began
  std::uint32_t unread_calls = 0;  // calls since it was read
  std::uint32_t to_skip = 0;       // polls for which it need not be read
  std::uint32_t step = 0;          // to_skip + 1, as set at the last reading
  std::uint64_t shortest = 0;      // shortest such call
};

/// Native times of one function at one call site, in ticks.
struct CallTicks {
  static constexpr auto kUnused = static_cast<std::uint16_t>(Function::kCount);
  std::uint16_t function = kUnused;
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t least = UINT64_MAX;
  std::uint64_t greatest = 0;
};

/// One per session. It writes to a recorder, which owns the file or the memory of the rank's part.
class ProgramRecorder {
 public:
  using Event = recording::Event;
  using EventKind = recording::EventKind;

  /// times: also records the time between calls and in them, which costs each call two readings of a counter.
  ProgramRecorder(const recording::RecorderOptions& options, bool threads, bool times = true);

  [[nodiscard]] recording::Recorder& recorder() { return recorder_; }
  /// Several threads are in calls at once from now on, so blocking calls get a begin and an end.
  void share(bool threads) { is_shared_ = threads; }
  /// Subsequent events belong to the calling thread. Call it wherever there may be several. The library's own
  /// threads are hidden from the start and record nothing.
  void switch_to_this_thread() {
    if (thread_ == 0 && watch_.hidden > 0) return;
    if (thread_ == 0) thread_ = ++threads_;
    recorder_.switch_to(thread_ - 1);
  }

  /// Pauses recording on this thread, around a call that is recorded already and that the library carries.
  class PauseRecording {
   public:
    PauseRecording() { ++watch_.hidden; }
    ~PauseRecording() { --watch_.hidden; }
    PauseRecording& operator=(PauseRecording&&) = delete;
  };

  // The time between calls is measured from leave() to enter() of one thread.
  [[gnu::always_inline]] void enter(Function function, CallPlace place) {
    // Calls that the library makes within a call are part of it.
    if (watch_.depth++ > 0) return;
    watch_.silent = true;
    watch_.is_modelled = false;
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
    end_time(function);
  }
  /// The objects that contain this rank's call sites.
  [[nodiscard]] const std::vector<LoadedObject>& objects() const { return objects_; }
  /// Records MPI_Finalize, the last event.
  void close();
  /// Call it after MPI_Init, which took this long: earlier time is not counted.
  void restart(std::chrono::nanoseconds init);
  /// Ends the recording: see Recorder::finish().
  std::string finish();

  /// The event of a message, which is not added yet: for requests that are started again and again.
  [[nodiscard]] Event message_event(Function function, EventKind kind, const Point& point,
                                    std::uint8_t flags);
  /// Adds the event of a restarted operation. wildcard: receives its wildcard number.
  std::uint32_t started(Function function, const Event& again, std::uint32_t& wildcard);
  /// A message or a receive. Returns the request, if it begins one.
  std::uint32_t message(Function function, EventKind kind, const Point& point, std::uint8_t flags = 0);
  /// For a blocking call. In threaded programs end() adds an event of its own.
  std::uint32_t begin(Function function, EventKind kind, const Point& point, std::uint8_t flags = 0);
  std::uint32_t begin(Function function, CollectiveCall& collective);
  /// The blocking call returns.
  void end(Function function, std::uint32_t request) {
    // A blocking call without threads is one event, which needs no end.
    if (is_shared_) wait(function, request);
  }
  /// A nonblocking collective.
  std::uint32_t collective(Function function, const CollectiveCall& collective);
  /// A successful probe of a message of `bytes` bytes. Returns the request of a claim.
  std::uint32_t probe(Function function, EventKind kind, const Point& point, std::size_t bytes,
                      recording::Match match);

  /// The number of the wildcard added last if the arguments are one, otherwise 0.
  [[nodiscard]] std::uint32_t wildcard(const Point& point) {
    return wildcard(point.peer, point.tag, point.communicator->recorded);
  }
  /// source: a rank of the communicator, or of an intercommunicator's other group.
  void matched(std::uint32_t wildcard, int source, int tag) {
    if (wildcard == 0) return;
    if (!between_groups_.empty()) [[unlikely]]
      source = place_of_match(wildcard, source);
    recorder_.matched(wildcard, {source, tag});
  }

  // The program learns that requests are complete. Requests with the number 0 have no event.
  void wait(Function function, std::uint32_t request, std::uint8_t flags = 0) {
    about(EventKind::kWait, function, request, flags);
  }
  void wait_all(Function function, std::span<const std::uint32_t> requests, std::uint8_t flags = 0);
  /// `places`: indices of the completed requests.
  void wait_some(Function function, std::span<const std::uint32_t> requests, std::span<const int> places,
                 recording::EventFlag flag);
  void cancel(Function function, std::uint32_t request) { about(EventKind::kCancel, function, request); }
  void free(Function function, std::uint32_t request) { about(EventKind::kFree, function, request); }
  /// The operation could not be started.
  void withdraw(Function function, std::uint32_t request) {
    cancel(function, request);
    free(function, request);
  }
  /// The poll has found nothing.
  void polled(Function function) {
    if (watch_.hidden > 0) return;
    watch_.silent = false;
    watch_.was_poll = true;
    recorder_.polled(static_cast<std::uint16_t>(function));
  }

  /// Returns true if another failed poll is only counted, without reading the counter.
  [[nodiscard]] bool is_repeated_poll() const {
    return watch_.to_skip > 0 && watch_.depth == 0 && watch_.hidden == 0;
  }
  /// Counts such a poll, without enter() and leave().
  void count_failed_poll(Function function) {
    --watch_.to_skip;
    ++watch_.unread_calls;
    recorder_.polled(static_cast<std::uint16_t>(function));
  }
  /// During its lifetime, calls are part of the call that this thread is in.
  class NestedCall {
   public:
    NestedCall() { ++watch_.depth; }
    ~NestedCall() { --watch_.depth; }
    NestedCall& operator=(NestedCall&&) = delete;
  };

  /// A new communicator or synchronization group. Returns its number. id: agreed among its members.
  std::uint32_t communicator(Function function, const Context& members, std::uint64_t id);
  std::uint32_t communicator(Function function, const Context& made) {
    return communicator(function, made, made.id());
  }
  /// A new intercommunicator: a communicator of both groups, with these world ranks. places: of the other
  /// group's ranks in it.
  std::uint32_t intercommunicator(Function function, std::span<const int> world, std::uint64_t id,
                                  std::vector<int> places);
  /// A communicator of this process and another one, by their different world ranks. Lists the lower one
  /// first.
  std::uint32_t pair(Function function, int one, int other, std::uint64_t id);
  /// A persistent collective, whose starts are collectives on the returned number. parent: its communicator.
  std::uint32_t persistent(Function function, const Context& place, std::uint32_t parent);
  /// All members synchronize their clocks. Returns a request unless it blocks.
  std::uint32_t synchronize(Function function, std::uint32_t communicator, bool blocking);
  /// A neighbourhood collective, or one between the groups of an intercommunicator: ranks and bytes in turn.
  /// Returns a request unless it blocks.
  std::uint32_t neighbours(Function function, std::uint32_t communicator, std::span<const std::uint64_t> to,
                           std::span<const std::uint64_t> from, bool blocking);
  /// An access to another rank's memory. Returns a request unless it blocks.
  std::uint32_t access(Function function, std::uint32_t communicator, int target, Access kind,
                       std::uint64_t bytes, std::uint64_t back, bool blocking);
  /// A barrier of the MPI library. Returns a request unless it blocks.
  std::uint32_t barrier(Function function, std::uint32_t communicator, bool blocking);
  /// A message that the MPI library sends or receives. begins: returns a request, otherwise a receive blocks
  /// and a send is never waited for.
  std::uint32_t library_message(Function function, EventKind kind, std::uint32_t communicator, int peer,
                                int tag, std::uint64_t bytes = 0, bool begins = false);
  /// The call communicates with processes outside of the program, without a model.
  void communicates(Function function, std::uint64_t bytes);
  /// The call takes no modelled time if it has no event.
  void without_cost(Function function);
  /// MPI_Wtime with modelled time. Returns the number of calls since the previous one, without polls.
  /// `nullopt` if the call is internal to the library.
  std::optional<std::uint64_t> clock_read();
  /// MPI_Pcontrol, which is not a generated function.
  void phase(int level, std::string_view name);
  /// The names to which Event::call refers.
  static std::span<const char* const> call_names();

 private:
  std::uint32_t new_communicator(Event made, std::span<const int> members, std::uint64_t id);
  static constinit inline thread_local CallWatch watch_{};
  static constinit inline thread_local std::uint32_t thread_ = 0;  // counted from 1; 0: not seen yet

  static Event event(EventKind kind, Function function, std::uint8_t flags,
                     std::uint32_t communicator = recording::kWorld);
  /// Adds an event of the present call. Returns its request, or 0 while recording is paused.
  std::uint32_t add(Event event);
  /// The call has no event of its own: the library carries it, or it takes no time.
  void add_native(Function function);
  /// The number for Event::site.
  [[gnu::always_inline]] std::uint32_t number_of(CallPlace place) {
    const KnownSite& known = known_site(place.site);
    return known.site == place.site && known.up == 0 ? known.number : number_of_other(place);
  }
  /// number_of() for a site that is not in the cache, or that lies in a layer of the library.
  std::uint32_t number_of_other(CallPlace place);
  /// Read the counter at the beginning and at the end of a call, and divide the time between calls.
  void begin_time(bool asks_again);
  void end_time(Function function);
  void end_run(std::uint64_t now, std::uint64_t gaps, bool asks_again);
  void read_late();
  Event collective_event(Function function, const CollectiveCall& collective);
  /// An event about an earlier request. No effect for the number 0.
  void about(EventKind kind, Function function, std::uint32_t request, std::uint8_t flags = 0);
  /// The recorder numbers wildcards in the order of their events, so the next number is known before.
  [[nodiscard]] std::uint32_t wildcard(int source, int tag, std::uint32_t communicator) {
    if ((source != kAnySource && tag != MPI_ANY_TAG) || watch_.hidden > 0) return 0;
    const std::uint32_t number = recorder_.wildcards();
    if (between_groups_.contains(communicator)) wildcards_between_groups_.emplace(number, communicator);
    return number;
  }
  /// The recorded rank of a peer on a communicator.
  [[nodiscard]] int place_of(std::uint32_t communicator, int peer) const;
  int place_of_match(std::uint32_t wildcard, int source);
  /// The list of requests as distances, without those that have no event.
  std::uint32_t distances(std::span<const std::uint32_t> requests);
  /// The two parts of a time between calls.
  struct Gap {
    std::uint64_t computing = 0;  // nanoseconds
    std::uint64_t blocked = 0;
  };
  Gap split(std::uint64_t passed, std::uint64_t now);
  /// Read the kernel's clocks of this thread.
  void read_cpu_time(std::uint64_t now);
  void read_ready_time();
  /// Measures the length of a tick again, over the whole run so far.
  void measure_ticks();
  [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t passed) const {
    return static_cast<std::uint64_t>(static_cast<double>(passed) * tick_);
  }
  /// The newest event lasts as long as the current call.
  void time_call() {
    if (times_ && watch_.ticket == 0 && watch_.hidden == 0) watch_.ticket = recorder_.time_event() + 1;
  }
  [[gnu::always_inline]] CallTicks& call_ticks(Function function, std::uint32_t site) {
    const auto number = static_cast<std::uint16_t>(function);
    if (site < call_ticks_.size() && call_ticks_[site].function == number) [[likely]]
      return call_ticks_[site];
    return other_call_ticks(number, site);
  }
  CallTicks& other_call_ticks(std::uint16_t function, std::uint32_t site);

  /// What is known of a return address.
  struct KnownSite {
    const void* site = nullptr;
    std::uint32_t number = 0;
    /// Above 0: the site is in a layer of the MPI library, whose return address is this many words further
    /// up.
    std::uint32_t up = 0;
  };
  static constexpr std::size_t kKnownSites = 64;  // size of the direct-mapped cache; a power of two
  KnownSite& known_site(const void* site) {
    return known_sites_[reinterpret_cast<std::uintptr_t>(site) >> 2U & (kKnownSites - 1)];
  }
  /// Finds the object of a new site and gives it a number. Slow, and done once per site.
  const KnownSite& look_up(CallPlace place);

  recording::Recorder recorder_;
  std::array<KnownSite, kKnownSites> known_sites_;
  std::unordered_map<const void*, KnownSite> sites_;
  std::vector<LoadedObject> objects_;  // that contain the sites
  bool is_shared_;
  std::uint32_t threads_ = 0;  // number of threads that have recorded events
  bool times_;
  bool has_outside_ = false;  // communicates() was called
  std::uint32_t communicators_ = recording::kFirstMade;
  // Intercommunicators are recorded as communicators of both groups: the places of the other group's ranks.
  std::unordered_map<std::uint32_t, std::vector<int>> between_groups_;
  std::unordered_map<std::uint32_t, std::uint32_t> wildcards_between_groups_;  // on which communicator
  std::uint64_t calls_ = 0;                                                    // see clock_read()
  std::vector<std::uint64_t> scratch_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::uint32_t> chosen_;
  // Nanoseconds per tick of the processor's counter, more precise the longer it runs.
  std::uint64_t first_ticks_;
  std::uint64_t first_time_;
  double tick_ = 0;
  std::vector<CallTicks> call_ticks_;                                              // by call site
  std::map<std::pair<std::uint32_t, std::uint16_t>, CallTicks> other_call_ticks_;  // several functions at one
  std::vector<std::string> site_names_;
  std::uint64_t began_ = 0;  // in ticks
  std::uint64_t ended_ = 0;
  std::chrono::nanoseconds init_{};
  std::uint64_t ready_at_begin_ = 0;  // of the first thread
  std::uint64_t ready_at_end_ = 0;
  bool has_ready_time_ = true;   // the kernel reports it
  std::uint64_t brief_gap_ = 0;  // in ticks
  // Events are flushed to the file every second, in case the program is killed.
  std::uint64_t flushed_ = 0;
  std::uint64_t between_flushes_ = 0;
};

}  // namespace offramp
