// The calls of a replay with the modelled times at which they began and ended, and what they did: messages
// with what was received, and collectives. Formats of other tools are written from it.
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

/// Memory is bounded: calls beyond kMost entries of all ranks are counted only.
class Timeline final : public ReplayEvents {
 public:
  static constexpr std::uint64_t kMost = 16'000'000;  // 0.9 GB

  enum class EntryKind : std::uint8_t {
    kEnter,  // number: an index into functions()
    kLeave,
    kSend,               // of a call that ends when the message is on its way, or that waits for it
    kSendBegun,          // the same, with a request
    kSendDone,           // request
    kReceive,            // has taken a message, without a request
    kReceiveBegun,       // request
    kReceiveDone,        // the same, with what was taken
    kCancelled,          // request
    kCollectiveBegun,    // of one that blocks
    kCollective,         // its end: operation in number, peer (root, or kNoRoot), sizes
    kCollectiveRequest,  // of one that does not block
    kCollectiveDone,     // its end
  };
  static constexpr std::int32_t kNoRoot = -1;
  struct Entry {
    Time at = {};
    std::uint64_t bytes = 0;         // of a message; of a collective what this rank sends: see traffic_of()
    std::uint64_t received = 0;      // of a collective
    std::uint64_t request = 0;       // the rank's, counted from 0
    std::uint32_t communicator = 0;  // an index into communicators()
    std::int32_t peer = 0;           // rank in it
    std::int32_t tag = 0;
    std::uint16_t number = 0;
    EntryKind kind = EntryKind::kEnter;
  };
  /// The entries of a thread, in the order of their times.
  struct Track {
    int rank = 0;
    std::uint32_t thread = 0;
    std::vector<Entry> entries = {};
  };

  /// Of a world.
  explicit Timeline(int ranks);

  /// After the replay: ends the calls that are open.
  void close();

  [[nodiscard]] int ranks() const { return static_cast<int>(ranks_.size()); }
  /// Rank by rank, and thread by thread.
  [[nodiscard]] std::vector<const Track*> tracks() const;
  [[nodiscard]] const std::vector<std::string>& functions() const { return functions_; }
  /// Members in their order, ranks of the world. The first is the world, and the second each rank's own; both
  /// have no list.
  [[nodiscard]] const std::vector<std::vector<int>>& communicators() const { return communicators_; }
  /// What the program does that entries do not say, a line for each kind.
  [[nodiscard]] const std::vector<std::string>& unsupported() const { return unsupported_; }
  /// Calls that there was no room for.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

  void begins(const ThreadPosition& place, const ReplayedEvent& replayed) override;
  void completed(const ThreadPosition& place, std::uint64_t request, const Received& received) override;
  void ended(const ThreadPosition& place) override;

 private:
  struct Known {
    std::uint32_t number = 0;  // an index into communicators()
    int rank = 0;              // this rank's in it
    int size = 0;
  };
  struct Growing {
    Track track;
    std::size_t open = 0;  // the entry with which the call began, if is_open
    bool is_open = false;
    bool is_dropped = false;
    Time last;  // at which an event of it ended
  };
  struct Rank {
    std::map<std::uint32_t, Growing> threads;
    std::vector<Known> communicators;
    std::map<std::pair<std::vector<int>, std::uint64_t>, std::uint32_t> made;
    std::unordered_map<std::uint64_t, Entry> begun;  // by request: what its end will be
  };

  Growing& thread_of(const ThreadPosition& place);
  void add(Growing& thread, Entry entry, Time at);
  void end_call(Growing& thread);
  void message(const ThreadPosition& place, const ReplayedEvent& replayed);
  void collective(const ThreadPosition& place, const ReplayedEvent& replayed);
  void make_communicator(Rank& rank, const ThreadPosition& place, const ReplayedEvent& replayed);
  void free(const ThreadPosition& place, const ReplayedEvent& replayed);
  [[nodiscard]] const Known& communicator_of(const Rank& rank, std::uint32_t number) const;
  std::uint16_t number_of(std::string_view function);
  void unsupported(std::string_view kind);

  std::vector<Rank> ranks_;
  std::vector<std::string> functions_;
  std::map<std::string, std::uint16_t, std::less<>> numbers_;
  std::vector<std::vector<int>> communicators_;
  /// By members, id and how many of those a rank has made before: the same number for all members.
  std::map<std::tuple<std::vector<int>, std::uint64_t, std::uint32_t>, std::uint32_t> known_;
  std::vector<std::string> unsupported_;
  std::uint64_t entries_ = 0;
  std::uint64_t dropped_ = 0;
};

/// What a rank sends and receives in a collective, its own part included, as Score-P counts it: each of n
/// members sends its block n times in an allgather or an allreduce, the root of a bcast n times the message.
struct Traffic {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};
/// rank: in the communicator.
Traffic traffic_of(const recording::Event& collective, const recording::Reader& reader, int rank, int size);

}  // namespace offramp
