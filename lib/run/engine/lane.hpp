// The backends of one rank in a run, the routes between them, and the counters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/counters.hpp"
#include "offramp/model/backend.hpp"
#include "simulators/world/routing.hpp"

namespace offramp {

/// Used under the engine's lock. All members live as long as the lane.
class Lane {
 public:
  /// Member 0 is the host, which carries what the others decline. `primary` is the default route.
  struct Member {
    /// settings_: null if the backend keeps no reference to them.
    Member(std::string name_, std::unique_ptr<Backend> backend_,
           std::unique_ptr<Settings> settings_ = nullptr)
        : name(std::move(name_)), settings(std::move(settings_)), backend(std::move(backend_)) {}
    std::string name;
    std::unique_ptr<Settings> settings;  // outlives the backend, which may keep a reference
    std::unique_ptr<Backend> backend;
  };
  static constexpr std::uint8_t kHost = 0;

  /// members: the host first. functions: how many have counters.
  Lane(std::vector<Member> members, std::uint8_t primary, std::vector<RouteRule> rules,
       std::size_t functions);

  Counters counters;
  bool faulty = false;  // wires have faults: messages may fail
  MachineLayout machine;

  /// index: as in Choice and in envelopes.
  [[nodiscard]] Backend& backend(std::uint8_t index) { return *members_[index].backend; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] Backend& primary() { return *members_[primary_].backend; }
  [[nodiscard]] const std::string& name() const { return members_[primary_].name; }

  /// The backend that carries an operation, and why it is not the routed one.
  struct Choice {
    std::uint8_t backend;
    // Why the routed backend declined, so that the host carries it. Empty: it did not. Lives as long as the
    // lane.
    std::string_view reason = {};
  };
  /// The backend of the first route that matches an operation, or the default.
  [[nodiscard]] std::uint8_t route_of(const Operation& operation) const {
    return offramp::route_of(rules_, operation, primary_);
  }
  /// Counts an operation as offloaded, routed, or declined.
  void count(CallCounter& counter, std::uint8_t backend, bool declined) const {
    counter.note(declined              ? Handling::kDeclined
                 : backend == primary_ ? Handling::kOffloaded
                                       : Handling::kRouted);
  }
  /// Counts a decline whose reason is known.
  void count_decline(OperationKind kind, std::string_view reason) { declines_.count(counters, kind, reason); }
  /// Routes an operation, and counts a decline. All ranks get the same result for the same operation.
  Choice choose(const Operation& operation) {
    const std::uint8_t chosen = route_of(operation);
    if (chosen == kHost) return {kHost};
    return operation == last_ ? Choice{chosen} : query_backend(chosen, operation);
  }

  /// Called when a communicator has ended.
  void forget(std::uint64_t context) {
    for (const Member& member : members_) member.backend->forget(context);
  }

  /// A hash for tables of operations. Ignores fields that rarely differ.
  static std::size_t hash_of(const Operation& operation) {
    const std::uint64_t shape = static_cast<std::uint64_t>(operation.kind) |
                                static_cast<std::uint64_t>(operation.element) << 8 |
                                static_cast<std::uint64_t>(operation.function) << 16 |
                                static_cast<std::uint64_t>(operation.root) << 32;
    constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
    const std::uint64_t tag = static_cast<std::uint64_t>(operation.tag) << 40;
    return (((shape * kMultiplier) ^ operation.bytes ^ tag) * kMultiplier) >> 32;
  }

 private:
  /// Asks the routed backend, which may decline.
  Choice query_backend(std::uint8_t chosen, const Operation& operation);

  std::vector<Member> members_;
  std::uint8_t primary_;
  std::vector<RouteRule> rules_;
  DeclineCounter declines_;
  // Accepted operations: the last one, and some by their hash. Unused entries have root -1.
  static constexpr std::size_t kAccepted = 64;
  Operation last_{.root = -1};
  std::vector<Operation> accepted_ = std::vector<Operation>(kAccepted, last_);
};

}  // namespace offramp
