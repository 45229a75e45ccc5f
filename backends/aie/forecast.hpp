// Forecasts: the collectives of all ranks in one process, without data, all beginning at time 0.
#pragma once

#include <string>
#include <string_view>

#include "offramp/model/backend.hpp"

namespace offramp::aie {

/// engine: of a reduction, what the original document calls tree time: the root's call, which begins `skew`
/// cycles after the others'. Of everything else the time from the first kernel's begin to the last one's end.
Forecast forecast(const Operation& operation, const BackendContext& context);

class Planner;
struct Setup;

/// The reason where the ranks of a world do not find a tile each.
std::string too_few_tiles(const Setup& setup, int ranks);

/// Why the array cannot carry an operation; empty if it can. Does not look at messages between ranks.
std::string_view collective_decline(Planner& planner, const Operation& operation);

}  // namespace offramp::aie
