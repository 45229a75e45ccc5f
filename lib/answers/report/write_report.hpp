// Writes reports (docs/report.md), and the parts of them that commands print.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "lib/answers/report/call_table.hpp"
#include "lib/answers/report/run_report.hpp"

namespace offramp {

/// Indented; what is no UTF-8 is replaced. The report has a lane.
std::string report_text(const RunReport& report);
/// What ranks send to the one that puts their parts together: the same in one line, without receipts.
std::string encode(const RunReport& report);

/// The parts of a report, with the fields of docs/report.md.
nlohmann::ordered_json json_of(const ReportAnswer& answer);
nlohmann::ordered_json json_of(const ReportLane& lane);
nlohmann::ordered_json json_of(const std::vector<ReportCallRow>& rows);
/// When, where and with what it was made, and "computing" where it is known.
nlohmann::ordered_json json_of_facts(const RunReport& report);
nlohmann::ordered_json json_of(const Deployment& deployment);
nlohmann::ordered_json json_of(const WireCounters& wire);
nlohmann::ordered_json json_of(const ReportDependences& dependences);

}  // namespace offramp
