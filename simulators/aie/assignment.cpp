// Assigns windows to memory modules by maximum flow: buffer pair -> (module, class) -> module. A class is a
// kind of pair: shared, source, or target. Source and target pairs also need one of the module's DMA
// channels. A module has room for as many pairs as its memory and locks allow.
#include <algorithm>
#include <cmath>
#include <limits>

#include "simulators/aie/plan.hpp"

namespace offramp::aie {
namespace {

enum Class : int { kShared, kSource, kTarget, kClasses };

/// A double-buffered pair that needs a module.
struct Pair {
  int edge = -1;  // -1: for the host
  int host = -1;  // index among the host's pairs
  Class kind = kShared;
  Modules choices;
  int module = -1;
};

// Nodes of the flow are pairs, then (module, class) slots, then modules, in one numbering.
class Matching {
 public:
  Matching(const ArraySpec& array, const std::vector<int>& room)
      : array_(array),
        room_(room),
        held_(room.size() * kClasses),
        load_(room.size(), 0),
        class_load_(room.size() * kClasses, 0) {}

  /// Finds a module for a pair by an augmenting path, which may move other pairs.
  bool add(std::vector<Pair>& pairs, int pair) {
    pairs_ = static_cast<int>(pairs.size());
    const int slots = static_cast<int>(class_load_.size());
    // 2: not reached yet.
    before_.assign(at(pairs_ + slots) + room_.size(), -2);
    // Breadth first: the shortest path moves the fewest pairs.
    std::vector<int> queue = {pair};
    before_[at(pair)] = -1;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const int node = queue[head];
      const int end = expand(pairs, node, queue);
      if (end < 0) continue;
      apply(pairs, end);
      return true;
    }
    return false;
  }

 private:
  // Shared pairs need no DMA channel.
  [[nodiscard]] int class_limit(int slot) const {
    const int kind = slot % kClasses;
    return kind == kSource ? array_.mm2s : kind == kTarget ? array_.s2mm : std::numeric_limits<int>::max();
  }
  void visit(int from, int to, std::vector<int>& queue) {
    if (before_[at(to)] != -2) return;
    before_[at(to)] = from;
    queue.push_back(to);
  }
  /// Follows the residual edges of a node. Returns a module with room, or -1.
  int expand(const std::vector<Pair>& pairs, int node, std::vector<int>& queue) {
    const int slots = static_cast<int>(class_load_.size());
    if (node < pairs_) {
      for (const Tile tile : pairs[at(node)].choices)
        visit(node, pairs_ + array_.index(tile) * kClasses + pairs[at(node)].kind, queue);
    } else if (node < pairs_ + slots) {
      const int slot = node - pairs_;
      for (const int held : held_[at(slot)]) visit(node, held, queue);
      if (class_load_[at(slot)] < class_limit(slot)) visit(node, pairs_ + slots + slot / kClasses, queue);
    } else {
      const int module = node - pairs_ - slots;
      if (load_[at(module)] < room_[at(module)]) return node;
      for (int kind = 0; kind < kClasses; ++kind) {
        const int slot = module * kClasses + kind;
        if (class_load_[at(slot)] > 0) visit(node, pairs_ + slot, queue);
      }
    }
    return -1;
  }
  // Moves each pair on the path to its next slot.
  void apply(std::vector<Pair>& pairs, int end) {
    const int slots = static_cast<int>(class_load_.size());
    ++load_[at(end - pairs_ - slots)];
    for (int node = end; before_[at(node)] >= 0; node = before_[at(node)]) {
      const int from = before_[at(node)];
      if (from < pairs_) {
        const int slot = node - pairs_;
        held_[at(slot)].push_back(from);
        pairs[at(from)].module = slot / kClasses;
      } else if (node < pairs_) {
        std::vector<int>& held = held_[at(from - pairs_)];
        held.erase(std::find(held.begin(), held.end(), node));
      } else if (from < pairs_ + slots) {
        ++class_load_[at(from - pairs_)];
      } else {
        --class_load_[at(node - pairs_)];
      }
    }
  }

  const ArraySpec& array_;
  std::vector<int> room_;               // capacity of each module, in pairs
  std::vector<std::vector<int>> held_;  // pairs of each (module, class)
  std::vector<int> load_;
  std::vector<int> class_load_;
  std::vector<int> before_;
  int pairs_ = 0;
};

// Modules with a kernel have less room than others.
std::vector<int> room_for_pairs(const ArraySpec& array, const Graph& graph, const Plan& plan) {
  std::vector<int> used(at(array.tiles()), array.user_bytes);
  for (const Tile tile : plan.tiles) used[at(array.index(tile))] = graph.data_bytes + array.own_bytes();
  std::vector<int> room;
  room.reserve(used.size());
  for (const int bytes : used)
    room.push_back(std::min((array.memory_bytes - bytes) / (2 * graph.window_bytes), array.locks / 2));
  return room;
}

std::vector<Pair> pairs_of(const ArraySpec& array, const Graph& graph, const Plan& plan,
                           const std::vector<bool>& by_dma) {
  std::vector<Pair> pairs;
  pairs.reserve(graph.to_host.size() + graph.from_host.size() + 2 * graph.edges.size());
  const auto reach = [&](int kernel) { return reachable_modules(array, plan.tiles[at(kernel)]); };
  for (int i = 0; i < static_cast<int>(graph.to_host.size()); ++i)
    pairs.push_back({-1, i, kSource, reach(graph.to_host[at(i)])});
  for (int i = 0; i < static_cast<int>(graph.from_host.size()); ++i)
    pairs.push_back({-1, i, kTarget, reach(graph.from_host[at(i)])});
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const Edge edge = graph.edges[i];
    const int number = static_cast<int>(i);
    if (!by_dma[i]) {
      pairs.push_back(
          {number, -1, kShared, common_modules(array, plan.tiles[at(edge.from)], plan.tiles[at(edge.to)])});
      continue;
    }
    if (!graph.multicast || i == 0) pairs.push_back({number, -1, kSource, reach(edge.from)});
    pairs.push_back({number, -1, kTarget, reach(edge.to)});
  }
  return pairs;
}

/// Assigns pairs with the fewest choices first. Returns the pairs without room.
std::vector<int> match(const ArraySpec& array, const std::vector<int>& room, std::vector<Pair>& pairs) {
  // Stable, so that a plan is the same on every run.
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.choices.size() < b.choices.size(); });
  Matching matching(array, room);
  std::vector<int> left_over;
  for (int i = 0; i < static_cast<int>(pairs.size()); ++i) {
    if (!matching.add(pairs, i)) left_over.push_back(i);
  }
  return left_over;
}

// Turns the modules of pairs into places of windows.
void fill_connections(const ArraySpec& array, const Graph& graph, const std::vector<Pair>& pairs,
                      const std::vector<bool>& by_dma, Plan& plan) {
  plan.connections.assign(graph.edges.size(), {});
  plan.to_host.resize(graph.to_host.size());
  plan.from_host.resize(graph.from_host.size());
  for (const Pair& pair : pairs) {
    const Tile module = array.tile(pair.module);
    if (pair.edge < 0) {
      (pair.kind == kSource ? plan.to_host : plan.from_host)[at(pair.host)] = module;
      continue;
    }
    Connection& connection = plan.connections[at(pair.edge)];
    connection.shared = !by_dma[at(pair.edge)];
    if (pair.kind != kTarget) connection.source = module;
    if (pair.kind != kSource) connection.target = module;
  }
  if (!graph.multicast || plan.connections.empty()) return;
  // All edges of a multicast leave the one source pair.
  for (Connection& connection : plan.connections) connection.source = plan.connections.front().source;
}

}  // namespace

std::vector<int> count_windows(const Graph& graph) {
  std::vector<int> windows(at(graph.kernels), 0);
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    if (!graph.multicast || i == 0) ++windows[at(graph.edges[i].from)];
    ++windows[at(graph.edges[i].to)];
  }
  for (const int kernel : graph.to_host) ++windows[at(kernel)];
  for (const int kernel : graph.from_host) ++windows[at(kernel)];
  return windows;
}

std::string fixed_limit(const ArraySpec& array, const Graph& graph) {
  const auto number = [](std::int64_t n) { return std::to_string(n); };
  if (graph.kernels > array.tiles())
    return number(graph.kernels) + " kernels, but the array has " + number(array.tiles()) + " tiles";
  const std::int64_t local = std::int64_t{graph.data_bytes} + array.own_bytes();
  if (local > array.memory_bytes)
    return number(graph.data_bytes) + " B of local data with " + array.reserved() + " take " + number(local) +
           " B of a module's " + number(array.memory_bytes) + " B";
  std::int64_t total = 0;
  for (const int windows : count_windows(graph)) {
    const std::int64_t reach = local + window_bytes(windows, graph.window_bytes);
    total += local;
    if (windows > array.windows)
      return "a kernel has " + number(windows) + " windows, but only " + number(array.windows) +
             " are possible";
    if (reach > std::int64_t{4} * array.memory_bytes)
      return "a kernel needs " + number(reach) + " B, but a core reaches only " +
             number(std::int64_t{4} * array.memory_bytes) + " B";
  }
  if (!graph.multicast) total += window_bytes(static_cast<int>(graph.edges.size()), graph.window_bytes);
  if (total > std::int64_t{array.tiles()} * array.memory_bytes)
    return "the graph needs " + number(total) + " B, but the array has only " +
           number(std::int64_t{array.tiles()} * array.memory_bytes) + " B";
  return {};
}

void assign_windows(const ArraySpec& array, const Graph& graph, Plan& plan) {
  const std::vector<int> room = room_for_pairs(array, graph, plan);
  std::vector<bool> by_dma;
  for (const Edge edge : graph.edges)
    by_dma.push_back(graph.multicast ||
                     common_modules(array, plan.tiles[at(edge.from)], plan.tiles[at(edge.to)]).size() == 0);
  // Each round turns more shared pairs into pairs with DMA.
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Pair> pairs = pairs_of(array, graph, plan, by_dma);
    const std::vector<int> left_over = match(array, room, pairs);
    if (left_over.empty()) return fill_connections(array, graph, pairs, by_dma, plan);
    bool changed = false;  // a pair without a common module uses DMA
    for (const int i : left_over) {
      const Pair& pair = pairs[at(i)];
      if (pair.kind == kShared) changed = by_dma[at(pair.edge)] = true;
    }
    if (!changed) {
      const Pair& pair = pairs[at(left_over.front())];
      const char* what = pair.kind == kSource ? "MM2S" : "S2MM";
      plan.limit = std::to_string(left_over.size()) +
                   " windows do not fit: no room is left for two buffers of " +
                   std::to_string(graph.window_bytes) + " B with two locks and an " + what +
                   " channel in the modules that their kernels reach";
      return;
    }
  }
  plan.limit = "the windows do not fit into the modules that their kernels reach";
}

double depth_limit(const ArraySpec& array, std::int64_t window, std::int64_t data, std::int64_t rest) {
  const std::int64_t own = data + rest;
  const std::int64_t memory =
      std::int64_t{array.tiles() + 1} * array.memory_bytes;  // the 400 of "> M/32 - 1"
  return std::log2(static_cast<double>(memory + 4 * window + own) /
                   static_cast<double>(8 * window + 2 * own)) +
         1;
}

}  // namespace offramp::aie
