// What a simulation records where the command line asks for it: --trace, --capture, --otf2,
// --receipts.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lib/report/replay_records.hpp"

namespace offramp::tool {

struct RecordOptions {
  std::string trace;    // paths; empty: not wanted
  std::string capture;  // one file for each rank
  std::string otf2;     // a folder
  CallRange receipts;

  /// Of a simulation of so many ranks; null: nothing is wanted.
  [[nodiscard]] std::unique_ptr<ReplayRecords> records(int ranks) const;
  /// The same with files of a backend's own, where several are simulated: run.json -> run.host.json
  [[nodiscard]] RecordOptions of_backend(std::string_view backend) const;
  /// Throws Misuse for a file that cannot be written.
  void check() const;
  /// Writes the files; complains of what is missing, and returns the exit code.
  [[nodiscard]] int write(ReplayRecords& records) const;
};

}  // namespace offramp::tool
