// The closed form: a message of n chunks takes fill + (n - 1) x pace. Fill is the time of one chunk through
// all stages, and pace the time of the slowest stage (class Pipeline). Stages are the kernels at both ends
// with their locks, the stream, the two buffers at its end, and the host's path; deeper levels of a tree add
// to the fill only. Distances on the array are averages, since the placement is not known yet.
#include "backends/aie/best_window.hpp"

#include <algorithm>

#include "simulators/aie/collectives.hpp"

namespace offramp::aie {
namespace {

// Bytes: 128 bits, the smallest window.
constexpr std::size_t kLeast = 16;
// Bytes of an element, as the estimates assume.
constexpr std::size_t kElement = 4;
constexpr int kHops = 2;         // of an edge without shared memory, approximately
constexpr int kMessageHops = 5;  // average between two of 64 ranks

/// Time of a chunk from its first byte out to its last byte in, and the pace of subsequent chunks.
struct Pipeline {
  Time fill;
  Time pace;
  // Adds a stage through which each chunk passes.
  void passes(Time stage) {
    fill += stage;
    pace = later(pace, stage);
  }
};

/// How candidates get smaller: windows of blocks are halved, so that most blocks end at the end of a window;
/// other messages are cut into increasingly many chunks of one size.
enum class Cut : std::uint8_t { kMessage, kBlocks };

/// Tries windows from the largest to the smallest, and prefers the largest of equally fast ones.
BestWindow best(const Setup& setup, Cut cut, std::size_t bytes, std::size_t largest, auto pipeline_of) {
  const auto timed = [&](std::size_t window) {
    const Pipeline pipeline = pipeline_of(window);
    const auto more = static_cast<std::int64_t>(Chunks{bytes, window}.count()) - 1;
    return BestWindow{window, pipeline.fill + pipeline.pace * std::max<std::int64_t>(more, 0)};
  };
  const std::size_t most = edge_window(bytes, largest);
  BestWindow found = timed(most);
  // The user has set the window.
  if (!setup.best_window) return found;
  std::size_t count = Chunks{bytes, most}.count();
  for (std::size_t window = most; window > kLeast;) {
    // Growing by half each time tries few windows, and misses no large gain.
    count += std::max<std::size_t>(count / 2, 1);
    window =
        cut == Cut::kBlocks ? edge_window(window / 2, most) : edge_window((bytes + count - 1) / count, most);
    const BestWindow one = timed(window);
    if (one.time < found.time) found = one;
  }
  return found;
}

/// The depth of a tree that is filled level by level.
int levels_below(int kernels, int arity) {
  int levels = 0;
  for (int node = kernels - 1; node > 0; node = (node - 1) / arity) ++levels;
  return levels;
}

/// Locks of a kernel that acquires `in_loop` windows in a loop and `single` others.
Time locks(const Setup& setup, int in_loop, int single) {
  const Costs& costs = setup.timing.costs();
  return setup.timing.cycles(costs.acquire_loop * in_loop + costs.acquire_single * single +
                             costs.release * (in_loop + single));
}

/// An edge without shared memory.
struct EdgeCost {
  Time stream;
  Time passage;
  [[nodiscard]] Time whole() const { return stream + passage; }
};
EdgeCost edge_cost(const Setup& setup, std::size_t window) {
  return {setup.timing.stream(window), setup.timing.passage(kHops)};
}
/// Windows follow each other at the pace of the stream, or of the two buffers at its end: a buffer is free
/// again when its window has arrived and the kernel has processed it.
void passes_edge(Pipeline& pipeline, const EdgeCost& edge, Time kernel) {
  pipeline.passes(edge.stream);
  pipeline.fill += edge.passage;
  pipeline.pace = later(pipeline.pace, Time::ps((edge.whole() + kernel).count() / 2));
}

/// One window per rank in one direction of the host's path, limited by the ports or the memory behind them.
Time through_host(const Setup& setup, int ranks, std::size_t window) {
  const int per_port = (ranks + setup.host.ports - 1) / setup.host.ports;
  return later(setup.host.port_time(window) * per_port, setup.host.total_time(window) * ranks);
}

// A kernel's copy of one window, with its locks.
Time copy(const Setup& setup, std::size_t window, int in_loop, int single) {
  return setup.timing.copy(setup.copies, window, true) + locks(setup, in_loop, single);
}

}  // namespace

BestWindow reduce_window(const Setup& setup, int kernels, std::size_t bytes, bool streamed,
                         std::size_t largest) {
  // The busiest kernel has a full set of children.
  const int inputs = std::min(setup.arity, kernels - 1);
  const int levels = levels_below(kernels, setup.arity);
  BestWindow found = best(setup, Cut::kMessage, bytes, largest, [&](std::size_t window) {
    const Timing& timing = setup.timing;
    const std::size_t elements = window / kElement;
    const int own = streamed ? 1 : 0;
    Pipeline pipeline;
    pipeline.passes(timing.reduce(setup.kernels, 0, elements, window) + locks(setup, own, 1));
    const Time level = timing.reduce(setup.kernels, inputs, elements, window) + locks(setup, inputs + own, 1);
    pipeline.passes(level);
    passes_edge(pipeline, edge_cost(setup, window), level);
    pipeline.fill += (level + edge_cost(setup, window).whole()) * std::max(levels - 1, 0);
    if (streamed) {
      pipeline.passes(through_host(setup, kernels, window));
      pipeline.passes(through_host(setup, 1, window));
    }
    return pipeline;
  });
  // Resident data crosses the host's path in one piece before and after.
  if (!streamed) found.time += through_host(setup, kernels, bytes) + through_host(setup, 1, bytes);
  return found;
}

std::size_t bcast_window(const Setup& setup, int kernels, std::size_t bytes, std::size_t largest) {
  const auto pipeline_of = [&](std::size_t window) {
    Pipeline pipeline;
    const Time kernel = copy(setup, window, 0, 2);
    for (int end = 0; end < 2; ++end) pipeline.passes(kernel);
    passes_edge(pipeline, edge_cost(setup, window), kernel);
    if (setup.host_data) {
      pipeline.passes(through_host(setup, 1, window));
      pipeline.passes(through_host(setup, kernels - 1, window));
    }
    return pipeline;
  };
  return best(setup, Cut::kMessage, bytes, largest, pipeline_of).bytes;
}

std::size_t scatter_window(const Setup& setup, int kernels, std::size_t block, std::size_t largest) {
  const int levels = levels_below(kernels, setup.arity);
  const auto pipeline_of = [&](std::size_t window) {
    const Time kernel = copy(setup, window, 1, 1);
    Pipeline pipeline;
    pipeline.passes(kernel);
    passes_edge(pipeline, edge_cost(setup, window), kernel);
    pipeline.fill += (kernel + edge_cost(setup, window).whole()) * std::max(levels - 1, 0);
    if (setup.host_data) {
      pipeline.passes(through_host(setup, 1, window));
      pipeline.fill += through_host(setup, 1, window);
    }
    return pipeline;
  };
  return best(setup, Cut::kBlocks, block * static_cast<std::size_t>(kernels), largest, pipeline_of).bytes;
}

/// A kernel reads its children one after the other. Two windows of the next block wait at each level; the
/// others come from the block's own depth.
std::size_t gather_window(const Setup& setup, int kernels, std::size_t block, std::size_t largest) {
  std::int64_t depths = 0;
  // The sum of all nodes' depths.
  for (int node = 1; node < kernels; ++node) depths += levels_below(node + 1, setup.arity);
  const int levels = levels_below(kernels, setup.arity);
  const auto pipeline_of = [&](std::size_t window) {
    const auto waiting = static_cast<std::int64_t>(Chunks{block, window}.count()) - 1;
    const Time kernel = copy(setup, window, 1, 1);
    const Time level = kernel + edge_cost(setup, window).whole();
    const std::int64_t half_levels = depths * std::clamp<std::int64_t>(waiting, 0, 2);
    Pipeline pipeline;
    pipeline.passes(kernel);
    passes_edge(pipeline, edge_cost(setup, window), kernel);
    pipeline.fill += later(level * levels, Time::ps(level.count() * half_levels / 2));
    if (setup.host_data) {
      pipeline.passes(through_host(setup, 1, window));
      pipeline.fill += through_host(setup, 1, edge_window(block, window));
    }
    return pipeline;
  };
  return best(setup, Cut::kBlocks, block * static_cast<std::size_t>(kernels), largest, pipeline_of).bytes;
}

std::size_t message_window(const Setup& setup, std::size_t bytes) {
  const auto pipeline_of = [&](std::size_t window) {
    Pipeline pipeline;
    const Time kernel = copy(setup, window, 0, setup.host_data ? 2 : 1);
    for (int end = 0; end < 2; ++end) {
      pipeline.passes(kernel);
      if (setup.host_data) pipeline.passes(through_host(setup, 1, window));
    }
    const EdgeCost edge{setup.timing.stream(window, kHeaderWords), setup.timing.passage(kMessageHops)};
    passes_edge(pipeline, edge, kernel);
    return pipeline;
  };
  return best(setup, Cut::kMessage, bytes, setup.window, pipeline_of).bytes;
}

}  // namespace offramp::aie
