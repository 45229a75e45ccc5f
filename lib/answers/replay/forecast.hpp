// Forecasts: one operation on many ranks, simulated in this process and without payload.
#pragma once

#include "lib/answers/replay/replay.hpp"

namespace offramp {

/// A forecast needs no more than a world.
using ForecastSetting = WorldSetting;

/// Simulates the operation on operation.ranks ranks that all begin at time 0. kSend: from the root to the
/// next rank. If the backend declines the operation, the forecast contains the reason; an invalid operation
/// is an error.
/// - repeat: consecutive operations, as in a program's loop; time and counters cover all of them.
/// - what_if: if the hardware declines because a memory is full, forecasts with a larger one; the note says
///   so.
/// - observer: receives what the ranks do, each operation as one call; may be null.
Result<Forecast> forecast(const ForecastSetting& setting, const Operation& operation, int repeat = 1,
                          bool what_if = false, ReplayObserver* observer = nullptr);

/// See simulators/world/benchmarks.hpp.
Result<Time> mean_of_calls(const ForecastSetting& setting, const Operation& operation);

/// True if what_if would yield a time although the hardware declines.
bool could_be_larger(const ForecastSetting& setting, const Operation& operation);

/// The forecast's engine time in cycles of the modelled engine. `nullopt` for a backend without a clock.
std::optional<std::int64_t> engine_cycles(const ForecastSetting& setting, const Forecast& forecast);

}  // namespace offramp
