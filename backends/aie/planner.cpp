// Tries the options of an operation in order. A reduction keeps its data in the tiles if it fits and if that
// is faster than streaming it in windows. A window without a plan is halved, down to kLeastShrunk.
// ArrayRequirements::instead has the reason for a compromise (for `offramp explain`),
// ArrayRequirements::limit that for a decline. Plans are stored by rounded sizes and live as long as the
// planner, since Needs point to them.
#include "backends/aie/planner.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "backends/aie/best_window.hpp"

namespace offramp::aie {
namespace {

constexpr std::size_t kLeastShrunk = 128;  // smaller windows never replace larger ones

constexpr std::string_view kStreamsFaster = "data that streams from the host takes less time";

// Limit for all blocks of an alltoall, which the root stores between gather and scatter.
constexpr std::size_t kMostExchanged = std::size_t{64} << 20;

// Sizes of plans are rounded up, so that a program with many sizes needs few plans.
std::size_t rounded_window(std::size_t window) {
  constexpr std::size_t kLargest = 8192;
  // Larger windows are rare, and doubling them would waste the tile.
  return window <= kLargest ? std::bit_ceil(window) : window;
}
// most: what a tile can hold; rounding must not exceed it.
std::size_t rounded_data(std::size_t data, std::size_t most) {
  constexpr std::size_t kFine = 1024;
  constexpr std::size_t kDoubling = 16384;
  if (data <= kDoubling) return data == 0 ? 0 : std::bit_ceil(data);
  return std::min((data + kFine - 1) / kFine * kFine, most);
}

// From nodes to indices among the children.
std::vector<std::vector<std::size_t>> acquisition_of(const Tree& tree, const Plan& plan) {
  std::vector<std::vector<std::size_t>> places(static_cast<std::size_t>(tree.size()));
  for (int node = 0; node < tree.size(); ++node) {
    const std::vector<int>& children = tree.children(node);
    for (const int child : acquisition_order(tree, plan, node))
      places[static_cast<std::size_t>(node)].push_back(
          static_cast<std::size_t>(std::find(children.begin(), children.end(), child) - children.begin()));
  }
  return places;
}

}  // namespace

bool Planner::fits_tile(std::size_t bytes) const {
  return bytes <= static_cast<std::size_t>(setup_.array.most_data());
}

std::string_view Planner::resident_limit(std::size_t bytes) {
  if (fits_tile(bytes)) return {};
  // Stored, since results refer to the text.
  std::string& text = limits_[bytes];
  if (text.empty())
    text = std::to_string(bytes) + " B of local data: a tile has " +
           std::to_string(setup_.array.memory_bytes) + " B, less " + setup_.array.reserved();
  return text;
}

const ArrayRequirements& Planner::requirements(const Operation& operation) {
  Recent& recent = recent_[static_cast<std::size_t>(operation.kind)];
  if (recent.ranks != operation.ranks || recent.bytes != operation.bytes)
    recent = {operation.ranks, operation.bytes, find(operation)};
  return recent.required;
}

ArrayRequirements Planner::find(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::kReduce:
      return reduce(operation.ranks, operation.bytes);
    case OperationKind::kAllreduce:
      return allreduce(operation.ranks, operation.bytes);
    case OperationKind::kBarrier:
      return barrier(operation.ranks);
    case OperationKind::kBcast:
      return bcast(operation.ranks, operation.bytes);
    case OperationKind::kGather:
      return gather(operation.ranks, operation.bytes);
    case OperationKind::kScatter:
      return scatter(operation.ranks, operation.bytes);
    case OperationKind::kAllgather:
      return allgather(operation.ranks, operation.bytes);
    case OperationKind::kReduceScatter:
      return reduce_scatter(operation.ranks, operation.bytes);
    case OperationKind::kAlltoall:
      return alltoall(operation.ranks, operation.bytes);
    case OperationKind::kSend:
    case OperationKind::kScan:
    case OperationKind::kExscan:
    case OperationKind::kGatherv:
    case OperationKind::kScatterv:
    case OperationKind::kAllgatherv:
    case OperationKind::kReduceScatterv:
    case OperationKind::kAlltoallv:
    case OperationKind::kCount:
      break;
  }
  ArrayRequirements required;
  required.limit = "there are no kernels for this operation";
  return required;
}

const TreePlan& Planner::tree_plan(int kernels, std::size_t largest, std::size_t bytes, bool streamed,
                                   bool from_host) {
  const std::size_t window = rounded_window(largest);
  const std::size_t data = rounded_data(bytes, static_cast<std::size_t>(setup_.array.most_data()));
  const Key key{kernels, window, data, streamed ? kStreamed : from_host ? kForwarding : kResident};
  std::unique_ptr<TreePlan>& entry = trees_[key];
  if (entry != nullptr) return *entry;
  // Failed plans are kept too: planning again would fail again.
  entry = std::make_unique<TreePlan>(TreePlan{Tree::filled(kernels, setup_.arity), {}, {}, streamed});
  Graph graph = graph_of(entry->tree, static_cast<int>(window), static_cast<int>(data));
  graph.to_host.push_back(0);
  if (streamed || from_host) {
    for (int kernel = 0; kernel < kernels; ++kernel) graph.from_host.push_back(kernel);
  }
  entry->plan = plan_tree(setup_.array, entry->tree, graph, setup_.placement);
  if (entry->plan.ok()) entry->acquisition = acquisition_of(entry->tree, entry->plan);
  return *entry;
}

const Plan& Planner::multicast_plan(int kernels, std::size_t largest, std::size_t bytes) {
  const std::size_t window = rounded_window(largest);
  const std::size_t data = rounded_data(bytes, static_cast<std::size_t>(setup_.array.most_data()));
  std::unique_ptr<Plan>& entry = graphs_[{kernels, window, data, kMulticast}];
  if (entry != nullptr) return *entry;
  Graph graph;
  graph.kernels = kernels;
  graph.multicast = true;
  for (int kernel = 1; kernel < kernels; ++kernel) graph.edges.push_back({0, kernel});
  if (setup_.host_data) {
    graph.from_host.push_back(0);
    for (int kernel = 1; kernel < kernels; ++kernel) graph.to_host.push_back(kernel);
  }
  graph.window_bytes = static_cast<int>(window);
  graph.data_bytes = static_cast<int>(data);
  entry = std::make_unique<Plan>(plan_on_snake(setup_.array, graph));
  return *entry;
}

const Plan& Planner::butterfly_plan(int kernels, std::size_t largest, std::size_t bytes) {
  const std::size_t window = rounded_window(largest);
  const std::size_t data = rounded_data(bytes, static_cast<std::size_t>(setup_.array.most_data()));
  std::unique_ptr<Plan>& entry = graphs_[{kernels, window, data, kButterfly}];
  if (entry != nullptr) return *entry;
  const int rounds = static_cast<int>(std::bit_width(static_cast<unsigned>(kernels))) - 1;
  const Graph graph = butterfly_graph(rounds, static_cast<int>(window), static_cast<int>(data));
  entry = std::make_unique<Plan>(plan_apart(setup_.array, graph));
  return *entry;
}

ArrayRequirements Planner::shrunk_tree(int kernels, std::size_t window, std::size_t data, bool streamed,
                                       bool from_host) {
  ArrayRequirements required;
  for (std::size_t size = window;; size = edge_window(size / 2, size)) {
    const TreePlan& planned = tree_plan(kernels, size, data, streamed, from_host);
    // With too many kernels, no window helps.
    const bool least = size <= kLeastShrunk || kernels > setup_.array.tiles();
    if (!planned.plan.ok() && !least) {
      if (required.instead.empty()) required.instead = planned.plan.limit;
      continue;
    }
    required.tree = &planned;
    required.tree_window = size;
    required.limit = planned.plan.limit;
    return required;
  }
}

/// Data in the tile from the start needs no window; streamed data is transferred while the kernels work.
ArrayRequirements Planner::reduce(int kernels, std::size_t bytes) {
  const bool may_stream = setup_.host_data && kernels <= setup_.array.tiles();
  const BestWindow streamed = reduce_window(setup_, kernels, bytes, true, setup_.window);
  ArrayRequirements required;
  required.limit = resident_limit(bytes);
  if (required.limit.empty()) {
    const BestWindow resident = reduce_window(setup_, kernels, bytes, false, setup_.window);
    required.limit = kStreamsFaster;
    if (!may_stream || resident.time <= streamed.time) {
      // A window that needs the room of the data does not require smaller windows: the data can be streamed.
      const TreePlan& planned = tree_plan(kernels, resident.bytes, bytes, false, false);
      required.tree = &planned;
      required.tree_window = resident.bytes;
      required.limit = planned.plan.limit;
      if (required.limit.empty()) return required;
      if (!setup_.host_data) return shrunk_tree(kernels, resident.bytes, bytes, false, false);
    }
  }
  if (!may_stream) return required;
  const std::string_view instead = required.limit;
  required = shrunk_tree(kernels, streamed.bytes, 0, true, false);
  required.instead = instead;
  return required;
}

ArrayRequirements Planner::blocks(int kernels, std::size_t block, bool whole_at_root) {
  const std::size_t whole = block * static_cast<std::size_t>(kernels);
  // The header design keeps the whole result in the root's tile.
  const bool header = whole_at_root && setup_.gather != GatherDesign::kPacked;
  const bool resident = !setup_.host_data || header;
  ArrayRequirements required;
  if (resident) required.limit = resident_limit(whole);
  if (!required.limit.empty()) return required;
  const std::size_t window = header          ? edge_window(block, setup_.window)
                             : whole_at_root ? gather_window(setup_, kernels, block, setup_.window)
                                             : scatter_window(setup_, kernels, block, setup_.window);
  return shrunk_tree(kernels, window, resident ? block : 0, false, !resident);
}

ArrayRequirements Planner::gather(int kernels, std::size_t block) {
  return blocks(kernels, block, true);
}

ArrayRequirements Planner::scatter(int kernels, std::size_t block) {
  ArrayRequirements required = blocks(kernels, block, false);
  required.down = std::exchange(required.tree, nullptr);
  required.down_window = required.tree_window;
  return required;
}

ArrayRequirements Planner::bcast(int kernels, std::size_t bytes) {
  ArrayRequirements required;
  if (!setup_.host_data) required.limit = resident_limit(bytes);
  if (!required.limit.empty()) return required;
  for (std::size_t size = bcast_window(setup_, kernels, bytes, setup_.window);;
       size = edge_window(size / 2, size)) {
    required.multicast = &multicast_plan(kernels, size, setup_.host_data ? 0 : bytes);
    required.multicast_window = size;
    if (required.instead.empty()) required.instead = required.limit;
    required.limit = required.multicast->limit;
    if (required.limit.empty() || size <= kLeastShrunk || kernels > setup_.array.tiles()) return required;
  }
}

void Planner::add_multicast(ArrayRequirements& required, int kernels, std::size_t bytes) {
  if (!required.limit.empty()) return;
  const ArrayRequirements out = bcast(kernels, bytes);
  required.multicast = out.multicast;
  required.multicast_window = out.multicast_window;
  required.limit = out.limit;
}

ArrayRequirements Planner::allreduce(int kernels, std::size_t bytes) {
  if (setup_.allreduce == AllreduceDesign::kButterfly && fits_tile(bytes) &&
      std::has_single_bit(static_cast<unsigned>(kernels)) && kernels > 1 && kernels <= setup_.array.tiles()) {
    ArrayRequirements required;
    required.butterfly_window = edge_window(bytes, setup_.window);
    required.butterfly = &butterfly_plan(kernels, required.butterfly_window, bytes);
    // Without a plan for it, the tree is used.
    if (required.butterfly->ok()) return required;
  }
  ArrayRequirements required = reduce(kernels, bytes);
  add_multicast(required, kernels, bytes);
  return required;
}

void Planner::add_scatter(ArrayRequirements& required, int kernels, std::size_t block) {
  if (!required.limit.empty()) return;
  const ArrayRequirements out = scatter(kernels, block);
  required.down = out.down;
  required.down_window = out.down_window;
  required.limit = out.limit;
}

ArrayRequirements Planner::reduce_scatter(int kernels, std::size_t block) {
  ArrayRequirements required = reduce(kernels, block * static_cast<std::size_t>(kernels));
  add_scatter(required, kernels, block);
  return required;
}

ArrayRequirements Planner::alltoall(int kernels, std::size_t block) {
  const auto ranks = static_cast<std::size_t>(kernels);
  const std::size_t row = block * ranks;
  // Compared by division, which cannot overflow.
  if (block > kMostExchanged / (ranks * ranks)) {
    ArrayRequirements required;
    required.limit = "the root would hold the data of all pairs of ranks, more than 64 MiB";
    return required;
  }
  ArrayRequirements required = gather(kernels, row);
  add_scatter(required, kernels, row);
  return required;
}

ArrayRequirements Planner::barrier(int kernels) {
  ArrayRequirements required = reduce(kernels, kBarrierBytes);
  add_multicast(required, kernels, kBarrierBytes);
  return required;
}

ArrayRequirements Planner::allgather(int kernels, std::size_t block) {
  ArrayRequirements required = gather(kernels, block);
  add_multicast(required, kernels, block * static_cast<std::size_t>(kernels));
  return required;
}

}  // namespace offramp::aie
