// Interface of a network between the ports of the devices in a world.
//
// Without a network, any two ports are connected by the backend's own wire: one switch, nothing shared. A
// network replaces everything behind the first switch; the ports remain the backend's. A message between
// nodes under the same switch therefore has the same time with and without a network. One thread at a time,
// that of the world.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/time.hpp"

namespace offramp {

/// One message between the ports of two devices.
struct Parcel {
  static constexpr std::size_t kNoLink = SIZE_MAX;

  int source = 0;  // world ranks
  int destination = 0;
  std::uint32_t number = 0;  // counts the messages between these two ranks
  std::size_t bytes = 0;
  Time leaves;                 // first byte at the source's port
  Time left;                   // last byte at the source's port
  Time latency;                // the backend's own wire
  void* message = nullptr;     // owned by the world
  std::size_t link = kNoLink;  // if set: crosses only this link, and the ranks are unused
};

/// Names of the span, at the receiver, by which shared links delayed a message.
inline constexpr std::string_view kNetworkUnit = "network";
inline constexpr std::string_view kSharedLink = "waiting for a shared link";

/// The world as seen by its network.
class NetworkWorld {
 public:
  [[nodiscard]] virtual Time now() const = 0;
  /// Schedules a call of Network::step(what) at `at`, which is not before now().
  virtual void call(Time at, const Parcel& parcel, void* what) = 0;
  /// The times of the parcel's first and last byte at the destination's port. Called once no other message
  /// can change them. waited: delay of the last byte caused by other messages on its links.
  virtual void arrived(const Parcel& parcel, Time first, Time last, Time waited) = 0;
  /// The link carries traffic at this rate. The rates of simultaneous calls add up.
  virtual void carries(std::size_t link, Time begin, Time end, Bandwidth rate) = 0;

 protected:
  ~NetworkWorld() = default;
};

/// Statistics of one direction of a link.
struct LinkUse {
  std::string name;
  Time busy;
  Time waited;   // total delay of messages
  Time longest;  // longest delay of a message
  std::uint64_t bytes = 0;
};

/// A network. Implementations: TrainNetwork and FairNetwork (simulators/network).
class Network {
 public:
  virtual ~Network() = default;
  /// Called in the order in which the messages leave their ports, no later than the first byte.
  virtual void carry(const Parcel& parcel, NetworkWorld& world) = 0;
  /// Continues the step that NetworkWorld::call() has scheduled.
  virtual void step(void* what, NetworkWorld& world) = 0;
  /// The name of a link that NetworkWorld::carries() reported, such as "leaf 3 to spine 1".
  [[nodiscard]] virtual std::string link_name(std::size_t link) const = 0;
  /// All links that were used.
  [[nodiscard]] virtual std::vector<LinkUse> links() const = 0;
  /// The extra latency of requests and answers over the backend's own wire. They occupy no links.
  [[nodiscard]] virtual Time farther(int source, int destination) const = 0;
  /// Returns why the results are invalid (two nodes without a route), or an empty text.
  [[nodiscard]] virtual std::string problem() const { return {}; }
  /// Prefetches the data of a step(what) that follows soon.
  virtual void prefetch(const void* /*what*/) const {}
};

}  // namespace offramp
