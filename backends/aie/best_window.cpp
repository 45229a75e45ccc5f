#include "backends/aie/best_window.hpp"

#include <algorithm>

#include "simulators/aie/collectives.hpp"

namespace offramp::aie {
namespace {

constexpr std::size_t kLeast = 64;  // smaller ones never win
constexpr std::size_t kElement = 4;
constexpr int kHops = 2;  // of an edge that does not share memory, roughly

/// What a chunk takes from the first byte out to the last one in, and the pace of the chunks behind it.
struct Pipeline {
  Time fill;
  Time pace;
  void passes(Time stage) {
    fill += stage;
    pace = later(pace, stage);
  }
};

/// At the largest size, and at halves, quarters and so on of it; of equals the largest.
template <typename Of>
std::size_t best(const Setup& setup, std::size_t bytes, std::size_t largest, Of pipeline_of) {
  const std::size_t most = edge_window(bytes, largest);
  if (!setup.best_window) return most;
  std::size_t found = most;
  Time least = Time::never();
  for (std::size_t window = most; window >= kLeast || window == most; window = window / 2 / 16 * 16) {
    const Pipeline pipeline = pipeline_of(window);
    const auto more = static_cast<std::int64_t>(Chunks{bytes, window}.count()) - 1;
    const Time time = pipeline.fill + pipeline.pace * std::max<std::int64_t>(more, 0);
    if (time < least) {
      least = time;
      found = window;
    }
  }
  return found;
}

/// The deepest kernel's distance from the root of a tree that is filled level by level.
int levels_below(int kernels, int arity) {
  int levels = 0;
  for (int node = kernels - 1; node > 0; node = (node - 1) / arity) ++levels;
  return levels;
}

Time locks(const Setup& setup, int windows) {
  const Costs& costs = setup.timing.costs();
  return setup.timing.cycles((costs.acquire_loop + costs.release) * windows);
}

Time edge(const Setup& setup, std::size_t window) {
  return setup.timing.stream(window) + setup.timing.passage(kHops);
}

/// A window of each of so many ranks, in one direction of the host's path.
Time through_host(const Setup& setup, int ranks, std::size_t window) {
  const int per_port = (ranks + setup.host.ports - 1) / setup.host.ports;
  return later(setup.host.port_time(window) * per_port, setup.host.total_time(window) * ranks);
}

Time copy(const Setup& setup, std::size_t window, int windows) {
  return setup.timing.copy(setup.copies, window, true) + locks(setup, windows);
}

}  // namespace

std::size_t reduce_window(const Setup& setup, int kernels, std::size_t bytes, bool streamed,
                          std::size_t largest) {
  const int inputs = std::min(setup.arity, kernels - 1);
  const int levels = levels_below(kernels, setup.arity);
  return best(setup, bytes, largest, [&](std::size_t window) {
    const Timing& timing = setup.timing;
    const std::size_t elements = window / kElement;
    const int own = streamed ? 1 : 0;
    Pipeline pipeline;
    pipeline.passes(timing.reduce(setup.kernels, 0, elements, window) + locks(setup, 1 + own));
    const Time level =
        timing.reduce(setup.kernels, inputs, elements, window) + locks(setup, inputs + 1 + own);
    pipeline.passes(level);
    pipeline.passes(edge(setup, window));
    pipeline.fill += (level + edge(setup, window)) * std::max(levels - 1, 0);
    if (streamed) {
      pipeline.passes(through_host(setup, kernels, window));
      pipeline.passes(setup.host.port_time(window));
    }
    return pipeline;
  });
}

std::size_t bcast_window(const Setup& setup, int kernels, std::size_t bytes, std::size_t largest) {
  return best(setup, bytes, largest, [&](std::size_t window) {
    Pipeline pipeline;
    for (int end = 0; end < 2; ++end) pipeline.passes(copy(setup, window, 2));
    pipeline.passes(edge(setup, window));
    if (setup.host_data) {
      pipeline.passes(setup.host.port_time(window));
      pipeline.passes(through_host(setup, kernels - 1, window));
    }
    return pipeline;
  });
}

std::size_t scatter_window(const Setup& setup, int kernels, std::size_t block, std::size_t largest) {
  const int levels = levels_below(kernels, setup.arity);
  return best(setup, block * static_cast<std::size_t>(kernels), largest, [&](std::size_t window) {
    const Time level = copy(setup, window, 2) + edge(setup, window);
    Pipeline pipeline;
    pipeline.passes(level);
    pipeline.fill += level * std::max(levels - 1, 0);
    if (setup.host_data) {
      pipeline.passes(setup.host.port_time(window));
      pipeline.fill += setup.host.port_time(window);
    }
    return pipeline;
  });
}

/// A kernel takes from one child after the other. Two windows of the next block wait at each level; the
/// others come from as deep as it lies.
std::size_t gather_window(const Setup& setup, int kernels, std::size_t block, std::size_t largest) {
  std::int64_t depths = 0;
  for (int node = 1; node < kernels; ++node) depths += levels_below(node + 1, setup.arity);
  const int levels = levels_below(kernels, setup.arity);
  return best(setup, block * static_cast<std::size_t>(kernels), largest, [&](std::size_t window) {
    const auto waiting = static_cast<std::int64_t>(Chunks{block, window}.count()) - 1;
    const Time level = copy(setup, window, 2) + edge(setup, window);
    const std::int64_t half_levels = depths * std::clamp<std::int64_t>(waiting, 0, 2);
    Pipeline pipeline;
    pipeline.passes(copy(setup, window, 2));
    pipeline.passes(edge(setup, window));
    pipeline.fill += later(level * levels, Time::ps(level.count() * half_levels / 2));
    if (setup.host_data) {
      pipeline.passes(setup.host.port_time(window));
      pipeline.fill += setup.host.port_time(edge_window(block, window));
    }
    return pipeline;
  });
}

std::size_t message_window(const Setup& setup, std::size_t bytes) {
  return best(setup, bytes, setup.window, [&](std::size_t window) {
    Pipeline pipeline;
    const int ends = setup.host_data ? 2 : 1;
    for (int end = 0; end < 2; ++end) {
      pipeline.passes(copy(setup, window, ends));
      if (setup.host_data) pipeline.passes(setup.host.port_time(window));
    }
    pipeline.passes(edge(setup, window));
    return pipeline;
  });
}

}  // namespace offramp::aie
