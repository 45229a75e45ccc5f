// A learned program at some number of ranks, made rank by rank as it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/programs/import/program.hpp"
#include "lib/programs/scale/compute_scaling.hpp"
#include "lib/programs/scale/model.hpp"

namespace offramp::scale {

/// The model at so many ranks. A failure says which ranks no recording has, and what to record. What a
/// wildcard takes is left to the world.
Result<trace::Program> at_ranks(const std::shared_ptr<const Model>& model, int ranks, ComputeScaling scaling);

/// Why two models are not the same program at so many ranks; empty: they are, as far as some ranks tell.
std::string difference_at(const std::shared_ptr<const Model>& model,
                          const std::shared_ptr<const Model>& other, int ranks);

/// The same of those ranks alone that the model knows.
struct Foretold {
  std::function<std::unique_ptr<recording::Reader>(int rank)> read;  // null: it does not know it
  std::function<std::string(int rank)> role;
  std::vector<std::string> unknown;  // why, one for each role
};
Foretold foretell(const std::shared_ptr<const Model>& model, int ranks);

}  // namespace offramp::scale
