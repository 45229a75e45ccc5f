// Describes in words what does not fit.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lib/programs/scale/samples.hpp"

namespace offramp::scale {

/// The first values.
std::string some_values(const FieldSamples& samples);
/// "rank 3 of 16"
std::string rank_text(const EvaluationPoint& place);
/// Adds the number of a rank's calls before `node`, in program order. Returns false if it is not found.
bool calls_before(std::span<const Node> nodes, const Node* node, std::uint64_t& calls);
/// Describes the first call at which two ranks differ.
std::string difference_text(const FoldedRank& a, const FoldedRank& b, const Pool& pool);

}  // namespace offramp::scale
