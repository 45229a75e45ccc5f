// The tables of reports as comma-separated values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/answers/report/run_report.hpp"

namespace offramp::tool {

/// Formats a cell of comma-separated values, quoted if necessary.
std::string csv_cell(std::string_view text);

std::vector<std::string> report_table_names();

/// One table (of report_table_names()) over all reports and lanes, which the first two columns name. Times
/// are in nanoseconds.
std::string report_table(const std::vector<RunReport>& reports, std::string_view name);

/// One line per report whose rows are incomplete because it was written without details.
std::vector<std::string> missing_in_table(const std::vector<RunReport>& reports, std::string_view name);

}  // namespace offramp::tool
