// offramp advise: what is asked of it, and what its forms share.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/advice/advice.hpp"
#include "lib/base/configuration/configuration.hpp"
#include "tools/command_line/scaled_options.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/text/progress.hpp"

namespace offramp::tool {

struct AdviseOptions {
  std::vector<std::string> files;     // whatever replay takes; of several, an answer each
  ScaledOptions scaled;               // with ranks or rank_counts: the one program of all files
  std::vector<int> rank_counts;       // several: the answer over them
  std::vector<std::string> backends;  // empty: all
  Advisor::Clock::time_point begin = Advisor::Clock::now();
  double seconds = 60;  // from the beginning; what is known then is printed
  bool partial = false;
  bool json = false;
  std::string routes;  // paths of files to write; empty: not wanted
  std::string tuning;
  std::string tuning_for = "openmpi";
  std::string report;
  std::string html;
  std::string svg;
  bool quick = false;    // no searches
  bool details = false;  // printed, too
  std::vector<Override> overrides;
};

/// How an advisor is to go about it.
Advisor::Options options_for(const AdviseOptions& options, const Setup& setup, const ProgressLine& progress);

/// A program as it is named in an answer.
std::string name_of_program(const std::string& file);

/// The answer over several numbers of ranks. Returns the exit code; throws Misuse.
int advise_over_ranks(const AdviseOptions& options, const Setup& setup);

}  // namespace offramp::tool
