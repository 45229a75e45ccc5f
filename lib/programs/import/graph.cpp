// Executes a graph as events: all ready operations begin, messages before computing. If no more can begin,
// the rank waits for some of all open requests and learns which have completed (on_completed()). Nodes count
// open dependencies; with a cycle some never reach 0, which node_on_circle() detects before execution.
#include "lib/programs/import/graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "lib/programs/import/made_events.hpp"
#include "offramp/kernel/prefetch.hpp"

namespace offramp::trace {

using recording::EventKind;

namespace {

class GraphRun final : public MadeEvents {
 public:
  explicit GraphRun(Graph graph) : graph_(std::move(graph)) {
    nodes_.reserve(graph_.nodes.size());
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].waits == 0) make_ready(i);
    }
  }

  void on_completed(std::uint64_t number) final {
    waits_ = false;
    if (number >= nodes_.size() || nodes_[number] == kNone) return;
    end(std::exchange(nodes_[number], kNone));
    // The list of a wait begins at the first open request, so that a long program stays linear.
    while (first_open_ < nodes_.size() && nodes_[first_open_] == kNone) ++first_open_;
  }

  void fetch(std::uint64_t number, unsigned step) const final {
    const std::uint32_t* const node = nodes_.data() + number;
    if (step == 0) return fetch_line(node);
    if (number >= nodes_.size() || *node == kNone) return;
    const Graph::Node& ended = graph_.nodes[*node];
    if (step == 1) fetch_ahead(&ended, sizeof(ended));
    const std::uint32_t* const dependant = graph_.dependants.data() + ended.first;
    if (step == 2) fetch_line(dependant);
    if (step == 3 && ended.at_end > 0) fetch_ahead(&graph_.nodes[*dependant], sizeof(ended));
  }

  [[nodiscard]] bool waits_for_open() const final { return true; }
  /// A wait's list is made on demand, since a replay does not need it.
  [[nodiscard]] std::span<const std::uint64_t> list(std::uint32_t number) const final {
    if (!waits_ || number != kOpenList) return MadeEvents::list(number);
    distances_.clear();
    for (std::size_t i = first_open_; i < nodes_.size(); ++i) {
      if (nodes_[i] != kNone) distances_.push_back(nodes_.size() - i);
    }
    return distances_;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kOpenList = 1;
  /// Ready nodes of one kind, first come first served. Node::waits of each is the next one.
  struct Queue {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    [[nodiscard]] bool empty() const { return first == kNone; }
  };

  /// Makes one event, or those of all communicators.
  bool make_more() final {
    if (std::exchange(waits_, false)) end_all();
    if (!graph_.communicators.empty()) {
      // The communicators come before the first operation, on all ranks alike.
      for (const Graph::Communicator& one : std::exchange(graph_.communicators, {}))
        make_communicator(one.members, one.id);
      return true;
    }
    while (true) {
      if (Queue& sends = ready_of(Graph::NodeKind::kSend); !sends.empty()) {
        begin(pop(sends), EventKind::kSend, MpiFunction::kIsend);
        return true;
      }
      if (Queue& receives = ready_of(Graph::NodeKind::kReceive); !receives.empty()) {
        begin(pop(receives), EventKind::kReceive, MpiFunction::kIrecv);
        return true;
      }
      if (Queue& collectives = ready_of(Graph::NodeKind::kCollective); !collectives.empty()) {
        const std::uint32_t number = pop(collectives);
        (void)collective(graph_.collectives[graph_.nodes[number].size], false);
        begun(number);
        return true;
      }
      Queue& computing = ready_of(Graph::NodeKind::kCompute);
      if (computing.empty()) break;
      const std::uint32_t number = pop(computing);
      // Computing has no request: its dependants begin at once, or after its time has been added.
      release(graph_.at_begin(number));
      compute(graph_.nodes[number].size);
      release(graph_.at_end(number));
    }
    if (open_ == 0) return false;
    // Nothing can begin, so the rank waits for any of its open operations.
    add({.kind = EventKind::kWait,
         .flags = recording::kSome,
         .call = number_of(MpiFunction::kWaitsome),
         .list = kOpenList});
    waits_ = true;
    return true;
  }
  /// Plain readers do not report which requests completed, so all count as complete.
  void end_all() {
    for (; first_open_ < nodes_.size(); ++first_open_) {
      if (const std::uint32_t node = std::exchange(nodes_[first_open_], kNone); node != kNone) end(node);
    }
  }

  void begin(std::uint32_t number, EventKind kind, MpiFunction call) {
    const Graph::Node& node = graph_.nodes[number];
    (void)message(kind, call, node.peer, node.tag, node.size, 0);
    begun(number);
  }
  /// The node's request has the next number.
  void begun(std::uint32_t number) {
    nodes_.push_back(number);
    ++open_;
    release(graph_.at_begin(number));
  }
  void end(std::uint32_t node) {
    --open_;
    release(graph_.at_end(node));
  }
  // Counts down what a node waits for, and makes it ready at the last one.
  void release(std::span<const std::uint32_t> dependants) {
    for (const std::uint32_t node : dependants) {
      if (--graph_.nodes[node].waits == 0) make_ready(node);
    }
  }

  Queue& ready_of(Graph::NodeKind kind) { return ready_[static_cast<std::size_t>(kind) - 1]; }
  void make_ready(std::uint32_t node) {
    Queue& queue = ready_of(graph_.nodes[node].kind);
    graph_.nodes[node].waits = kNone;
    (queue.empty() ? queue.first : graph_.nodes[queue.last].waits) = node;
    queue.last = node;
  }
  std::uint32_t pop(Queue& queue) { return std::exchange(queue.first, graph_.nodes[queue.first].waits); }

  Graph graph_;
  std::array<Queue, 4> ready_;
  std::vector<std::uint32_t> nodes_;  // by request; kNone: complete
  std::size_t first_open_ = 0;        // all requests before it are complete
  std::size_t open_ = 0;              // number of requests
  bool waits_ = false;                // the last event is a wait, and no completion has been reported since
  mutable std::vector<std::uint64_t> distances_;  // see list()
};

class NoGraph final : public MadeEvents {
 public:
  explicit NoGraph(std::string problem) : problem_(std::move(problem)) {}

 private:
  bool make_more() final { return fail(problem_); }
  std::string problem_;
};

}  // namespace

Graph in_order(Graph graph) {
  std::vector<std::uint32_t> collectives;
  std::vector<std::vector<std::uint32_t>> before(graph.nodes.size());
  GraphBuilder builder;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind == Graph::NodeKind::kCollective) collectives.push_back(i);
    for (const std::uint32_t next : graph.dependants_of(i)) before[next].push_back(i);
    for (const std::uint32_t next : graph.at_end(i)) builder.depend(next, i);
    for (const std::uint32_t next : graph.at_begin(i)) builder.depend(next, i, true);
  }
  std::stable_sort(collectives.begin(), collectives.end(),
                   [&](auto a, auto b) { return graph.nodes[a].tag < graph.nodes[b].tag; });
  std::map<std::uint32_t, std::uint32_t> last;  // by communicator
  const auto place = [&](std::uint32_t number) {
    if (graph.nodes[number].kind != Graph::NodeKind::kCollective) return;
    const auto [found, first] =
        last.try_emplace(graph.collectives[graph.nodes[number].size].communicator, number);
    // Each collective of a communicator begins after the one before it has begun.
    if (!first) builder.depend(number, std::exchange(found->second, number), true);
  };
  // Depth first: a collective comes after those on which it depends. The order of readiness differs by rank.
  struct Visit {
    std::uint32_t node = 0;
    std::size_t next = 0;  // index of the next dependency
  };
  std::vector<bool> seen(graph.nodes.size(), false);
  std::vector<Visit> stack;
  const auto visit = [&](std::uint32_t node) {
    if (seen[node]) return;
    seen[node] = true;
    stack.push_back({node});
  };
  for (const std::uint32_t collective : collectives) {
    visit(collective);
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
  // The builder counts the dependencies anew.
  for (Graph::Node& node : graph.nodes) node.waits = 0;
  return builder.build(std::move(graph));
}

Graph GraphBuilder::build(Graph graph) {
  graph_ = std::move(graph);
  return build();
}

Graph GraphBuilder::build() {
  std::vector<Graph::Node>& nodes = graph_.nodes;
  // By node, for its end and its beginning: the numbers of dependants, then the places of the next ones.
  std::vector<std::array<std::uint32_t, 2>> next(nodes.size());
  for (const Edge& edge : edges_) {
    ++nodes[edge.node].waits;
    ++next[edge.before][edge.begun ? 1 : 0];
  }
  std::uint32_t listed = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto [at_end, at_begin] = next[i];
    nodes[i].first = listed;
    nodes[i].at_end = at_end;
    next[i] = {listed, listed + at_end};
    listed += at_end + at_begin;
  }
  graph_.dependants.resize(listed);
  for (const Edge& edge : edges_) graph_.dependants[next[edge.before][edge.begun ? 1 : 0]++] = edge.node;
  edges_.clear();
  // A copy has the exact size, and the memory is reused for the next graph.
  Graph made = graph_;
  nodes.clear();
  graph_.dependants.clear();
  graph_.collectives.clear();
  graph_.communicators.clear();
  return made;
}

std::size_t node_on_circle(const Graph& graph) {
  // There is no cycle if all dependants come later.
  bool leads_forward = true;
  for (std::uint32_t i = 0; i < graph.nodes.size() && leads_forward; ++i)
    leads_forward = std::ranges::all_of(graph.dependants_of(i), [i](std::uint32_t next) { return next > i; });
  if (leads_forward) return graph.nodes.size();
  std::vector<std::uint32_t> waits;
  std::vector<std::uint32_t> free;
  for (const Graph::Node& node : graph.nodes) {
    if (node.waits == 0) free.push_back(static_cast<std::uint32_t>(waits.size()));
    waits.push_back(node.waits);
  }
  while (!free.empty()) {
    const std::uint32_t node = free.back();
    free.pop_back();
    for (const std::uint32_t next : graph.dependants_of(node)) {
      if (--waits[next] == 0) free.push_back(next);
    }
  }
  // A node on a cycle is never free, and neither are those behind it.
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
