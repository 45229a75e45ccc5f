// Resources: what serves one thing at a time or has a rate (an engine, a NIC, a link), and who shares it.
//
// A backend describes its resources once, and names them by index. It never learns which ranks a resource
// really serves: a stage of a message asks its view for "the NIC", and gets the one of the rank's node in a
// world, or the rank's own in a live run.
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
  using Blocks = Resource* const*;

  /// blocks: by Scope, an array of all resources for each; those of other scopes stay untouched in it.
  Resources(std::span<const ResourceDescription> descriptions, Blocks blocks, ResourceObserver* observer)
      : descriptions_(descriptions), blocks_(blocks), observer_(observer) {}

  [[nodiscard]] Resource& operator[](std::size_t index) const {
    assert(index < descriptions_.size());
    return blocks_[static_cast<std::size_t>(descriptions_[index].scope)][index];
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
  /// Whether the view is a rank's in a live run, in which every scope is its own resources. Asked by backends
  /// that have resources of a rank and of the machine.
  [[nodiscard]] bool is_live() const {
    return blocks_[static_cast<std::size_t>(Scope::kRank)] ==
           blocks_[static_cast<std::size_t>(Scope::kMachine)];
  }
  [[nodiscard]] Time time_of(std::size_t index, std::size_t bytes) const {
    return Bandwidth::bits_per_second(descriptions_[index].bits_per_second)
        .bytes(static_cast<std::int64_t>(bytes));
  }

 private:
  std::span<const ResourceDescription> descriptions_;
  Blocks blocks_;
  ResourceObserver* observer_;
};

}  // namespace offramp
