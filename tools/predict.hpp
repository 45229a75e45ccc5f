// offramp predict: what an operation takes on hardware that is not here.
#pragma once

#include <string>
#include <vector>

#include "lib/configuration/configuration.hpp"
#include "tools/records.hpp"

namespace offramp::tool {

struct PredictOptions {
  std::string operation;
  std::vector<std::string> backends;  // compared side by side; empty: the configured one
  int ranks = 2;
  std::string bytes = "8";  // with or without a unit
  int root = 0;
  std::string type;      // empty: int32 where something is reduced, byte elsewhere
  std::string function;  // empty: sum
  int repeat = 1;        // operations, one after the other
  std::string sweep;     // "bytes=1:1M", "ranks=2:4096"; doubling, or with ":xF" another factor
  std::string svg;       // plot into this file
  bool what_if = false;  // make a memory larger for which the hardware would decline
  bool check = false;    // verify the invariants of the simulation
  bool json = false;
  bool csv = false;
  RecordOptions records;
  std::vector<Override> overrides;
};

/// Prints one row per backend and point. Returns kDone, kUsage, or kDeclined when no row has a time.
int predict(const PredictOptions& options);

struct ExplainOptions {
  std::string topic;  // empty: list
  PredictOptions about;
  std::vector<std::string> arguments;
  std::string svg;  // of the topic validation: a plot into this file
};
int explain(const ExplainOptions& options);

}  // namespace offramp::tool
