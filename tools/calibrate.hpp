// offramp calibrate: measures the MPI library of this machine, or reads what OSU's benchmarks measured on
// another one, and writes a section [host] fitted to it.
#pragma once

#include <string>
#include <vector>

#include "lib/configuration/configuration.hpp"

namespace offramp::tool {

struct CalibrateOptions {
  int ranks = 2;
  int ranks_per_node = 0;              // of the collectives in outputs that are read; 0: not known
  std::vector<std::string> from;       // outputs of OSU's benchmarks; empty: measures here
  std::vector<std::string> from_node;  // of messages within a node
  std::vector<Override> known;         // keys of the host that are not to be found
  double seconds = 0.05;               // for each figure
  std::string output;                  // a file for the section; empty: standard output, after the tables
  bool json = false;
  std::string mpirun;  // as RunOptions
  std::vector<std::string> mpirun_arguments;
};

/// Prints what was measured beside what the fitted host takes. Returns kDone, kUsage, kNotFound, kBroken
/// where this installation or the measuring program is, or kNotWritten.
int calibrate(const CalibrateOptions& options);

}  // namespace offramp::tool
