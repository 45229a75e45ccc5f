// What the messages of different ranks share in the machine, as resources of a world: the threads of a rank,
// the port of a mailbox, and on each board the links to its neighbours, the router's fetchers and both DRAMs.
//
// Fragments of different messages pass a unit alternately. A unit that many use has two lanes here: `all`
// serves the work of every message in the order in which they come, so the last of them is never early; a
// message that fits into its sender's window asks `quick` besides, and waits only for others like it and for
// one window of fragments that are in front of it. The network on chip is no resource: its links carry a flit
// per two cycles, and the port of a mailbox, which all have to pass, one per four.
#pragma once

#include <vector>

#include "backends/tinsel/configuration.hpp"
#include "offramp/model/resource.hpp"

namespace offramp::tinsel {

/// What a message brings to the units on its way.
struct Load {
  std::uint64_t fragments = 0;
  std::uint64_t flits = 0;
  bool fits_window = false;
  Time overtaken;  // by which a short last fragment, sent by another thread, is in front of the first
  std::uint64_t uncached = 0;  // bytes of the program that its threads' caches do not hold
};

class SharedUnits {
 public:
  /// Resources of a rank.
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
  /// And of each board, from kBoards on.
  enum : std::size_t {
    kLink = 0,  // two lanes for each of N, S, E, W
    kFetcher = kLink + 2 * std::size_t{kLinks},
    kDram = kFetcher + std::size_t{kFetchers},
    kCaches = kDram + std::size_t{kRams},  // the threads' ways to both DRAMs
    kOfBoard
  };

  explicit SharedUnits(const Configuration& configuration);
  SharedUnits(const SharedUnits&) = delete;
  SharedUnits& operator=(const SharedUnits&) = delete;

  [[nodiscard]] std::span<const ResourceDescription> descriptions() const { return descriptions_; }
  [[nodiscard]] static std::size_t of_board(int board, std::size_t unit) {
    return kBoards + static_cast<std::size_t>(board) * kOfBoard + unit;
  }
  [[nodiscard]] static std::size_t link(int board, Direction direction) {
    return of_board(board, kLink + 2 * static_cast<std::size_t>(direction));
  }

  [[nodiscard]] Load load_of(std::uint64_t bytes, bool envelope) const;
  /// Through a unit with two lanes, of which `lane` is the first. per_fragment: the unit's time for a full
  /// fragment; work: for the message.
  [[nodiscard]] Arbiter::Grant pass(const Resources& resources, std::size_t lane, Time at, const Load& load,
                                    Time work, Time per_fragment) const;
  /// Through the port of the sender's mailbox, which serves what is written and what is read alternately. So
  /// what is sent waits for all that is sent, and for as much again of what is received.
  [[nodiscard]] Arbiter::Grant leave(const Resources& sender, Time at, const Load& load, Time work) const;

  /// How much later than alone a message's first and last fragments are.
  struct Delay {
    Time first;
    Time last;
    void add(const Arbiter::Grant& grant, Time at, Time span) {
      first = later(first, grant.begin - at);
      last = later(last, grant.end - at - span);
    }
    void add(const Delay& other) {
      first = later(first, other.first);
      last = later(last, other.last);
    }
  };
  /// What the sender's threads and its board's memory add to a message that they alone would have sent by
  /// `sent`.
  [[nodiscard]] Delay send(const Resources& sender, const Place& from, const Load& load, Time begin,
                           Time sent) const;
  /// A unicast message that alone would reach its destination's threads from first to last: what the port
  /// of its mailbox and the links between the boards add to that.
  [[nodiscard]] Delay unicast(const Resources& sender, const Place& from, const Place& to, const Load& load,
                              Time begin, Time first, Time last) const;
  /// And what the receiver's threads, its mailbox's port and its board's memory add.
  [[nodiscard]] Delay receive(const Resources& receiver, const Place& at, const Load& load, Time first,
                              Time last) const;
  /// When the program of a rank may go on with a message whose fragments would alone reach its threads from
  /// first to last.
  [[nodiscard]] Time taken_up(const Resources& receiver, const Place& at, const Load& load, Time first,
                              Time last) const;

  /// Between the first and the last fragment's passing of any unit on the way.
  [[nodiscard]] Time span_of(const Load& load, Time first, Time last) const;
  /// How much later than within `span` the caches of a board's threads have moved a message's data from the
  /// DRAMs or to them, beside all others.
  [[nodiscard]] Time wait_for_memory(const Resources& resources, const Place& place, const Load& load,
                                     int beats_per_line, Time from, Time span) const;
  [[nodiscard]] Time on_link(const Load& load) const { return flit_ * static_cast<std::int64_t>(load.flits); }
  [[nodiscard]] Time fragment_on_link() const { return flit_ * kMaximumFlits; }
  [[nodiscard]] Time hop() const { return hop_; }

 private:
  const Configuration& configuration_;
  Time flit_;       // on a link
  Time hop_;        // from board to board
  Time writing_;    // of a fragment by one thread
  Time reading_;    // of a fragment by one thread
  Time sending_;    // between two fragments that a rank's threads send
  Time taking_up_;  // between two fragments that a rank's threads take up
  std::vector<ResourceDescription> descriptions_;
};

}  // namespace offramp::tinsel
