// What a simulation records where the command line asks for it: --trace, --capture, --otf2,
// --receipts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/answers/report/replay_records.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {

struct RecordOptions {
  std::string trace;    // paths; empty: not wanted
  std::string capture;  // one file for each rank, and for each backend of several
  std::string otf2;     // a folder, for each backend of several
  CallRange receipts;
};

/// The files of one command that simulates one backend after the other: one trace with all of them, and
/// captures and an archive of each.
class RecordFiles {
 public:
  /// options outlive it. backends: how many are simulated. Throws Misuse for a file that cannot be written.
  RecordFiles(const RecordOptions& options, std::size_t backends);

  /// What to observe a simulation of so many ranks with; null: nothing is wanted. Throws as the constructor.
  [[nodiscard]] std::unique_ptr<ReplayRecords> records(std::string_view backend, int ranks) const;
  /// Puts what was observed into the files, and complains of what is missing.
  void write(std::string_view backend, ReplayRecords& records);
  /// Ends the trace, if anything was written. Returns the exit code: kDone or kNotWritten.
  [[nodiscard]] int finish();

 private:
  /// Of several backends, each has a path of its own: run.pcap -> run.host.pcap
  [[nodiscard]] std::string path_of(const std::string& path, std::string_view backend) const;
  void report_lost(const std::string& path, const std::string& problem);

  const RecordOptions& options_;
  std::optional<TraceFile> trace_;
  TracePlace place_;
  bool is_trace_lost_ = false;  // it could not be begun, which has been told
  int code_ = kDone;
};

}  // namespace offramp::tool
