// Resources: what serves one thing at a time or has a rate (an engine, a NIC, a link), and who shares it.
//
// A backend describes its resources once, and names them by index. It never learns which ranks a resource
// really serves: a stage of a message asks its view for "the NIC", and gets the one of the rank's node in a
// world.
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
  kRank,     // it has one of its own
  kNode,     // the ranks of a node; this and the next three by MachineLayout
  kSocket,   // the ranks of one of its sockets
  kCard,     // the ranks to which one of its cards is dealt
  kLink,     // the ranks to which one of the card's links is dealt
  kGroup,    // so many neighbouring ranks (of a board, an array): ResourceDescription::ranks
  kMachine,  // all ranks
  kCount
};

/// How messages occupy a resource, first come first served in either case.
enum class Occupation : std::uint8_t {
  kForAWhile,   // for times that the stages of a message know: Resources::occupy(), carry()
  kBySender,    // one message from its departure until the send is complete (or Passage::freed)
  kByReceiver,  // one message from the answer to its request until all of it has arrived
};

struct ResourceDescription {
  std::string_view name;  // a literal, as in traces: "host.link"
  Scope scope = Scope::kRank;
  Occupation occupation = Occupation::kForAWhile;
  std::int64_t bits_per_second = 0;  // of what carries bytes; 0: it has no rate
  int ranks = 1;                     // of a kGroup; one number for all of a backend
  // Stages reserve it for moments that are still to come, so that it can be idle while something waits: the
  // audit of a world lets that pass here.
  bool reserved_ahead = false;
};

inline constexpr std::size_t kNoResource = SIZE_MAX;

/// The index of the resource that is held in this way: the first one, or kNoResource.
constexpr std::size_t held(std::span<const ResourceDescription> resources, Occupation occupation) {
  for (std::size_t i = 0; i < resources.size(); ++i) {
    if (resources[i].occupation == occupation) return i;
  }
  return kNoResource;
}

/// The state of one resource.
struct Resource {
  Arbiter timeline;
  Time waited;              // by all that found it occupied
  std::uint64_t bytes = 0;  // carried so far
};

/// Hears of every occupation, to check it.
class ResourceObserver {
 public:
  virtual void occupied(const Resource& resource, const ResourceDescription& description, Time asked,
                        const Arbiter::Grant& grant, std::uint64_t bytes) = 0;

 protected:
  ~ResourceObserver() = default;
};

/// The resources that one rank's device reaches. A view: cheap to make and to copy.
class Resources {
 public:
  /// Where a world has a resource: which one it is in an array of those that the same ranks share.
  struct Place {
    std::uint32_t scope;  // of the array, as a number
    std::uint32_t number;
  };
  using Blocks = Resource* const*;

  /// Outside of a world: all of them are one device's own.
  Resources(std::span<const ResourceDescription> descriptions, Resource* own)
      : descriptions_(descriptions), own_(own) {}
  /// In a world. places: by resource; blocks: the arrays by scope.
  Resources(std::span<const ResourceDescription> descriptions, const Place* places, Blocks blocks,
            ResourceObserver* observer)
      : descriptions_(descriptions), places_(places), blocks_(blocks), observer_(observer) {}

  [[nodiscard]] Resource& operator[](std::size_t index) const {
    assert(index < descriptions_.size());
    if (places_ == nullptr) return own_[index];
    return blocks_[places_[index].scope][places_[index].number];
  }

  /// Occupies a resource for `duration`, from `at` or from when it is free.
  Arbiter::Grant occupy(std::size_t index, Time at, Time duration, std::uint64_t bytes = 0) const {
    Resource& resource = (*this)[index];
    const Arbiter::Grant grant = resource.timeline.acquire(at, duration);
    resource.waited += grant.begin - at;
    resource.bytes += bytes;
    if (observer_ != nullptr) observer_->occupied(resource, descriptions_[index], at, grant, bytes);
    return grant;
  }

  /// Occupies a resource that has a rate for as long as it takes to carry that many bytes.
  Arbiter::Grant carry(std::size_t index, Time at, std::size_t bytes) const {
    return occupy(index, at, time_of(index, bytes), bytes);
  }
  [[nodiscard]] Time time_of(std::size_t index, std::size_t bytes) const {
    return Bandwidth::bits_per_second(descriptions_[index].bits_per_second)
        .bytes(static_cast<std::int64_t>(bytes));
  }

 private:
  std::span<const ResourceDescription> descriptions_;
  Resource* own_ = nullptr;
  const Place* places_ = nullptr;
  Blocks blocks_ = nullptr;
  ResourceObserver* observer_ = nullptr;
};

}  // namespace offramp
