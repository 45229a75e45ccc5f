// The network: what lies between the ports of the devices of a world.
//
// A backend's own wire is a wire between any two ports, with one switch in it, and nothing is shared. A
// network takes its place: what is behind the first switch of a message's way is the network's, the ports
// stay the backend's. So a message whose nodes have one switch takes what it takes without a network.
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
  std::uint32_t number = 0;  // of the messages between these two
  std::size_t bytes = 0;
  Time leaves;  // its first and last byte at the source's port
  Time left;
  Time latency;                // of the way, as the backend's own wire has it
  void* message = nullptr;     // the world's
  std::size_t link = kNoLink;  // it crosses this link alone, from switch to switch: the ranks say nothing
};

/// The span of a message that came later than it would have come alone on its links, at its receiver's rank.
inline constexpr std::string_view kNetworkUnit = "network";
inline constexpr std::string_view kSharedLink = "waiting for a shared link";

/// The world, as its network sees it.
class NetworkWorld {
 public:
  [[nodiscard]] virtual Time now() const = 0;
  /// Network::step(what) is called then. at: not before now.
  virtual void call(Time at, const Parcel& parcel, void* what) = 0;
  /// Its first and last byte are at the destination's port then. Known once no other message can change it.
  /// waited: by how much others on its links have made the last byte later.
  virtual void arrived(const Parcel& parcel, Time first, Time last, Time waited) = 0;
  /// A link carries something at this rate; what it carries at once adds up.
  virtual void carries(std::size_t link, Time begin, Time end, Bandwidth rate) = 0;

 protected:
  ~NetworkWorld() = default;
};

/// One direction of a link, with what passed it.
struct LinkUse {
  std::string name;
  Time busy;
  Time waited;   // by how much it made messages later, all together
  Time longest;  // of these waits
  std::uint64_t bytes = 0;
};

class Network {
 public:
  virtual ~Network() = default;
  /// Called in the order in which the messages leave their ports, at the latest when the first byte does.
  virtual void carry(const Parcel& parcel, NetworkWorld& world) = 0;
  virtual void step(void* what, NetworkWorld& world) = 0;
  /// "leaf 3 to spine 1": of a number that NetworkWorld::carries() was told.
  [[nodiscard]] virtual std::string link_name(std::size_t link) const = 0;
  /// The links that were used.
  [[nodiscard]] virtual std::vector<LinkUse> links() const = 0;
  /// By how much the way between two ranks is longer than the backend's own wire: for requests and answers,
  /// which occupy nothing.
  [[nodiscard]] virtual Time farther(int source, int destination) const = 0;
  /// Why what passed it means nothing: two nodes between which there is no way. Empty: nothing is wrong.
  [[nodiscard]] virtual std::string problem() const { return {}; }
  /// step(what) comes soon: fetches into the caches what it will need.
  virtual void prefetch(const void* /*what*/) const {}
};

}  // namespace offramp
