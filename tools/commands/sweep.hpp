// Sweeps: a key of the configuration, or what is asked for, from one value to another, and where along it one
// kind of hardware becomes faster than another.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "tools/text/replay_options.hpp"

namespace offramp::tool {

/// Of all axes together.
inline constexpr std::size_t kMostSweepPoints = 4096;

/// KEY=FROM:TO, with :xFACTOR if not doubled, or :+STEP.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;  // in the unit of FROM; x0.5 each where FROM is x0.5
};
/// behind_zero: the value that follows a FROM of 0 where values are multiplied; 0: such a sweep is none.
/// Throws Misuse, also of more than kMostSweepPoints values.
SweepAxis sweep_axis(const std::string& text, double behind_zero = 0);

/// Numbers of ranks in a text: N, or FROM:TO with :xFACTOR if not doubled or :+STEP, several with commas
/// between them. In order, each once. Throws Misuse.
std::vector<int> rank_counts(const std::string& text);

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
