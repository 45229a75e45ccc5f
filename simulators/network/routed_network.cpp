#include "simulators/network/routed_network.hpp"

#include <utility>

#include "offramp/kernel/random.hpp"

namespace offramp {

RoutedNetwork::RoutedNetwork(NetworkSetting setting)
    : setting_(std::move(setting)), carried_(setting_.topology->links()) {}

RoutedNetwork::Route RoutedNetwork::route(int from, int to, std::uint32_t number) const {
  const int source = place(from);
  const int destination = place(to);
  Route links;
  if (source == destination) return links;
  const auto pair = static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
  const std::uint64_t draw = splitmix_finaliser(splitmix_finaliser(setting_.seed + pair) + number);
  setting_.topology->route({source, destination, draw}, setting_.routing, *this, links);
  return links;
}

Time RoutedNetwork::farther(int source, int destination) const {
  return hop() * static_cast<std::int64_t>(route(source, destination, 0).size());
}

std::vector<LinkUse> RoutedNetwork::links() const {
  std::vector<LinkUse> used;
  for (std::size_t link = 0; link < carried_.size(); ++link) {
    const Carried& c = carried_[link];
    if (c.busy > Time()) used.push_back({link_name(link), c.busy, c.waited, c.longest, c.bytes});
  }
  return used;
}

}  // namespace offramp
