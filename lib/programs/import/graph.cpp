// Executes a graph as events: all ready operations begin, messages before computing. If no more can begin,
// the rank waits for some open messages and learns which have completed (on_completed()). Nodes count open
// dependencies; with a cycle some never reach 0, which node_on_circle() detects before execution.
#include "lib/programs/import/graph.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <utility>

#include "lib/programs/import/made_events.hpp"

namespace offramp::trace {

using recording::EventKind;

namespace {

std::span<const std::uint32_t> at_end(const Graph& graph, const Graph::Node& node) {
  return std::span(graph.dependants).subspan(node.first, node.at_end);
}
std::span<const std::uint32_t> at_begin(const Graph& graph, const Graph::Node& node) {
  return std::span(graph.dependants).subspan(node.first + node.at_end, node.at_begin);
}

class GraphRun final : public MadeEvents {
 public:
  explicit GraphRun(Graph graph) : graph_(std::move(graph)) {
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].waits == 0) make_ready(i);
    }
  }

  void on_completed(std::uint64_t number) final {
    waits_ = false;
    const auto found = open_.find(number);
    if (found == open_.end()) return;
    const std::uint32_t node = found->second;
    open_.erase(found);
    release(at_end(graph_, graph_.nodes[node]));
  }

 private:
  bool make_more() final {
    if (std::exchange(waits_, false)) end_all();
    const std::uint64_t before = made();
    for (const Graph::Communicator& one : std::exchange(graph_.communicators, {}))
      make_communicator(one.members, one.id);
    while (!sends_.empty() || !receives_.empty() || !collectives_.empty() || !computing_.empty()) {
      if (!sends_.empty()) {
        begin(sends_, EventKind::kSend, MpiFunction::kIsend);
      } else if (!receives_.empty()) {
        begin(receives_, EventKind::kReceive, MpiFunction::kIrecv);
      } else if (!collectives_.empty()) {
        const std::uint32_t number = pop(collectives_);
        const Graph::Node& node = graph_.nodes[number];
        open_.emplace(collective(graph_.collectives[node.size], false), number);
        release(at_begin(graph_, node));
      } else {
        const Graph::Node& node = graph_.nodes[pop(computing_)];
        release(at_begin(graph_, node));
        compute(node.size);
        release(at_end(graph_, node));
      }
    }
    if (made() != before) return true;
    if (open_.empty()) return false;
    std::vector<std::uint64_t> all;
    for (const auto& [request, node] : open_) all.push_back(request);
    wait_for(all, MpiFunction::kWaitsome, recording::kSome);
    waits_ = true;
    return true;
  }
  /// Plain readers do not report which requests completed, so all count as complete.
  void end_all() {
    for (const auto& [request, node] : std::exchange(open_, {})) release(at_end(graph_, graph_.nodes[node]));
  }

  static std::uint32_t pop(std::deque<std::uint32_t>& queue) {
    const std::uint32_t node = queue.front();
    queue.pop_front();
    return node;
  }
  void begin(std::deque<std::uint32_t>& queue, EventKind kind, MpiFunction call) {
    const std::uint32_t number = pop(queue);
    const Graph::Node& node = graph_.nodes[number];
    open_.emplace(message(kind, call, node.peer, node.tag, node.size, 0), number);
    release(at_begin(graph_, node));
  }
  void release(std::span<const std::uint32_t> dependants) {
    for (const std::uint32_t node : dependants) {
      if (--graph_.nodes[node].waits == 0) make_ready(node);
    }
  }
  void make_ready(std::uint32_t node) {
    switch (graph_.nodes[node].kind) {
      case Graph::NodeKind::kSend:
        return sends_.push_back(node);
      case Graph::NodeKind::kReceive:
        return receives_.push_back(node);
      case Graph::NodeKind::kCollective:
        return collectives_.push_back(node);
      case Graph::NodeKind::kCompute:
        return computing_.push_back(node);
    }
  }

  Graph graph_;
  std::deque<std::uint32_t> sends_;  // ready to begin
  std::deque<std::uint32_t> receives_;
  std::deque<std::uint32_t> collectives_;
  std::deque<std::uint32_t> computing_;
  std::map<std::uint64_t, std::uint32_t> open_;  // node by request
  bool waits_ = false;                           // no completion has been reported since
};

class NoGraph final : public MadeEvents {
 public:
  explicit NoGraph(std::string problem) : problem_(std::move(problem)) {}

 private:
  bool make_more() final { return fail(problem_); }
  std::string problem_;
};

}  // namespace

void GraphBuilder::order_collectives() {
  std::vector<std::vector<std::uint32_t>> before(graph_.nodes.size());
  for (const Edge& edge : edges_) before[edge.node].push_back(edge.before);
  std::map<std::uint32_t, std::uint32_t> last;  // by communicator
  const auto place = [&](std::uint32_t number) {
    if (graph_.nodes[number].kind != Graph::NodeKind::kCollective) return;
    const auto [found, first] =
        last.try_emplace(graph_.collectives[graph_.nodes[number].size].communicator, number);
    if (!first) depend(number, std::exchange(found->second, number), true);
  };
  // Depth first: a collective comes after those on which it depends. The order of readiness differs by rank.
  struct Visit {
    std::uint32_t node = 0;
    std::size_t next = 0;  // index of the next dependency
  };
  std::vector<bool> seen(graph_.nodes.size(), false);
  std::vector<Visit> stack;
  const auto visit = [&](std::uint32_t node) {
    if (seen[node]) return;
    seen[node] = true;
    std::sort(before[node].begin(), before[node].end());
    stack.push_back({node});
  };
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    if (graph_.nodes[i].kind == Graph::NodeKind::kCollective) visit(i);
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < before[top.node].size()) {
        visit(before[top.node][top.next++]);
        continue;
      }
      place(top.node);
      stack.pop_back();
    }
  }
}

Graph GraphBuilder::build() {
  std::vector<Graph::Node>& nodes = graph_.nodes;
  for (const Edge& edge : edges_) {
    ++nodes[edge.node].waits;
    ++(edge.begun ? nodes[edge.before].at_begin : nodes[edge.before].at_end);
  }
  std::uint32_t listed = 0;
  for (Graph::Node& node : nodes) {
    node.first = listed;
    listed += node.at_end + node.at_begin;
  }
  graph_.dependants.resize(listed);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> next(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) next[i] = {nodes[i].first, nodes[i].first + nodes[i].at_end};
  for (const Edge& edge : edges_) {
    auto& [at_end, at_begin] = next[edge.before];
    graph_.dependants[edge.begun ? at_begin++ : at_end++] = edge.node;
  }
  edges_.clear();
  return std::exchange(graph_, {});
}

std::size_t node_on_circle(const Graph& graph) {
  std::vector<std::uint32_t> waits;
  std::vector<std::uint32_t> free;
  for (const Graph::Node& node : graph.nodes) {
    if (node.waits == 0) free.push_back(static_cast<std::uint32_t>(waits.size()));
    waits.push_back(node.waits);
  }
  while (!free.empty()) {
    const Graph::Node& node = graph.nodes[free.back()];
    free.pop_back();
    for (const std::uint32_t next :
         std::span(graph.dependants).subspan(node.first, std::size_t{node.at_end} + node.at_begin)) {
      if (--waits[next] == 0) free.push_back(next);
    }
  }
  const auto waiting = std::find_if(waits.begin(), waits.end(), [](std::uint32_t left) { return left > 0; });
  return static_cast<std::size_t>(waiting - waits.begin());
}

std::unique_ptr<recording::Reader> run_graph(Graph graph) {
  return std::make_unique<GraphRun>(std::move(graph));
}

std::unique_ptr<recording::Reader> no_graph(std::string problem) {
  return std::make_unique<NoGraph>(std::move(problem));
}

}  // namespace offramp::trace
