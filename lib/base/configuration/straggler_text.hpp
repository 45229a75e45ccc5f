// Parses the user's descriptions of stragglers.
#pragma once

#include <optional>
#include <string_view>

#include "simulators/world/stragglers.hpp"

namespace offramp {

/// Parses "1ms:25us" or "10ms:100us:1": period, length of the detour per period, and jitter from 0 to 1;
/// times without a unit are microseconds. "none": no noise. nullopt for other texts or values out of bounds.
/// The other fields of `Noise` have their defaults.
std::optional<Noise> parse_noise(std::string_view text);

/// Parses "3,8-11:1.5" (nodes and a factor), "random:4:1.5" (number of random nodes), or "none". nullopt for
/// other texts or values out of bounds.
std::optional<SlowNodes> parse_slow_nodes(std::string_view text);

}  // namespace offramp
