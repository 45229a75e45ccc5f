// offramp advise: its options, and functions that its forms share.
#pragma once

#include <string>
#include <vector>

#include "lib/answers/advice/advice.hpp"
#include "lib/base/configuration/configuration.hpp"
#include "lib/programs/scale/scaling.hpp"
#include "tools/command_line/scaled_options.hpp"
#include "tools/command_line/setup.hpp"
#include "tools/text/progress.hpp"

namespace offramp::tool {

struct AdviseOptions {
  std::vector<std::string> files;        // as for replay; with several, one answer each
  std::vector<std::string> repetitions;  // further recordings of the one program in `files`
  ScaledOptions scaled;                  // with ranks or rank_counts: one program from all files
  std::vector<int> rank_counts;          // several: one answer over all of them
  std::vector<std::string> backends;     // empty: all
  Advisor::Clock::time_point begin = Advisor::Clock::now();
  double seconds = 60;  // from the beginning; then prints the results so far
  bool partial = false;
  bool json = false;
  std::string routes;  // path to write; empty: not wanted
  std::string tuning;
  std::string tuning_for = "auto";
  std::string report;
  std::string html;
  std::string svg;
  bool quick = false;    // skip the searches
  bool details = false;  // print the details, too
  std::vector<Override> overrides;
};

/// The options of an advisor.
Advisor::Options options_for(const AdviseOptions& options, const Setup& setup, const ProgressLine& progress);

/// The name of a program in an answer.
std::string name_of_program(const std::string& file);

/// The gain of the answer's hardware on its number of ranks if CPU times scaled the other way. Empty: it is
/// the same, there are not enough recordings, or no time was left.
std::string other_scaling_text(const ReportAnswer& answer, int ranks, const scale::LearnedProgram& learned,
                               const scale::Scaling& scaling, const Configuration& configuration,
                               const Setup& setup, Advisor::Options how);

/// Answers for several numbers of ranks. Returns the exit code; throws Misuse.
int advise_over_ranks(const AdviseOptions& options, const Setup& setup);

}  // namespace offramp::tool
