// offramp fuzz-faults: runs a program under many different faults of the modelled wires, and makes the
// shortest script of what broke it.
#pragma once

#include <string>
#include <vector>

namespace offramp::tool {

struct FuzzOptions {
  std::vector<std::string> backends;
  std::vector<std::string> kinds;
  std::vector<std::string> rates;
  int ranks = 2;
  int runs = 100;
  int first_seed = 1;
  double time_limit = 60;  // seconds, of one run
  std::string expect;      // has to be in the output of a good run
  std::string folder;      // where scripts of failures go
  int shrink_runs = 200;   // at most, per failure; 0: failures are not shrunk
  bool json = false;
  bool verbose = false;
  std::vector<std::string> settings;  // KEY=VALUE
  std::vector<std::string> command;
};
int fuzz_faults(const FuzzOptions& options);

}  // namespace offramp::tool
