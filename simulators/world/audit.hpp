// Checks of a world's invariants while it runs, independent of the code that computes the times.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "offramp/model/message.hpp"
#include "offramp/model/resource.hpp"

namespace offramp::world {

/// No resource is occupied twice at a time, or idle while something waits that it could serve; what it
/// carries stays within its rate; nothing happens before what it depends on; every message that left has
/// arrived.
class Audit final : public ResourceObserver {
 public:
  void occupied(const Resource& resource, const ResourceDescription& description, Time asked,
                const Arbiter::Grant& grant, std::uint64_t bytes) override;
  /// An event at this time is handled.
  void event(Time at);
  /// The stages that a message has passed when its data is stored.
  void message(const Transfer& transfer, const Passage& passage, Time posted);
  void sent() { ++sent_; }
  void received() { ++received_; }
  void note(std::string violation);
  /// Who hears of violations in worlds that were not asked to check; empty: there is no audit of those.
  static std::function<void(const std::string&)>& of_all();

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  [[nodiscard]] std::uint64_t lost() const { return sent_ - received_; }

 private:
  static constexpr std::size_t kMostNoted = 20;
  /// A resource is idle before an occupation that was reserved for a later moment.
  struct Gap {
    Time begin;
    Time end;
  };
  struct Use {
    Time first;  // of the first occupation
    Time end;    // of the last one
    std::uint64_t bytes = 0;
    std::vector<Gap> gaps;  // not over yet; in the order of time
  };
  void waited(const ResourceDescription& description, const Use& use, Time asked, Time served);
  std::unordered_map<const Resource*, Use> uses_;
  std::vector<std::string> violations_;
  Time now_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace offramp::world
