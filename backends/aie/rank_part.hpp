// One rank's part in a collective: its position in the tree, and its windows to other ranks and the host.
#pragma once

#include <optional>
#include <utility>

#include "backends/aie/collectives.hpp"
#include "backends/aie/device.hpp"
#include "backends/aie/team_windows.hpp"
#include "simulators/aie/host_path.hpp"
#include "simulators/aie/kernels.hpp"

namespace offramp::aie {

/// One rank's part in one operation: position, windows, and their costs.
/// Owns the windows of the operation. Their addresses stay valid until it is destroyed.
class RankPart {
 public:
  /// tree: null for operations without one. All must outlive this object.
  RankPart(const Model& model, Team& team, int root, const TreePlan* tree)
      : model_(model), team_(team), root_(root), tree_(tree), core_(model.device, team) {
    if (model.spans != nullptr) spans_.emplace(*model.spans, team.world_rank(team.rank()));
    relative_ = (team.rank() - root + team.size()) % team.size();
    if (tree != nullptr) node_ = tree->tree.preorder()[at(relative_)];
  }
  RankPart& operator=(RankPart&&) = delete;
  /// Counts the traffic even if the operation fails.
  ~RankPart() { model_.wire += traffic_.wire; }

  /// The parts of the model and of the plan.
  [[nodiscard]] const Setup& setup() const { return model_.setup; }
  [[nodiscard]] const Tree& tree() const { return tree_->tree; }
  [[nodiscard]] const Plan& plan() const { return tree_->plan; }
  /// True at the root of the operation.
  [[nodiscard]] bool is_top() const { return relative_ == 0; }
  /// The rank relative to the root, which has 0.
  [[nodiscard]] int relative() const { return relative_; }
  /// The rank's node in the tree; 0 without a tree.
  [[nodiscard]] int node() const { return node_; }
  [[nodiscard]] int size() const { return team_.size(); }
  /// The inverse of relative(), for any rank.
  [[nodiscard]] int rank_of(int relative) const { return (relative + root_) % size(); }
  /// The rank whose kernel is this node.
  [[nodiscard]] int rank_of_node(int node) const { return rank_of(tree().place_in_preorder(node)); }
  /// The rank's processor, which advances the rank's clock.
  [[nodiscard]] Core core() {
    return {team_.clock, setup().timing, spans_ ? &*spans_ : nullptr, team_.operation, &core_};
  }
  /// kOk unless a token failed.
  [[nodiscard]] Outcome outcome() const { return traffic_.outcome; }

  /// Windows from or to a rank; connection: from this rank to the peer.
  Input& input(int peer, std::size_t windows, WindowBytes bytes) {
    inputs_.emplace_back(team_, traffic_, peer, windows, std::move(bytes));
    return inputs_.back();
  }
  /// Windows from the peer of the last output.
  Input& input_back(int peer, std::size_t windows, WindowBytes bytes) {
    credits_.emplace_back();
    outputs_.back().use_credits_of(&credits_.back());
    inputs_.emplace_back(team_, traffic_, peer, windows, std::move(bytes), &credits_.back());
    return inputs_.back();
  }
  /// window: bytes on the stream, even if fewer are data.
  Output& output(int peer, const Connection& connection, std::size_t window, WindowBytes bytes) {
    const Time passage = connection.shared ? Time() : setup().timing.passage(connection.hops());
    outputs_.emplace_back(team_, traffic_, TeamOutput::Targets{{peer, passage}}, connection.shared,
                          setup().timing.stream(window), window, std::move(bytes));
    return outputs_.back();
  }
  /// Windows to all others at once.
  Output& multicast(const Plan& plan, std::size_t window, WindowBytes bytes) {
    TeamOutput::Targets targets;
    targets.reserve(at(size()));
    for (int other = 1; other < size(); ++other)
      targets.push_back({rank_of(other), setup().timing.passage(plan.connections[at(other - 1)].hops())});
    outputs_.emplace_back(team_, traffic_, std::move(targets), false, setup().timing.stream(window), window,
                          std::move(bytes));
    return outputs_.back();
  }
  /// Own data from the host's memory.
  Input& from_host(std::size_t window, std::size_t windows) {
    HostPort& port = host_port(true, window);
    sources_.emplace_back(team_.clock, port, setup().host, window, windows);
    return sources_.back();
  }
  /// Results to the host's memory; end_kernel() waits for them.
  HostSink& to_host(std::size_t window) {
    sinks_.emplace_back(team_.clock, host_port(false, window), setup().host);
    return sinks_.back();
  }
  /// Transfers between a tile's memory and the host's, in one piece.
  Task<void> move_in(std::size_t bytes) { return move(true, bytes); }
  Task<void> move_out(std::size_t bytes) { return move(false, bytes); }

  /// Notes the beginning, which at the root is later by Model::skew.
  void begin_kernel() {
    if (is_top()) team_.clock += model_.skew;
    if (model_.times != nullptr) model_.times->begin = earlier(model_.times->begin, team_.clock);
  }
  /// Ends the kernel; its remaining transfers to the host end later.
  Task<void> end_kernel() {
    co_await core().compute({});
    if (model_.times != nullptr) model_.times->end = later(model_.times->end, team_.clock);
    for (HostSink& sink : sinks_) co_await sink.drain();
    for (TeamOutput& output : outputs_) co_await output.drain();
    sinks_.clear();
  }

 private:
  /// One port object per stream of windows.
  HostPort& host_port(bool in, std::size_t window) {
    ports_.emplace_back(model_.device, team_, host_work(setup().host, in, window, 1));
    return ports_.back();
  }
  Task<void> move(bool in, std::size_t bytes) {
    if (!setup().host_data || bytes == 0) co_return;
    TeamHostPort port(model_.device, team_, host_work(setup().host, in, bytes, 1));
    port.start(0, team_.clock);
    const Time end = co_await port.end(0);
    team_.clock = later(team_.clock, end + setup().host.latency);
  }

  const Model& model_;
  Team& team_;
  int root_;
  const TreePlan* tree_;
  int relative_ = 0;
  int node_ = 0;
  TeamCore core_;
  std::optional<RankSpans> spans_;
  Traffic traffic_;
  /// Lists, since windows refer to each other.
  PooledList<Credits> credits_;
  PooledList<TeamInput> inputs_;
  PooledList<TeamOutput> outputs_;
  PooledList<TeamHostPort> ports_;
  PooledList<HostSource> sources_;
  PooledList<HostSink> sinks_;
};

}  // namespace offramp::aie
