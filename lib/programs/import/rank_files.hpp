// Traces of one file for each rank: the last number in a file's name is the rank, and the others lie beside
// it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/programs/recording/source.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::trace {

using RankFiles = std::vector<std::shared_ptr<const recording::Source>>;

/// In rank order, whichever of them is named. A file without a number in its name is that of rank 0, and has
/// no others. An error names the ranks that are missing, or one that is there twice.
Result<RankFiles> rank_files(const std::string& name);

/// What stands before the number of a file's name, without the separator: "run" of "run.12.et" and of
/// "run.et".
std::string prefix_of_rank_file(const std::string& name);

}  // namespace offramp::trace
