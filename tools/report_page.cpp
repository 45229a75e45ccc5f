// The page of a report: one file, with everything in it. Tables and charts work without scripts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>

#include "lib/configuration/names.hpp"
#include "lib/report/accounts.hpp"
#include "lib/report/link_loads.hpp"
#include "offramp/version.hpp"
#include "tools/markup.hpp"
#include "tools/plot.hpp"
#include "tools/report.hpp"
#include "tools/report_style.hpp"

namespace offramp::tool {
namespace {

constexpr std::size_t kMostBars = 160;  // of ranks; more are drawn in groups
constexpr std::size_t kBarPlaces = 8;   // fewer ranks leave some of them empty
constexpr std::size_t kMostUnits = 12;  // of one lane
constexpr std::size_t kMostPathRanks = 5;
constexpr std::size_t kMostPairs = 8;     // of ranks that wait for each other
constexpr std::uint64_t kMostCells = 64;  // of a side of the matrix; of more ranks, groups share one

Time longest_of(const std::vector<ShownLane>& lanes) {
  Time longest;
  for (const ShownLane& lane : lanes) longest = later(longest, lane.lane->communication);
  return longest;
}

/// Sizes of one class over all kinds of operations, by lane.
using SizeRows = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<ReportSize>>;

class Page {
 public:
  explicit Page(const std::vector<RunReport>& reports)
      : reports_(reports), lanes_(shown_lanes(reports)), baseline_(baseline_of(lanes_)) {
    std::vector<std::string> names;
    for (const ShownLane& lane : lanes_) names.push_back(lane.lane->backend);
    colours_ = colours_of(names);
  }

  std::string write() {
    begin();
    overview();
    whole_runs();
    calls();
    accounts();
    traffic();
    phases();
    sizes();
    balance();
    shares();
    units();
    jobs();
    stragglers();
    links();
    paths();
    places();
    certificates();
    settings();
    add("<footer>Written by offramp {}. Modelled time comes from models of the hardware, not from this "
        "machine. A model is not a measurement.</footer>\n</main></body></html>\n",
        escaped(OFFRAMP_VERSION));
    return std::string(text_.data(), text_.size());
  }

 private:
  template <typename... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  void section(std::string_view title, std::string_view about) {
    add("<section>\n<h2>{}</h2>\n<p class=\"about\">{}</p>\n", title, about);
  }
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

  [[nodiscard]] std::string colour(std::size_t lane) const {
    return colours_[lane] == kHostColour ? "var(--host)" : fmt::format("var(--l{})", colours_[lane]);
  }
  [[nodiscard]] std::string label(std::size_t lane) const { return escaped(lanes_[lane].label); }
  [[nodiscard]] std::string dotted(std::size_t lane) const {
    return fmt::format("<span class=\"dot\" style=\"background:{}\"></span>{}", colour(lane), label(lane));
  }

  /// Parts of a whole, one after the other; shares between 0 and 1.
  struct Part {
    double share;
    std::string colour;
    double opacity = 1;
  };
  static std::string bar(const std::vector<Part>& parts, const std::string& what) {
    std::string out = fmt::format(
        "<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">"
        "<rect width=\"1000\" height=\"10\" rx=\"1\" fill=\"currentColor\" opacity=\".07\"/>",
        escaped(what));
    double at = 0;
    for (const Part& part : parts) {
      const double width = 1000 * std::clamp(part.share, 0.0, 1.0);
      if (width <= 0) continue;
      out += fmt::format("<rect x=\"{:.2f}\" width=\"{:.2f}\" height=\"10\" fill=\"{}\" opacity=\"{}\"/>", at,
                         std::max(width, 1.5), part.colour, part.opacity);
      at += width;
    }
    return out + "</svg>";
  }

  void heads(const std::vector<std::string>& cells) {
    add("<div class=\"scroll\"><table><thead><tr>");
    for (const std::string& cell : cells) add("<th scope=\"col\">{}</th>", cell);
    add("</tr></thead><tbody>\n");
  }
  /// These columns, and one for each lane.
  void heads_and_lanes(std::vector<std::string> columns) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) columns.push_back(dotted(i));
    heads(columns);
  }
  void end_table() { add("</tbody></table></div>\n"); }

  void begin() {
    add("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'\">\n"
        "<title>Offramp report</title>\n<style>{}</style></head>\n<body><main>\n<p class=\"about\">Offramp "
        "report</p>\n"
        "<h1 class=\"headline\">{}</h1>\n<ul class=\"runs\">\n",
        kReportStyle, escaped(headline(lanes_)));
    for (const RunReport& run : reports_) {
      add("<li><code>{}</code> on {}, clock {}, CPU time {}, from {}",
          escaped(run.command.empty() ? "a program" : run.command), counted(run.ranks, "rank"),
          escaped(run.clock), escaped(run.compute), escaped(run.file));
      for (const std::string& line : facts_of(run)) add("<br>{}", escaped(line));
      add("</li>\n");
    }
    add("</ul>\n");
    for (const RunReport& run : reports_) {
      for (std::size_t i = 1; i < run.advice.size(); ++i)
        add("<pre class=\"advice\">{}</pre>\n", escaped(run.advice[i]));
    }
    const std::vector<std::string> warnings = warnings_of(reports_);
    if (warnings.empty()) return;
    add("<div class=\"warnings\"><ul>\n");
    for (const std::string& warning : warnings) add("<li>{}</li>\n", escaped(warning));
    add("</ul></div>\n");
  }

  void overview() {
    section("Communication time",
            "The longest time that any rank spends in MPI calls, in modelled time. The plain host, a NIC "
            "without any offload, is what the others are compared with.");
    const Time longest = longest_of(lanes_);
    add("<div class=\"bars\">\n");
    std::vector<std::size_t> order(lanes_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return lanes_[a].lane->communication < lanes_[b].lane->communication;
    });
    for (const std::size_t i : order) {
      const Time time = lanes_[i].lane->communication;
      const bool compared =
          baseline_ != nullptr && &lanes_[i] != baseline_ && lanes_[i].lane->time.carries_program();
      const bool good = compared && share(time, baseline_->lane->communication) < 0.9995;
      add("<span class=\"name\">{}</span><span class=\"track\">{}</span><span class=\"value\">{}</span>"
          "<span class=\"note{}\">{}</span>\n",
          label(i), bar({{share(time, longest), colour(i)}}, lanes_[i].label), time_text(time),
          good ? " good" : "", compared ? ratio_text(time, baseline_->lane->communication) : "");
    }
    add("</div>\n");
    const bool faults =
        any([](const ReportLane& lane) { return lane.given_up > 0 || lane.wire.retransmissions > 0; });
    std::vector<std::string> columns = {
        "hardware", "communication", "modelled time", "operations", "carried by it, of their time",
        "packets",  "on its wires"};
    if (faults) columns.insert(columns.end(), {"packets repeated", "given up"});
    heads(columns);
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const ReportLane& lane = *lanes_[i].lane;
      const CallCounter sum = sum_of(lane.calls);
      add("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", dotted(i),
          time_text(lane.communication), time_text(lane.modelled_time), count_text(sum.operations()),
          lane.time.text(), count_text(lane.wire.packets), bytes_text(lane.wire.wire_bytes));
      if (faults)
        add("<td>{}</td><td>{}</td>", count_text(lane.wire.retransmissions), count_text(lane.given_up));
      add("</tr>\n");
    }
    end_table();
    for (const ShownLane& shown : lanes_) {
      const std::string& ground = shown.lane->footing.text;
      if (!ground.empty())
        add("<p class=\"about\">{} stands on {}.</p>\n", escaped(shown.label), escaped(ground));
    }
    for (const ShownLane& shown : lanes_) {
      if (!shown.lane->time.carries_program())
        add("<p class=\"about\">{}.</p>\n", escaped(why_not_carried(shown)));
    }
    end_section();
  }

  void whole_runs() {
    const auto has_run = [](const ShownLane& shown) { return shown.lane->run && shown.run->computing; };
    const auto first = std::find_if(lanes_.begin(), lanes_.end(), has_run);
    if (first == lanes_.end()) return;
    section("Whole run",
            "The run with the program's computing, as recorded. Time in MPI calls contains the waiting for "
            "ranks that still compute; with communication that takes no time it is nothing else, and no "
            "hardware changes it.");
    heads({"hardware", "run", "of host", "in MPI calls", "with communication that takes no time", "computing",
           "the longest of the mean"});
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (!has_run(lanes_[i])) continue;
      const WholeRun& run = *lanes_[i].lane->run;
      const ReportComputing& computing = *lanes_[i].run->computing;
      const double ranks = std::max(1.0, static_cast<double>(lanes_[i].run->ranks));
      const bool compared = baseline_ != nullptr && &lanes_[i] != baseline_ && baseline_->lane->run &&
                            lanes_[i].lane->time.carries_program();
      add("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
          dotted(i), time_text(run.end), compared ? ratio_text(run.end, baseline_->lane->run->end) : "",
          percent_text(run.share_in_calls(), 1), time_text(computing.free.end),
          time_text(in_nanoseconds(computing.sum) / ranks),
          ratio_text(in_nanoseconds(computing.largest) * ranks, in_nanoseconds(computing.sum)));
    }
    end_table();
    if (const std::string& gaps = first->run->computing->gaps; !gaps.empty())
      add("<p class=\"about\">{}.</p>\n", escaped(gaps));
    end_section();
  }

  /// A time in a table, marked where it beats the baseline.
  void time_cell(Time time, bool there, Time baseline, bool is_baseline) {
    if (!there || time <= Time()) {
      add("<td class=\"none\">{}</td>", there ? "0" : "&ndash;");
      return;
    }
    const bool good =
        baseline_ != nullptr && !is_baseline && baseline > Time() && share(time, baseline) < 0.995;
    add("<td{}>{}</td>", good ? " class=\"good\"" : "", time_text(time));
  }

  void calls() {
    section("Calls", "Modelled time in each MPI function, all ranks together. Green: faster than the host.");
    heads_and_lanes({"call", "calls", "bytes"});
    for (const auto& row : rows_of(lanes_, &ReportLane::calls, &ReportCall::modelled)) {
      add("<tr><td><code>{}</code></td><td>{}</td><td>{}</td>", escaped(row.name),
          of_each_report(row, [](const ReportCall& c) { return count_text(c.count); }),
          of_each_report(row, [](const ReportCall& c) { return bytes_text(c.bytes); }));
      time_cells(row, &ReportCall::modelled);
    }
    end_table();
    end_section();
  }

  /// Kinds of time are told apart by strength of one colour, and in the order of the table.
  static double opacity_of(std::size_t kind) {
    constexpr std::array<double, TimeParts::kKinds> kOpacity = {1, 0.8, 0.5, 0.4, 0.3, 0.2, 0.12};
    return kOpacity[kind];
  }

  void accounts() {
    if (!any([](const ReportLane& lane) { return lane.accounts.has_value(); })) return;
    section(
        "Where the time goes",
        "What the time in MPI calls is spent on, of all ranks together. Each moment of a call belongs to one "
        "kind, so the kinds of a function add up to its time.");
    add("<div class=\"key\">");
    for (std::size_t kind = 0; kind < TimeParts::kKinds; ++kind)
      add("<span><span class=\"dot\" style=\"background:currentColor;opacity:{}\"></span> <b>{}</b> "
          "{}</span>",
          opacity_of(kind), kTimeKinds[kind].head, kTimeKinds[kind].what);
    add("</div>\n");
    for (std::size_t i = 0; i < lanes_.size(); ++i) accounts_of(i);
    end_section();
  }

  void accounts_of(std::size_t index) {
    if (!lanes_[index].lane->accounts) return;
    const ReportAccounts& accounts = *lanes_[index].lane->accounts;
    add("<h3>{}</h3>\n<p>{}</p>\n<div class=\"bars\">\n", dotted(index), escaped(accounts_text(accounts)));
    Time most;
    for (const ReportAccount& row : accounts.functions) most = later(most, row.parts.sum());
    for (const ReportAccount& row : accounts.functions) {
      if (row.parts.sum() <= Time()) continue;
      std::vector<Part> parts;
      for (std::size_t kind = 0; kind < TimeParts::kKinds; ++kind)
        parts.push_back({share(row.parts.of(kTimeKinds[kind].kind), most), colour(index), opacity_of(kind)});
      add("<span class=\"name\">{}</span><span class=\"track\">{}</span><span class=\"value\">{}</span>"
          "<span class=\"note\">{} calls</span>\n",
          escaped(row.function), bar(parts, row.function), time_text(row.parts.sum()), count_text(row.calls));
    }
    add("</div>\n<details><summary>as a table, and who waits for whom</summary>\n");
    std::vector<std::string> columns = {"function", "calls", "time"};
    for (const TimeKindName& kind : kTimeKinds) columns.emplace_back(kind.head);
    heads(columns);
    for (const ReportAccount& row : accounts.functions) {
      add("<tr><td><code>{}</code></td><td>{}</td><td>{}</td>", escaped(row.function), count_text(row.calls),
          time_text(row.parts.sum()));
      for (const TimeKindName& kind : kTimeKinds) add("<td>{}</td>", time_text(row.parts.of(kind.kind)));
      add("</tr>\n");
    }
    end_table();
    heads({"rank", "waits for rank", "in all"});
    for (std::size_t i = 0; i < std::min(kMostPairs, accounts.waits.size()); ++i)
      add("<tr><td>{}</td><td>{}</td><td>{}</td></tr>\n", accounts.waits[i].rank, accounts.waits[i].peer,
          time_text(accounts.waits[i].waited));
    end_table();
    add("</details>\n");
  }

  /// The traffic of each program, once: it sends the same over all hardware.
  void traffic() {
    const RunReport* last = nullptr;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const auto& accounts = lanes_[i].lane->accounts;
      if (!accounts || accounts->traffic.empty() || lanes_[i].run == last) continue;
      if (last == nullptr)
        section(
            "Who sends to whom",
            "Bytes of the program's own messages, without those of collectives: from the rank of the row to "
            "that of the column.");
      last = lanes_[i].run;
      traffic_of(accounts->traffic, last->ranks);
    }
    if (last != nullptr) end_section();
  }

  void traffic_of(const std::vector<ReportTraffic>& traffic, std::uint64_t ranks) {
    const std::uint64_t group = std::max<std::uint64_t>(1, (ranks + kMostCells - 1) / kMostCells);
    const std::uint64_t cells = (ranks + group - 1) / group;
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> bytes;
    std::uint64_t most = 1;
    for (const ReportTraffic& pair : traffic) {
      std::uint64_t& cell = bytes[{pair.source / group, pair.destination / group}];
      cell += pair.bytes;
      most = std::max(most, cell);
    }
    add("<svg class=\"matrix\" viewBox=\"0 0 {0} {0}\" role=\"img\" aria-label=\"bytes from each rank to "
        "each "
        "other\"><rect width=\"{0}\" height=\"{0}\" fill=\"currentColor\" opacity=\".05\"/>",
        cells * 10);
    for (const auto& [place, sum] : bytes)
      add("<rect x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"var(--l0)\" opacity=\"{:.2f}\">"
          "<title>{} to {}: {}</title></rect>",
          place.second * 10, place.first * 10,
          0.15 + 0.85 * static_cast<double>(sum) / static_cast<double>(most), place.first * group,
          place.second * group, bytes_text(sum));
    add("</svg>\n<p class=\"about\">The darkest: {}{}.</p>\n", bytes_text(most),
        group > 1 ? fmt::format(", of groups of {}", counted(group, "rank")) : std::string());
  }

  /// The times of all lanes in a row, which ends with them.
  template <typename Part, typename Member>
  void time_cells(const ReportRow<Part>& row, Member time) {
    const Part* const base = baseline_ != nullptr
                                 ? row.cells[static_cast<std::size_t>(baseline_ - lanes_.data())].second
                                 : nullptr;
    for (const auto& [run, part] : row.cells)
      time_cell(part != nullptr ? std::invoke(time, *part) : Time(), part != nullptr,
                base != nullptr ? std::invoke(time, *base) : Time(), part == base);
    add("</tr>\n");
  }

  void phases() {
    const auto rows = rows_of(lanes_, &ReportLane::phases, nullptr);
    if (rows.empty()) return;
    section("Phases", "Parts of the program that it names by MPI_Pcontrol: the longest time of a rank.");
    heads_and_lanes({"phase", "times"});
    for (const auto& row : rows) {
      add("<tr><td>{}</td><td>{}</td>", escaped(row.name),
          of_each_report(row, [](const ReplayPhase& p) { return count_text(p.count); }));
      time_cells(row, &ReplayPhase::longest);
    }
    end_table();
    end_section();
  }

  [[nodiscard]] SizeRows size_rows() const {
    SizeRows rows;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      for (const ReportSize& size : lanes_[i].lane->sizes)
        rows.try_emplace({size.min_bytes, size.max_bytes}, lanes_.size()).first->second[i] += size;
    }
    return rows;
  }

  void sizes() {
    const SizeRows rows = size_rows();
    if (rows.empty()) return;
    section("Time by message size",
            "What the operations of each class of sizes take, all ranks together: sends, receives and "
            "collectives (by the size of the message, or of one rank's block).");
    Plot plot{.x = "message size in bytes", .y = "time in ms", .part_of_page = true};
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
      const Time base =
          baseline_ != nullptr ? row[static_cast<std::size_t>(baseline_ - lanes_.data())].modelled : Time();
      for (std::size_t i = 0; i < row.size(); ++i)
        time_cell(row[i].modelled, row[i].count > 0, base, lanes_[i].baseline);
      add("</tr>\n");
    }
    end_table();
    add("</details>\n");
    end_section();
  }

  void balance() {
    section("Balance between ranks",
            "Time in MPI calls of each rank, from rank 0 on the left. A rank that waits for another one "
            "spends that time in MPI calls too.");
    add("<div class=\"cards\">\n");
    for (std::size_t i = 0; i < lanes_.size(); ++i) balance_card(i);
    add("</div>\n");
    end_section();
  }

  void balance_card(std::size_t index) {
    const std::vector<ReportRank>& ranks = lanes_[index].lane->ranks;
    if (ranks.empty()) return;
    double longest = 0;
    double sum = 0;
    for (const ReportRank& rank : ranks) {
      longest = std::max(longest, in_nanoseconds(rank.communication));
      sum += in_nanoseconds(rank.communication);
    }
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
    const double mean = sum / static_cast<double>(ranks.size());
    add("</svg><p>longest {}, mean {}: {}</p></div>\n", time_text(longest), time_text(mean),
        longest > 0 && mean / longest > 0.995
            ? "even"
            : fmt::format("the mean is {} of the longest", percent_text(mean, longest)));
  }

  void shares() {
    section("Who carries the operations",
            "What the hardware declines is carried by the model of a plain host; what is native is left to "
            "the MPI library and costs no modelled time.");
    add("<div class=\"key\"><span><b>full colour</b> carried by the hardware</span><span><b>lighter</b> "
        "declined, carried by the host</span><span><b>empty</b> native</span></div>\n<div class=\"bars\">\n");
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const CallCounter sum = sum_of(lanes_[i].lane->calls);
      const auto offloaded = static_cast<double>(sum.offloaded);
      const auto operations = static_cast<double>(sum.operations());
      const double all = std::max(1.0, operations);
      add("<span class=\"name\">{}</span><span class=\"track\">{}</span><span class=\"value\">{}</span>"
          "<span class=\"note\">{} of {}</span>\n",
          label(i),
          bar({{offloaded / all, colour(i)}, {static_cast<double>(sum.declined) / all, colour(i), 0.35}},
              lanes_[i].label),
          percent_text(offloaded, operations), count_text(offloaded), count_text(operations));
    }
    add("</div>\n");
    if (any([](const ReportLane& lane) { return !lane.declines.empty(); })) {
      add("<div class=\"scroll\"><table><thead><tr><th>hardware</th><th>times</th><th "
          "class=\"text\">operation</th><th class=\"text\">why it was declined</th></tr></thead><tbody>\n");
      for (std::size_t i = 0; i < lanes_.size(); ++i) {
        for (const ReportDecline& decline : lanes_[i].lane->declines)
          add("<tr><td>{}</td><td>{}</td><td class=\"word\">{}</td><td class=\"text\">{}</td></tr>\n",
              dotted(i), count_text(decline.count), escaped(decline.operation), escaped(decline.reason));
      }
      end_table();
    }
    end_section();
  }

  void units() {
    if (!any([](const ReportLane& lane) { return !lane.units.empty(); })) return;
    section("Where the hardware is busy",
            "The share of the run in which each unit worked, over all ranks, whether on one operation or on "
            "several at once.");
    add("<div class=\"cards\">\n");
    for (std::size_t i = 0; i < lanes_.size(); ++i) unit_card(i);
    add("</div>\n");
    end_section();
  }

  void unit_card(std::size_t index) {
    std::vector<ReportUnit> units = lanes_[index].lane->units;
    if (units.empty()) return;
    double run = 0;
    for (const ReportRank& rank : lanes_[index].lane->ranks) run += in_nanoseconds(rank.modelled_time);
    std::stable_sort(units.begin(), units.end(),
                     [](const ReportUnit& a, const ReportUnit& b) { return a.in_use > b.in_use; });
    const std::size_t shown = std::min(units.size(), kMostUnits);
    const Time most = units.front().in_use;
    add("<div class=\"card\"><h3>{}</h3><div class=\"bars small\">\n", dotted(index));
    for (std::size_t i = 0; i < shown; ++i) {
      add("<span class=\"name\">{}</span><span class=\"track\">{}</span><span class=\"value\">{}</span>\n",
          escaped(units[i].name), bar({{share(units[i].in_use, most), colour(index)}}, units[i].name),
          percent_text(std::min(in_nanoseconds(units[i].in_use), run), run));
    }
    add("</div>");
    if (shown < units.size()) add("<p>and {} more that are less busy</p>", units.size() - shown);
    add("</div>\n");
  }

  void paths() {
    if (!any([](const ReportLane& lane) { return lane.path.has_value(); })) return;
    section("Critical path",
            "The chain of work and messages that ends with the last rank. Only what is shorter on this path "
            "makes the run shorter. Full colour: on ranks and their hardware; lighter: waiting for a message "
            "of another rank, from the beginning of its send.");
    add("<div class=\"cards\">\n");
    for (std::size_t i = 0; i < lanes_.size(); ++i) path_card(i);
    add("</div>\n");
    end_section();
  }

  void jobs() {
    if (!any([](const ReportLane& lane) { return !lane.jobs.empty(); })) return;
    section("Programs at the same time",
            "Each program beside the others, and what it takes with nothing beside it on the same nodes.");
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const std::vector<ReportJob>& jobs = lanes_[i].lane->jobs;
      if (jobs.empty()) continue;
      add("<h3>{}</h3>\n", dotted(i));
      heads({"program", "ranks", "nodes", "modelled time", "alone", "slowdown"});
      for (const ReportJob& job : jobs)
        add("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escaped(job.program), ranks_of(job), escaped(job.nodes), time_text(job.modelled_time),
            time_text(job.alone), ratio_text(job.modelled_time, job.alone));
      end_table();
      for (const ReportJob& job : jobs) {
        if (job.run) add("<p class=\"about\">{}.</p>\n", escaped(whole_run_of(lanes_[i], job)));
      }
    }
    end_section();
  }

  void stragglers() {
    if (!any([](const ReportLane& lane) { return lane.stragglers.has_value(); })) return;
    section("Stragglers",
            "What interrupted processors and slow nodes cost, against the same run without them.");
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (lanes_[i].lane->stragglers) add("<p>{}: {}.</p>\n", dotted(i), stragglers_of(*lanes_[i].lane));
    }
    end_section();
  }

  void links() {
    constexpr std::size_t kShown = 10;
    if (!any([](const ReportLane& lane) { return !lane.links.empty(); })) return;
    section("The network between the nodes",
            "The busiest links, and by how much messages came later for others on their links.");
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const std::vector<LinkUse>& links = lanes_[i].lane->links;
      if (links.empty()) continue;
      add("<h3>{}</h3>\n<p>{} used; messages waited {} in all for one another.</p>\n", dotted(i),
          counted(links.size(), "link"), time_text(waited_for(links)));
      heads({"link", "busy", "of the time", "bytes", "waited for", "once at most"});
      for (const LinkUse* link : busiest(links, kShown))
        add("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            escaped(link->name), time_text(link->busy),
            percent_text(link->busy, lanes_[i].lane->modelled_time), bytes_text(link->bytes),
            time_text(link->waited), time_text(link->longest));
      end_table();
    }
    end_section();
  }

  void path_card(std::size_t index) {
    if (!lanes_[index].lane->path) return;
    const CriticalPath& path = *lanes_[index].lane->path;
    const Time all = later(Time::ps(1), path.on_ranks + path.in_messages);
    add("<div class=\"card\"><h3>{}</h3><div class=\"bars small\">\n<span class=\"name\">all</span><span "
        "class=\"track\">{}</span><span class=\"value\">{}</span>\n",
        dotted(index),
        bar({{share(path.on_ranks, all), colour(index)}, {share(path.in_messages, all), colour(index), 0.45}},
            "on ranks and in messages"),
        time_text(all));
    std::vector<std::size_t> order(path.by_rank.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return path.by_rank[a] > path.by_rank[b]; });
    order.resize(std::min(order.size(), kMostPathRanks));
    for (const std::size_t rank : order) {
      if (path.by_rank[rank] <= Time()) continue;
      add("<span class=\"name\">rank {}</span><span class=\"track\">{}</span><span "
          "class=\"value\">{}</span>\n",
          rank, bar({{share(path.by_rank[rank], all), colour(index)}}, "time on this rank"),
          percent_text(path.by_rank[rank], all));
    }
    add("</div><p>{} of other ranks {} waited for, one after the other: {} of the path.",
        counted(path.messages, "message"), path.messages == 1 ? "was" : "were",
        percent_text(path.in_messages, all));
    if (path.shared > Time()) add(" Waiting for shared links: {} of it.", percent_text(path.shared, all));
    if (!path.longest.empty()) {
      const CriticalPath::Step& step = path.longest.front();
      add(" The longest: {} from rank {} to rank {}, {}.", bytes_text(step.bytes), step.source,
          step.destination, time_text(step.end - step.begin));
    }
    add("</p></div>\n");
  }

  void places() {
    if (!any_run([](const RunReport& run) { return !run.places.empty(); })) return;
    section(
        "Where the order of arrival decides",
        "Calls that take a message from any source, choose among several requests, or ask whether something "
        "has come. Modelled time may differ from run to run by what they find. addr2line finds the line of "
        "an address in a program with debugging information.");
    for (const RunReport& run : reports_) {
      if (run.places.empty()) continue;
      add("<h3>{}</h3>\n<div class=\"scroll\"><table><thead><tr><th>times</th><th class=\"text\">call</th>"
          "<th class=\"text\">communicator</th><th class=\"text\">in the program</th></tr></thead><tbody>\n",
          escaped(run.file));
      for (const ReportPlace& place : run.places)
        add("<tr><td>{}</td><td class=\"word\">{}</td><td class=\"text\">{}</td><td "
            "class=\"text\"><code>{}</code></td></tr>\n",
            count_text(place.times), escaped(place.call), escaped(place.communicator),
            escaped(to_string(place.site)));
      end_table();
    }
    end_section();
  }

  void certificates() {
    if (!any([](const ReportLane& lane) { return !lane.certificate.empty(); })) return;
    section("Certificate",
            "A hash over every call of every rank: its arguments, its data and when it ended in modelled "
            "time. It is the same on every run, unless the order of arrival decided something.");
    heads({"hardware", "certificate", "data alone", "how often arrival decided"});
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      add("<tr><td>{}</td><td><code>{}</code></td><td><code>{}</code></td><td>{}</td></tr>\n", dotted(i),
          escaped(lanes_[i].lane->certificate), escaped(lanes_[i].run->data_certificate),
          count_text(lanes_[i].run->arrival_order_dependences));
    end_table();
    end_section();
  }

  void settings() {
    if (!any_run([](const RunReport& run) { return !run.settings.empty(); })) return;
    section("Settings",
            "What was in force, and where it came from: the defaults, a line of a file, a variable "
            "or an option.");
    for (const RunReport& run : reports_) {
      if (run.settings.empty()) continue;
      const auto set = static_cast<std::size_t>(
          std::count_if(run.settings.begin(), run.settings.end(),
                        [](const SettingInForce& setting) { return !setting.is_default(); }));
      add("<h3>{}</h3>\n", escaped(run.file));
      settings_table(run, false);
      add("<details><summary>{} at their defaults</summary>\n", run.settings.size() - set);
      settings_table(run, true);
      add("</details>\n");
    }
    end_section();
  }

  void settings_table(const RunReport& run, bool defaults) {
    add("<div class=\"scroll\"><table><thead><tr><th>setting</th><th>value</th>{}</tr></thead><tbody>\n",
        defaults ? "" : "<th class=\"text\">from</th>");
    for (const SettingInForce& setting : run.settings) {
      if (setting.is_default() != defaults) continue;
      add("<tr><td><code>{}</code></td><td>{}</td>", escaped(setting.key),
          setting.value.empty() ? "&ndash;" : escaped(setting.value));
      if (!defaults) add("<td class=\"text\">{}</td>", escaped(setting.source));
      add("</tr>\n");
    }
    end_table();
  }

  const std::vector<RunReport>& reports_;
  std::vector<ShownLane> lanes_;
  const ShownLane* baseline_;
  std::vector<std::size_t> colours_;  // of the lanes
  fmt::memory_buffer text_;
};

}  // namespace

std::string report_page(const std::vector<RunReport>& reports) {
  return Page(reports).write();
}

}  // namespace offramp::tool
