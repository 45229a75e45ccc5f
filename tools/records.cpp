#include "tools/records.hpp"

#include <fmt/core.h>

#include "lib/configuration/names.hpp"
#include "lib/report/capture.hpp"
#include "lib/trace/otf2.hpp"
#include "tools/setup.hpp"
#include "tools/tool.hpp"

namespace offramp::tool {

std::unique_ptr<ReplayRecords> RecordOptions::records(int ranks) const {
  ReplayRecords::Wanted wanted{!trace.empty(), receipts, !capture.empty()};
  wanted.timeline = !otf2.empty();
  return wanted.any() ? std::make_unique<ReplayRecords>(ranks, wanted) : nullptr;
}

RecordOptions RecordOptions::of_backend(std::string_view backend) const {
  RecordOptions own = *this;
  for (std::string* path : {&own.trace, &own.capture, &own.otf2}) {
    if (!path->empty()) *path = path_of_part(*path, backend);
  }
  return own;
}

void RecordOptions::check() const {
  std::string problem = trace.empty() ? "" : option_problem("--trace", trace);
  if (problem.empty() && !capture.empty()) problem = option_problem("--capture", capture_path(capture, 0));
  if (problem.empty() && !otf2.empty()) problem = option_problem("--otf2", otf2, trace::otf2_problem(otf2));
  if (!problem.empty()) throw Misuse{problem};
}

int RecordOptions::write(ReplayRecords& records) const {
  for (const std::string& line : records.notes()) complain(line);
  int code = kDone;
  const auto tell = [&code](const std::string& path, const std::string& problem) {
    if (problem.empty()) return;
    complain(fmt::format("cannot write {}: {}", in_quotes(path), problem));
    code = kNotWritten;
  };
  if (!trace.empty()) tell(trace, records.write_trace(trace));
  if (!capture.empty()) tell(capture, records.write_captures(capture));
  if (!otf2.empty()) tell(otf2, trace::write_otf2(*records.timeline(), "program", otf2));
  return code;
}

}  // namespace offramp::tool
