// Sweeps of a key or another value, and the points at which one backend becomes faster than another.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/time.hpp"
#include "tools/text/replay_options.hpp"

namespace offramp::tool {

/// The most points of all axes together.
inline constexpr std::size_t kMostSweepPoints = 4096;

/// KEY=FROM:TO, with :xFACTOR (default 2) or :+STEP.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;  // in the unit of FROM; each with x if FROM is a factor such as x0.5
};
/// behind_zero: the second value if FROM is 0 and values are multiplied; 0: such a sweep is invalid. Throws
/// Misuse, also for more than kMostSweepPoints values.
SweepAxis sweep_axis(const std::string& text, double behind_zero = 0);

/// Parses numbers of ranks: N, or FROM:TO with :xFACTOR (default 2) or :+STEP, separated by commas. Sorted,
/// without duplicates. Throws Misuse.
std::vector<int> rank_counts(const std::string& text);

/// `offramp replay --sweep`: all combinations of the axes' values, with a row per backend.
int replay_sweep(const ReplayToolOptions& options);

}  // namespace offramp::tool
