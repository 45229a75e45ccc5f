// offramp replay: a recorded program on other hardware, without running it again.
#pragma once

#include <string>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "tools/command_line/records.hpp"
#include "tools/command_line/scaled_options.hpp"
#include "tools/command_line/sharing.hpp"

namespace offramp::tool {

struct ReplayToolOptions {
  std::string rules;                  // of another simulator, in place of backends; see is_rules()
  std::vector<std::string> files;     // of several, each is compared with the first; none: only jobs
  std::vector<std::string> versions;  // of the program, one for each file; empty: each file is one
  ScaledOptions scaled;               // with ranks: the one program that is replayed is made from its files
  std::vector<std::string> sweeps;    // KEY=FROM:TO each; one or two
  Sharing sharing;                    // of a sweep
  std::vector<std::string> jobs;      // FILE[:NODES] each, beside the file
  std::string background;             // see parse_background(); empty: none
  std::vector<std::string> backends;  // one result each; empty: those of the configuration
  bool modelled_arrival = false;      // the world decides what the order of arrival decided
  bool partial = false;               // recordings need not be whole
  bool check = false;                 // verify the invariants of the simulation
  bool json = false;
  bool csv = false;  // of a sweep
  RecordOptions records;
  std::string report;  // paths; empty: not wanted
  std::string html;
  std::vector<Override> overrides;
  [[nodiscard]] bool needs_report() const { return !report.empty() || !html.empty(); }
};

/// Prints one result per backend. Returns kDone, kUsage, kNotWritten, or kInterrupted with the results so
/// far. Hardware that cannot carry it is named with the reason; only if all is such, that is kUsage.
int replay(const ReplayToolOptions& options);

}  // namespace offramp::tool
