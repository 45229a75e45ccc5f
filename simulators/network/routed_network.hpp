// Base class of networks of links: places of nodes, routes, and usage statistics of links. One thread at a
// time, that of the world.
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

/// The parts of a network. Times and rates are for one direction.
struct NetworkSetting {
  std::shared_ptr<const Topology> topology;
  Routing routing = Routing::kStatic;
  std::vector<int> places;  // machine node of each program node
  MachineLayout machine;
  // Properties of each link if the topology has none.
  Bandwidth rate = Bandwidth::gigabits_per_second(100);
  Time hop;                // a switch and its cable, per link of a route
  std::uint64_t seed = 0;  // for randomised routing
};

/// Base class of TrainNetwork and FairNetwork.
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
  /// The use of one link so far: transmission time, sum of waits, and longest wait.
  struct Carried {
    Time busy;
    Time waited;
    Time longest;
    std::uint64_t bytes = 0;
    Time free;  // when the link is next idle, if it serves one train at a time
  };
  using Route = std::vector<std::size_t>;
  /// What a route adds to the latency of the backend's wire.
  struct PathLatency {
    Time latency;  // all links
    Time apart;    // the part of links that are not shared
  };

  /// The route of a message that leaves now. Sets `links` to the shared links, and to none if both nodes are
  /// at one switch. Unshared links act like a slower port, and delay parcel.left.
  [[nodiscard]] PathLatency path(Parcel& parcel, Route& links) const;
  /// From the topology if its links differ, otherwise from the setting.
  [[nodiscard]] Time latency(std::size_t link) const {
    return own_.empty() ? setting_.hop : own_[link].latency;
  }
  [[nodiscard]] Bandwidth rate(std::size_t link) const {
    return own_.empty() ? setting_.rate : own_[link].rate;
  }
  /// The lowest rate on a route, which must not be empty.
  [[nodiscard]] Bandwidth slowest(const Route& route) const;
  [[nodiscard]] std::size_t size() const { return carried_.size(); }
  Carried& carried(std::size_t link) { return carried_[link]; }
  [[nodiscard]] const Carried& carried(std::size_t link) const { return carried_[link]; }
  /// Delivers the parcel as a wire does, without sharing.
  static void pass(const Parcel& parcel, const PathLatency& path, NetworkWorld& world) {
    const Time latency = parcel.latency + path.latency;
    world.arrived(parcel, parcel.leaves + latency, parcel.left + latency, Time());
  }

 private:
  /// The machine's node on which a rank runs.
  [[nodiscard]] int place(int rank) const {
    return setting_.places[static_cast<std::size_t>(setting_.machine.node(rank))];
  }
  /// number: of the message, for the random draw. A missing route is recorded in problem_.
  void find_route(int from, int to, std::uint32_t number, Route& links) const;

  NetworkSetting setting_;
  std::vector<Topology::Link> own_;  // empty: all links are alike
  std::vector<Carried> carried_;
  mutable DirectMappedCache<std::uint64_t, Time, 4099> farther_;  // by source and destination
  mutable Route looked_at_;                                       // working memory of farther()
  mutable std::string problem_;
};

}  // namespace offramp
