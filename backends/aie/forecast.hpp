// Forecasts: an operation of all ranks in a world of their own, all beginning at time 0.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/aie/algorithms.hpp"
#include "offramp/model/backend.hpp"

namespace offramp::aie {

/// engine: of a reduction, what the original document calls tree time: the root's call, which begins `skew`
/// cycles after the others'. Of everything else the time from the first kernel's begin to the last one's end.
Forecast forecast(const Operation& operation, const BackendContext& context);

/// Given to a backend as its spans' sink: notes when the kernels of all ranks ran. The root's begin late.
struct Probe final : SpanSink {
  std::vector<KernelTimes> times;  // by rank
  void record(const Span&) override {}
};
/// A backend whose BackendContext::spans is a Probe.
std::unique_ptr<Backend> probed(const BackendContext& context);

/// The reason where the ranks of a world do not find a tile each.
std::string too_few_tiles(const Setup& setup, int ranks);

/// Why the array cannot carry an operation; empty if it can. Does not look at messages between ranks.
std::string_view collective_decline(Planner& planner, const Operation& operation);

}  // namespace offramp::aie
