// Reads reports back (docs/report.md). Files come from anywhere: every field is checked before it is used.
#pragma once

#include <string>
#include <string_view>

#include "lib/answers/report/run_report.hpp"

namespace offramp {

/// Receipts may make a report large. It is read into memory whole.
inline constexpr std::size_t kLargestReport = std::size_t{1} << 30;

/// file: its name, for messages. An error names the field.
Result<RunReport> parse_report(std::string_view text, const std::string& file);
/// Reads a file of at most kLargestReport bytes. The error for a recording names the command that makes a
/// report.
Result<RunReport> read_report(const std::string& file);
/// Reads what encode() wrote. It comes from another process: that of another version of Offramp is refused,
/// and so are times that overflow when they are added up.
Result<RunReport> decode_report(std::string_view text);

}  // namespace offramp
