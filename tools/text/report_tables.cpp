#include "tools/text/report_tables.hpp"

#include <fmt/format.h>

#include <functional>

#include "lib/base/text_format.hpp"

namespace offramp::tool {
namespace {

/// Appends cells to a row.
class Row {
 public:
  explicit Row(std::string& text) : text_(text) {}
  Row& operator<<(std::string_view cell) { return add(csv_cell(cell)); }
  Row& operator<<(const char* cell) { return *this << std::string_view(cell); }
  Row& operator<<(Time time) { return add(fmt::format("{:.3f}", in_nanoseconds(time))); }
  Row& operator<<(std::uint64_t number) { return add(fmt::format("{}", number)); }

 private:
  Row& add(const std::string& cell) {
    text_ += "," + cell;
    return *this;
  }
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

Row& add_account(Row&& cells, std::uint64_t calls, const TimeParts& parts) {
  cells << calls;
  for (const TimeKindName& kind : kTimeKinds) cells << parts.at(kind.kind);
  return cells;
}

void rows_of_accounts(const ReportLane& lane, const CsvTable::NewRow& row) {
  if (!lane.accounts) return;
  for (const ReportAccount& account : lane.accounts->functions)
    add_account(std::move(row() << account.function), account.calls, account.parts);
}

void rows_of_size_accounts(const ReportLane& lane, const CsvTable::NewRow& row) {
  if (!lane.accounts) return;
  for (const ReportSizeAccount& account : lane.accounts->sizes)
    add_account(
        std::move(row() << (account.has_size ? "true" : "false") << account.min_bytes << account.max_bytes),
        account.calls, account.parts);
}

void rows_of_phase_accounts(const ReportLane& lane, const CsvTable::NewRow& row) {
  if (!lane.accounts) return;
  for (const ReportPhaseAccount& account : lane.accounts->phases)
    add_account(std::move(row() << account.phase << static_cast<std::uint64_t>(account.level)), account.calls,
                account.parts);
}

void rows_of_site_accounts(const ReportLane& lane, const CsvTable::NewRow& row) {
  if (!lane.accounts) return;
  for (const ReportSiteAccount& account : lane.accounts->sites)
    add_account(std::move(row() << account.function << account.site << account.place), account.calls,
                account.parts)
        << account.by_rank.ranks << account.by_rank.least << account.by_rank.mean(account.parts.sum())
        << account.by_rank.most;
}

void rows_of_calls(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReportCall& call : lane.calls)
    row() << call.name << call.count << call.bytes << call.offloaded << call.declined << call.routed
          << call.native << call.modelled;
}

void rows_of_sizes(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReportSize& size : lane.sizes)
    row() << size.kind << size.min_bytes << size.max_bytes << size.count << size.bytes << size.modelled;
}

void rows_of_ranks(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReportRank& rank : lane.ranks) row() << rank.rank << rank.modelled_time << rank.communication;
}

void rows_of_waits(const ReportLane& lane, const CsvTable::NewRow& row) {
  if (!lane.accounts) return;
  for (const ReportWait& wait : lane.accounts->waits) row() << wait.rank << wait.peer << wait.waited;
}

void rows_of_traffic(const ReportLane& lane, const CsvTable::NewRow& row) {
  if (!lane.accounts) return;
  for (const ReportTraffic& pair : lane.accounts->traffic)
    row() << pair.source << pair.destination << pair.messages << pair.bytes;
}

void rows_of_declines(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReportDecline& decline : lane.declines)
    row() << decline.operation << decline.reason << decline.count;
}

void rows_of_units(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReportUnit& unit : lane.units) row() << unit.name << unit.spans << unit.busy << unit.in_use;
}

void rows_of_resources(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReportResource& one : lane.resources)
    row() << one.name << one.count << one.busy << one.waited << one.bytes << one.busiest;
}

void rows_of_links(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const LinkUse& link : lane.links)
    row() << link.name << link.busy << link.waited << link.longest << link.bytes;
}

void rows_of_phases(const ReportLane& lane, const CsvTable::NewRow& row) {
  for (const ReplayPhase& phase : lane.phases) row() << phase.name << phase.count << phase.longest();
}

const std::vector<CsvTable>& tables() {
  static const std::vector<CsvTable> all = {
      {"calls", "function,calls,bytes,offloaded,declined,routed,native,modelled_ns", rows_of_calls},
      {"accounts", heads_of_accounts("function"), rows_of_accounts, has_accounts},
      {"accounts_by_size", heads_of_accounts("has_size,min_bytes,max_bytes"), rows_of_size_accounts,
       has_accounts},
      {"accounts_by_phase", heads_of_accounts("phase,level"), rows_of_phase_accounts, has_accounts},
      {"accounts_by_place", heads_of_accounts("function,site,place") + ",ranks,least_ns,mean_ns,most_ns",
       rows_of_site_accounts, has_accounts},
      {"waits", "rank,peer,waited_ns", rows_of_waits, has_accounts},
      {"traffic", "source,destination,messages,bytes", rows_of_traffic, has_accounts},
      {"sizes", "kind,min_bytes,max_bytes,operations,bytes,modelled_ns", rows_of_sizes},
      {"ranks", "rank,modelled_time_ns,communication_ns", rows_of_ranks},
      {"phases", "phase,times,longest_ns", rows_of_phases},
      {"declines", "operation,reason,times", rows_of_declines},
      {"units", "unit,spans,busy_ns,in_use_ns", rows_of_units, has_units},
      {"resources", "resource,places,busy_ns,waited_ns,bytes,busiest_ns", rows_of_resources},
      {"links", "link,busy_ns,waited_ns,longest_wait_ns,bytes", rows_of_links}};
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
