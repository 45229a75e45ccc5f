// offramp report: what reports say, side by side, as text or as a page.
#pragma once

#include <string>
#include <vector>

#include "lib/report/read_report.hpp"
#include "lib/report/words.hpp"

namespace offramp::tool {

struct ReportOptions {
  std::vector<std::string> files;
  std::string html;  // empty: text on standard output
};
int report(const ReportOptions& options);

/// One lane of one of the reports, as it is shown.
struct ShownLane {
  std::string label;  // the backend; with what differs, or the file, where two would have the same name
  const RunReport* run;
  const ReportLane* lane;
  bool baseline = false;  // what the others are compared with
};

/// All lanes in the order of the reports, with the first lane of the host as the baseline.
std::vector<ShownLane> shown_lanes(const std::vector<RunReport>& reports);
const ShownLane* baseline_of(const std::vector<ShownLane>& lanes);

/// How many operations went which way.
struct Carried {
  double offloaded = 0;
  double declined = 0;
  double routed = 0;
  double native = 0;
  [[nodiscard]] double all() const { return offloaded + declined + routed + native; }
  [[nodiscard]] double share() const { return all() == 0 ? 0 : offloaded / all(); }
};
Carried carried(const ReportLane& lane);

/// The first thing to know: "cclo would save 18 % of the communication time."
std::string headline(const std::vector<ShownLane>& lanes);
/// When and where a run was made, with what versions, and what was set besides the defaults; a line each.
std::vector<std::string> facts_of(const RunReport& report);
/// Everything that a reader has to be warned of, also across the reports.
std::vector<std::string> warnings_of(const std::vector<RunReport>& reports);

/// Null: the program has none of this name there.
/// By how much messages came later for others on their links, all together.
double waited_for(const std::vector<ReportLink>& links);
/// "4-7"
std::string ranks_of(const ReportJob& job);
/// What stragglers cost. The lane has some.
std::string stragglers_of(const ReportLane& lane);
const ReportPhase* phase_of(const ReportLane& lane, const std::string& name);

/// The sizes of a class: "0 B", "4 to 7 B", "from 64 KiB".
std::string size_class_text(const ReportSize& size);

/// The whole page, which needs nothing else: no network, no fonts, no scripts.
std::string report_page(const std::vector<RunReport>& reports);

}  // namespace offramp::tool
