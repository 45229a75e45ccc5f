// What networks of links have in common: who is where, the ways, and what the links have carried.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "offramp/model/machine.hpp"
#include "simulators/network/topology.hpp"
#include "simulators/world/direct_mapped_cache.hpp"
#include "simulators/world/network.hpp"

namespace offramp {

struct NetworkSetting {
  std::shared_ptr<const Topology> topology;
  Routing routing = Routing::kStatic;
  std::vector<int> places;  // of the program's nodes in the machine
  MachineLayout machine;
  // What each link has where the topology does not say.
  Bandwidth rate = Bandwidth::gigabits_per_second(100);
  Time hop;                // a switch and its cable, for each link of a way
  std::uint64_t seed = 0;  // of what is drawn for each message
};

class RoutedNetwork : public Network, protected LinkLoads {
 public:
  explicit RoutedNetwork(NetworkSetting setting);
  [[nodiscard]] std::vector<LinkUse> links() const final;
  [[nodiscard]] std::string link_name(std::size_t link) const final {
    return setting_.topology->link_name(link);
  }
  [[nodiscard]] Time farther(int source, int destination) const final;
  [[nodiscard]] std::string problem() const final { return problem_; }

 protected:
  struct Carried {
    Time busy;
    Time waited;
    Time longest;
    std::uint64_t bytes = 0;
    Time free;  // from when on it has nothing to carry, where it carries one thing at a time
  };
  using Route = std::vector<std::size_t>;
  struct Way {
    Time latency;  // of all links
    Time apart;    // the part of it of links on which each message is for itself
  };

  /// Of a message that leaves now, with its links into `links`: those that messages share; none: both nodes
  /// are behind one switch. Links on which each message is for itself are like a slower port: what comes from
  /// it leaves as slowly as the slowest of them lets it.
  [[nodiscard]] Way way(Parcel& parcel, Route& links) const;
  [[nodiscard]] Time latency(std::size_t link) const {
    return own_.empty() ? setting_.hop : own_[link].latency;
  }
  [[nodiscard]] Bandwidth rate(std::size_t link) const {
    return own_.empty() ? setting_.rate : own_[link].rate;
  }
  [[nodiscard]] Bandwidth slowest(const Route& route) const;
  [[nodiscard]] std::size_t size() const { return carried_.size(); }
  Carried& carried(std::size_t link) { return carried_[link]; }
  [[nodiscard]] const Carried& carried(std::size_t link) const { return carried_[link]; }
  /// At once, as over a wire.
  static void pass(const Parcel& parcel, const Way& way, NetworkWorld& world) {
    const Time latency = parcel.latency + way.latency;
    world.arrived(parcel, parcel.leaves + latency, parcel.left + latency, Time());
  }

 private:
  [[nodiscard]] int place(int rank) const {
    return setting_.places[static_cast<std::size_t>(setting_.machine.node(rank))];
  }
  void find_route(int from, int to, std::uint32_t number, Route& links) const;

  NetworkSetting setting_;
  std::vector<Topology::Link> own_;  // empty: all are alike
  std::vector<Carried> carried_;
  mutable DirectMappedCache<std::uint64_t, Time, 4099> farther_;  // by source and destination
  mutable Route looked_at_;                                       // by farther(); its memory is used again
  mutable std::string problem_;
};

}  // namespace offramp
