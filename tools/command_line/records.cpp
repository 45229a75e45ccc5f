// Names are checked before the simulation and files written after it. A file that could not be created is
// reported once, and the command goes on: the exit code is then kNotWritten.
#include "tools/command_line/records.hpp"

#include <fmt/core.h>

#include "lib/answers/otf2/otf2_output.hpp"
#include "lib/answers/report/capture.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/setup.hpp"

namespace offramp::tool {

RecordFiles::RecordFiles(const RecordOptions& options, std::size_t backends) : options_(options) {
  place_.replays = static_cast<int>(backends);
  check_file_of("--trace", options.trace);
}

std::string RecordFiles::path_of(const std::string& path, std::string_view backend) const {
  return place_.replays > 1 ? path_of_part(path, backend) : path;
}

std::unique_ptr<ReplayRecords> RecordFiles::records(std::string_view backend, int ranks) const {
  ReplayRecords::Wanted wanted{!options_.trace.empty(), options_.receipts, !options_.capture.empty()};
  wanted.timeline = !options_.otf2.empty();
  if (!wanted.any()) return nullptr;
  std::string problem;
  if (wanted.capture)
    problem = option_problem("--capture", capture_path(path_of(options_.capture, backend), 0));
  if (problem.empty() && wanted.timeline) {
    const std::string folder = path_of(options_.otf2, backend);
    problem = option_problem("--otf2", folder, otf2_problem(folder));
  }
  if (!problem.empty()) throw Misuse{problem};
  return std::make_unique<ReplayRecords>(ranks, wanted);
}

void RecordFiles::report_lost(const std::string& path, const std::string& problem) {
  if (problem.empty()) return;
  warn(fmt::format("cannot write {}: {}", in_quotes(path), problem));
  code_ = kNotWritten;
}

void RecordFiles::write(std::string_view backend, ReplayRecords& records) {
  for (const std::string& line : records.notes()) warn(line);
  if (!options_.capture.empty()) {
    const std::string path = path_of(options_.capture, backend);
    report_lost(path, records.write_captures(path));
  }
  if (!options_.otf2.empty()) {
    const std::string folder = path_of(options_.otf2, backend);
    report_lost(folder, write_otf2(*records.timeline(), "program", folder));
  }
  if (options_.trace.empty() || is_trace_lost_) return;
  if (!trace_) {
    Result<TraceFile> file = TraceFile::create(options_.trace);
    is_trace_lost_ = !file;
    if (is_trace_lost_) return report_lost(options_.trace, file.error());
    trace_.emplace(std::move(*file));
  }
  place_.label = place_.replays > 1 ? fmt::format("{}: ", backend) : std::string();
  records.write_trace(*trace_, place_);
}

int RecordFiles::finish() {
  if (trace_) report_lost(options_.trace, trace_->finish());
  trace_.reset();
  return code_;
}

}  // namespace offramp::tool
