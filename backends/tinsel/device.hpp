// The hardware as used by the ranks' drivers: the machine, the times of single messages, and the multicast
// trees of each communicator in the boards' tables. shared_units.hpp has the delays between messages of
// different ranks.
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

/// A message between two threads on an idle machine. Times are relative to the source's first instruction.
struct Trip {
  Time sent;   // the source is done
  Time first;  // the first fragment arrives
  Time last;   // the last byte is in the destination's memory
  bool ok = true;
  WireCounters wire;
};

/// A rank's position in the tree of a reduction. Children are in the order of combination.
struct Position {
  int parent = -1;
  std::vector<int> children;
};

/// A board on the path of a broadcast: the work of its router per fragment.
struct TreeHop {
  int board = 0;
  int before = -1;  // index of the previous hop; -1: none, this is the root's board
  Direction over = Direction::kNorth;
  int records = 0;
  std::uint32_t beats = 0;
  std::size_t ram = 0;
};

/// A root's state for its broadcasts in one communicator.
struct RootPlan {
  ThreadLocation root;
  std::vector<int> ranks;  // of the communicator: all other ranks
  std::vector<ThreadLocation> places;
  Tree tree;
  std::vector<TreeHop> hops;      // empty without the routers' multicast
  std::vector<std::size_t> ways;  // by destination: index of its last hop
  bool ready = false;             // the keys are in the tables
  Trap trap = Trap::kNone;
  std::uint64_t number = 0;                                              // broadcasts so far
  std::map<std::uint64_t, std::shared_ptr<const StreamResult>> results;  // by size
  Arbiter credits;                                                       // serialises the streams on the tree
};

/// The ranks in the order of a reduction's tree: one list per board with ranks, or a single list.
struct TreeShape {
  std::vector<std::vector<int>> lists;
  std::vector<int> parents;             // by list: next list towards the root; -1: none
  std::vector<std::pair<int, int>> at;  // by rank: its list, and its index there
};
/// any_order: ranks may be reordered, because the operation is commutative.
TreeShape shape_of(const Configuration& configuration, const std::vector<ThreadLocation>& places, int root,
                   bool any_order);

/// What the device keeps of a communicator until it is freed.
struct Communicator {
  std::vector<ThreadLocation> places;  // by rank
  bool is_world = false;               // all ranks in order: the program's load includes its trees
  std::map<int, std::shared_ptr<RootPlan>> roots;
  std::map<std::pair<int, bool>, TreeShape> shapes;          // by root, and whether ranks may be reordered
  std::map<std::tuple<int, int, bool>, Position> positions;  // by rank, root, and order
  std::pair<std::tuple<int, int, bool>, const Position*> recent;  // cache of the last position
};

/// One per world, or per rank in a run. Used by one thread.
class Device {
 public:
  /// spans, packets: sinks, or nullptr.
  Device(const Configuration& configuration, const FaultRates& faults, SpanSink* spans = nullptr,
         PacketSink* packets = nullptr)
      : configuration_(configuration),
        faults_(faults),
        machine_(configuration.machine),
        spans_(spans),
        packets_(packets) {}

  /// A message between two world ranks. number: sequence number for this pair; selects the packets' fates.
  /// epoch: modelled beginning, which matters for faults only.
  Trip unicast(int source, int destination, std::uint64_t bytes, std::uint64_t number, Time epoch = {});
  /// The delay of the first and the last of a message's fragments by missing credits, if it begins at `at`.
  /// Messages between two ranks share one window. Call it in the order of `at`.
  SharedUnits::Delay wait_for_credits(int source, int destination, std::uint64_t fragments, Time at);
  /// Returns the credits of a message, delayed as much as its last fragment.
  void spend_credits(int source, int destination, std::uint64_t fragments, Time at, Time late);
  /// As unicast(), with every fragment simulated.
  Trip whole_unicast(const ThreadLocation& source, const ThreadLocation& destination, std::uint64_t bytes,
                     std::uint64_t number, Time epoch = {});

  /// Repeats a unicast for packet capture: sent from `begin` on, with `bytes` of the message.
  void capture_unicast(const Transfer& transfer, std::uint64_t bytes, Time begin);
  /// Repeats a world rank's broadcast for packet capture, after multicast().
  void capture_multicast(int source, const RootPlan& plan, std::uint64_t bytes, Bytes data, Time begin);

  /// Made at the first use. Valid until forget().
  Communicator& communicator(const TeamMembers& team);
  /// Frees the trees of the communicator in the boards' tables.
  void forget(std::uint64_t context);
  /// The plan, with its keys in the tables. setup: time to write the tables; 0 after the first call.
  const std::shared_ptr<RootPlan>& plan(Communicator& communicator, int root, Time& setup);
  /// The stream of a broadcast on an idle machine.
  std::shared_ptr<const StreamResult> multicast(RootPlan& plan, std::uint64_t bytes, Time epoch);
  /// Work of a rank's threads, which is serial over all its operations. Returns the end.
  Time work(Team& team, Time at, Time duration);
  /// Valid as long as the communicator.
  const Position& position(Communicator& communicator, int rank, int root, bool any_order);

  /// Simulated at the first use.
  const IdleTimes& idle_detection();
  /// True if links lose flits; idle detection is then not modelled.
  [[nodiscard]] bool has_faults() const { return faults_.any(); }

  /// Valid as long as the device.
  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] Machine& machine() { return machine_; }
  void count(const WireCounters& wire) { wire_ += wire; }
  /// rank: world rank that owns the hardware.
  void span(int rank, std::string_view unit, std::string_view what, Time begin, Time end,
            std::uint64_t operation) const {
    if (spans_ != nullptr && end > begin) spans_->record({unit, what, begin, end, operation, rank});
  }
  [[nodiscard]] const WireCounters& wire() const { return wire_; }
  [[nodiscard]] SpanSink* spans() const { return spans_; }
  /// True if spans or packets are wanted.
  [[nodiscard]] bool records() const { return spans_ != nullptr || packets_ != nullptr; }

 private:
  /// The time to write the tables of a tree.
  Time setup_time(const ThreadLocation& root, const Tree& tree);
  /// A message as the network's model expects it, with an envelope.
  [[nodiscard]] StreamRequest unicast_request(const ThreadLocation& source, const ThreadLocation& destination,
                                              std::uint64_t bytes, std::uint64_t number, Time epoch) const;
  [[nodiscard]] StreamRequest multicast_request(const RootPlan& plan, std::uint64_t bytes, Time epoch) const;
  /// Fills in the plan's hops and ways.
  void find_hops(RootPlan& plan);
  /// Unique among all messages, for faults.
  [[nodiscard]] std::uint64_t number_of(int source, int destination, std::uint64_t number) const;
  Time credit_period(const ThreadLocation& source, const ThreadLocation& destination);
  Trip memorised(const ThreadLocation& source, const ThreadLocation& destination, std::uint64_t bytes,
                 std::uint64_t number, Time epoch);

  const Configuration& configuration_;
  FaultRates faults_;
  Machine machine_;
  SpanSink* spans_;
  PacketSink* packets_;
  DirectMappedCache<std::uint64_t, Trip> trips_;
  std::unordered_map<std::uint64_t, Time> credit_periods_;  // by path
  std::unordered_map<std::uint64_t, Time> credits_back_;    // by source and destination
  std::size_t most_waits_ = 1 << 16;                        // size from which past entries are dropped
  std::map<std::uint64_t, Communicator> communicators_;
  std::pair<std::uint64_t, Communicator*> recent_;  // cache of the last one
  std::vector<Arbiter> threads_;                    // by rank; in a run each rank uses its own units instead
  std::optional<IdleTimes> idle_;
  std::uint16_t next_flow_ = 0;  // local key of the next tree, which identifies a fragment's broadcast
  WireCounters wire_;
};

/// A rank's position in the tree over all ranks: on each board a tree of contiguous ranks below its first
/// rank (the root, on the root's board), and between boards the path to the root's board. If operands must
/// stay in rank order: one tree of contiguous ranks below rank 0.
Position locate(const TreeShape& shape, int fan_in, int rank);

}  // namespace offramp::tinsel
