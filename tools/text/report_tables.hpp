// The tables of reports as comma-separated values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/report/run_report.hpp"

namespace offramp::tool {

/// A text as a cell of comma-separated values, in quotes where it needs them.
std::string csv_cell(std::string_view text);

std::vector<std::string> report_table_names();

/// One table of all reports and all hardware of each, which the first two columns name. Times are in
/// nanoseconds. name: one of report_table_names().
std::string report_table(const std::vector<RunReport>& reports, std::string_view name);

/// What the table leaves out, for each report that has less than it would have with details.
std::vector<std::string> missing_in_table(const std::vector<RunReport>& reports, std::string_view name);

}  // namespace offramp::tool
