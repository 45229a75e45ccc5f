// Teams of the ranks of one node and of one rank per node, for collectives that treat the two apart.
//
// A SubTeam is a part of a team, with ranks of its own; the algorithms of the catalogue run in it as in any
// team. Its messages are the whole team's, and between two ranks they are matched in the order in which they
// were sent. So operations in two sub-teams may overlap in time where no two ranks are in both, as those of a
// node and those of a rank per node; in one sub-team they follow each other.
#pragma once

#include <coroutine>
#include <list>
#include <optional>
#include <vector>

#include "backends/host/algorithms.hpp"

namespace offramp::host {

/// Which ranks of a team are on which node.
class NodeMap {
 public:
  NodeMap(const Team& team, const MachineLayout& machine);

  /// In the order of their first ranks.
  [[nodiscard]] int nodes() const { return static_cast<int>(ranks_.size()); }
  /// In ascending order.
  [[nodiscard]] const std::vector<int>& ranks(int node) const {
    return ranks_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] int node_of(int rank) const { return places_[static_cast<std::size_t>(rank)].node; }
  /// The rank's index among those of its node.
  [[nodiscard]] int index_of(int rank) const { return places_[static_cast<std::size_t>(rank)].index; }
  [[nodiscard]] Nodes kind() const;
  /// Node by node, the ranks are in ascending order.
  [[nodiscard]] bool in_order() const;

 private:
  struct Place {
    int node;
    int index;
  };
  std::vector<Place> places_;
  std::vector<std::vector<int>> ranks_;
};

/// Some ranks of a team. Its clock is the team's: a processor does one thing after the other.
class SubTeam final : public Team {
 public:
  /// ranks: of the parent, in ascending order of their ranks here; own: the index of the parent's own rank.
  SubTeam(Team& parent, std::vector<int> ranks, int own);

  [[nodiscard]] int world_rank(int rank) const override { return parent_.world_rank(parent_rank(rank)); }
  [[nodiscard]] std::uint64_t context() const override { return parent_.context(); }
  [[nodiscard]] std::uint64_t setup_context() const override { return parent_.setup_context(); }
  /// May be memory that an operation before the last enter() had.
  MutableBytes scratch(std::size_t bytes) override;

  /// Around each operation.
  void enter();
  void leave() { synchronize(); }
  /// From now on the operation in this team stops at its first wait, whatever has arrived by then.
  void hold() { held_ = true; }
  /// It goes on.
  void release();

 protected:
  void combine_elements(Bytes in, MutableBytes inout) override { parent_.combine(in, inout); }
  Handle start_send(int peer, Bytes data, const Stamp* stamp) override;
  Handle start_receive(int peer, MutableBytes data, bool token) override;
  bool ready(Handle handle) override;
  void wait(Handle handle, std::coroutine_handle<> waiter) override;
  Outcome finish(Handle handle) override;
  Arrival take(Handle handle) override;

 private:
  struct Part {
    explicit Part(Pending message) : pending(message) {}
    Pending pending;  // at the parent
    std::list<Part>::iterator self;
  };
  struct Waiting {
    Part* part;
    std::coroutine_handle<> waiter;
  };
  [[nodiscard]] int parent_rank(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  void synchronize() { clock = parent_.clock = later(clock, parent_.clock); }
  Handle keep(Pending message);

  Team& parent_;
  std::vector<int> ranks_;
  std::list<Part> parts_;  // in progress
  bool held_ = false;
  std::optional<Waiting> waiting_;  // while held
  std::vector<MutableBytes> scratch_;
  std::size_t scratch_used_ = 0;
};

/// An operation of a sub-team that is begun and finished later, as a nonblocking one of a library that works
/// on it only while the program waits for it: what needs no answer is sent at the beginning, receives are
/// posted. What happens does not depend on when messages arrive.
class InFlight {
 public:
  InFlight() = default;
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  void begin(SubTeam& team, Task<Outcome> operation);

  // co_await: finishes it.
  [[nodiscard]] bool await_ready();
  void await_suspend(std::coroutine_handle<> waiter) { waiter_ = waiter; }
  Outcome await_resume();

 private:
  SubTeam* team_ = nullptr;
  Task<Outcome> operation_;
  std::coroutine_handle<> waiter_;
};

}  // namespace offramp::host
