// What is left of a run that did not come to MPI_Finalize. Each rank adds its part to the files of those that
// ended before it; what they hold says that it is not complete.
#pragma once

#include <string>

#include "lib/answers/report/run_facts.hpp"
#include "lib/answers/report/run_report.hpp"
#include "lib/base/configuration/configuration.hpp"

namespace offramp {

/// How one rank ended, and what it knew.
struct RankPart {
  std::string run;  // the same of all ranks of a run, and of no other
  int rank = 0;
  int ranks = 1;
  std::string reason;      // "signal 11 (Segmentation fault)"
  RunReport contribution;  // as the rank saw the run
};

/// The report with one more part. old: the file so far; another run's is replaced.
std::string partial_report(const std::string& old, const RankPart& part, const RunFacts& facts,
                           const Configuration& configuration);

}  // namespace offramp
