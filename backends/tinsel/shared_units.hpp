// The units shared by messages of different ranks, as resources of a world: the threads of a rank, the port
// of a mailbox, and on each board the links to its neighbours, the router's fetchers, and both DRAMs.
//
// Fragments of different messages alternate in a unit. A busy unit is therefore modelled by two lanes. `all`
// serves all messages in order of arrival, so the last message is never early. A message that fits its
// sender's window also uses `quick`: it waits only for similar messages and for one window of fragments ahead
// of it. The network on chip is no resource: its links carry a flit per two cycles, but the mailbox port on
// every path only one per four.
#pragma once

#include <vector>

#include "backends/tinsel/configuration.hpp"
#include "offramp/model/resource.hpp"

namespace offramp::tinsel {

/// The load of a message on the units of its path.
struct Load {
  std::uint64_t fragments = 0;
  std::uint64_t flits = 0;
  bool fits_window = false;
  Time overtaken;              // lead of a short last fragment, sent by another thread, over the first
  std::uint64_t uncached = 0;  // bytes of the program that its threads' caches miss
};

/// Immutable. The occupation itself is in the world's resources.
class SharedUnits {
 public:
  /// Resources per rank.
  enum : std::size_t {
    kSender,
    kQuickSender,
    kThreads,
    kReading,
    kQuickReading,
    kMatching,
    kPort,
    kQuickPort,
    kPortOut,
    kBoards
  };
  /// Resources per board, from kBoards on.
  enum : std::size_t {
    kLink = 0,  // two lanes for each of N, S, E, W
    kFetcher = kLink + 2 * std::size_t{kLinks},
    kDram = kFetcher + std::size_t{kFetchers},
    kCaches = kDram + std::size_t{kRams},  // the threads' paths to both DRAMs
    kOfBoard
  };

  /// configuration: must outlive this object.
  explicit SharedUnits(const Configuration& configuration);
  SharedUnits& operator=(SharedUnits&&) = delete;

  /// In the order of the resources' indices.
  [[nodiscard]] std::span<const ResourceDescription> descriptions() const { return descriptions_; }
  /// The index of a board's unit.
  [[nodiscard]] static std::size_t of_board(int board, std::size_t unit) {
    return kBoards + static_cast<std::size_t>(board) * kOfBoard + unit;
  }
  /// The first of two lanes.
  [[nodiscard]] static std::size_t link(int board, Direction direction) {
    return of_board(board, kLink + 2 * static_cast<std::size_t>(direction));
  }

  /// envelope: the message has a header for matching.
  [[nodiscard]] Load load_of(std::uint64_t bytes, bool envelope) const;
  /// Passes a unit with two lanes, starting with `lane`. per_fragment: the unit's time for a full fragment;
  /// work: for the message.
  [[nodiscard]] Arbiter::Grant pass(const Resources& resources, std::size_t lane, Time at, const Load& load,
                                    Time work, Time per_fragment) const;
  /// Passes the port of the sender's mailbox, which alternates between writes and reads. A sent message waits
  /// for all other sent messages, and for an equal amount of received data.
  [[nodiscard]] Arbiter::Grant leave(const Resources& sender, Time at, const Load& load, Time work) const;

  /// The delay of a message's first and last fragments.
  struct Delay {
    Time first;
    Time last;
    // span: the time that the message needs on this part anyway.
    void add(const Arbiter::Grant& grant, Time at, Time span) {
      first = later(first, grant.begin - at);
      last = later(last, grant.end - at - span);
    }
    void add(const Delay& other) {
      first = later(first, other.first);
      last = later(last, other.last);
    }
  };
  /// The delay by the sender's threads and its board's memory, for a message sent by `sent` without them.
  [[nodiscard]] Delay send(const Resources& sender, const ThreadLocation& from, const Load& load, Time begin,
                           Time sent) const;
  /// The delay of a unicast by the port of the sender's mailbox and the links between boards, for a message
  /// that would reach its destination's threads from first to last.
  [[nodiscard]] Delay unicast(const Resources& sender, const ThreadLocation& from, const ThreadLocation& to,
                              const Load& load, Time begin, Time first, Time last) const;
  /// The delay by the receiver's threads, its mailbox's port, and its board's memory.
  [[nodiscard]] Delay receive(const Resources& receiver, const ThreadLocation& at, const Load& load,
                              Time first, Time last) const;
  /// The time at which the receiver's program may continue with a message whose fragments would reach its
  /// threads from first to last.
  [[nodiscard]] Time taken_up(const Resources& receiver, const ThreadLocation& at, const Load& load,
                              Time first, Time last) const;

  /// The time between the first and last fragment in any unit on the path.
  [[nodiscard]] Time span_of(const Load& load, Time first, Time last) const;
  /// The delay beyond `span` of a message's transfer between the DRAMs and the caches of a board's threads,
  /// with all other users.
  [[nodiscard]] Time wait_for_memory(const Resources& resources, const ThreadLocation& place,
                                     const Load& load, int beats_per_line, Time from, Time span) const;
  [[nodiscard]] Time on_link(const Load& load) const { return flit_ * static_cast<std::int64_t>(load.flits); }
  [[nodiscard]] Time fragment_on_link() const { return flit_ * kMaximumFlits; }
  /// From one board to the next.
  [[nodiscard]] Time hop() const { return hop_; }

 private:
  const Configuration& configuration_;
  Time flit_;       // on a link
  Time hop_;        // between boards
  Time writing_;    // one fragment, by one thread
  Time reading_;    // one fragment, by one thread
  Time sending_;    // interval of fragments sent by a rank's threads
  Time taking_up_;  // interval of fragments received by a rank's threads
  std::vector<ResourceDescription> descriptions_;
};

}  // namespace offramp::tinsel
