// Shared by the tests of the engine: bytes with a pattern, engines over the memory fabric, and a fabric
// double that leaves it to the test which message arrives when.
#pragma once

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "lib/run/engine/engine.hpp"
#include "lib/run/fabric/memory_fabric.hpp"
#include "tests/pattern.hpp"

namespace offramp::test {

/// A built-in backend. Ends the process for an unknown name.
inline const BackendDescription& backend_named(std::string_view name) {
  static const Registry registry{built_in_backends()};
  const BackendDescription* found = registry.find(name);
  if (found == nullptr) std::abort();
  return *found;
}

/// The largest message that an engine sends without waiting for its receive. Over the hardware of host_lane()
/// all messages wait.
constexpr std::size_t kNeverWaits = 65536;

/// A lane of the host alone, whose messages all wait for their receives.
inline std::unique_ptr<Lane> host_lane(int rank, int ranks) {
  auto settings = std::make_unique<Settings>(Settings::defaults(backend_named("host").parameters));
  settings->set("eager_limit", {0, {}});
  std::unique_ptr<Backend> host = backend_named("host").create({rank, ranks, *settings, {}, nullptr});
  std::vector<Lane::Member> members;
  members.emplace_back("host", std::move(host), std::move(settings));
  return std::make_unique<Lane>(std::move(members), Lane::kHost, std::vector<RouteRule>(), 1);
}

/// The ranks 0 to ranks - 1.
inline std::vector<int> world_of(int ranks) {
  std::vector<int> world(static_cast<std::size_t>(ranks));
  std::iota(world.begin(), world.end(), 0);
  return world;
}

/// Engines with the host backend over the memory fabric.
class Ranks {
 public:
  explicit Ranks(int ranks, std::size_t eager_limit = 8192) : hub_(ranks, eager_limit) {
    for (int rank = 0; rank < ranks; ++rank)
      engines_.push_back(std::make_unique<Engine>(hub_.at(rank), host_lane(rank, ranks)));
  }
  Engine& operator[](int rank) { return *engines_[static_cast<std::size_t>(rank)]; }
  /// Opens the context of all ranks at one rank.
  Context& open(int rank, std::uint64_t id = 0) {
    return (*this)[rank].open_context(id, rank, world_of(hub_.ranks()));
  }
  /// Lets all engines progress until no event is left.
  void settle() {
    for (int events = 1; events > 0;) {
      events = 0;
      for (auto& engine : engines_) events += engine->progress();
    }
  }

 private:
  MemoryHub hub_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

/// Fabrics whose messages stay in one place until the test delivers them.
class Mailroom {
 public:
  /// A message of the fabric, with counts of what its receiver did with it.
  struct Letter {
    int from = 0;
    int to = 0;
    Buffer header;
    Buffer payload;
    FabricWaiter* sender = nullptr;  // while the payload stays there
    int pulled = 0;
    int dropped = 0;
  };
  /// A transfer that a receiver has begun.
  struct Pull {
    Letter* letter;
    std::span<std::byte> into;
    FabricWaiter* waiter;
  };

  explicit Mailroom(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) desks_.push_back(std::make_unique<Desk>(*this, rank));
  }
  Fabric& at(int rank) { return *desks_[static_cast<std::size_t>(rank)]; }

  std::size_t eager_limit = SIZE_MAX;
  bool pulls_wait = false;
  std::vector<std::unique_ptr<Letter>> letters;  // all that were ever sent
  std::vector<Pull> pulls;                       // those that wait for the test

  /// The newest letter.
  Letter& last() { return *letters.back(); }

  /// Delivers a letter. A payload that stays at its sender has to be pulled or dropped.
  static void deliver(Letter& letter, Engine& to) {
    // A payload of no bytes still has an address, as with UCX.
    static constexpr std::byte kNothing{};
    const bool remote = letter.sender != nullptr;
    const std::byte* data = letter.payload.empty() ? &kNothing : letter.payload.data();
    to.deliver({letter.header, remote ? nullptr : data, letter.payload.size(), remote ? &letter : nullptr});
  }
  /// Ends all transfers that wait, with their data or with a failure.
  void finish_pulls(bool ok = true) {
    for (const Pull& pull : std::exchange(pulls, {})) {
      if (ok) std::copy(pull.letter->payload.begin(), pull.letter->payload.end(), pull.into.begin());
      pull.waiter->notify(*pull.waiter, ok);
    }
  }
  /// Notifies the senders whose payloads were pulled or dropped.
  void notify_senders() {
    for (const auto& letter : letters) {
      if (letter->sender == nullptr || letter->pulled + letter->dropped == 0) continue;
      FabricWaiter& sender = *std::exchange(letter->sender, nullptr);
      sender.notify(sender, true);
    }
  }

 private:
  class Desk final : public Fabric {
   public:
    Desk(Mailroom& room, int rank) : room_(room), rank_(rank) {}
    [[nodiscard]] int rank() const override { return rank_; }
    [[nodiscard]] int ranks() const override { return static_cast<int>(room_.desks_.size()); }
    State send(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
               FabricWaiter& waiter) override {
      return post(peer, header, payload, waiter, payload.size() <= room_.eager_limit);
    }
    State offer(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
                FabricWaiter& waiter) override {
      return post(peer, header, payload, waiter, false);
    }
    State post(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
               FabricWaiter& waiter, bool eager) {
      auto letter = std::make_unique<Letter>();
      letter->from = rank_;
      letter->to = peer;
      letter->header.assign(header.begin(), header.end());
      letter->payload.assign(payload.begin(), payload.end());
      if (!eager) letter->sender = &waiter;
      room_.letters.push_back(std::move(letter));
      return eager ? State::kDone : State::kPending;
    }
    State pull(void* remote, std::span<std::byte> into, FabricWaiter& waiter) override {
      auto& letter = *static_cast<Letter*>(remote);
      ++letter.pulled;
      if (room_.pulls_wait) {
        room_.pulls.push_back({&letter, into, &waiter});
        return State::kPending;
      }
      std::copy(letter.payload.begin(), letter.payload.end(), into.begin());
      return State::kDone;
    }
    void drop(void* remote) override { ++static_cast<Letter*>(remote)->dropped; }
    int progress(Sink&) override { return 0; }

   private:
    Mailroom& room_;
    int rank_;
  };

  std::vector<std::unique_ptr<Desk>> desks_;
};

}  // namespace offramp::test
