// Sweeps of replays: a key of the configuration, or the size of a pattern, from one value to another.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "tools/replay.hpp"

namespace offramp::tool {

/// KEY=FROM:TO, with :xFACTOR if not doubled, or :+STEP.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;  // in the unit of FROM; x0.5 each where FROM is x0.5
};
/// Throws Misuse.
SweepAxis sweep_axis(const std::string& text);

/// What two kinds of hardware take at one point of a sweep. Nothing: it has no time there.
struct SweepPoint {
  std::string text;  // "64 ranks"
  std::optional<Time> base;
  std::optional<Time> other;
};
/// "dpu against host: not faster at first, faster from 64 ranks on". Empty: there is no such point.
std::string crossover_text(std::string_view other, std::string_view base,
                           const std::vector<SweepPoint>& points);

/// `offramp replay --sweep`: every combination of the axes' values, a row for each hardware.
int replay_sweep(const ReplayToolOptions& options);

}  // namespace offramp::tool
