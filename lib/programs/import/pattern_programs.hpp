// Patterns of whole programs: training of neural networks, transposes, sparse matrices.
#pragma once

#include <memory>

#include "lib/programs/import/pattern.hpp"

namespace offramp {

std::unique_ptr<recording::Reader> read_data_parallel(const Pattern& pattern, int rank);
std::unique_ptr<recording::Reader> read_pipeline(const Pattern& pattern, int rank);
std::unique_ptr<recording::Reader> read_experts(const Pattern& pattern, int rank);
/// dimensions: 2 or 3.
std::unique_ptr<recording::Reader> read_transpose(const Pattern& pattern, int rank, int dimensions);
std::unique_ptr<recording::Reader> read_sparse(const Pattern& pattern, int rank);

}  // namespace offramp
