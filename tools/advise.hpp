// offramp advise: which hardware suits a program, how sure that is, and what to do.
#pragma once

#include <string>
#include <vector>

#include "lib/configuration/configuration.hpp"

namespace offramp::tool {

struct AdviseOptions {
  std::string file;                   // a recording, or a pattern
  std::vector<std::string> backends;  // empty: all
  double seconds = 60;                // for the search; what is known then is printed
  bool partial = false;
  bool json = false;
  std::string routes;  // paths of files to write; empty: not wanted
  std::string tuning;
  std::vector<Override> overrides;
};

/// Returns kDone, kUsage, kNotWritten, or kInterrupted with what was known.
int advise(const AdviseOptions& options);

}  // namespace offramp::tool
