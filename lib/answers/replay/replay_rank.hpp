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
class ReplayRun final : public ChoiceObserver {
 public:
  ReplayRun(const ReplaySource& source, const ReplayOptions& options);

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
  std::vector<RankThreads*> threads;  // of ranks with several threads

  /// Only the first error counts.
  void fail(const std::string& what);
  /// Counts an event and calls Options::progress when it is due, which may end the replay.
  void count_event();

  /// The index of a function's counter, the same for all ranks.
  std::uint16_t number_of_function(std::string_view name);
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
  struct Hash {
    std::size_t operator()(const std::vector<int>& members) const;
    std::size_t operator()(const std::pair<std::uint64_t, std::uint32_t>& place) const {
      return static_cast<std::size_t>(place.first * 0x9E3779B97F4A7C15U ^ place.second * 0xD1B54A32D192ED03U);
    }
  };
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
  ReplayRank(ReplayRun& run, RankHandle& rank, const ReplayJob& job);

  struct Made {
    std::optional<Communicator> communicator;
    std::uint32_t collectives = 0;
  };
  struct Phase {
    std::int64_t level = 0;
    std::size_t index = 0;
    Time begin;
  };
  static constexpr std::uint16_t kUnknown = 0xffff;

  ReplayRun::RankState& state;
  ReplayedRank& replayed;
  ReplayJob job;
  std::vector<std::uint16_t> functions;  // the reader's number -> the run's number
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

class ReplayThread {
 public:
  /// order: set if the rank has several threads, of whose streams `reader` is one; otherwise null.
  ReplayThread(ReplayRun& run, ReplayRank& own, RankHandle& rank, recording::Reader& reader,
               RankThreads* order = nullptr);

  Task<void> play();

 private:
  enum class Taken : std::uint8_t { kSomething, kNothing, kCancelled };
  /// A message that a wildcard probe found, in both runs, and that no receive has matched.
  struct Probed {
    std::uint32_t communicator;
    int source;
    int tag;
    Received found;
  };

  [[nodiscard]] bool has(recording::EventFlag flag) const { return (event_.flags & flag) != 0; }
  bool refuse(const std::string& what);
  bool end_early(const std::string& why);
  bool next();
  [[nodiscard]] const RankThreads::Stream& stream() const {
    return static_cast<const RankThreads::Stream&>(reader_);
  }
  Task<void> advance_to_event();
  Task<void> take_turn();
  void wake_last();
  void select_thread();
  [[nodiscard]] ReplayEvents::ThreadPosition position() const;
  void notify_completed(std::uint64_t request, const Received& received);
  void on_completed(std::uint64_t number, const Received& received);
  std::uint64_t computed_between_polls();
  bool pass_time();
  std::optional<Time> scaled(Time& sum, std::uint64_t recorded, double factor);
  bool compute(std::uint64_t recorded, std::uint64_t questions);
  bool rest(Time& sum, std::uint64_t recorded, double factor);
  bool check();
  bool check_message();
  bool check_access();
  bool check_peer(int least);
  bool check_bytes(std::uint64_t bytes);
  bool resolve();
  void end_event();
  void begin_call();
  void end_call();

  Task<void> wait_for_list();
  void learn_of_open();
  Task<void> wait_for_first();
  Task<void> probe();
  std::vector<Probed>::iterator find_probed(int source, int tag);
  void follow_probe();
  void store_probed(const Received& found);
  Task<void> complete(RankRequest& request, std::uint64_t bytes);
  Task<void> cancel();
  Task<void> finish();
  /// bytes: output, as counted.
  RankRequest start(std::uint64_t& bytes);
  void open(RankRequest&& request, std::uint64_t bytes);
  void leave_open();
  void free();
  void make_communicator();
  void phase();
  void end_phases(std::int64_t level);

  bool find_requests();
  bool choose();
  void join_loop();
  bool resolve_found();
  void put_back(std::size_t index);
  [[nodiscard]] Begun begun(std::uint64_t bytes) const {
    return {bytes, event_.call, event_.kind, handling_};
  }
  void count_begun(const Begun& what, Time spent);
  void count_completed(const Begun& what, const Received& received);
  void certify_event();
  void certify_list(std::uint32_t list);
  [[nodiscard]] CallCounter& counter_of(std::uint16_t call) {
    return own_.replayed.counters.counter_of(call);
  }
  void depends(Dependence dependence, std::uint64_t times = 1) {
    own_.replayed.counters.dependences[static_cast<std::size_t>(dependence)] += times;
  }
  bool collective(Operation& operation, CollectiveSizes& sizes);
  bool blocks(std::vector<std::size_t>& sizes, std::uint32_t list, bool there_are);
  bool agree(const std::optional<Operation>& operation);
  /// With threads, a blocking collective begins a request, too.
  [[nodiscard]] bool is_nonblocking() const {
    return begins_request(event_) && !run_.is_blocking(event_.call);
  }
  bool blocks_of(std::vector<RankHandle::Block>& blocks, std::uint32_t list);

  ReplayRun& run_;
  ReplayRank& own_;
  RankHandle& rank_;
  recording::Reader& reader_;
  RankThreads* order_;
  ReplayEvents* events_;  // null: not wanted
  Time began_;
  // every wait of the recording is for all open requests: they are in open_, not in OpenRequests
  bool all_in_set_;
  RequestSet open_;
  std::vector<RequestSet::Learned> learned_;
  recording::Event event_;
  const Communicator* communicator_ = nullptr;  // the event's
  std::optional<Communicator> held_;  // a copy of it, if other threads may make communicators meanwhile
  bool ends_ = false;                 // ends early
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
  std::vector<Probed> probed_;                // by modelled arrival
  std::set<std::uint64_t> loop_;              // requests of waits for one or some in the same loop
  bool waits_for_all_ = false;                // the loop's last wait
  Handling handling_ = Handling::kOffloaded;  // of the latest operation
  std::uint64_t begun_ = 0;                   // requests that the rank has begun
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
