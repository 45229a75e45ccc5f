// Sections about time: what calls spend it on, who sends to whom, by size and by rank.
#include <array>

#include "lib/answers/report/accounts.hpp"
#include "lib/base/text_format.hpp"
#include "tools/page/markup.hpp"
#include "tools/page/plot.hpp"
#include "tools/page/report_page.hpp"

namespace offramp::tool {
namespace {

constexpr std::size_t kMostBars = 160;        // of ranks; more are drawn in groups
constexpr std::size_t kBarPlaces = 8;         // fewer ranks leave some of them empty
constexpr std::size_t kMostWaitingPairs = 8;  // of ranks that wait for each other
constexpr std::uint64_t kMostCells = 64;      // of a side of the matrix; of more ranks, groups share one

std::string colour_of_kind(std::size_t kind) {
  return fmt::format("var(--k{})", kind);
}

}  // namespace

void ReportPage::timeline() {
  const auto has_timeline = [](const ReportLane& lane) { return lane.accounts && lane.accounts->timeline; };
  if (!any(has_timeline)) return;
  section(
      "Timeline",
      "What each rank spends modelled time on, a line a rank. A click, a tap, or the pointer names a slice.");
  for (const RunReport& run : reports_) {
    if (std::any_of(run.lanes.begin(), run.lanes.end(), has_timeline)) timeline_of(run);
  }
  end_section();
}

void ReportPage::timeline_of(const RunReport& run) {
  add("<figure class=\"timeline\">\n<div class=\"key\">");
  for (std::size_t kind = 0; kind <= TimeParts::kKinds; ++kind) {
    const char* const name = kind < TimeParts::kKinds ? kTimeKinds[kind].head : "computing";
    add("<span data-kind=\"{0}\"><span class=\"dot\" style=\"background:var(--k{1})\"></span>{0}</span>",
        name, kind);
  }
  add("</div>\n<div class=\"tools\" hidden>"
      "<button type=\"button\" value=\"2\" aria-label=\"zoom in\">+</button>"
      "<button type=\"button\" value=\"0.5\" aria-label=\"zoom out\">&minus;</button>"
      "<button type=\"button\" value=\"0\">whole run</button><output></output></div>\n"
      "<canvas tabindex=\"0\" role=\"application\" aria-label=\"Timeline of the ranks. Plus and minus zoom, "
      "0 shows the whole run, left and right move, up and down choose a rank, comma and full stop a "
      "slice.\"></canvas>\n"
      "<p class=\"readout\" aria-live=\"polite\">Drag to move. After a click, the wheel zooms; keys: + "
      "&minus; 0, arrows, comma and full stop.</p>\n"
      "<noscript><p>The timeline needs scripts. The tables below do not.</p></noscript>\n");
  std::vector<std::string> notes;
  for (const ShownLane& shown : lanes_) {
    if (shown.run != &run || !shown.lane->accounts || !shown.lane->accounts->timeline) continue;
    const ReportTimeline& timeline = *shown.lane->accounts->timeline;
    add("<div hidden data-lane=\"{}\" data-end=\"{}\" data-functions=\"{}\">", escaped(shown.label),
        timeline.end.count() / 1000, escaped(fmt::format("{}", fmt::join(timeline.functions, "\n"))));
    for (const std::string& rank : timeline.ranks) add("<i data-row=\"{}\"></i>", escaped(rank));
    add("</div>\n");
    if (timeline.shortest > Time())
      notes.push_back(fmt::format(
          "{}: {} slices drawn as {}; those below {} are joined with their neighbours.", shown.label,
          count_text(timeline.slices), count_text(timeline.drawn), time_text(timeline.shortest)));
    if (!timeline.is_whole)
      notes.push_back(shown.label +
                      ": the last calls are missing, because the memory for them did not suffice.");
    if (timeline.drawn_ranks < run.ranks)
      notes.push_back(
          fmt::format("{}: ranks {} to {} are not drawn.", shown.label, timeline.drawn_ranks, run.ranks - 1));
  }
  add("<figcaption>");
  for (const std::string& note : notes) add("{} ", escaped(note));
  add("<code>offramp replay --trace FILE</code> writes every span for "
      "ui.perfetto.dev.</figcaption></figure>\n");
}

void ReportPage::accounts() {
  if (!any([](const ReportLane& lane) { return lane.accounts.has_value(); })) return;
  section("Where the time goes",
          "How the time in MPI calls is spent, all ranks together. Each moment of a call belongs to one "
          "kind, so the kinds of a function add up to its time.");
  add("<div class=\"key\">");
  for (std::size_t kind = 0; kind < TimeParts::kKinds; ++kind)
    add("<span><span class=\"dot\" style=\"background:{}\"></span><b>{}</b> {}</span>", colour_of_kind(kind),
        kTimeKinds[kind].head, kTimeKinds[kind].what);
  add("</div>\n");
  for (const bool is_folded : {false, true}) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (!lanes_[i].lane->accounts || is_in_focus(i) == is_folded) continue;
      if (is_folded) add("<details><summary>{}</summary>\n", label(i));
      accounts_of(i);
      if (is_folded) add("</details>\n");
    }
  }
  end_section();
}

void ReportPage::accounts_of(std::size_t index) {
  const ReportAccounts& accounts = *lanes_[index].lane->accounts;
  add("<h3>{}</h3>\n<p>{}</p>\n", dotted(index), escaped(accounts_text(accounts)));
  account_bars(account_rows(accounts, AccountsBy::kFunction));
  add("<details><summary>by size, phase, and place, as tables, and who waits for whom</summary>\n");
  if (accounts.sizes.size() > 1) {
    add("<h4>By size</h4>\n<p class=\"about\">The size of the call's operation, or of the largest of "
        "several.</p>\n");
    account_bars(account_rows(accounts, AccountsBy::kSize));
  }
  if (accounts.phases.size() > 1) {
    add("<h4>By phase</h4>\n<p class=\"about\">A call belongs to the phase that began last.</p>\n");
    account_bars(account_rows(accounts, AccountsBy::kPhase));
  }
  std::vector<AccountRow> sites = account_rows(accounts, AccountsBy::kSite);
  sites.resize(std::min(sites.size(), kShownSites));
  if (sites.size() > 1) {
    add("<h4>By place in the program</h4>\n<p class=\"about\">The places with the most time.</p>\n");
    account_bars(sites);
  }
  account_table(index, "function", account_rows(accounts, AccountsBy::kFunction));
  if (accounts.sizes.size() > 1) account_table(index, "size", account_rows(accounts, AccountsBy::kSize));
  if (accounts.phases.size() > 1) account_table(index, "phase", account_rows(accounts, AccountsBy::kPhase));
  if (sites.size() > 1) {
    account_table(index, "place", sites);
    left_out(accounts.sites.size(), kShownSites);
  }
  heads({"rank", "waits for rank", "total"}, label(index) + ", who waits for whom");
  for (std::size_t i = 0; i < std::min(kMostWaitingPairs, accounts.waits.size()); ++i)
    add("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", accounts.waits[i].rank, accounts.waits[i].peer,
        time_text(accounts.waits[i].waited));
  end_table();
  left_out(accounts.waits.size(), kMostWaitingPairs);
  add("</details>\n");
}

void ReportPage::account_bars(const std::vector<AccountRow>& rows) {
  add("<div class=\"bars\">\n");
  Time most;
  for (const AccountRow& row : rows) most = later(most, row.parts.sum());
  for (const AccountRow& row : rows) {
    if (row.parts.sum() <= Time()) continue;
    std::vector<BarPart> parts;
    for (std::size_t kind = 0; kind < TimeParts::kKinds; ++kind)
      parts.push_back({share(row.parts.at(kTimeKinds[kind].kind), most), colour_of_kind(kind)});
    add("<span class=\"name\">{}</span><span class=\"track\">{}</span><span class=\"value\">{}</span>"
        "<span class=\"note\">{} calls</span>\n",
        escaped(row.name), bar(parts, row.name), time_text(row.parts.sum()), count_text(row.calls));
  }
  add("</div>\n");
}

void ReportPage::account_table(std::size_t index, const std::string& what,
                               const std::vector<AccountRow>& rows) {
  std::vector<std::string> columns = {what, "calls", "time"};
  const bool has_spread =
      std::ranges::any_of(rows, [](const AccountRow& row) { return row.by_rank.ranks > 0; });
  if (has_spread) columns.insert(columns.end(), kSpreadHeads.begin(), kSpreadHeads.end());
  for (const TimeKindName& kind : kTimeKinds) columns.emplace_back(kind.head);
  heads(columns, label(index) + ", by " + what + (has_spread ? "; min, mean, and max by rank" : ""));
  for (const AccountRow& row : rows) {
    add("<tr><td><code>{}</code></td><td>{}</td><td>{}</td>", escaped(row.name), count_text(row.calls),
        time_text(row.parts.sum()));
    if (has_spread)
      for (const std::string& cell : spread_cells(row)) add("<td>{}</td>", cell);
    for (const TimeKindName& kind : kTimeKinds) add("<td>{}</td>", time_text(row.parts.at(kind.kind)));
    add("</tr>\n");
  }
  end_table();
}

void ReportPage::traffic() {
  const RunReport* last = nullptr;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const auto& accounts = lanes_[i].lane->accounts;
    if (!accounts || accounts->traffic.empty() || lanes_[i].run == last) continue;
    if (last == nullptr)
      section("Who sends to whom",
              "Bytes of point-to-point messages, without collectives: from the rank of the row to the rank "
              "of the column.");
    last = lanes_[i].run;
    traffic_of(accounts->traffic, last->ranks);
  }
  if (last != nullptr) end_section();
}

void ReportPage::traffic_of(const std::vector<ReportTraffic>& traffic, std::uint64_t ranks) {
  const std::uint64_t group = std::max<std::uint64_t>(1, (ranks + kMostCells - 1) / kMostCells);
  const std::uint64_t cells = (ranks + group - 1) / group;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> bytes;
  std::uint64_t most = 1;
  for (const ReportTraffic& pair : traffic) {
    std::uint64_t& cell = bytes[{pair.source / group, pair.destination / group}];
    cell += pair.bytes;
    most = std::max(most, cell);
  }
  // The ranks are on the left and above.
  const double side = 10 * static_cast<double>(cells);
  const double margin = side / 7;
  add("<svg class=\"matrix\" viewBox=\"{0:.1f} {0:.1f} {1:.1f} {1:.1f}\" font-size=\"{2:.2f}\" role=\"img\" "
      "aria-label=\"bytes from each rank to each other\">"
      "<rect width=\"{3}\" height=\"{3}\" fill=\"currentColor\" opacity=\".05\"/>"
      "<g fill=\"currentColor\" text-anchor=\"middle\">"
      "<text x=\"{4:.1f}\" y=\"{5:.1f}\">to rank</text><text transform=\"translate({5:.1f} {4:.1f}) "
      "rotate(-90)\">from rank</text>",
      -margin, side + margin, side / 26, side, side / 2, -margin * 0.62);
  const std::uint64_t every = std::max<std::uint64_t>(1, (cells + 7) / 8);
  for (std::uint64_t cell = 0; cell < cells; cell += every)
    add("<text x=\"{0}\" y=\"{1:.1f}\">{2}</text><text x=\"{1:.1f}\" y=\"{3:.1f}\">{2}</text>", cell * 10 + 5,
        -margin * 0.2, cell * group, static_cast<double>(cell * 10 + 5) + side / 78);
  add("</g>");
  for (const auto& [place, sum] : bytes)
    add("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"var(--l0)\" opacity=\"{:.2f}\">"
        "<title>{} to {}: {}</title></rect>",
        place.second * 10, place.first * 10,
        0.15 + 0.85 * static_cast<double>(sum) / static_cast<double>(most), place.first * group,
        place.second * group, bytes_text(sum));
  add("</svg>\n<p class=\"about\">The darkest cell: {}{}; lighter ones have less, in proportion.</p>\n",
      bytes_text(most), group > 1 ? fmt::format(", of groups of {}", counted(group, "rank")) : std::string());
}

ReportPage::SizeRows ReportPage::size_rows() const {
  SizeRows rows;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    for (const ReportSize& size : lanes_[i].lane->sizes)
      rows.try_emplace({size.min_bytes, size.max_bytes}, lanes_.size()).first->second[i] += size;
  }
  return rows;
}

void ReportPage::sizes() {
  const SizeRows rows = size_rows();
  if (rows.empty()) return;
  section("Time by message size",
          "Time of the operations in each size class, all ranks together: sends, receives, and collectives "
          "(by the size of the message, or of one rank's block).");
  Plot plot{.x = "message size in bytes", .y = "time of all ranks in ms", .part_of_page = true};
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    PlotLine line{.name = lanes_[i].label, .points = {}, .colour = colour(i)};
    for (const auto& [limits, row] : rows)
      line.points.emplace_back(static_cast<double>(limits.first), in_milliseconds(row[i].modelled));
    plot.lines.push_back(std::move(line));
  }
  add("<div class=\"scroll\">{}</div>\n<details><summary>as a table</summary>\n", svg(plot));
  heads_and_lanes({"size", "operations"});
  for (const auto& [limits, row] : rows) {
    ReportRow<ReportSize> shown;
    for (std::size_t i = 0; i < row.size(); ++i)
      shown.cells.emplace_back(lanes_[i].run, row[i].count > 0 ? &row[i] : nullptr);
    add("<tr><td>{}</td><td>{}</td>", size_class_text(limits.first, limits.second),
        of_each_report(shown, [](const ReportSize& s) { return count_text(s.count); }));
    for (const ReportSize& size : row) time_cell(size.modelled, size.count > 0);
    add("</tr>\n");
  }
  end_table();
  add("</details>\n");
  end_section();
}

void ReportPage::balance() {
  section("Balance between ranks",
          "Time in MPI calls of each rank, with rank 0 on the left. It includes waiting for other ranks.");
  add("<div class=\"cards\">\n");
  std::vector<std::string> even;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (balance_card(i)) continue;
    if (!lanes_[i].lane->ranks.empty()) even.push_back(label(i));
  }
  add("</div>\n");
  if (!even.empty())
    add("<p class=\"about\">Even, the mean above 95 % of the longest: {}.</p>\n", fmt::join(even, ", "));
  end_section();
}

bool ReportPage::balance_card(std::size_t index) {
  const std::vector<ReportRank>& ranks = lanes_[index].lane->ranks;
  double longest = 0;
  double sum = 0;
  for (const ReportRank& rank : ranks) {
    longest = std::max(longest, in_nanoseconds(rank.communication));
    sum += in_nanoseconds(rank.communication);
  }
  const double mean = ranks.empty() ? 0 : sum / static_cast<double>(ranks.size());
  if (mean >= 0.95 * longest) return false;
  const std::size_t group = (ranks.size() + kMostBars - 1) / kMostBars;
  const std::size_t bars = (ranks.size() + group - 1) / group;
  add("<div class=\"card\"><h3>{}</h3><svg class=\"ranks\" viewBox=\"0 0 {} 100\" "
      "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"time of each rank\">",
      dotted(index), std::max(bars, kBarPlaces) * 10);
  for (std::size_t bar = 0; bar < bars; ++bar) {
    double most = 0;
    for (std::size_t r = bar * group; r < std::min(ranks.size(), (bar + 1) * group); ++r)
      most = std::max(most, in_nanoseconds(ranks[r].communication));
    const double height = longest > 0 ? 100 * most / longest : 0;
    add("<rect x=\"{}\" y=\"{:.2f}\" width=\"8.6\" height=\"{:.2f}\" fill=\"{}\"/>", bar * 10, 100 - height,
        height, colour(index));
  }
  add("</svg><p>longest {}, mean {}: the mean is {} of the longest</p></div>\n", time_text(longest),
      time_text(mean), percent_text(mean, longest));
  return true;
}

}  // namespace offramp::tool
