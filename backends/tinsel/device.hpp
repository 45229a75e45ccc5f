// The hardware as the ranks' drivers use it: the machine, what its network takes for one message, and per
// communicator the multicast trees in the boards' tables. What messages of different ranks take from each
// other is in shared_units.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/tinsel/configuration.hpp"
#include "backends/tinsel/shared_units.hpp"
#include "simulators/world/direct_mapped_cache.hpp"

namespace offramp::tinsel {

/// A message between two threads that have the machine to themselves: times from the source's first
/// instruction on.
struct Trip {
  Time sent;   // the source is done
  Time first;  // the first fragment shows up
  Time last;   // the last byte is in the destination's memory
  bool ok = true;
  WireCounters wire;
};

/// Where a rank is in a reduction's tree. Children in the order in which their results are combined.
struct Position {
  int parent = -1;
  std::vector<int> children;
};

/// A board on a broadcast's way: what its router does for a fragment.
struct TreeHop {
  int board = 0;
  int before = -1;  // the hop before it; -1: the root's board
  Direction over = Direction::kNorth;
  int records = 0;
  std::uint32_t beats = 0;
  std::size_t ram = 0;
};

/// What a root keeps for its broadcasts in one communicator.
struct RootPlan {
  Place root;
  std::vector<int> ranks;  // of the communicator: everybody else
  std::vector<Place> places;
  Tree tree;
  std::vector<TreeHop> hops;      // none: without the routers' multicast
  std::vector<std::size_t> ways;  // by destination, the last of its hops
  bool ready = false;             // the keys are in the tables
  Trap trap = Trap::kNone;
  std::uint64_t number = 0;                                              // broadcasts so far
  std::map<std::uint64_t, std::shared_ptr<const StreamResult>> results;  // by size
  Arbiter credits;  // one stream after the other goes down the tree
};

/// The ranks in the order of a reduction's tree: one list per board that has any, or one list of all.
struct TreeShape {
  std::vector<std::vector<int>> lists;
  std::vector<int> parents;             // of the lists: the list before it on the way to the root; -1: none
  std::vector<std::pair<int, int>> at;  // by rank: its list, and where in it
};
TreeShape shape_of(const Configuration& configuration, const std::vector<Place>& places, int root,
                   bool any_order);

struct Communicator {
  std::vector<Place> places;  // by rank
  bool is_world = false;      // all ranks in order: its trees are loaded with the program
  std::map<int, std::shared_ptr<RootPlan>> roots;
  std::map<std::pair<int, bool>, TreeShape> shapes;  // by root, and whether the order of ranks is free
  std::map<std::tuple<int, int, bool>, Position> positions;       // in those, by rank
  std::pair<std::tuple<int, int, bool>, const Position*> recent;  // of these, the last one asked for
};

class Device {
 public:
  /// spans, packets: who wants them, or null.
  Device(const Configuration& configuration, const FaultRates& faults, SpanSink* spans = nullptr,
         PacketSink* packets = nullptr)
      : configuration_(configuration),
        faults_(faults),
        machine_(configuration.machine),
        spans_(spans),
        packets_(packets) {}

  /// Between two ranks of the world. number: of this pair's messages; it chooses the packets' fates. epoch:
  /// the modelled time at which it begins; only faults may depend on it.
  Trip unicast(int source, int destination, std::uint64_t bytes, std::uint64_t number, Time epoch = {});
  /// How much later than alone the first and the last of so many fragments leave, which begin at `at`: those
  /// between two ranks share one window. Messages come in the order of `at`.
  SharedUnits::Delay wait_for_credits(int source, int destination, std::uint64_t fragments, Time at);
  /// Their credits come back as much later than alone as the last of them is late.
  void spend_credits(int source, int destination, std::uint64_t fragments, Time at, Time late);
  /// As unicast(), every fragment through the network.
  Trip whole_unicast(const Place& source, const Place& destination, std::uint64_t bytes, std::uint64_t number,
                     Time epoch = {});

  /// The same once more for those who capture packets: sent from `begin` on, with `bytes` of the message.
  void capture_unicast(const Transfer& transfer, std::uint64_t bytes, Time begin);
  /// And of a broadcast by a world rank, after multicast().
  void capture_multicast(int source, const RootPlan& plan, std::uint64_t bytes, Bytes data, Time begin);

  Communicator& communicator(const Team& team);
  void forget(std::uint64_t context);
  /// The plan with its keys in the tables; setup: what writing them takes now (nothing the second time).
  const std::shared_ptr<RootPlan>& plan(Communicator& communicator, int root, Time& setup);
  /// Alone in the machine.
  std::shared_ptr<const StreamResult> multicast(RootPlan& plan, std::uint64_t bytes, Time epoch);
  /// A rank's threads work: one thing after the other, whatever operations it is for. Returns the end.
  Time work(Team& team, Time at, Time duration);
  const Position& position(Communicator& communicator, int rank, int root, bool any_order);

  const IdleTimes& idle_detection();
  /// Whether links lose flits: idle detection is not modelled then.
  [[nodiscard]] bool has_faults() const { return faults_.any(); }

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] Machine& machine() { return machine_; }
  void count(const WireCounters& wire) { wire_ += wire; }
  /// rank: world rank whose hardware it is.
  void span(int rank, std::string_view unit, std::string_view what, Time begin, Time end,
            std::uint64_t operation) const {
    if (spans_ != nullptr && end > begin) spans_->record({unit, what, begin, end, operation, rank});
  }
  [[nodiscard]] const WireCounters& wire() const { return wire_; }
  [[nodiscard]] SpanSink* spans() const { return spans_; }
  [[nodiscard]] bool records() const { return spans_ != nullptr || packets_ != nullptr; }

 private:
  Time setup_time(const Place& root, const Tree& tree);
  [[nodiscard]] StreamRequest unicast_request(const Place& source, const Place& destination,
                                              std::uint64_t bytes, std::uint64_t number, Time epoch) const;
  [[nodiscard]] StreamRequest multicast_request(const RootPlan& plan, std::uint64_t bytes, Time epoch) const;
  void find_hops(RootPlan& plan);
  [[nodiscard]] std::uint64_t number_of(int source, int destination, std::uint64_t number) const;
  Time credit_period(const Place& source, const Place& destination);
  Trip memorised(const Place& source, const Place& destination, std::uint64_t bytes, std::uint64_t number,
                 Time epoch);

  const Configuration& configuration_;
  FaultRates faults_;
  Machine machine_;
  SpanSink* spans_;
  PacketSink* packets_;
  DirectMappedCache<std::uint64_t, Trip> trips_;
  std::unordered_map<std::uint64_t, Time> credit_periods_;  // by path
  std::unordered_map<std::uint64_t, Time> credits_back_;    // by source and destination: all of them
  std::size_t most_waits_ = 1 << 16;                        // of these, until those of the past are dropped
  std::map<std::uint64_t, Communicator> communicators_;
  std::pair<std::uint64_t, Communicator*> recent_;  // of these, the last one asked for
  std::vector<Arbiter> threads_;  // of the ranks; in a run each rank has its own among its units
  std::optional<IdleTimes> idle_;
  std::uint16_t next_flow_ = 0;  // local key of the next tree: which broadcast a fragment belongs to
  WireCounters wire_;
};

/// The place of a rank in the tree over all ranks: on each board a tree of contiguous ranks below its first
/// one (the root, on the root's board), and between boards the way to the root's board. Where operands have
/// to stay in order of rank: one tree of contiguous ranks below rank 0.
Position locate(const TreeShape& shape, int fan_in, int rank);

}  // namespace offramp::tinsel
