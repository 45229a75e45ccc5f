// offramp report: reports side by side, as text, table, or page.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/answers/report/call_table.hpp"
#include "lib/answers/report/change.hpp"
#include "lib/answers/report/read_report.hpp"
#include "lib/base/format.hpp"

namespace offramp::tool {

struct ReportOptions {
  std::vector<std::string> files;
  std::string html;   // empty: text on standard output
  std::string table;  // one table as comma-separated values; empty: text
};
int report(const ReportOptions& options);

/// A lane of a report, as displayed.
struct ShownLane {
  std::string label;  // the backend, with the differing settings or the file if ambiguous
  const RunReport* run;
  const ReportLane* lane;
  bool baseline = false;  // the others are compared with it
};

/// True for settings that do not distinguish lanes: file names, and which output to write.
bool is_cosmetic_key(const std::string& key);

/// All lanes in the order of the reports; the first lane of the host is the baseline. Of several recordings
/// of one version, only the first counts.
std::vector<ShownLane> shown_lanes(const std::vector<RunReport>& reports);
const ShownLane* baseline_of(const std::vector<ShownLane>& lanes);

/// True for two recordings of the same version.
inline bool is_same_version(const RunReport& one, const RunReport& other) {
  return !one.version_of_program.empty() && one.version_of_program == other.version_of_program;
}
/// A later version of a program compared with the first.
struct VersionChange {
  const RunReport* after;  // the first report of that version
  ReportAnswer answer;
};
/// Empty if the reports are of one program, or over different hardware.
std::vector<VersionChange> changes_of(const std::vector<RunReport>& reports);

/// The sum over all functions.
CallCounter sum_of(const std::vector<ReportCall>& calls);
/// part / whole; 0 if `whole` is 0.
inline double share(Time part, Time whole) {
  return whole > Time() ? part.seconds() / whole.seconds() : 0;
}

/// The name of a file without its folder. record --repeat numbers the files of a folder, which then stays:
/// "before/001.rec".
std::string short_name(const std::string& file);
/// The main result: "cclo would save 18 % of the communication time." Adds the effect on the run if the
/// computing is known. lanes: of the reports.
std::string headline(const std::vector<RunReport>& reports, const std::vector<ShownLane>& lanes);
/// Date, place, versions, and changed settings of a run, one line each.
std::vector<std::string> facts_of(const RunReport& report);
/// All warnings for the reader, also about differences between the reports.
std::vector<std::string> warnings_of(const std::vector<RunReport>& reports);

/// Parts of the same name in all lanes.
template <typename Part>
struct ReportRow {
  std::string name;
  std::vector<std::pair<const RunReport*, const Part*>> cells;  // by lane; null: without such a part
};

/// The parts of all lanes by name, the longest time in any lane first; without `time`, as in the lanes.
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

/// The text of a row if all reports have the same, otherwise each report's in order: "400 / 40".
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
/// A job's run including its computing. Empty if unknown.
std::string whole_run_of(const ShownLane& shown, const ReportJob& job);
/// The cost of stragglers. The lane must have some.
std::string stragglers_of(const ReportLane& lane);

/// The sizes of a class: "0 B", "4 to 7 B", "from 64 KiB".
std::string size_class_text(std::uint64_t least, std::uint64_t most);

/// call_rows() as a table with a row for each. Empty without rows.
std::string call_table_text(const std::vector<ReportCallRow>& rows);

/// How to group the time of calls; one line per group.
enum class AccountsBy : std::uint8_t { kFunction, kSize, kPhase, kSite };
inline constexpr std::size_t kShownSites = 12;  // most places shown in text and on a page
struct AccountRow {
  std::string name;
  std::uint64_t calls = 0;
  TimeParts parts = {};
  ReportSpread by_rank = {};  // of a place
};
std::vector<AccountRow> account_rows(const ReportAccounts& accounts, AccountsBy by);
/// The columns of a table by place, and their cells.
inline constexpr std::array kSpreadHeads = {"ranks", "min", "mean", "max"};
std::array<std::string, 4> spread_cells(const AccountRow& row);
std::vector<std::string> account_lines(const ReportAccounts& accounts, AccountsBy by = AccountsBy::kFunction);
/// Further lines: phases if there are several, and the places with the most time.
std::vector<std::string> more_account_lines(const ReportAccounts& accounts);
/// The calls from each function (lines move) in two versions of a program. Empty without place names.
std::vector<std::string> place_change_lines(const ReportAccounts& before, const ReportAccounts& after);
/// Bytes by sender and receiver: a matrix for few ranks, otherwise the pairs with the most.
std::vector<std::string> traffic_lines(const std::vector<ReportTraffic>& traffic, std::uint64_t ranks);

/// One line per lane with known efficiencies. Empty if none has.
std::vector<std::string> efficiency_lines(const std::vector<ShownLane>& lanes);
/// The parallel efficiency, load balance, serialisation, and transfer.
std::array<std::string, 4> efficiency_cells(const Efficiencies& one);

/// Prints the answer, if there is one, and the tables side by side.
void print_reports(const std::vector<RunReport>& reports);
/// Prints only the answers. False if there are none.
bool print_answers(const std::vector<RunReport>& reports);

/// A self-contained page, without network access or fonts.
std::string report_page(const std::vector<RunReport>& reports);

}  // namespace offramp::tool
