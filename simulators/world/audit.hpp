// Checks a world's invariants while it runs, independently of the code that computes the times. One audit per
// world, used by its thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "offramp/model/message.hpp"
#include "offramp/model/resource.hpp"

namespace offramp::world {

/// Verifies four invariants: a resource serves one user at a time and never idles while a request waits; it
/// never exceeds its rate; no event precedes its cause; every message that left has arrived.
class Audit final : public ResourceObserver {
 public:
  void occupied(const Resource& resource, const ResourceDescription& description, Time asked,
                const Arbiter::Grant& grant, std::uint64_t bytes) override;
  /// An event with this time is being handled. Times must not decrease.
  void event(Time at);
  /// Checks the order of a message's stages, once its data is stored.
  void message(const Transfer& transfer, const Passage& passage, Time posted);
  void sent() { ++sent_; }
  void received() { ++received_; }
  void note(std::string violation);
  /// Receives the violations of worlds created without WorldOptions::check. Empty: they are not audited.
  static std::function<void(const std::string&)>& of_all();

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  [[nodiscard]] std::uint64_t lost() const { return sent_ - received_; }

 private:
  static constexpr std::size_t kMostNoted = 20;
  /// An idle period before an occupation that was reserved for a later moment.
  struct Gap {
    Time begin;
    Time end;
  };
  struct Use {
    Time first;  // start of the first occupation
    Time end;    // end of the last one
    std::uint64_t bytes = 0;
    std::vector<Gap> gaps;  // in order of time; those that have passed are removed
  };
  void waited(const ResourceDescription& description, const Use& use, Time asked, Time served);
  std::unordered_map<const Resource*, Use> uses_;
  std::vector<std::string> violations_;
  Time now_;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
};

}  // namespace offramp::world
