// Resources: units that serve one request at a time or have a rate (an engine, a NIC, a link), and the ranks
// that share them.
//
// A backend describes its resources once and refers to them by index. Which ranks share one is hidden from
// it: in a world, a stage that uses "the NIC" gets the NIC of the rank's node.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "offramp/kernel/arbiter.hpp"
#include "offramp/kernel/time.hpp"

namespace offramp {

/// The ranks that share one resource.
enum class Scope : std::uint8_t {
  kRank,     // one rank
  kNode,     // the ranks of a node; this and the next three follow MachineLayout
  kSocket,   // the ranks of one of its sockets
  kCard,     // the ranks that use one of its cards
  kLink,     // the ranks that use one of a card's links
  kGroup,    // ResourceDescription::ranks neighbouring ranks (of a board, an array)
  kMachine,  // all ranks
  kCount
};

/// How messages occupy a resource; always first come, first served.
enum class Occupation : std::uint8_t {
  kForAWhile,   // for durations computed by the stages: Resources::occupy(), carry()
  kBySender,    // one message from its departure until the send is complete (or Passage::freed)
  kByReceiver,  // one message from the answer to its request until it has arrived completely
};

/// One resource of a backend. Descriptions are constants: a world makes the resources from them.
struct ResourceDescription {
  std::string_view name;  // a literal, as in traces: "host.link"
  Scope scope = Scope::kRank;
  Occupation occupation = Occupation::kForAWhile;
  std::int64_t bits_per_second = 0;  // transfer rate; 0: none
  int ranks = 1;                     // of a kGroup; one number per backend
  // Stages reserve it for later moments, so it can be idle while a message waits. The audit of a world
  // tolerates that here.
  bool reserved_ahead = false;
};

inline constexpr std::size_t kNoResource = SIZE_MAX;

/// The index of the first resource with this occupation, or kNoResource.
constexpr std::size_t held(std::span<const ResourceDescription> resources, Occupation occupation) {
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (resources[i].occupation == occupation) return i;
  }
  return kNoResource;
}

/// The state of one resource.
struct Resource {
  Arbiter timeline;
  Time waited;              // total waiting time of its users
  std::uint64_t bytes = 0;  // carried so far
};

/// Called for every occupation, to check it.
class ResourceObserver {
 public:
  /// asked: when the user wanted it. grant: when it was served. bytes: carried meanwhile, or 0.
  virtual void occupied(const Resource& resource, const ResourceDescription& description, Time asked,
                        const Arbiter::Grant& grant, std::uint64_t bytes) = 0;

 protected:
  ~ResourceObserver() = default;
};

/// The resources within reach of one rank's device. A view: cheap to construct and copy.
class Resources {
 public:
  /// Location of a resource in a world: the array of its scope, and the index there.
  struct ResourceSlot {
    std::uint32_t scope;  // index of the array
    std::uint32_t number;
  };
  using Blocks = Resource* const*;

  /// Outside of a world: all resources belong to one device.
  Resources(std::span<const ResourceDescription> descriptions, Resource* own)
      : descriptions_(descriptions), own_(own) {}
  /// In a world. places: by resource; blocks: the arrays, by scope.
  Resources(std::span<const ResourceDescription> descriptions, const ResourceSlot* places, Blocks blocks,
            ResourceObserver* observer)
      : descriptions_(descriptions), places_(places), blocks_(blocks), observer_(observer) {}

  /// The resource that a description means for this rank.
  [[nodiscard]] Resource& operator[](std::size_t index) const {
    assert(index < descriptions_.size());
    if (places_ == nullptr) return own_[index];
    return blocks_[places_[index].scope][places_[index].number];
  }

  /// Occupies a resource for `duration`, from `at` or as soon as it is free.
  Arbiter::Grant occupy(std::size_t index, Time at, Time duration, std::uint64_t bytes = 0) const {
    Resource& resource = (*this)[index];
    const Arbiter::Grant grant = resource.timeline.acquire(at, duration);
    resource.waited += grant.begin - at;
    resource.bytes += bytes;
    if (observer_ != nullptr) observer_->occupied(resource, descriptions_[index], at, grant, bytes);
    return grant;
  }

  /// Occupies a resource with a rate for the time that it needs for these bytes.
  Arbiter::Grant carry(std::size_t index, Time at, std::size_t bytes) const {
    return occupy(index, at, time_of(index, bytes), bytes);
  }
  /// The time to carry these bytes on an idle resource with a rate.
  [[nodiscard]] Time time_of(std::size_t index, std::size_t bytes) const {
    return Bandwidth::bits_per_second(descriptions_[index].bits_per_second)
        .bytes(static_cast<std::int64_t>(bytes));
  }

 private:
  std::span<const ResourceDescription> descriptions_;
  Resource* own_ = nullptr;
  const ResourceSlot* places_ = nullptr;
  Blocks blocks_ = nullptr;
  ResourceObserver* observer_ = nullptr;
};

}  // namespace offramp
