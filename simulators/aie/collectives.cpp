#include "simulators/aie/collectives.hpp"

#include <algorithm>
#include <memory>

#include "simulators/aie/network.hpp"

namespace offramp::aie {
namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

Time begin_of(const std::vector<Time>& begins, int kernel) {
  return begins.empty() ? Time() : begins[at(kernel)];
}

/// Both ends of every node's edge to its parent.
std::vector<Network::Ends> connect_tree(Network& network, const Tree& tree, const Plan& plan,
                                        const std::vector<std::size_t>& windows, bool downward) {
  std::vector<Network::Ends> edges(at(tree.size()));
  for (int node = 1; node < tree.size(); ++node) {
    Connection connection = plan.connections[at(node - 1)];
    if (downward) std::swap(connection.source, connection.target);
    edges[at(node)] = network.connect(connection, windows[at(node)]);
  }
  return edges;
}

Run finish(Network& network, int kernels) {
  Run run;
  run.ok = network.run();
  for (int kernel = 0; kernel < kernels; ++kernel) run.ends.push_back(network.end(kernel));
  run.windows = network.windows();
  return run;
}

/// Repeats a node's call as the benchmark does. The times of the root's calls are kept.
struct RepeatedReduce {
  ReduceCall call;
  int calls = 1;
  double gap = 0;
  std::vector<Time>* log = nullptr;
};

Task<void> repeat_reduce(Core core, RepeatedReduce* what) {
  for (int i = 0; i < what->calls; ++i) {
    const Time begin = core.clock;
    co_await reduce_kernel(core, what->call);
    if (what->log != nullptr) what->log->push_back(core.clock - begin);
    if (i + 1 < what->calls) core.spend(what->gap);
  }
}

}  // namespace

Time Run::last() const {
  return ends.empty() ? Time() : *std::max_element(ends.begin(), ends.end());
}

std::vector<int> acquisition_order(const Tree& tree, const Plan& plan, int node) {
  std::vector<int> order = tree.children(node);
  if (plan.as_published) {
    std::sort(order.begin(), order.end());
    return order;
  }
  const auto lateness = [&](int child) {
    const Connection& connection = plan.connections[at(child - 1)];
    return connection.shared ? -1 : connection.hops();
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lateness(a) < lateness(b); });
  return order;
}

Run run_reduce(const Timing& timing, const Tree& tree, const Plan& plan, const Arithmetic& arithmetic,
               const ReduceOptions& options) {
  Network network(timing);
  const std::vector<std::size_t> windows(at(tree.size()), arithmetic.chunks.window);
  const std::vector<Network::Ends> edges = connect_tree(network, tree, plan, windows, false);
  OpenOutput result;
  std::vector<Time> log;
  std::vector<RepeatedReduce> calls(at(tree.size()));
  for (int node = 0; node < tree.size(); ++node) {
    RepeatedReduce& repeated = calls[at(node)];
    ReduceCall& call = repeated.call;
    for (const int child : acquisition_order(tree, plan, node))
      call.inputs.push_back(edges[at(child)].inputs.front());
    call.output = node == 0 ? static_cast<Output*>(&result) : edges[at(node)].output;
    call.chunks = arithmetic.chunks;
    call.element_bytes = arithmetic.element_bytes;
    call.operations = arithmetic.operations;
    call.code = arithmetic.code;
    repeated.calls = options.calls;
    repeated.gap = node == 0 ? timing.costs().repeat_root : timing.costs().repeat;
    repeated.log = node == 0 ? &log : nullptr;
    RepeatedReduce* const pointer = &repeated;
    network.add(
        "aie.core", [pointer](Core core) { return repeat_reduce(core, pointer); },
        begin_of(options.begins, node));
  }
  Run run = finish(network, tree.size());
  run.calls = log;
  return run;
}

Run run_bcast(const Timing& timing, const Plan& plan, const Chunks& chunks, Code copies,
              const std::vector<Time>& begins) {
  Network network(timing);
  std::vector<int> hops;
  for (const Connection& connection : plan.connections) hops.push_back(connection.hops());
  const Network::Ends ends = network.multicast(hops, chunks.window);
  std::vector<CopyCall> calls(hops.size() + 1);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].input = i == 0 ? nullptr : ends.inputs[i - 1];
    calls[i].output = i == 0 ? ends.output : nullptr;
    calls[i].chunks = chunks;
    calls[i].copies = copies;
    const CopyCall* const call = &calls[i];
    network.add(
        "aie.core", [call](Core core) { return copy_kernel(core, *call); },
        begin_of(begins, static_cast<int>(i)));
  }
  return finish(network, static_cast<int>(calls.size()));
}

std::size_t edge_window(std::size_t bytes, std::size_t largest) {
  constexpr std::size_t kLeast = 16;
  const std::size_t rounded = (bytes + kLeast - 1) / kLeast * kLeast;
  return std::clamp(rounded, kLeast, std::max(largest, kLeast));
}

std::vector<Forwarded> forwarded_windows(const Tree& tree, int node, std::size_t chunks_per_node,
                                         bool in_turns) {
  std::vector<Forwarded> windows;
  for (std::size_t chunk = 0; chunk < chunks_per_node; ++chunk) windows.push_back({node, chunk});
  std::vector<std::vector<Forwarded>> inputs;
  std::vector<std::size_t> counts;
  for (const int child : tree.children(node)) {
    inputs.push_back(forwarded_windows(tree, child, chunks_per_node, in_turns));
    counts.push_back(inputs.back().size());
  }
  std::vector<std::size_t> used(inputs.size(), 0);
  for (const std::size_t input : forwarding_order(counts, in_turns))
    windows.push_back(inputs[input][used[input]++]);
  return windows;
}

namespace {

Run run_packed_gather(const Timing& timing, const Tree& tree, const Plan& plan, std::size_t block,
                      std::size_t window, Code copies, const std::vector<Time>& begins) {
  Network network(timing);
  std::vector<std::size_t> windows;
  windows.reserve(at(tree.size()));
  for (int node = 0; node < tree.size(); ++node)
    windows.push_back(edge_window(block * at(tree.extent(node)), window));
  const std::vector<Network::Ends> edges = connect_tree(network, tree, plan, windows, false);
  std::vector<PackCall> calls(at(tree.size()));
  for (int node = 0; node < tree.size(); ++node) {
    PackCall& call = calls[at(node)];
    call.segments.push_back({nullptr, block, 0});
    for (const int child : tree.children(node))
      call.segments.push_back(
          {edges[at(child)].inputs.front(), block * at(tree.extent(child)), windows[at(child)]});
    call.output = node == 0 ? nullptr : edges[at(node)].output;
    call.output_window = windows[at(node)];
    call.copies = copies;
    const PackCall* const pointer = &call;
    network.add(
        "aie.core", [pointer](Core core) { return pack_kernel(core, *pointer); }, begin_of(begins, node));
  }
  return finish(network, tree.size());
}

}  // namespace

Run run_gather(const Timing& timing, const Tree& tree, const Plan& plan, std::size_t block,
               std::size_t window, GatherDesign design, Code copies, const std::vector<Time>& begins) {
  if (design == GatherDesign::kPacked)
    return run_packed_gather(timing, tree, plan, block, window, copies, begins);
  Network network(timing);
  const Chunks own{block, edge_window(block, window)};
  const std::vector<std::size_t> windows(at(tree.size()), own.window);
  const std::vector<Network::Ends> edges = connect_tree(network, tree, plan, windows, false);
  std::vector<HeaderGatherCall> calls(at(tree.size()));
  for (int node = 0; node < tree.size(); ++node) {
    HeaderGatherCall& call = calls[at(node)];
    std::vector<std::size_t> counts;
    for (const int child : tree.children(node)) {
      call.inputs.push_back(edges[at(child)].inputs.front());
      counts.push_back(own.count() * at(tree.extent(child)));
    }
    call.order = forwarding_order(counts, design == GatherDesign::kHeaderInTurns);
    call.output = node == 0 ? nullptr : edges[at(node)].output;
    call.window = own.window;
    call.own = own;
    call.copies = copies;
    const HeaderGatherCall* const pointer = &call;
    network.add(
        "aie.core", [pointer](Core core) { return header_gather_kernel(core, *pointer); },
        begin_of(begins, node));
  }
  return finish(network, tree.size());
}

Run run_scatter(const Timing& timing, const Tree& tree, const Plan& plan, std::size_t block,
                std::size_t window, Code copies, const std::vector<Time>& begins) {
  Network network(timing);
  std::vector<std::size_t> windows;
  windows.reserve(at(tree.size()));
  for (int node = 0; node < tree.size(); ++node)
    windows.push_back(edge_window(block * at(tree.extent(node)), window));
  const std::vector<Network::Ends> edges = connect_tree(network, tree, plan, windows, true);
  std::vector<UnpackCall> calls(at(tree.size()));
  for (int node = 0; node < tree.size(); ++node) {
    UnpackCall& call = calls[at(node)];
    call.input = node == 0 ? nullptr : edges[at(node)].inputs.front();
    call.input_window = windows[at(node)];
    call.shares.push_back({nullptr, block, 0});
    for (const int child : tree.children(node))
      call.shares.push_back({edges[at(child)].output, block * at(tree.extent(child)), windows[at(child)]});
    call.copies = copies;
    const UnpackCall* const pointer = &call;
    network.add(
        "aie.core", [pointer](Core core) { return unpack_kernel(core, *pointer); }, begin_of(begins, node));
  }
  return finish(network, tree.size());
}

Graph butterfly_graph(int rounds, int window_bytes, int data_bytes) {
  Graph graph;
  graph.kernels = 1 << rounds;
  for (int round = 0; round < rounds; ++round) {
    for (int kernel = 0; kernel < graph.kernels; ++kernel)
      graph.edges.push_back({kernel, kernel ^ (1 << round)});
  }
  graph.window_bytes = window_bytes;
  graph.data_bytes = data_bytes;
  return graph;
}

Run run_butterfly(const Timing& timing, int rounds, const Plan& plan, const Arithmetic& arithmetic,
                  const std::vector<Time>& begins) {
  const int kernels = 1 << rounds;
  Network network(timing);
  std::vector<ButterflyCall> calls(at(kernels));
  for (int i = 0; i < rounds * kernels; ++i) {
    const Network::Ends ends = network.connect(plan.connections[at(i)], arithmetic.chunks.window);
    calls[at(i % kernels)].outputs.push_back(ends.output);
    calls[at((i % kernels) ^ (1 << (i / kernels)))].inputs.push_back(ends.inputs.front());
  }
  for (int kernel = 0; kernel < kernels; ++kernel) {
    ButterflyCall& call = calls[at(kernel)];
    call.chunks = arithmetic.chunks;
    call.element_bytes = arithmetic.element_bytes;
    call.operations = arithmetic.operations;
    call.code = arithmetic.code;
    const ButterflyCall* const pointer = &call;
    network.add(
        "aie.core", [pointer](Core core) { return butterfly_kernel(core, *pointer); },
        begin_of(begins, kernel));
  }
  return finish(network, kernels);
}

}  // namespace offramp::aie
