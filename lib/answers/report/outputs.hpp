// The files that a configuration asks a run for.
#pragma once

#include <string>

#include "lib/base/configuration/configuration.hpp"

namespace offramp {

/// What is wrong with the first file that this rank could not write: the key, the name, and why. Empty:
/// nothing.
std::string problem_of_outputs(const Configuration& configuration, int rank);

}  // namespace offramp
