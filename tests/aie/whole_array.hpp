// Collectives on the whole array in one process, built from the plan: kernels and DMA engines on the network
// of simulators/aie/network.hpp. The backend's collectives between ranks must take the same time.
#pragma once

#include <algorithm>
#include <vector>

#include "simulators/aie/collectives.hpp"
#include "simulators/aie/network.hpp"

namespace offramp::aie {

/// What all kernels of a reduction share.
struct Arithmetic {
  Chunks chunks;
  std::size_t element_bytes = 4;
  int operations = 1;
  Code code = Code::kScalar;
};

/// Kernels have the numbers of the tree's nodes and begin at the given times (empty: all at 0).
struct Run {
  bool ok = false;          // all kernels have ended
  std::vector<Time> ends;   // of each kernel
  std::vector<Time> calls;  // of the root, for each call (reduce)
  std::uint64_t windows = 0;
  [[nodiscard]] Time last() const { return *std::max_element(ends.begin(), ends.end()); }
};

/// Kernels without a given time begin at 0.
inline Time begin_of(const std::vector<Time>& begins, int kernel) {
  return begins.empty() ? Time() : begins[at(kernel)];
}

/// Both ends of every node's edge to its parent.
inline std::vector<Network::Ends> connect_tree(Network& network, const Tree& tree, const Plan& plan,
                                               const std::vector<std::size_t>& windows, bool downward) {
  std::vector<Network::Ends> edges(at(tree.size()));
  for (int node = 1; node < tree.size(); ++node) {
    Connection connection = plan.connections[at(node - 1)];
    if (downward) std::swap(connection.source, connection.target);
    edges[at(node)] = network.connect(connection, windows[at(node)]);
  }
  return edges;
}

/// Runs the network until all kernels have ended, or none can continue.
inline Run finish(Network& network, int kernels) {
  Run run;
  run.ok = network.run();
  for (int kernel = 0; kernel < kernels; ++kernel) run.ends.push_back(network.end(kernel));
  run.windows = network.windows();
  return run;
}

/// Repeats a node's call as the benchmark does, and records the times of the root's calls.
struct RepeatedReduce {
  ReduceCall call;
  int calls = 1;
  double gap = 0;
  std::vector<Time>* log = nullptr;
};

/// Repeats the call with the gap of the benchmark's loop between two calls.
inline Task<void> repeat_reduce(Core core, RepeatedReduce* what) {
  for (int i = 0; i < what->calls; ++i) {
    const Time begin = core.clock;
    co_await reduce_kernel(core, what->call);
    if (what->log != nullptr) what->log->push_back(core.clock - begin);
    if (i + 1 < what->calls) core.spend(what->gap);
  }
}

/// begins: by node; empty: all at 0.
struct ReduceOptions {
  int calls = 1;  // one after the other, as in the benchmark
  std::vector<Time> begins;
};
// Each of the following runs one collective, with the kernels of the plan, and returns its times.
inline Run run_reduce(const Timing& timing, const Tree& tree, const Plan& plan, const Arithmetic& arithmetic,
                      const ReduceOptions& options = {}) {
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
    call.meeting = plan.meeting[at(node)];
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

/// The root is kernel 0. The others follow in the order of the plan's connections.
inline Run run_bcast(const Timing& timing, const Plan& plan, const Chunks& chunks, Code copies,
                     const std::vector<Time>& begins = {}) {
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

/// Each node packs its own block and those of its children into one stream.
inline Run run_packed_gather(const Timing& timing, const Tree& tree, const Plan& plan, std::size_t block,
                             std::size_t window, Code copies, const std::vector<Time>& begins = {}) {
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

inline Run run_gather(const Timing& timing, const Tree& tree, const Plan& plan, std::size_t block,
                      std::size_t window, GatherDesign design, Code copies,
                      const std::vector<Time>& begins = {}) {
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

/// Each node keeps its own block, and passes the others on.
inline Run run_scatter(const Timing& timing, const Tree& tree, const Plan& plan, std::size_t block,
                       std::size_t window, Code copies, const std::vector<Time>& begins = {}) {
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

/// Rounds of exchanges between kernels whose numbers differ in one bit.
inline Run run_butterfly(const Timing& timing, int rounds, const Plan& plan, const Arithmetic& arithmetic,
                         const std::vector<Time>& begins = {}) {
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
