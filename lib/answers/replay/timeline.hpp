// The calls, messages, and collectives of a replay with modelled times, for writers of other formats.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "lib/answers/replay/replay.hpp"

namespace offramp {

/// Bounds its memory: after kMost entries over all ranks, further calls are only counted.
/// Entries are in the order of each thread's time. It outlives the replay that it observes.
class Timeline final : public ReplayEvents {
 public:
  static constexpr std::uint64_t kMost = 16'000'000;  // 0.9 GB

  /// Named after the records of OTF2.
  enum class EntryKind : std::uint8_t {
    kEnter,  // number: an index into functions()
    kLeave,
    kSend,               // a send without a request
    kSendBegun,          // request: a send with one
    kSendDone,           // request
    kReceive,            // a receive without a request, when the message has arrived
    kReceiveBegun,       // request
    kReceiveDone,        // request: with the received message
    kCancelled,          // request
    kCollectiveBegun,    // a blocking collective begins
    kCollective,         // it ends: operation in number, peer (root, or kNoRoot), sizes
    kCollectiveRequest,  // request: a nonblocking collective begins
    kCollectiveDone,     // it ends
    kAccess,             // request, and an Access in number: begins; peer (target), bytes to it and received
    kAccessDone,         // request: the program learns that it is complete
    kLock,               // this rank has the lock of a target (peer) of a window
    kUnlock,             // it has released it
    kFenceBegun,         // a barrier of a window begins
    kFence,              // it ends
  };
  /// Values of Entry::peer that are no ranks.
  static constexpr std::int32_t kNoRoot = -1;
  static constexpr std::int32_t kAllTargets = -1;
  /// The kind determines which members matter.
  struct Entry {
    Time at = {};
    std::uint64_t bytes = 0;         // of a message; for a collective, what this rank sends: see traffic_of()
    std::uint64_t received = 0;      // by a collective
    std::uint64_t request = 0;       // counted from 0 per rank
    std::uint32_t communicator = 0;  // an index into communicators(); of entries of a window into windows()
    std::int32_t peer = 0;           // a rank of the communicator
    std::int32_t tag = 0;
    std::uint16_t number = 0;
    EntryKind kind = EntryKind::kEnter;
  };
  /// The entries of a thread, by time.
  struct Track {
    int rank = 0;
    std::uint32_t thread = 0;
    /// Times never decrease.
    std::vector<Entry> entries = {};
  };

  /// ranks: of the replay.
  explicit Timeline(int ranks);

  /// Call after the replay: ends open calls.
  void close();

  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_.size()); }
  /// Ordered by rank, then by thread.
  [[nodiscard]] std::vector<const Track*> tracks() const;
  /// In the order of first calls.
  [[nodiscard]] const std::vector<std::string>& functions() const { return functions_; }
  /// Members in their order, as world ranks. The first entry is the world, the second each rank's own
  /// communicator; both lists are empty.
  [[nodiscard]] const std::vector<std::vector<int>>& communicators() const { return communicators_; }
  /// The communicators of windows.
  [[nodiscard]] const std::vector<std::uint32_t>& windows() const { return windows_; }
  /// Features of the program that entries cannot express, one line each.
  [[nodiscard]] const std::vector<std::string>& unsupported() const { return unsupported_; }
  /// Calls dropped for lack of room.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  void begins(const ThreadPosition& place, const ReplayedEvent& replayed) override;
  void completed(const ThreadPosition& place, std::uint64_t request, const Received& received) override;
  void ended(const ThreadPosition& place) override;

 private:
  /// A communicator as one rank sees it.
  struct Known {
    std::uint32_t number = 0;  // an index into communicators()
    int rank = 0;              // this rank's number in it
    int size = 0;
  };
  /// A thread's entries while the replay runs.
  struct Growing {
    Track track;
    std::size_t open = 0;  // index of the entry with which the call began, if is_open
    bool is_open = false;
    bool is_dropped = false;
    Time last;  // when its latest event ended
  };
  /// What is known of one rank.
  struct Rank {
    std::map<std::uint32_t, Growing> threads;
    std::vector<Known> communicators;
    std::map<std::pair<std::vector<int>, std::uint64_t>, std::uint32_t> made;
    std::unordered_map<std::uint64_t, Entry> begun;  // by request: the entry for its end
  };

  /// Created at its first event.
  Growing& thread_of(const ThreadPosition& place);
  /// Never earlier than the previous entry: formats demand order.
  void add(Growing& thread, Entry entry, Time at);
  /// Merges the begin and end of operations that blocked within the call.
  void end_call(Growing& thread);
  /// These add entries for the begin of an operation, and prepare those of its end.
  void message(const ThreadPosition& place, const ReplayedEvent& replayed);
  void collective(const ThreadPosition& place, const ReplayedEvent& replayed);
  void neighbours(const ThreadPosition& place, const ReplayedEvent& replayed);
  void access(const ThreadPosition& place, const ReplayedEvent& replayed);
  void make_communicator(Rank& rank, const ThreadPosition& place, const ReplayedEvent& replayed);
  /// Ends sends whose requests are freed.
  void free(const ThreadPosition& place, const ReplayedEvent& replayed);
  /// Unknown numbers are MPI_COMM_SELF: the replay reports them.
  [[nodiscard]] const Known& communicator_of(const Rank& rank, std::uint32_t number) const;
  /// The index in functions(), new or known.
  std::uint16_t number_of(std::string_view function);
  /// Windows have no numbers of their own in recordings.
  std::uint32_t window_of(std::uint32_t communicator);
  /// Notes the kind once.
  void unsupported(std::string_view kind);

  std::vector<Rank> ranks_;
  std::vector<std::string> functions_;
  std::map<std::string, std::uint16_t, std::less<>> numbers_;
  std::vector<std::vector<int>> communicators_;
  /// By members, id, and how many of those the rank made before: the same number for all members.
  std::map<std::tuple<std::vector<int>, std::uint64_t, std::uint32_t>, std::uint32_t> known_;
  std::vector<std::uint32_t> windows_;
  std::vector<std::string> unsupported_;
  std::uint64_t entries_ = 0;
  std::uint64_t dropped_ = 0;
};

/// Bytes that a rank sends and receives in a collective, its own part included, as Score-P counts: of n
/// members, each sends its block n times in an allgather or allreduce; a bcast's root sends n messages.
struct Traffic {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};
/// rank: in the communicator.
Traffic traffic_of(const recording::Event& collective, const recording::Reader& reader, int rank, int size);

}  // namespace offramp
