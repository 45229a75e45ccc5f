// offramp report: what reports say, side by side, as text or as a page.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/answers/report/change.hpp"
#include "lib/answers/report/read_report.hpp"
#include "lib/base/format.hpp"

namespace offramp::tool {

struct ReportOptions {
  std::vector<std::string> files;
  std::string html;   // empty: text on standard output
  std::string table;  // the same: one table as comma-separated values
};
int report(const ReportOptions& options);

/// One lane of one of the reports, as it is shown.
struct ShownLane {
  std::string label;  // the backend; with what differs, or the file, where two would have the same name
  const RunReport* run;
  const ReportLane* lane;
  bool baseline = false;  // what the others are compared with
};

/// What does not tell two settings apart: names of files, and what only says what to write.
bool is_cosmetic_key(const std::string& key);

/// All lanes in the order of the reports, with the first lane of the host as the baseline. Of several
/// recordings of a version, those of the first.
std::vector<ShownLane> shown_lanes(const std::vector<RunReport>& reports);
const ShownLane* baseline_of(const std::vector<ShownLane>& lanes);

/// Two recordings of one version.
inline bool is_same_version(const RunReport& one, const RunReport& other) {
  return !one.version_of_program.empty() && one.version_of_program == other.version_of_program;
}
/// What a later version of a program changes against the first one.
struct VersionChange {
  const RunReport* after;  // the first of that version
  ReportAnswer answer;
};
/// Empty: the reports are of one program, or not over the same hardware.
std::vector<VersionChange> changes_of(const std::vector<RunReport>& reports);

/// The calls of all functions together.
CallCounter sum_of(const std::vector<ReportCall>& calls);
/// part / whole; 0 of nothing.
inline double share(Time part, Time whole) {
  return whole > Time() ? part.seconds() / whole.seconds() : 0;
}
/// The lane and why it does not carry the program, which it does not.
std::string why_not_carried(const ShownLane& shown);

/// The first thing to know: "cclo would save 18 % of the communication time." And, where the computing is
/// known, what that is of the run. lanes: those of the reports.
std::string headline(const std::vector<RunReport>& reports, const std::vector<ShownLane>& lanes);
/// When and where a run was made, with what versions, and what was set besides the defaults; a line each.
std::vector<std::string> facts_of(const RunReport& report);
/// Everything that a reader has to be warned of, also across the reports.
std::vector<std::string> warnings_of(const std::vector<RunReport>& reports);

/// What has one name in all lanes.
template <typename Part>
struct ReportRow {
  std::string name;
  std::vector<std::pair<const RunReport*, const Part*>>
      cells;  // of each lane; null: it has none of this name
};

/// The parts of all lanes by name: those that take the most time in any lane first; without `time`, in the
/// order of the lanes.
template <typename Part>
std::vector<ReportRow<Part>> rows_of(const std::vector<ShownLane>& lanes,
                                     std::vector<Part> ReportLane::*parts,
                                     Time std::type_identity_t<Part>::*time) {
  std::vector<ReportRow<Part>> rows;
  std::map<std::string, std::size_t> places;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    for (const Part& part : lanes[lane].lane->*parts) {
      const auto [place, is_new] = places.try_emplace(part.name, rows.size());
      if (is_new) {
        rows.push_back({part.name, {}});
        for (const ShownLane& shown : lanes) rows.back().cells.emplace_back(shown.run, nullptr);
      }
      rows[place->second].cells[lane].second = &part;
    }
  }
  if (time == nullptr) return rows;
  const auto most = [time](const ReportRow<Part>& row) {
    Time longest;
    for (const auto& [run, part] : row.cells)
      longest = later(longest, part == nullptr ? Time() : part->*time);
    return longest;
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return most(a) > most(b); });
  return rows;
}

/// A text about a row that is the same for all lanes of a report, or where reports differ, theirs in order:
/// "400 / 40".
template <typename Part, typename Text>
std::string of_each_report(const ReportRow<Part>& row, Text text) {
  std::vector<std::string> texts;
  const RunReport* last = nullptr;
  for (const auto& [run, part] : row.cells) {
    if (run != last) texts.emplace_back("-");
    if (part != nullptr) texts.back() = text(*part);
    last = run;
  }
  const bool alike = std::adjacent_find(texts.begin(), texts.end(), std::not_equal_to<>()) == texts.end();
  return alike ? texts.front() : fmt::format("{}", fmt::join(texts, " / "));
}

/// "4-7"
std::string ranks_of(const ReportJob& job);
/// What a job is with its computing; empty: not known.
std::string whole_run_of(const ShownLane& shown, const ReportJob& job);
/// What stragglers cost. The lane has some.
std::string stragglers_of(const ReportLane& lane);

/// The sizes of a class: "0 B", "4 to 7 B", "from 64 KiB".
std::string size_class_text(std::uint64_t least, std::uint64_t most);

/// Where the time of calls goes, a line for each function.
enum class AccountsBy : std::uint8_t { kFunction, kSize, kPhase, kSite };
inline constexpr std::size_t kShownSites = 12;  // of places, as text and on a page
/// One row each, named as it is shown in the place of a function.
std::vector<ReportAccount> account_rows(const ReportAccounts& accounts, AccountsBy by);
std::vector<std::string> account_lines(const ReportAccounts& accounts, AccountsBy by = AccountsBy::kFunction);
/// Below the lines of functions: those of phases, where there is more than one, and of the places with the
/// most time.
std::vector<std::string> more_account_lines(const ReportAccounts& accounts);
/// Of two versions of a program, what calls from each of its functions take; by function, since lines move.
/// Empty: no place has a name.
std::vector<std::string> place_change_lines(const ReportAccounts& before, const ReportAccounts& after);
/// Who sends how much to whom: of few ranks as a matrix, of more the pairs with the most.
std::vector<std::string> traffic_lines(const std::vector<ReportTraffic>& traffic, std::uint64_t ranks);

/// The efficiencies of the runs, a line for each lane that has them; empty: none has.
std::vector<std::string> efficiency_lines(const std::vector<ShownLane>& lanes);
/// The parallel efficiency, load balance, serialisation, and transfer.
std::array<std::string, 4> efficiency_cells(const Efficiencies& one);

/// Reports side by side, as text: the answer, if there is one, and the tables.
void print_reports(const std::vector<RunReport>& reports);
/// The answers without the tables. False: there is none.
bool print_answers(const std::vector<RunReport>& reports);

/// The whole page, which needs nothing else: no network, no fonts, no scripts.
std::string report_page(const std::vector<RunReport>& reports);

}  // namespace offramp::tool
