// What networks of links have in common: who is where, the ways, and what the links have carried.
#pragma once

#include <memory>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "simulators/model/network.hpp"
#include "simulators/network/topology.hpp"

namespace offramp {

struct NetworkSetting {
  std::shared_ptr<const Topology> topology;
  Routing routing = Routing::kStatic;
  std::vector<int> places;  // of the program's nodes in the machine
  int ranks_per_node = 1;
  Bandwidth rate = Bandwidth::gigabits_per_second(100);  // of each link
  Time hop;                                              // a switch and its cable, for each link of a way
  std::uint64_t seed = 0;                                // of what is drawn for each message
};

class RoutedNetwork : public Network, protected LinkLoads {
 public:
  explicit RoutedNetwork(NetworkSetting setting);
  [[nodiscard]] std::vector<LinkUse> links() const final;
  [[nodiscard]] std::string link_name(std::size_t link) const final {
    return setting_.topology->link_name(link);
  }
  [[nodiscard]] Time farther(int source, int destination) const final;

 protected:
  struct Carried {
    Time busy;
    Time waited;
    Time longest;
    std::uint64_t bytes = 0;
  };
  using Route = std::vector<std::size_t>;

  /// Of a message that leaves now. Empty: both nodes are behind one switch.
  [[nodiscard]] Route route(int source, int destination, std::uint32_t number) const;
  [[nodiscard]] Time hop() const { return setting_.hop; }
  [[nodiscard]] Bandwidth rate() const { return setting_.rate; }
  [[nodiscard]] std::size_t size() const { return carried_.size(); }
  Carried& carried(std::size_t link) { return carried_[link]; }
  /// At once, as over a wire.
  static void pass(const Parcel& parcel, NetworkWorld& world) {
    world.arrived(parcel, parcel.leaves + parcel.latency, parcel.left + parcel.latency, Time());
  }

 private:
  [[nodiscard]] int place(int rank) const {
    return setting_.places[static_cast<std::size_t>(rank / setting_.ranks_per_node)];
  }

  NetworkSetting setting_;
  std::vector<Carried> carried_;
};

}  // namespace offramp
