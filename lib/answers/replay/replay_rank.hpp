// One rank of a replay, its threads, and the state that all ranks share.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/answers/replay/open_requests.hpp"
#include "lib/answers/replay/rank_threads.hpp"
#include "lib/answers/replay/replay_log.hpp"
#include "lib/base/certificate.hpp"

namespace offramp {

/// The state that the ranks of a replay share.
/// Owned by the replay. One thread of the process runs all ranks, so nothing here is locked.
class ReplayRun final : public ChoiceObserver {
 public:
  /// options: must outlive this object.
  ReplayRun(const ReplaySource& source, const ReplayOptions& options);

  /// What messages and the result need of a rank.
  struct RankState {
    std::uint64_t events = 0;
    std::uint16_t call = 0;  // the latest
    bool ended = false;
    std::string why_early;  // why it ended before its program did
    std::string cut;        // why its recording is truncated, from its reader; empty: it is not
    DeclineCounter declines;
    Handling* handling = nullptr;  // receives the handling of the next operation that it begins; may be null
  };

  const ReplayOptions& options;
  Arrival arrival;
  ReplayResult result;
  ReplayLog log;
  std::string error;
  bool over = false;  // stopped or failed: every rank ends
  std::vector<RankState> rank_states;
  std::vector<ReplayJob> jobs;  // if the source names none: one of all ranks
  int ranks = 0;                // in all jobs
  int ranks_ended = 0;
  std::vector<std::uint16_t> functions_of_graphs;  // see ReplayRank::functions: graphs have the same numbers
  std::vector<RequestSet::Learned> learned;        // by the wait that has just ended, of whichever rank
  std::vector<RankThreads*> threads;               // of ranks with several threads

  /// Only the first error counts.
  void fail(const std::string& what);
  /// Counts an event and calls Options::progress when it is due, which may end the replay.
  void count_event();

  /// The index of a function's counter, the same for all ranks.
  std::uint16_t number_of_function(std::string_view name);
  /// True for MPI_Finalize.
  [[nodiscard]] bool is_end(std::uint16_t function) const { return function == finalize_; }
  /// The call itself waits: MPI_Allreduce, unlike MPI_Iallreduce and MPI_Start.
  [[nodiscard]] bool is_blocking(std::uint16_t function) const {
    const std::string_view name = result.functions[function];
    return !name.starts_with("MPI_I") && !name.starts_with("MPI_Start");
  }
  /// The observers of a world that runs this replay.
  [[nodiscard]] WorldOptions observed();
  void chosen(int rank, const Operation& operation, Handling handling, std::string_view reason) override;
  void send_failed(int rank) override;

  /// World ranks, and the number of their list.
  using Members = std::pair<const std::vector<int>, std::uint32_t>;
  /// The members of the latest communicator if they equal `listed`; often all ranks make the same. Or null.
  [[nodiscard]] const Members* last_members(std::span<const std::uint64_t> listed,
                                            const ReplayJob& job) const;
  /// Stores members (checked world ranks); the reference stays valid. all: as recording::all_ranks().
  const Members& members_of(const std::vector<int>& members, const ReplayJob& job, bool all);
  /// The number of communicators with these members and this id.
  std::uint32_t number_of(const Members& members, std::uint64_t id);
  /// Counts the beginning of a phase. Returns its index in the result's phases.
  std::size_t phase(std::int64_t level, const std::string& name);

  /// Checks that all members issue the same `number`-th collective of a communicator; no operation: a clock
  /// meeting. Returns the mismatch, or an empty string.
  std::string disagreement(const Communicator& communicator, std::uint32_t number,
                           const std::optional<Operation>& operation);

 private:
  /// For maps by members, and by two numbers.
  struct Hash {
    std::size_t operator()(const std::vector<int>& members) const;
    std::size_t operator()(const std::pair<std::uint64_t, std::uint32_t>& place) const {
      return static_cast<std::size_t>(place.first * 0x9E3779B97F4A7C15U ^ place.second * 0xD1B54A32D192ED03U);
    }
  };
  /// A collective that some members have not reached.
  struct Agreed {
    std::optional<Operation> operation;
    int missing = 0;
  };

  std::unordered_map<std::vector<int>, std::uint32_t, Hash> lists_;  // by members
  const Members* last_members_ = nullptr;
  int first_of_last_ = 0;     // the first rank of their job
  bool last_is_all_ = false;  // they were listed as recording::all_ranks()
  std::unordered_map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t, Hash> known_;  // by id and list
  std::unordered_map<std::pair<std::uint64_t, std::uint32_t>, Agreed, Hash> agreed_;
  std::map<std::pair<std::int64_t, std::string>, std::size_t> phases_;
  std::uint16_t finalize_ = UINT16_MAX;  // the number of MPI_Finalize, once a rank calls it
  std::chrono::steady_clock::time_point last_progress_ = std::chrono::steady_clock::now();
  Handling untold_ = Handling::kOffloaded;  // the handling of operations that no replayed program begins
};

inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 44;  // per buffer of an operation
inline constexpr std::uint64_t kMostSent = std::uint64_t{1} << 50;   // by one rank in total

/// The state that the threads of a rank share.
struct ReplayRank {
  /// Makes the rank's communicator of all ranks of its job.
  ReplayRank(ReplayRun& run, RankHandle& rank, const ReplayJob& job);

  /// A communicator of the rank, and how many collectives it has made on it. Empty for MPI_COMM_SELF until it
  /// is used.
  struct Made {
    std::optional<Communicator> communicator;
    std::uint32_t collectives = 0;
  };
  /// A phase that has begun and not ended.
  struct Phase {
    std::int64_t level = 0;
    std::size_t index = 0;
    Time begin;
  };
  /// A function of the reader that has no number yet.
  static constexpr std::uint16_t kUnknown = 0xffff;

  ReplayRun::RankState& state;
  ReplayedRank& replayed;
  ReplayJob job;
  std::vector<std::uint16_t> own_functions;
  std::vector<std::uint16_t>* functions = &own_functions;  // the reader's number -> the run's number
  std::unique_ptr<Certificate> certificate;
  std::vector<Made> communicators;
  std::unordered_map<std::uint32_t, std::uint32_t> made;  // how many, by ReplayRun::number_of()
  OpenRequests requests;
  std::uint64_t sent = 0;  // bytes
  std::vector<Phase> phases;
  int playing = 1;                    // threads begun, or about to begin, and not ended
  RankHandle* last_thread = nullptr;  // waits in MPI_Finalize for the other threads
  RankHandle* keeper = nullptr;  // the first thread after its end: it owns this state until all threads end
};

/// Replays one thread of a rank. Its coroutine owns it.
class ReplayThread final : public ProgramMemory {
 public:
  /// order: set if the rank has several threads, of whose streams `reader` is one; otherwise null.
  ReplayThread(ReplayRun& run, ReplayRank& own, RankHandle& rank, recording::Reader& reader,
               RankThreads* order = nullptr);
  ReplayThread& operator=(ReplayThread&&) = delete;
  ~ReplayThread() { rank_.uses(); }

  /// Replays all events of the thread. Await it once.
  Task<void> play();
  void fetch(unsigned step) const override;

 private:
  /// What a wildcard receive got in the recorded run.
  enum class Taken : std::uint8_t { kSomething, kNothing, kCancelled };
  /// A message that a wildcard probe found, in both runs, and that no receive has matched.
  struct Probed {
    std::uint32_t communicator;
    int source;
    int tag;
    Received found;
  };

  /// Looks at the current event.
  [[nodiscard]] bool has(recording::EventFlag flag) const { return (event_.flags & flag) != 0; }
  /// Fails the replay. Returns false, like all checks.
  bool refuse(const std::string& what);
  /// Ends this rank; others go on.
  bool end_early(const std::string& why);
  bool next();
  /// Only with several threads.
  [[nodiscard]] const RankThreads::Stream& stream() const {
    return static_cast<const RankThreads::Stream&>(reader_);
  }
  /// These two are for ranks with several threads.
  Task<void> advance_to_event();
  Task<void> take_turn();
  /// Wakes threads that wait for the end of this one.
  void wake_last();
  void select_thread();
  [[nodiscard]] ReplayEvents::ThreadPosition position() const;
  /// Reports a completion to the observer, if there is one.
  void notify_completed(std::uint64_t request, const Received& received);
  void on_completed(std::uint64_t number, const Received& received);
  std::uint64_t computed_between_polls(const recording::Gaps& gaps);
  bool pass_time();
  /// sum: collects the recorded time for the result. factor: of the modelled time.
  std::optional<Time> scaled(Time& sum, std::uint64_t recorded, double factor);
  /// questions: failed polls within this time.
  bool compute(std::uint64_t recorded, std::uint64_t questions);
  bool rest(Time& sum, std::uint64_t recorded, double factor);
  /// Checks come before the world sees an event. They return false after an error.
  bool check();
  /// Also resolves wildcards.
  bool check_message();
  bool check_access();
  /// least: 0, or a wildcard.
  bool check_peer(int least);
  /// Fails if the sizes would overflow sums of the world.
  bool check_bytes(std::uint64_t bytes);
  bool resolve();
  /// Accounts for the event that was executed.
  void end_event();
  void begin_call();
  void end_call();

  /// These execute events.
  Task<void> wait_for_list();
  void learn_of_open();
  /// Waits for one or some of the taken requests, and returns the rest to the table.
  Task<void> wait_for_first();
  Task<void> probe();
  /// source, tag: of the recorded message, on the event's communicator.
  std::vector<Probed>::iterator find_probed(int source, int tag);
  void follow_probe();
  /// Remembers which message the probe found here, for the receive that follows.
  void store_probed(const Received& found);
  /// Waits for a blocking operation; stores the request of another.
  Task<void> complete(RankRequest& request, std::uint64_t bytes);
  Task<void> cancel();
  /// Ends the thread, and with the last one the rank.
  Task<void> finish();
  /// bytes: output, as counted.
  RankRequest start(std::uint64_t& bytes);
  /// Gives the request the rank's next number.
  void open(RankRequest&& request, std::uint64_t bytes);
  void leave_open();
  /// The operations go on in the world; their completion no longer matters.
  void free();
  void make_communicator();
  void phase();
  void end_phases(std::int64_t level);

  bool find_requests();
  bool choose();
  void join_loop();
  bool resolve_found();
  /// index: in taken_requests_.
  void put_back(std::size_t index);
  /// For the operation of the current event.
  [[nodiscard]] Begun begun(std::uint64_t bytes) const {
    return {bytes, event_.call, event_.kind, handling_};
  }
  void count_begun(const Begun& what, Time spent);
  void count_completed(const Begun& what, const Received& received);
  /// Adds the event to the hash of the run, without what differs from run to run.
  void certify_event();
  void certify_list(std::uint32_t list);
  [[nodiscard]] CallCounter& counter_of(std::uint16_t call) {
    return own_.replayed.counters.counter_of(call);
  }
  /// Counts that the modelled time depends on the order of real events.
  void depends(Dependence dependence, std::uint64_t times = 1) {
    own_.replayed.counters.dependences[static_cast<std::size_t>(dependence)] += times;
  }
  /// Fills both from the event. False if they are invalid.
  bool collective(Operation& operation, CollectiveSizes& sizes);
  bool blocks(std::vector<std::size_t>& sizes, std::uint32_t list, bool there_are);
  /// Checks that all members make the same collective here.
  bool agree(const std::optional<Operation>& operation);
  /// With threads, a blocking collective begins a request, too.
  [[nodiscard]] bool is_nonblocking() const {
    return begins_request(event_) && !run_.is_blocking(event_.call);
  }
  /// list: ranks and bytes in turn.
  bool blocks_of(std::vector<RankHandle::Block>& blocks, std::uint32_t list);

  ReplayRun& run_;
  ReplayRank& own_;
  RankHandle& rank_;
  recording::Reader& reader_;
  RankThreads* order_;
  ReplayEvents* events_;  // null: not wanted
  /// When the thread began.
  Time began_;
  // every wait of the recording is for all open requests: they are in open_, not in OpenRequests
  bool all_in_set_;
  RequestSet open_;
  recording::Event event_;
  const Communicator* communicator_ = nullptr;  // the event's
  bool ends_ = false;                           // ends early
  bool in_call_ = false;
  bool is_reported_ = false;  // the call is reported to the observer
  bool lasts_ = false;        // the call has no model and lasts as long as natively
  bool is_outside_ = false;   // the call communicates with processes outside of the program
  std::uint16_t call_ = 0;    // Event::call of the current call
  std::uint32_t call_site_ = 0;
  Time call_began_;
  int source_ = 0;  // of a receive or probe, once resolved
  int tag_ = 0;
  Taken taken_ = Taken::kSomething;
  bool waits_for_all_ = false;                // the loop's last wait
  Handling handling_ = Handling::kOffloaded;  // of the latest operation
  std::uint64_t begun_ = 0;                   // requests that the rank has begun
  // The following are not used by every event.
  std::optional<Communicator> held_;  // a copy of it, if other threads may make communicators meanwhile
  std::vector<Probed> probed_;        // by modelled arrival
  std::set<std::uint64_t> loop_;      // requests of waits for one or some in the same loop
  // Scratch memory of one event; members to avoid allocations.
  std::vector<std::uint64_t> numbers_;
  std::vector<OpenRequest> taken_requests_;
  std::vector<RankRequest> waited_;
  std::vector<Received> received_;
  std::vector<int> to_;
  std::vector<int> from_;
  std::vector<RankHandle::Block> sent_blocks_;
  std::vector<RankHandle::Block> received_blocks_;
};

}  // namespace offramp
