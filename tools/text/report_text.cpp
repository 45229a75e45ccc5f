// Prints reports as text in columns.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>

#include "lib/answers/report/accounts.hpp"
#include "lib/answers/report/call_table.hpp"
#include "lib/answers/report/delays.hpp"
#include "lib/answers/report/link_loads.hpp"
#include "lib/answers/report/sentences.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/text/columns.hpp"
#include "tools/text/replay_output.hpp"
#include "tools/text/report.hpp"

namespace offramp::tool {
namespace {

constexpr std::size_t kLongestHeadline = 1000;  // characters

}  // namespace

std::vector<AccountRow> account_rows(const ReportAccounts& accounts, AccountsBy by) {
  std::vector<AccountRow> rows;
  if (by == AccountsBy::kFunction) {
    for (const ReportAccount& one : accounts.functions) rows.push_back({one.function, one.calls, one.parts});
  } else if (by == AccountsBy::kSite) {
    // Prefix the function: places of the same name may call several.
    for (const ReportSiteAccount& one : accounts.sites)
      rows.push_back({fmt::format("{}, {}", one.function,
                                  one.site.empty()    ? "an unknown place"
                                  : one.place.empty() ? one.site
                                                      : one.place),
                      one.calls, one.parts, one.by_rank});
  } else if (by == AccountsBy::kSize) {
    for (const ReportSizeAccount& one : accounts.sizes)
      rows.push_back({one.has_size ? size_class_text(one.min_bytes, one.max_bytes) : "without operations",
                      one.calls, one.parts});
  } else {
    for (const ReportPhaseAccount& one : accounts.phases)
      rows.push_back({one.phase.empty() ? "outside of phases" : one.phase, one.calls, one.parts});
  }
  return rows;
}

std::array<std::string, 4> spread_cells(const AccountRow& row) {
  const ReportSpread& by_rank = row.by_rank;
  if (by_rank.ranks == 0) return {"", "", "", ""};
  return {count_text(by_rank.ranks), time_text(by_rank.least), time_text(by_rank.mean(row.parts.sum())),
          time_text(by_rank.most)};
}

std::vector<std::string> more_account_lines(const ReportAccounts& accounts) {
  std::vector<std::string> lines;
  if (!accounts.delays.empty()) lines.push_back(delays_text(accounts) + ".");
  if (accounts.phases.size() > 1)
    std::ranges::move(account_lines(accounts, AccountsBy::kPhase), std::back_inserter(lines));
  if (accounts.sites.size() > 1)
    std::ranges::move(account_lines(accounts, AccountsBy::kSite), std::back_inserter(lines));
  return lines;
}

std::string call_table_text(const std::vector<ReportCallRow>& rows) {
  if (rows.empty()) return {};
  const bool has_hardware =
      std::ranges::any_of(rows, [](const ReportCallRow& row) { return row.hardware.has_value(); });
  const bool is_offloaded =
      std::ranges::any_of(rows, [](const ReportCallRow& row) { return !row.offloaded.empty(); });
  std::vector<std::string> heads = {"# called from", "calls", "baseline", "of MPI time"};
  if (has_hardware) heads.emplace_back("hardware");
  heads.emplace_back("bound by");
  if (is_offloaded) heads.emplace_back("offloaded");
  Columns table(std::move(heads));
  for (std::size_t i = 0; i < std::min(rows.size(), kShownSites); ++i) {
    const ReportCallRow& row = rows[i];
    std::vector<std::string> cells = {
        printable(row.place.empty() ? row.function : fmt::format("{}, {}", row.function, row.place)),
        count_text(row.calls), time_text(row.baseline), percent_text(row.share, 1)};
    if (has_hardware) cells.push_back(row.hardware ? time_text(*row.hardware) : "-");
    cells.push_back(row.bound_by);
    if (is_offloaded) cells.push_back(row.offloaded.empty() ? "-" : row.offloaded);
    table.add(std::move(cells));
  }
  return fmt::format(
      "{}\n{}", fmt::join(table.lines(), "\n"),
      rows.size() > kShownSites ? fmt::format("  {}\n", and_more_text(rows.size() - kShownSites)) : "");
}

std::vector<std::string> account_lines(const ReportAccounts& accounts, AccountsBy by) {
  constexpr std::array<const char*, 4> kWhat = {"function", "size", "phase", "called from"};
  std::vector<std::string> heads = {kWhat[static_cast<std::size_t>(by)], "calls", "time"};
  if (by == AccountsBy::kSite) heads.insert(heads.end(), kSpreadHeads.begin(), kSpreadHeads.end());
  for (const TimeKindName& kind : kTimeKinds) heads.emplace_back(kind.head);
  Columns table(std::move(heads));
  const auto row = [&](const AccountRow& account) {
    const TimeParts& parts = account.parts;
    std::vector<std::string> cells = {
        printable(account.name), account.calls > 0 ? count_text(account.calls) : "", time_text(parts.sum())};
    if (by == AccountsBy::kSite) {
      for (std::string& cell : spread_cells(account)) cells.push_back(std::move(cell));
    }
    for (const TimeKindName& kind : kTimeKinds)
      cells.push_back(parts.at(kind.kind) > Time() ? percent_text(parts.at(kind.kind), parts.sum()) : "-");
    table.add(std::move(cells));
  };
  AccountRow sum{"all"};
  // Large programs have many places; show those with the most time, which come first.
  std::size_t left = by == AccountsBy::kSite ? kShownSites : std::numeric_limits<std::size_t>::max();
  for (const AccountRow& account : account_rows(accounts, by)) {
    sum.parts += account.parts;
    if (account.parts.sum() > Time() && left-- > 0) row(account);
  }
  row(sum);
  return table.lines();
}

namespace {

/// "exchange" of "exchange, halo.c:48": files and lines change between versions. Empty without a name.
std::string function_around(const ReportSiteAccount& site) {
  const std::size_t comma = site.place.rfind(", ");
  return site.place.substr(0, comma == std::string::npos ? site.place.rfind(" (") : comma);
}

/// "16 000 -> 40", or one of them if they are equal.
std::string arrow(std::string before, std::string after) {
  return before == after ? std::move(before) : fmt::format("{} -> {}", before, after);
}

std::string difference_text(Time before, Time after) {
  if (before == after) return "-";
  return fmt::format("{}{}", after < before ? "-" : "+",
                     time_text(later(before, after) - std::min(before, after)));
}

}  // namespace

std::vector<std::string> place_change_lines(const ReportAccounts& before, const ReportAccounts& after) {
  struct Total {
    std::uint64_t calls = 0;
    Time time;
  };
  std::map<std::string, std::array<Total, 2>> places;
  for (const ReportAccounts* const side : {&before, &after}) {
    for (const ReportSiteAccount& site : side->sites) {
      if (site.place.empty()) continue;
      Total& total =
          places[fmt::format("{} in {}", site.function, function_around(site))][side == &after ? 1 : 0];
      total.calls += site.calls;
      total.time += site.parts.sum();
    }
  }
  if (places.empty()) return {};
  std::vector<std::pair<std::string, std::array<Total, 2>>> rows(places.begin(), places.end());
  const auto size_of_change = [](const auto& row) {
    const auto& [was, is] = row.second;
    return later(was.time, is.time) - std::min(was.time, is.time);
  };
  std::ranges::stable_sort(
      rows, [&](const auto& a, const auto& b) { return size_of_change(a) > size_of_change(b); });
  Columns table({"called from", "calls", "time", "difference"});
  for (std::size_t i = 0; i < std::min(rows.size(), kShownSites); ++i) {
    const auto& [was, is] = rows[i].second;
    table.add({printable(rows[i].first), arrow(count_text(was.calls), count_text(is.calls)),
               arrow(time_text(was.time), time_text(is.time)), difference_text(was.time, is.time)});
  }
  std::vector<std::string> lines = table.lines();
  if (rows.size() > kShownSites) lines.push_back(and_more_text(rows.size() - kShownSites));
  return lines;
}

std::array<std::string, 4> efficiency_cells(const Efficiencies& one) {
  return {percent_text(one.parallel(), 1), percent_text(one.load_balance, 1),
          percent_text(one.serialisation, 1), percent_text(one.transfer, 1)};
}

std::vector<std::string> efficiency_lines(const std::vector<ShownLane>& lanes) {
  Columns table({"run over", "efficiency", "load balance", "serialisation", "transfer"});
  bool any = false;
  for (const ShownLane& shown : lanes) {
    if (!shown.lane->efficiencies) continue;
    std::vector<std::string> row = {printable(shown.label)};
    for (std::string& cell : efficiency_cells(*shown.lane->efficiencies)) row.push_back(std::move(cell));
    table.add(std::move(row));
    any = true;
  }
  return any ? table.lines() : std::vector<std::string>();
}

std::vector<std::string> traffic_lines(const std::vector<ReportTraffic>& traffic, std::uint64_t ranks) {
  constexpr std::uint64_t kMostInMatrix = 16;
  constexpr std::size_t kMostPairs = 8;
  if (traffic.empty()) return {};
  if (ranks > kMostInMatrix) {
    Columns table({"from", "to", "messages", "bytes"});
    for (std::size_t i = 0; i < std::min(kMostPairs, traffic.size()); ++i)
      table.add({fmt::format("{}", traffic[i].source), fmt::format("{}", traffic[i].destination),
                 count_text(traffic[i].messages), bytes_text(traffic[i].bytes)});
    std::vector<std::string> lines = table.lines();
    if (traffic.size() > kMostPairs) lines.push_back(and_more_text(traffic.size() - kMostPairs));
    return lines;
  }
  std::vector<std::string> heads = {"from, to"};
  for (std::uint64_t rank = 0; rank < ranks; ++rank) heads.push_back(fmt::format("{}", rank));
  Columns table(std::move(heads));
  for (std::uint64_t from = 0; from < ranks; ++from) {
    std::vector<std::string> cells = {fmt::format("{}", from)};
    for (std::uint64_t to = 0; to < ranks; ++to) {
      const auto pair = std::find_if(traffic.begin(), traffic.end(), [&](const ReportTraffic& one) {
        return one.source == from && one.destination == to;
      });
      cells.push_back(pair == traffic.end() ? "-" : bytes_text(pair->bytes));
    }
    table.add(std::move(cells));
  }
  return table.lines();
}

namespace {

void print_accounts(const ShownLane& shown) {
  if (!shown.lane->accounts) return;
  fmt::print("\n{}: {}\n", printable(shown.label), accounts_text(*shown.lane->accounts));
  for (const std::string& line : account_lines(*shown.lane->accounts)) fmt::print("{}\n", line);
  for (const std::string& line : more_account_lines(*shown.lane->accounts)) fmt::print("{}\n", line);
}

/// Prints the traffic of the first lane that has it; it is the same over all hardware.
void print_traffic(const std::vector<ShownLane>& lanes) {
  const auto first = std::find_if(lanes.begin(), lanes.end(), [](const ShownLane& shown) {
    return shown.lane->accounts && !shown.lane->accounts->traffic.empty();
  });
  if (first == lanes.end()) return;
  fmt::print("\nBytes of point-to-point messages, without collectives:\n");
  for (const std::string& line : traffic_lines(first->lane->accounts->traffic, first->run->ranks))
    fmt::print("{}\n", line);
}

void print_changes(const ShownLane& before, const ShownLane& after) {
  fmt::print("\nFrom {} to {}:\n", printable(before.label), printable(after.label));
  if (before.lane->run && after.lane->run && before.lane->run->end > Time())
    fmt::print("run: {} ({} instead of {})\n", ratio_text(after.lane->run->end, before.lane->run->end),
               time_text(after.lane->run->end), time_text(before.lane->run->end));
  Columns table({"call", "calls", "bytes each", "time", "difference"});
  const auto size = [](const CallCounter& counter) {
    return counter.count == 0 ? std::string("-") : bytes_text(counter.bytes / counter.count);
  };
  for (const CallChange& change : changes_between(*before.lane, *after.lane))
    table.add({printable(change.name), arrow(count_text(change.before.count), count_text(change.after.count)),
               arrow(size(change.before), size(change.after)),
               arrow(time_text(change.before.modelled), time_text(change.after.modelled)),
               difference_text(change.before.modelled, change.after.modelled)});
  table.print();
  if (!before.lane->accounts || !after.lane->accounts) return;
  for (const std::string& line : place_change_lines(*before.lane->accounts, *after.lane->accounts))
    fmt::print("{}\n", line);
}

/// Prints the changes of each report against the first, over hardware that both have.
void print_changes(const std::vector<ShownLane>& lanes) {
  for (const ShownLane& after : lanes) {
    if (after.run == lanes.front().run) continue;
    const auto before = std::find_if(lanes.begin(), lanes.end(), [&](const ShownLane& shown) {
      return shown.run == lanes.front().run && shown.lane->backend == after.lane->backend;
    });
    if (before != lanes.end()) print_changes(*before, after);
  }
}

void print_overview(const std::vector<ShownLane>& lanes) {
  const ShownLane* const host = baseline_of(lanes);
  Columns table({"", "communication", "of host", "modelled time", "carried", "declined", "native"});
  for (const ShownLane& shown : lanes) {
    const CallCounter sum = sum_of(shown.lane->calls);
    const bool compared = host != nullptr && &shown != host;
    table.add({printable(shown.label), time_text(shown.lane->communication),
               compared && shown.lane->time.carries_program()
                   ? ratio_text(shown.lane->communication, host->lane->communication)
                   : "",
               time_text(shown.lane->modelled_time), shown.lane->time.text(), count_text(sum.declined),
               count_text(sum.native)});
  }
  table.print();
}

void print_calls(const std::vector<ShownLane>& lanes) {
  std::vector<std::string> heads = {"call", "count", "bytes"};
  for (const ShownLane& shown : lanes) heads.push_back(printable(shown.label));
  Columns table(std::move(heads));
  for (const auto& row : rows_of(lanes, &ReportLane::calls, &ReportCall::modelled)) {
    std::vector<std::string> cells = {
        printable(row.name),
        of_each_report(row, [](const ReportCall& call) { return count_text(call.count); }),
        of_each_report(row, [](const ReportCall& call) { return bytes_text(call.bytes); })};
    for (const auto& [run, call] : row.cells)
      cells.push_back(call == nullptr ? "" : time_text(call->modelled));
    table.add(std::move(cells));
  }
  table.print();
}

void print_phases(const std::vector<ShownLane>& lanes) {
  const auto rows = rows_of(lanes, &ReportLane::phases, nullptr);
  if (rows.empty()) return;
  fmt::print("\nPhases, longest time of any rank:\n");
  std::vector<std::string> heads = {"phase", "times"};
  for (const ShownLane& shown : lanes) heads.push_back(printable(shown.label));
  Columns table(std::move(heads));
  for (const auto& row : rows) {
    std::vector<std::string> cells = {printable(row.name), of_each_report(row, [](const ReplayPhase& phase) {
                                        return count_text(phase.count);
                                      })};
    for (const auto& [run, phase] : row.cells)
      cells.push_back(phase == nullptr ? "" : time_text(phase->longest()));
    table.add(std::move(cells));
  }
  table.print();
}

void print_links(const ShownLane& shown) {
  constexpr std::size_t kShown = 5;
  const std::vector<LinkUse>& links = shown.lane->links;
  if (links.empty()) return;
  fmt::print("\n{}: {} of the network used; messages waited {} in total for other messages\n",
             printable(shown.label), counted(links.size(), "link"), time_text(waited_for(links)));
  Columns table({"busiest link", "busy", "share of the run", "bytes", "waiting", "once"});
  for (const LinkUse* link : busiest(links, kShown))
    table.add({printable(link->name), time_text(link->busy),
               percent_text(link->busy, shown.lane->modelled_time), bytes_text(link->bytes),
               time_text(link->waited), time_text(link->longest)});
  table.print();
  if (links.size() > kShown) fmt::print("{}\n", and_more_text(links.size() - kShown));
}

void print_jobs(const ShownLane& shown) {
  if (shown.lane->jobs.empty()) return;
  fmt::print("\n{}: {} at the same time\n", printable(shown.label),
             counted(shown.lane->jobs.size(), "program"));
  Columns table({"program", "ranks", "nodes", "modelled time", "alone", "slowdown"});
  for (const ReportJob& job : shown.lane->jobs)
    table.add({printable(job.program), ranks_of(job), printable(job.nodes), time_text(job.modelled_time),
               time_text(job.alone), ratio_text(job.modelled_time, job.alone)});
  table.print();
  for (const ReportJob& job : shown.lane->jobs) {
    if (job.run) fmt::print("{}\n", printable(whole_run_of(shown, job), 400));
  }
}

void print_stragglers(const ShownLane& shown) {
  if (shown.lane->stragglers) fmt::print("{}: {}\n", printable(shown.label), stragglers_of(*shown.lane));
}

void print_path(const ShownLane& shown) {
  if (!shown.lane->path) return;
  const CriticalPath& path = *shown.lane->path;
  const Time all = path.on_ranks + path.in_messages;
  fmt::print("{}: critical path: {} on ranks, {} in {}", printable(shown.label),
             percent_text(path.on_ranks, all), percent_text(path.in_messages, all),
             counted(path.messages, "message"));
  fmt::print("{}\n", path.shared > Time()
                         ? fmt::format("; {} waiting for shared links", percent_text(path.shared, all))
                         : std::string());
}

void print_run(const RunReport& report) {
  fmt::print("{}: {}: {}\n", printable(report.file), counted(report.ranks, "rank"),
             printable(report.command));
  for (const std::string& line : facts_of(report)) fmt::print("  {}\n", printable(line, 400));
}

}  // namespace

bool print_answers(const std::vector<RunReport>& reports) {
  if (reports.size() == 1) {
    if (!reports.front().answer) return false;
    fmt::print("{}", answer_text(*reports.front().answer, line_width()));
    return true;
  }
  const std::vector<VersionChange> changes = changes_of(reports);
  for (const VersionChange& change : changes)
    fmt::print("{}{}", &change == &changes.front() ? "" : "\n", answer_text(change.answer, line_width()));
  return !changes.empty();
}

void print_reports(const std::vector<RunReport>& reports) {
  const std::vector<ShownLane> lanes = shown_lanes(reports);
  const bool has_answer = print_answers(reports);
  if (has_answer) fmt::print("\n");
  for (const RunReport& report : reports) print_run(report);
  if (!has_answer) fmt::print("{}\n", printable(headline(reports, lanes), kLongestHeadline));
  if (reports.size() == 1 && has_answer) {
    for (const std::string& text : reports.front().answer->details)
      fmt::print("\n{}\n", printable_lines(text));
  }
  fmt::print("\n");
  print_overview(lanes);
  for (const ShownLane& shown : lanes) {
    if (!shown.lane->time.carries_program())
      fmt::print("{}\n", printable(shown.lane->why_not_carried(shown.label), 400));
  }
  fmt::print("\n");
  for (const ShownLane& shown : lanes) {
    if (const std::string& ground = shown.lane->deployment.text; !ground.empty())
      fmt::print("{} runs on {}\n", printable(shown.label), printable(ground, 400));
  }
  for (const RunReport& report : reports) {
    if (report.computing && !report.computing->gaps.empty())
      fmt::print("{}\n", printable(report.computing->gaps, 400));
  }
  for (const std::string& line : efficiency_lines(lanes)) fmt::print("{}\n", line);
  fmt::print("\nTime in calls, all ranks together:\n");
  print_calls(lanes);
  print_changes(lanes);
  for (const ShownLane& shown : lanes) print_accounts(shown);
  print_traffic(lanes);
  print_phases(lanes);
  for (const ShownLane& shown : lanes) print_jobs(shown);
  for (const ShownLane& shown : lanes) print_links(shown);
  for (const ShownLane& shown : lanes) print_stragglers(shown);
  for (const ShownLane& shown : lanes) print_path(shown);
  for (const ShownLane& shown : lanes) {
    for (const ReportDecline& decline : shown.lane->declines)
      fmt::print("{}: declined {} x {}: {}\n", printable(shown.label), decline.count,
                 printable(decline.operation), printable(decline.reason));
  }
  for (const ShownLane& shown : lanes) {
    if (!shown.lane->certificate.empty())
      fmt::print("{}: certificate {}\n", printable(shown.label), printable(shown.lane->certificate));
  }
  for (const RunReport& report : reports) {
    for (std::size_t i = 0; i < std::min(kShownPlaces, report.places.size()); ++i) {
      const ReportPlace& place = report.places[i];
      fmt::print(
          "{}: depends on arrival order: {}\n", printable(report.file),
          printable(place_text(place.times, place.call, place.communicator, to_string(place.site)), 400));
    }
    const std::uint64_t all = std::max<std::uint64_t>(report.place_count, report.places.size());
    if (all > kShownPlaces) fmt::print("{}: {}\n", printable(report.file), and_more_text(all - kShownPlaces));
  }
  for (const std::string& warning : warnings_of(reports))
    fmt::print("warning: {}\n", printable(warning, 400));
}

}  // namespace offramp::tool
