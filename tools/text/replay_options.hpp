// offramp replay: a recorded program on other hardware, without running it.
#pragma once

#include <string>
#include <vector>

#include "lib/base/configuration/configuration.hpp"
#include "tools/command_line/records.hpp"
#include "tools/command_line/scaled_options.hpp"

namespace offramp::tool {

struct ReplayToolOptions {
  std::string rules;                   // of another simulator, instead of backends; see is_rules()
  std::vector<std::string> files;      // each is compared with the first; none: only jobs
  std::vector<std::string> versions;   // of the program, one per file; empty: each file is a version
  std::vector<std::string> libraries;  // of the host, each with all files of its own; empty: as configured
  ScaledOptions scaled;                // with ranks: one program is made from the files
  std::vector<std::string> sweeps;     // one or two KEY=FROM:TO
  int threads = 0;                     // of a sweep; 0: one on each core
  std::vector<std::string> jobs;       // FILE[:NODES], besides the file
  std::string background;              // see parse_background(); empty: none
  std::vector<std::string> backends;   // one result each; empty: the configured ones
  bool modelled_arrival = false;       // wildcards resolve by modelled time, not as recorded
  bool partial = false;                // accept incomplete recordings
  bool check = false;                  // verify the invariants of the simulation
  bool json = false;
  bool csv = false;  // of a sweep
  RecordOptions records;
  std::string report;  // path; empty: not wanted
  std::string html;
  std::vector<Override> overrides;
  [[nodiscard]] bool needs_report() const { return !report.empty() || !html.empty(); }
};

/// Prints one result per backend. Returns kDone, kUsage, kNotWritten, or kInterrupted with the results so
/// far. Backends that cannot carry the program are listed with the reason; kUsage if none can.
int replay(const ReplayToolOptions& options);

}  // namespace offramp::tool
