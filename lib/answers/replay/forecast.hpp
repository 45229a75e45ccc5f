// Forecasts: one operation on many ranks, in this process and without payload.
#pragma once

#include "lib/answers/replay/replay.hpp"

namespace offramp {

using ForecastSetting = WorldSetting;

/// The operation on operation.ranks ranks of a world that all begin at time 0. kSend: from the root to the
/// next rank. What the backend declines says so in the forecast; an error is an operation that makes no
/// sense. what_if: where the hardware declines because a memory is full, forecasts with a larger one, and
/// says so in the note. repeat: so many of them, one after the other, as a loop in a program issues them; the
/// time and the counts are those of all. observer: is told what the ranks do, each operation as a call; null:
/// not told.
Result<Forecast> forecast(const ForecastSetting& setting, const Operation& operation, int repeat = 1,
                          bool what_if = false, ReplayObserver* observer = nullptr);

// What benchmarks measure: see simulators/world/benchmarks.hpp.
Result<Time> half_round_trip(const ForecastSetting& setting, std::size_t bytes);
Result<Time> message_in_window(const ForecastSetting& setting, std::size_t bytes);
Result<Time> mean_of_calls(const ForecastSetting& setting, const Operation& operation);

/// Whether what_if would give a time where the hardware declines.
bool could_be_larger(const ForecastSetting& setting, const Operation& operation);

/// Cycles of the modelled engine in which the forecast is counted; nothing for a backend without a clock.
std::optional<std::int64_t> engine_cycles(const ForecastSetting& setting, const Forecast& forecast);

}  // namespace offramp
