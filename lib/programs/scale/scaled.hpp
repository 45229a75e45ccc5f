// A learned program at a given number of ranks, generated rank by rank as it is read.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"
#include "lib/programs/scale/compute_scaling.hpp"
#include "lib/programs/scale/model.hpp"

namespace offramp::scale {

/// Returns the model's program. On failure, names the roles that no recording has, and what to record. The
/// world decides what wildcards match.
Result<trace::Program> at_ranks(const std::shared_ptr<const Model>& model, int ranks, ComputeScaling scaling);

/// How two models differ at a number of ranks. Empty if a selection of ranks shows no difference.
std::string difference_at(const std::shared_ptr<const Model>& model,
                          const std::shared_ptr<const Model>& other, int ranks);

/// The model's program at a number of ranks, for the ranks that it can extrapolate.
struct Extrapolation {
  std::function<std::unique_ptr<recording::Reader>(int rank)> read;  // null if unknown
  /// The rank's role in words.
  std::function<std::string(int rank)> role;
  std::vector<std::string> unknown;  // reasons, one per role
};
/// Never fails: a rank that the model does not know has no reader.
Extrapolation extrapolation_of(const std::shared_ptr<const Model>& model, int ranks);

}  // namespace offramp::scale
