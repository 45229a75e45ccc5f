// offramp calibrate: measures the MPI library of this machine and writes a section [host] fitted to it.
#pragma once

#include <string>
#include <vector>

namespace offramp::tool {

struct CalibrateOptions {
  int ranks = 2;
  double seconds = 0.05;  // for each figure
  std::string output;     // a file for the section; empty: standard output, after the tables
  bool json = false;
  std::string mpirun;  // as RunOptions
  std::vector<std::string> mpirun_arguments;
};

/// Prints what was measured beside what the fitted host takes. Returns kDone, kUsage, kNotFound, kBroken
/// where this installation or the measuring program is, or kNotWritten.
int calibrate(const CalibrateOptions& options);

}  // namespace offramp::tool
