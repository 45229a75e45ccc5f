// The hardware as one rank's driver uses it: the machine, what its network takes for a message, and per
// communicator the multicast trees in the boards' tables.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "backends/tinsel/configuration.hpp"
#include "simulators/model/direct_mapped_cache.hpp"

namespace offramp::tinsel {

/// A message between two threads: times from the source's first instruction on.
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

/// What a root keeps for its broadcasts in one communicator.
struct RootPlan {
  std::vector<int> ranks;  // of the communicator: everybody else
  std::vector<Place> places;
  Tree tree;
  bool ready = false;  // the keys are in the tables
  Trap trap = Trap::kNone;
  std::uint64_t number = 0;                       // broadcasts so far
  std::map<std::uint64_t, StreamResult> results;  // by size
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
  std::map<int, RootPlan> roots;
  std::map<std::pair<int, bool>, TreeShape> shapes;  // by root, and whether the order of ranks is free
  std::map<std::tuple<int, int, bool>, Position> positions;  // in those, by rank
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
  /// The same, every fragment through the network.
  Trip whole_unicast(const Place& source, const Place& destination, std::uint64_t bytes, std::uint64_t number,
                     Time epoch = {});

  /// The same once more for those who capture packets: sent from `begin` on, with `bytes` of the message.
  void capture_unicast(const Transfer& transfer, std::uint64_t bytes, Time begin);
  /// And of a broadcast, after multicast().
  void capture_multicast(Communicator& communicator, const Team& team, int root, const RootPlan& plan,
                         Bytes data, Time begin);

  Communicator& communicator(const Team& team);
  void forget(std::uint64_t context);
  /// The plan with its keys in the tables; setup: what writing them takes now (nothing the second time).
  RootPlan& plan(Communicator& communicator, int root, Time& setup);
  const StreamResult& multicast(Communicator& communicator, int root, RootPlan& plan, std::uint64_t bytes,
                                Time epoch);
  const Position& position(Communicator& communicator, int rank, int root, bool any_order);

  [[nodiscard]] const Configuration& configuration() const { return configuration_; }
  [[nodiscard]] Machine& machine() { return machine_; }
  void count(const WireCounters& wire) { wire_ += wire; }
  void span(std::string_view unit, std::string_view what, Time begin, Time end,
            std::uint64_t operation) const {
    if (spans_ != nullptr && end > begin) spans_->record({unit, what, begin, end, operation});
  }
  void forget_traffic() { wire_ = {}; }
  [[nodiscard]] const WireCounters& wire() const { return wire_; }
  [[nodiscard]] SpanSink* spans() const { return spans_; }

 private:
  Time setup_time(const Place& root, const Tree& tree);
  [[nodiscard]] StreamRequest unicast_request(const Place& source, const Place& destination,
                                              std::uint64_t bytes, std::uint64_t number, Time epoch) const;
  [[nodiscard]] StreamRequest multicast_request(const Communicator& communicator, int root,
                                                const RootPlan& plan, std::uint64_t bytes, Time epoch) const;
  [[nodiscard]] std::uint64_t number_of(int source, int destination, std::uint64_t number) const;
  Trip memorised(const Place& source, const Place& destination, std::uint64_t bytes, std::uint64_t number,
                 Time epoch);

  const Configuration& configuration_;
  FaultRates faults_;
  Machine machine_;
  SpanSink* spans_;
  PacketSink* packets_;
  DirectMappedCache<std::uint64_t, Trip> trips_;
  std::map<std::uint64_t, Communicator> communicators_;
  std::uint16_t next_flow_ = 0;  // local key of the next tree: which broadcast a fragment belongs to
  WireCounters wire_;
};

/// The place of a rank in the tree over all ranks: on each board a tree of contiguous ranks below its first
/// one (the root, on the root's board), and between boards the way to the root's board. Where operands have
/// to stay in order of rank: one tree of contiguous ranks below rank 0.
Position locate(const TreeShape& shape, int fan_in, int rank);

}  // namespace offramp::tinsel
