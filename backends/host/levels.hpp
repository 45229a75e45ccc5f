// Teams of the ranks of one node and of one rank per node, for hierarchical collectives.
//
// A SubTeam is a part of a team with its own rank numbers; the algorithms of the catalogue run in it
// unchanged. Its messages are those of the whole team, and match in the order of sending between two ranks.
// Operations of two sub-teams may therefore overlap only if the sub-teams share at most one rank, such as a
// node's ranks and one rank per node. In one sub-team they follow each other.
#pragma once

#include <coroutine>
#include <list>
#include <optional>
#include <vector>

#include "backends/host/algorithms.hpp"

namespace offramp::host {

/// The distribution of a team's ranks over nodes.
class NodeMap {
 public:
  NodeMap(const Team& team, const MachineLayout& machine);

  /// Nodes are ordered by their first ranks.
  [[nodiscard]] int nodes() const { return static_cast<int>(ranks_.size()); }
  /// In ascending order.
  [[nodiscard]] const std::vector<int>& ranks(int node) const {
    return ranks_[static_cast<std::size_t>(node)];
  }
  [[nodiscard]] int node_of(int rank) const { return places_[static_cast<std::size_t>(rank)].node; }
  /// The rank's index among the ranks of its node.
  [[nodiscard]] int index_of(int rank) const { return places_[static_cast<std::size_t>(rank)].index; }
  [[nodiscard]] Nodes kind() const;
  /// True if ascending ranks are node by node.
  [[nodiscard]] bool in_order() const;

 private:
  struct NodePosition {
    int node;
    int index;
  };
  std::vector<NodePosition> places_;
  std::vector<std::vector<int>> ranks_;
};

/// Some ranks of a team. It shares the clock of the team, since a processor does one thing at a time.
class SubTeam final : public Team {
 public:
  /// ranks: the parent's ranks, in the order of the ranks here; own: index of the parent's own rank.
  SubTeam(Team& parent, std::vector<int> ranks, int own);

  [[nodiscard]] int world_rank(int rank) const override { return parent_.world_rank(parent_rank(rank)); }
  [[nodiscard]] std::uint64_t context() const override { return parent_.context(); }
  [[nodiscard]] std::uint64_t setup_context() const override { return parent_.setup_context(); }
  /// May reuse memory of an operation before the last enter().
  MutableBytes scratch(std::size_t bytes) override;

  /// Enclose each operation with enter() and leave().
  void enter();
  void leave() { synchronize(); }
  /// Stops the current operation at its next wait, even if the message has arrived.
  void suspend() { suspended_ = true; }
  /// Resumes the operation.
  void resume();

 protected:
  void combine_elements(Bytes in, MutableBytes inout) override { parent_.combine(in, inout); }
  Handle start_send(int peer, Bytes data, const Stamp* stamp) override;
  Handle start_receive(int peer, MutableBytes data, bool token) override;
  bool ready(Handle handle) override;
  void wait(Handle handle, std::coroutine_handle<> waiter) override;
  Outcome finish(Handle handle) override;
  Arrival finish_token(Handle handle) override;

 private:
  struct PendingMessage {
    explicit PendingMessage(Pending message) : pending(message) {}
    Pending pending;  // message of the parent
    std::list<PendingMessage>::iterator self;
  };
  struct Waiting {
    PendingMessage* part;
    std::coroutine_handle<> waiter;
  };
  [[nodiscard]] int parent_rank(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }
  void synchronize() { clock = parent_.clock = later(clock, parent_.clock); }
  Handle track(Pending message);

  Team& parent_;
  std::vector<int> ranks_;
  std::list<PendingMessage> parts_;  // in progress
  bool suspended_ = false;
  std::optional<Waiting> waiting_;  // while held
  std::vector<MutableBytes> scratch_;
  std::size_t scratch_used_ = 0;
};

/// An operation of a sub-team that is started now and finished later, as a nonblocking operation of a library
/// without background progress: start sends what needs no answer and posts receives. Its course is
/// independent of the arrival times of messages.
class InFlight {
 public:
  InFlight& operator=(InFlight&&) = delete;

  void begin(SubTeam& team, Task<Outcome> operation);

  // co_await finishes the operation.
  [[nodiscard]] bool await_ready();
  void await_suspend(std::coroutine_handle<> waiter) { waiter_ = waiter; }
  Outcome await_resume();

 private:
  SubTeam* team_ = nullptr;
  Task<Outcome> operation_;
  std::coroutine_handle<> waiter_;
};

}  // namespace offramp::host
