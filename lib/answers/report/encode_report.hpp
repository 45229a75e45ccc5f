// Reports as bytes: what ranks send to the one that puts their parts together.
#pragma once

#include <string>
#include <string_view>

#include "lib/answers/report/run_report.hpp"
#include "lib/base/configuration/configuration.hpp"

namespace offramp {

/// All but the receipts. The report has a lane.
std::string encode(const RunReport& report);
/// The bytes come from another process, and are checked. Those of another version of Offramp are refused.
Result<RunReport> decode_report(std::string_view bytes);

/// The same in hexadecimal, which a text file can hold.
std::string to_hexadecimal(std::string_view bytes);
/// Empty: the text is none.
std::string from_hexadecimal(std::string_view text);

}  // namespace offramp
