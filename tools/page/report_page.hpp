// The page of a report: one file, with everything in it. Tables and charts work without the script, which
// draws timelines and copies texts. The sections are in three files: the answer, the overview, and the end of
// the page in report_page.cpp, times in report_page_time.cpp, and hardware in report_page_hardware.cpp.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/text/report.hpp"

namespace offramp::tool {

/// The lines of an answer below the headline: the machine and the recorded run, and what follows from them.
std::string answer_list(const ReportAnswer& answer);

class ReportPage {
 public:
  explicit ReportPage(const std::vector<RunReport>& reports);
  std::string write();

 private:
  /// Sizes of one class over all kinds of operations, by lane.
  using SizeRows = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<ReportSize>>;

  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_ += fmt::format(format, std::forward<Arguments>(arguments)...);
  }

  void section(std::string_view title, std::string_view about);
  void end_section() { add("</section>\n"); }
  template <typename Has>
  [[nodiscard]] bool any_run(Has has) const {
    return std::any_of(reports_.begin(), reports_.end(), has);
  }
  template <typename Has>
  [[nodiscard]] bool any(Has has) const {
    return std::any_of(lanes_.begin(), lanes_.end(),
                       [&](const ShownLane& shown) { return has(*shown.lane); });
  }

  [[nodiscard]] std::string colour(std::size_t lane) const;
  [[nodiscard]] std::string label(std::size_t lane) const;
  [[nodiscard]] std::string dotted(std::size_t lane) const;

  /// Parts of a whole, one after the other; shares between 0 and 1.
  struct BarPart {
    double share;
    std::string colour;
    double opacity = 1;
  };
  static std::string bar(const std::vector<BarPart>& parts, const std::string& what);
  /// Up to the row of heads. subject: what the table is about within its section; empty: all of it. It is
  /// HTML.
  void begin_table(const std::string& subject);
  void heads(const std::vector<std::string>& cells, const std::string& subject = {});
  /// These columns, and one for each lane.
  void heads_and_lanes(std::vector<std::string> columns);
  void end_table() { add("</tbody></table></div>\n"); }
  /// Says how many of a list there are besides those that are shown, if there are more.
  void left_out(std::size_t all, std::size_t shown) {
    if (all > shown) add("<p class=\"about\">{}</p>\n", and_more_text(all - shown));
  }
  /// Adds a table with a row for each lane. A column with one value for all lanes becomes a line below the
  /// table. Cells are HTML; a cell without text is a dash.
  struct Column {
    std::string head;
    std::vector<std::string> cells;
  };
  void lane_table(const std::vector<std::size_t>& lanes, const std::vector<Column>& columns);
  /// Adds bars with names, times, and notes. Bars that are longer than longest_bar() fade at their end.
  struct NamedBar {
    std::string name;  // HTML
    std::string what;  // the name without marks
    std::string colour;
    Time end;          // 0 if unknown
    std::string note;  // HTML
    bool is_better = false;
  };
  void named_bars(const std::vector<NamedBar>& all, Time baseline);
  /// Adds a bar for each of these lanes, the shortest time first, with its ratio to the baseline.
  void lane_bars(std::vector<std::size_t> lanes, const std::function<Time(const ReportLane&)>& time);
  /// Adds a cell with a time. there: the lane has one.
  void time_cell(Time time, bool there);
  /// The times of all lanes in a row, which ends with them.
  template <typename Part, typename Member>
  void time_cells(const ReportRow<Part>& row, Member time) {
    for (const auto& [run, part] : row.cells)
      time_cell(part != nullptr ? std::invoke(time, *part) : Time(), part != nullptr);
    add("</tr>\n");
  }

  // The beginning of the page.
  void begin();
  void answer(const ReportAnswer& answer);
  void facts();
  void overview();
  void whole_runs();
  void calls();
  void phases();
  // Where the time goes.
  void timeline();
  /// Adds the timelines of a report's lanes, one above the other.
  void timeline_of(const RunReport& run);
  void accounts();
  /// Whether the lane is the baseline or the fastest other lane that carries the program.
  [[nodiscard]] bool is_in_focus(std::size_t index) const;
  void accounts_of(std::size_t index);
  void account_bars(const std::vector<AccountRow>& rows);
  void account_table(std::size_t index, const std::string& what, const std::vector<AccountRow>& rows);
  /// The traffic of each program, once: it sends the same over all hardware.
  void traffic();
  void traffic_of(const std::vector<ReportTraffic>& traffic, std::uint64_t ranks);
  [[nodiscard]] SizeRows size_rows() const;
  void sizes();
  void balance();
  /// Returns false, and adds no card, if the ranks are even or unknown.
  bool balance_card(std::size_t index);
  // What the hardware does, and what holds it up.
  void shares();
  void units();
  void unit_card(std::size_t index);
  void paths();
  void path_card(std::size_t index);
  void jobs();
  void stragglers();
  void links();
  // The end of the page.
  void places();
  void certificates();
  void settings();
  void settings_table(const RunReport& run, bool defaults);

  const std::vector<RunReport>& reports_;
  std::vector<ShownLane> lanes_;
  const ShownLane* baseline_;
  std::size_t best_ =
      0;  // the fastest lane that carries the program, without the baseline; lanes_.size(): none
  std::string section_;               // the title of the current one
  std::vector<std::size_t> colours_;  // of the lanes
  std::string text_;
};

}  // namespace offramp::tool
