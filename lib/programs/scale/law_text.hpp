// What does not fit, in words.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/programs/scale/samples.hpp"

namespace offramp::scale {

/// The first values.
std::string some_values(const FieldSamples& samples);
/// "rank 3 of 16"
std::string rank_text(const Place& place);
/// The calls of a rank before the one at the node, in the order of the program. False: it is not there.
bool calls_before(std::span<const Node> nodes, const Node* node, std::uint64_t& calls);
/// From which call on two ranks do different things.
std::string difference_text(const FoldedRank& a, const FoldedRank& b, const Pool& pool);

}  // namespace offramp::scale
