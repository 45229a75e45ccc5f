// Files that a simulation writes on request: --trace, --capture, --otf2, --receipts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/answers/report/replay_records.hpp"
#include "tools/command_line/tool.hpp"

namespace offramp::tool {

struct RecordOptions {
  std::string trace;    // path; empty: not wanted
  std::string capture;  // one file per rank, and per backend if there are several
  std::string otf2;     // one folder, or one per backend if there are several
  CallRange receipts;
};

/// The files of one command: a trace of all simulated backends, and captures and an archive for each.
class RecordFiles {
 public:
  /// options must outlive the object. backends: how many will follow. Throws Misuse for unwritable files.
  RecordFiles(const RecordOptions& options, std::size_t backends);

  /// An observer for a simulation of this many ranks; null: nothing is wanted. Throws like the constructor.
  [[nodiscard]] std::unique_ptr<ReplayRecords> records(std::string_view backend, int ranks) const;
  /// Writes the observations, and warns about missing data.
  void write(std::string_view backend, ReplayRecords& records);
  /// Completes the trace if one was begun. Returns kDone or kNotWritten.
  [[nodiscard]] int finish();

 private:
  /// With several backends, each has its own path: run.pcap -> run.host.pcap
  [[nodiscard]] std::string path_of(const std::string& path, std::string_view backend) const;
  void report_lost(const std::string& path, const std::string& problem);

  const RecordOptions& options_;
  std::optional<TraceFile> trace_;
  TracePlace place_;
  bool is_trace_lost_ = false;  // it could not be created; already reported
  int code_ = kDone;
};

}  // namespace offramp::tool
