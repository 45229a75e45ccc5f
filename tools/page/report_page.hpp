// The page of a report: one file with everything in it. The template tools/page/report.html has the answer as
// text and the report as data, which the page's script draws.
#pragma once

#include <string>

#include "tools/text/report.hpp"

namespace offramp::tool {

/// The answer below the headline: the assumed machine as facts, then the recorded run and a line for each
/// conclusion.
std::string answer_list(const ReportAnswer& answer);

/// The style sheet of a page.
std::string_view page_style();

}  // namespace offramp::tool
