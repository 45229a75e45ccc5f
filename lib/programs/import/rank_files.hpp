// Traces with one file per rank: the last number in a file's name is the rank, and the others are beside it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/programs/recording/source.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::trace {

using RankFiles = std::vector<std::shared_ptr<const recording::Source>>;

/// Returns the files in rank order, whichever of them is named. A file without a number is that of rank 0,
/// and the only one. Errors name missing or duplicate ranks.
Result<RankFiles> rank_files(const std::string& name);

/// The part of a file's name before the number, without the separator: "run" for "run.12.et" and "run.et".
std::string prefix_of_rank_file(const std::string& name);

}  // namespace offramp::trace
