// The file that a trace goes to: its frame, and gzip where the name ends in .gz, which Perfetto opens as it
// is.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lib/base/output_file.hpp"

namespace offramp {

/// Whether a trace of this name is compressed.
bool is_compressed(std::string_view path);

/// Parts of a trace in order. Not thread safe.
class TraceFile {
 public:
  /// The file has a temporary name until finish().
  static Result<TraceFile> create(const std::string& path);
  TraceFile(TraceFile&& other) noexcept;
  TraceFile& operator=(TraceFile&&) = delete;
  ~TraceFile();

  /// events: as trace_events() makes them, never empty.
  void add(std::string_view events);
  /// The file gets its name. Empty, or what went wrong in all that came before.
  std::string finish();

 private:
  class Deflater;
  TraceFile(OutputFile file, std::unique_ptr<Deflater> deflater);
  void write(std::string_view text);

  OutputFile file_;
  std::unique_ptr<Deflater> deflater_;  // null: written as it is
  bool is_empty_ = true;
};

}  // namespace offramp
