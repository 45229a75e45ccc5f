// How a user writes stragglers.
#pragma once

#include <optional>
#include <string_view>

#include "simulators/world/stragglers.hpp"

namespace offramp {

/// "1ms:25us", "10ms:100us:1": a period, the length of the detour in it, and the jitter from 0 to 1; times
/// without a unit are microseconds. "none": no noise. Nothing: it is none of these, or out of bounds. The
/// rest of what `Noise` has is as it is by default.
std::optional<Noise> parse_noise(std::string_view text);

/// "3,8-11:1.5": nodes and a factor. "random:4:1.5": so many nodes. "none": no node is slow. Nothing: it is
/// none of these, or out of bounds.
std::optional<SlowNodes> parse_slow_nodes(std::string_view text);

}  // namespace offramp
