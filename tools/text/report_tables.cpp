#include "tools/text/report_tables.hpp"

#include <fmt/format.h>

#include <functional>
#include <type_traits>

#include "lib/answers/report/report_fields.hpp"
#include "lib/base/text_format.hpp"

namespace offramp::tool {
namespace {

/// An archive of report_fields.hpp that appends a cell for each field. Times are in nanoseconds.
class Row : public PlainArchive<Row> {
 public:
  static constexpr bool kReads = false;
  explicit Row(std::string& text) : text_(text) {}

  static bool has(const char*, bool) { return false; }  // further fields are in JSON only
  void derived(const char*, const auto& make) { cell(fmt::format("{:.3f}", make())); }
  void item(Time time, std::size_t = 0) { cell(fmt::format("{:.3f}", in_nanoseconds(time))); }
  void item(const std::string& text, std::size_t = 0) { cell(csv_cell(text)); }
  template <typename Value>
  void item(const Value& value, std::size_t = 0) {
    if constexpr (std::is_arithmetic_v<Value>) {
      cell(fmt::format("{}", value));
    } else {
      item_of_struct(value);
    }
  }

 private:
  void cell(const std::string& text) { text_ += "," + text; }
  std::string& text_;
};

/// heads: columns after those for the report and the hardware. rows: adds the rows of a lane; `row` begins
/// one. has_details: true if the lane has the details that this table needs; null: none needed.
struct CsvTable {
  std::string_view name;
  std::string heads;
  using NewRow = std::function<Row()>;
  void (*rows)(const ReportLane& lane, const NewRow& row);
  bool (*has_details)(const ReportLane& lane) = nullptr;
};

bool has_accounts(const ReportLane& lane) {
  return lane.accounts.has_value();
}
bool has_units(const ReportLane& lane) {
  return !lane.units.empty() || lane.accounts || lane.path;  // some hardware has no units even with details
}

/// by: the first columns.
std::string heads_of_accounts(std::string_view by) {
  std::string heads = fmt::format("{},calls", by);
  for (const TimeKindName& kind : kTimeKinds) heads += fmt::format(",{}_ns", kind.field);
  return heads;
}

/// The rows of a list: of the lane, or of its accounts.
template <auto kList>
void rows_of(const ReportLane& lane, const CsvTable::NewRow& row) {
  if constexpr (std::is_invocable_v<decltype(kList), const ReportLane&>) {
    for (const auto& one : lane.*kList) row().item(one);
  } else if (lane.accounts) {
    for (const auto& one : *lane.accounts.*kList) row().item(one);
  }
}

void rows_of_ranks(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReportRank& rank : lane.ranks) {
    Row cells = row();
    cells.item(rank.rank);
    cells.item(rank.modelled_time);
    cells.item(rank.communication);
  }
}

void rows_of_phases(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReplayPhase& phase : lane.phases) {
    Row cells = row();
    cells.item(phase.name);
    cells.item(phase.count);
    cells.item(phase.longest());
  }
}

void rows_of_resources(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReportResource& one : lane.resources) {
    Row cells = row();
    cells.item(one.name);
    cells.item(one.count);
    for (const Time time : {one.busy, one.waited}) cells.item(time);
    cells.item(one.bytes);
    cells.item(one.busiest);
  }
}

const std::vector<CsvTable>& tables() {
  static const std::vector<CsvTable> all = {
      {"calls", "function,calls,bytes,offloaded,declined,routed,native,modelled_ns",
       rows_of<&ReportLane::calls>},
      {"accounts", heads_of_accounts("function"), rows_of<&ReportAccounts::functions>, has_accounts},
      {"accounts_by_size", heads_of_accounts("has_size,min_bytes,max_bytes"), rows_of<&ReportAccounts::sizes>,
       has_accounts},
      {"accounts_by_phase", heads_of_accounts("phase,level"), rows_of<&ReportAccounts::phases>, has_accounts},
      {"accounts_by_place", heads_of_accounts("function,site,place") + ",ranks,least_ns,mean_ns,most_ns",
       rows_of<&ReportAccounts::sites>, has_accounts},
      {"waits", "rank,peer,waited_ns", rows_of<&ReportAccounts::waits>, has_accounts},
      {"traffic", "source,destination,messages,bytes", rows_of<&ReportAccounts::traffic>, has_accounts},
      {"sizes", "kind,min_bytes,max_bytes,operations,bytes,modelled_ns", rows_of<&ReportLane::sizes>},
      {"ranks", "rank,modelled_time_ns,communication_ns", rows_of_ranks},
      {"phases", "phase,times,longest_ns", rows_of_phases},
      {"declines", "operation,reason,times", rows_of<&ReportLane::declines>},
      {"units", "unit,spans,busy_ns,in_use_ns", rows_of<&ReportLane::units>, has_units},
      {"resources", "resource,places,busy_ns,waited_ns,bytes,busiest_ns", rows_of_resources},
      {"links", "link,busy_ns,waited_ns,longest_wait_ns,bytes", rows_of<&ReportLane::links>}};
  return all;
}

}  // namespace

std::string csv_cell(std::string_view text) {
  // Spreadsheets treat a cell with such a beginning as a formula, and phases may have any name.
  constexpr std::string_view kFormula = "=+-@\t\r";
  std::string cell = text.empty() || kFormula.find(text.front()) == std::string_view::npos ? "" : "'";
  cell += text;
  if (cell.find_first_of(",\"\n\r") == std::string::npos) return cell;
  std::string out = "\"";
  for (const char c : cell) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::vector<std::string> report_table_names() {
  std::vector<std::string> names;
  for (const CsvTable& table : tables()) names.emplace_back(table.name);
  return names;
}

std::vector<std::string> missing_in_table(const std::vector<RunReport>& reports, std::string_view name) {
  std::vector<std::string> texts;
  for (const CsvTable& table : tables()) {
    if (table.name != name || table.has_details == nullptr) continue;
    for (const RunReport& report : reports) {
      std::vector<std::string> without;
      for (const ReportLane& lane : report.lanes) {
        if (!table.has_details(lane)) without.push_back(printable(lane.backend));
      }
      if (!without.empty())
        texts.push_back(fmt::format("{}: no {} of {}: only reports of one program with --details have them",
                                    printable(report.file), name, fmt::join(without, ", ")));
    }
  }
  return texts;
}

std::string report_table(const std::vector<RunReport>& reports, std::string_view name) {
  std::string text;
  for (const CsvTable& table : tables()) {
    if (table.name != name) continue;
    text = fmt::format("report,backend,{}", table.heads);
    for (const RunReport& report : reports) {
      for (const ReportLane& lane : report.lanes) {
        table.rows(lane, [&] {
          text += fmt::format("\n{},{}", csv_cell(report.file), csv_cell(lane.backend));
          return Row(text);
        });
      }
    }
    text += '\n';
  }
  return text;
}

}  // namespace offramp::tool
