// A random route is drawn from seed, pair, and number of the message, so it does not depend on the order in
// which messages are simulated. Links that are not shared (a property of platform files) delay a message by
// their own rate and are removed from its route. The first missing route is kept as the network's problem.
#include "simulators/network/routed_network.hpp"

#include <utility>

#include "offramp/kernel/random.hpp"

namespace offramp {
namespace {

std::uint64_t pair_of(int from, int to) {
  return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
}

}  // namespace

RoutedNetwork::RoutedNetwork(NetworkSetting setting)
    : setting_(std::move(setting)), carried_(setting_.topology->links()) {
  for (std::size_t link = 0; link < carried_.size(); ++link) {
    const Topology::Link* const own = setting_.topology->link(link);
    if (own == nullptr) break;
    own_.push_back(*own);
  }
}

/// Replaces the content of `links`.
void RoutedNetwork::find_route(int from, int to, std::uint32_t number, Route& links) const {
  links.clear();
  const int source = place(from);
  const int destination = place(to);
  if (source == destination) return;
  Topology::RouteRequest request{source, destination, 0};
  if (setting_.routing == Routing::kValiant)
    request.draw = splitmix_finaliser(splitmix_finaliser(setting_.seed + pair_of(from, to)) + number);
  const Topology& topology = *setting_.topology;
  if (!topology.route(request, setting_.routing, *this, links) && problem_.empty())
    problem_ = "network.topology: " + topology.missing(request);
}

RoutedNetwork::PathLatency RoutedNetwork::path(Parcel& parcel, Route& links) const {
  if (parcel.link != Parcel::kNoLink) {
    links.assign(1, parcel.link);
  } else {
    find_route(parcel.source, parcel.destination, parcel.number, links);
  }
  PathLatency path;
  // All links are alike and shared.
  if (own_.empty()) {
    path.latency = setting_.hop * static_cast<std::int64_t>(links.size());
    return path;
  }
  for (const std::size_t link : links) {
    const Topology::Link& own = own_[link];
    path.latency += own.latency;
    if (own.shared) continue;
    path.apart += own.latency;
    parcel.left = later(parcel.left, parcel.leaves + own.rate.bytes(static_cast<std::int64_t>(parcel.bytes)));
  }
  // The network orders messages only on the links that they share.
  std::erase_if(links, [&](std::size_t link) { return !own_[link].shared; });
  return path;
}

Bandwidth RoutedNetwork::slowest(const Route& route) const {
  Bandwidth slowest = rate(route.front());
  for (const std::size_t link : route) {
    if (rate(link).count() < slowest.count()) slowest = rate(link);
  }
  return slowest;
}

Time RoutedNetwork::farther(int source, int destination) const {
  return farther_.get(pair_of(source, destination), [&] {
    find_route(source, destination, 0, looked_at_);
    Time sum;
    for (const std::size_t link : looked_at_) sum += latency(link);
    return sum;
  });
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
