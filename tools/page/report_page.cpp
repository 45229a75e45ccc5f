// The page itself: its parts, the answer and the overview at its beginning, and settings at its end.
#include "tools/page/report_page.hpp"

#include <numeric>

#include "lib/base/text_format.hpp"
#include "offramp/version.hpp"
#include "tools/page/markup.hpp"
#include "tools/page/plot.hpp"
#include "tools/page/report_script.hpp"
#include "tools/page/report_style.hpp"

namespace offramp::tool {
namespace {

/// A number stays on the line of its "%".
std::string unbroken(std::string html) {
  for (std::size_t at = 0; (at = html.find(" %", at)) != std::string::npos;) html.replace(at, 1, "&nbsp;");
  return html;
}

bool has_run(const ShownLane& shown) {
  return shown.lane->run && shown.run->computing;
}

}  // namespace

ReportPage::ReportPage(const std::vector<RunReport>& reports)
    : reports_(reports), lanes_(shown_lanes(reports)), baseline_(baseline_of(lanes_)) {
  std::vector<std::string> names;
  for (const ShownLane& lane : lanes_) names.push_back(lane.lane->backend);
  colours_ = colours_of(names);
  best_ = lanes_.size();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (&lanes_[i] == baseline_ || !lanes_[i].lane->time.carries_program()) continue;
    if (best_ == lanes_.size() || lanes_[i].lane->end() < lanes_[best_].lane->end()) best_ = i;
  }
}

bool ReportPage::is_in_focus(std::size_t index) const {
  return index == best_ || &lanes_[index] == baseline_ || lanes_.size() == 1;
}

std::string ReportPage::write() {
  begin();
  whole_runs();
  timeline();
  overview();
  accounts();
  calls();
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
      "machine. A model is not a measurement.</footer>\n</main>\n<script>{}</script></body></html>\n",
      escaped(OFFRAMP_VERSION), kReportScript);
  return text_;
}

void ReportPage::section(std::string_view title, std::string_view about) {
  section_ = title;
  add("<section>\n<h2>{}</h2>\n<p class=\"about\">{}</p>\n", title, about);
}

std::string ReportPage::colour(std::size_t lane) const {
  return colours_[lane] == kHostColour ? "var(--host)" : fmt::format("var(--l{})", colours_[lane]);
}

std::string ReportPage::label(std::size_t lane) const {
  return escaped(lanes_[lane].label);
}

std::string ReportPage::dotted(std::size_t lane) const {
  return fmt::format("<span class=\"dot\" style=\"background:{}\"></span>{}", colour(lane), label(lane));
}

std::string ReportPage::bar(const std::vector<BarPart>& parts, const std::string& what) {
  std::string out = fmt::format(
      "<svg viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">"
      "<rect width=\"1000\" height=\"10\" rx=\"1\" fill=\"currentColor\" opacity=\".07\"/>",
      escaped(what));
  double at = 0;
  for (const BarPart& part : parts) {
    const double width = 1000 * std::clamp(part.share, 0.0, 1.0);
    if (width <= 0) continue;
    out += fmt::format("<rect x=\"{:.2f}\" width=\"{:.2f}\" height=\"10\" fill=\"{}\" opacity=\"{}\"/>", at,
                       std::max(width, 1.5), part.colour, part.opacity);
    at += width;
  }
  return out + "</svg>";
}

void ReportPage::begin_table(const std::string& subject) {
  add("<div class=\"scroll\"><table><caption>{}{}{}</caption><thead><tr>", section_,
      subject.empty() ? "" : ": ", subject);
}

void ReportPage::heads(const std::vector<std::string>& cells, const std::string& subject) {
  begin_table(subject);
  for (const std::string& cell : cells) add("<th scope=\"col\">{}</th>", cell);
  add("</tr></thead><tbody>\n");
}

void ReportPage::heads_and_lanes(std::vector<std::string> columns) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) columns.push_back(dotted(i));
  heads(columns);
}

void ReportPage::time_cell(Time time, bool there) {
  if (there && time > Time()) return add("<td>{}</td>", time_text(time));
  add("<td class=\"none\">{}</td>", there ? "0" : "&ndash;");
}

void ReportPage::lane_table(const std::vector<std::size_t>& lanes, const std::vector<Column>& columns) {
  std::vector<const Column*> shown;
  std::vector<std::string> alike;
  for (const Column& column : columns) {
    const bool is_alike = lanes.size() > 1 && std::adjacent_find(column.cells.begin(), column.cells.end(),
                                                                 std::not_equal_to<>()) == column.cells.end();
    if (!is_alike) {
      shown.push_back(&column);
    } else if (!column.cells.front().empty()) {
      alike.push_back(fmt::format("{} {}", column.head, column.cells.front()));
    }
  }
  std::vector<std::string> names = {"hardware"};
  for (const Column* column : shown) names.push_back(column->head);
  if (!shown.empty()) {
    heads(names);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      add("<tr><td>{}</td>", dotted(lanes[i]));
      for (const Column* column : shown)
        add("<td>{}</td>", column->cells[i].empty() ? "&ndash;" : column->cells[i]);
      add("</tr>\n");
    }
    end_table();
  }
  if (!alike.empty()) add("<p class=\"about\">The same for all: {}.</p>\n", fmt::join(alike, ", "));
}

void ReportPage::named_bars(const std::vector<NamedBar>& all, Time baseline) {
  std::vector<Time> ends;
  ends.reserve(all.size());
  for (const NamedBar& one : all) ends.push_back(one.end);
  const Time longest = longest_bar(ends, baseline);
  bool is_any_cut = false;
  add("<div class=\"bars\">\n");
  for (const NamedBar& one : all) {
    const bool is_cut = one.end > longest;
    is_any_cut = is_any_cut || is_cut;
    add("<span class=\"name\">{}</span><span class=\"track{}\">{}</span><span class=\"value\">{}</span>"
        "<span class=\"note{}\">{}</span>\n",
        one.name, is_cut ? " cut" : "", bar({{share(one.end, longest), one.colour}}, one.what),
        one.end > Time() ? time_text(one.end) : "", one.is_better ? " good" : "", one.note);
  }
  add("</div>\n{}", is_any_cut ? "<p class=\"about\">Bars that fade at their end are cut.</p>\n" : "");
}

void ReportPage::lane_bars(std::vector<std::size_t> lanes,
                           const std::function<Time(const ReportLane&)>& time) {
  std::stable_sort(lanes.begin(), lanes.end(), [&](std::size_t a, std::size_t b) {
    return time(*lanes_[a].lane) < time(*lanes_[b].lane);
  });
  const Time base = baseline_ != nullptr ? time(*baseline_->lane) : Time();
  std::vector<NamedBar> bars;
  for (const std::size_t i : lanes) {
    const Time own = time(*lanes_[i].lane);
    const bool compared = &lanes_[i] != baseline_ && base > Time() && lanes_[i].lane->time.carries_program();
    bars.push_back({label(i), lanes_[i].label, colour(i), own, compared ? ratio_text(own, base) : "",
                    compared && share(own, base) < 0.9995});
  }
  named_bars(bars, base);
}

std::string answer_list(const ReportAnswer& answer) {
  auto lines = answer_lines(answer);
  std::stable_partition(lines.begin(), lines.end(),
                        [](const auto& line) { return line.first == "on" || line.first == "run"; });
  std::string text = "<dl class=\"answer\">\n";
  for (const auto& [label, line] : lines) {
    const std::string shown = label == "next" ? fmt::format("<code>{}</code>", escaped(line)) : escaped(line);
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", label, shown);
  }
  return text + "</dl>\n";
}

void ReportPage::answer(const ReportAnswer& answer) {
  add("{}", answer_list(answer));
  std::vector<NamedBar> bars;
  for (const ReportAnswerBar& one : answer.bars) {
    const auto lane = std::find_if(lanes_.begin(), lanes_.end(),
                                   [&](const ShownLane& shown) { return shown.lane->backend == one.name; });
    const std::string fill =
        lane == lanes_.end() ? "var(--muted)" : colour(static_cast<std::size_t>(lane - lanes_.begin()));
    std::string note = one.end > Time() ? ratio_text(one.end, answer.baseline) : "";
    if (!one.note.empty()) note += (note.empty() ? "" : ", ") + escaped(one.note);
    bars.push_back({escaped(one.name), one.name, fill, one.end, std::move(note)});
  }
  named_bars(bars, answer.baseline);
  if (!answer.routes.empty())
    add("<details><summary>the best mix of hardware, as offramp.toml</summary>\n<button class=\"copy\" "
        "type=\"button\" hidden>copy</button><pre class=\"advice\">{}</pre></details>\n",
        escaped(answer.routes));
  if (answer.details.empty()) return;
  add("<details><summary>candidates, reasons, and influences</summary>\n");
  for (const std::string& text : answer.details) add("<pre class=\"advice\">{}</pre>\n", escaped(text));
  add("</details>\n");
}

void ReportPage::begin() {
  // The answer is the first sentence, and the others explain it.
  const std::string text = headline(reports_, lanes_);
  const std::size_t end = text.find(". ");
  add("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src '{}'\">\n"
      "<title>Offramp report</title>\n<style>{}</style></head>\n<body><main>\n<p class=\"about\">Offramp "
      "report</p>\n<h1 class=\"headline\">{}</h1>\n",
      kReportScriptHash, kReportStyle, unbroken(escaped(text.substr(0, end))));
  if (end != std::string::npos) add("<p>{}</p>\n", escaped(text.substr(end + 2)));
  const std::vector<VersionChange> changes = changes_of(reports_);
  for (const VersionChange& change : changes) {
    if (changes.size() > 1) add("<h3>{}</h3>\n", escaped(change.answer.answer));
    answer(change.answer);
  }
  for (const RunReport& run : reports_) {
    if (!run.answer) continue;
    if (reports_.size() > 1) add("<details><summary>{}</summary>\n", escaped(run.answer->answer));
    answer(*run.answer);
    if (reports_.size() > 1) add("</details>\n");
  }
  facts();
  const std::vector<std::string> warnings = warnings_of(reports_);
  if (warnings.empty()) return;
  add("<div class=\"warnings\"><ul>\n");
  for (const std::string& warning : warnings) add("<li>{}</li>\n", escaped(warning));
  add("</ul></div>\n");
}

void ReportPage::facts() {
  add("<ul class=\"runs\">\n");
  for (const RunReport& run : reports_)
    add("<li><code>{}</code> on {}, from {}</li>\n", escaped(run.command.empty() ? "a program" : run.command),
        counted(run.ranks, "rank"), escaped(run.file));
  add("</ul>\n<details><summary>machine, versions, and settings</summary><ul class=\"runs\">\n");
  for (const RunReport& run : reports_) {
    add("<li>");
    const std::vector<std::string> lines = facts_of(run);
    for (std::size_t i = 0; i < lines.size(); ++i) add("{}{}", i > 0 ? "<br>" : "", escaped(lines[i]));
    add("</li>\n");
  }
  add("</ul></details>\n");
}

void ReportPage::overview() {
  section("Communication time",
          "The longest modelled time that any rank spends in MPI calls, with communication alone. Ratios "
          "compare with the plain host, a NIC without offload.");
  const auto communication = [](const ReportLane& lane) { return lane.communication; };
  std::vector<std::size_t> all(lanes_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  lane_bars(all, communication);
  std::vector<Column> columns = {{"modelled time", {}},
                                 {"operations", {}},
                                 {"offloaded, of their time", {}},
                                 {"packets", {}},
                                 {"on the wire", {}}};
  const bool faults =
      any([](const ReportLane& lane) { return lane.given_up > 0 || lane.wire.retransmissions > 0; });
  if (faults) columns.insert(columns.end(), {{"retransmissions", {}}, {"failed", {}}});
  for (const ShownLane& shown : lanes_) {
    const ReportLane& lane = *shown.lane;
    std::vector<std::string> cells = {time_text(lane.modelled_time),
                                      count_text(sum_of(lane.calls).operations()),
                                      lane.time.text(),
                                      count_text(lane.wire.packets),
                                      bytes_text(lane.wire.wire_bytes),
                                      count_text(lane.wire.retransmissions),
                                      count_text(lane.given_up)};
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].cells.push_back(cells[i]);
  }
  // The bars have it already.
  if (!any([](const ReportLane& lane) { return lane.modelled_time != lane.communication; }))
    columns.erase(columns.begin());
  lane_table(all, columns);
  if (any([](const ReportLane& lane) { return !lane.deployment.text.empty(); })) {
    add("<details><summary>what each of them runs on</summary>\n");
    for (const ShownLane& shown : lanes_) {
      const std::string& ground = shown.lane->deployment.text;
      if (!ground.empty())
        add("<p class=\"about\">{} runs on {}.</p>\n", escaped(shown.label), escaped(ground));
    }
    add("</details>\n");
  }
  for (const ShownLane& shown : lanes_) {
    if (!shown.lane->time.carries_program())
      add("<p class=\"about\">{}.</p>\n", escaped(shown.lane->why_not_carried(shown.label)));
  }
  end_section();
}

void ReportPage::whole_runs() {
  std::vector<std::size_t> lanes;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (has_run(lanes_[i])) lanes.push_back(i);
  }
  if (lanes.empty()) return;
  section("Whole run",
          "The run with the program's computing, as recorded. Time in MPI calls includes the waiting for "
          "ranks that still compute. The lower bound is the run with communication that takes no time. The "
          "mean computing is that of a rank.");
  // The bars of an answer show the same.
  if (reports_.size() > 1 || !reports_.front().answer) lane_bars(lanes, &ReportLane::end);
  std::vector<Column> columns = {{"run", {}},          {"in MPI calls", {}},  {"efficiency", {}},
                                 {"load balance", {}}, {"serialisation", {}}, {"transfer", {}},
                                 {"lower bound", {}},  {"mean computing", {}}};
  for (const std::size_t i : lanes) {
    const WholeRun& run = *lanes_[i].lane->run;
    const ReportComputing& computing = *lanes_[i].run->computing;
    const double ranks = std::max(1.0, static_cast<double>(lanes_[i].run->ranks));
    const auto& known = lanes_[i].lane->efficiencies;
    std::array<std::string, 4> efficiencies;
    if (known) efficiencies = efficiency_cells(*known);
    const std::vector<std::string> cells = {time_text(run.end),
                                            percent_text(run.share_in_calls(), 1),
                                            efficiencies[0],
                                            efficiencies[1],
                                            efficiencies[2],
                                            efficiencies[3],
                                            time_text(computing.free.end),
                                            time_text(in_nanoseconds(computing.sum) / ranks)};
    for (std::size_t column = 0; column < columns.size(); ++column)
      columns[column].cells.push_back(cells[column]);
  }
  lane_table(lanes, columns);
  add("<details><summary>what the efficiencies are</summary><p class=\"about\">The efficiency is the "
      "computing of all ranks over their time. It is the product of load balance (the mean computing of a "
      "rank "
      "over the largest), serialisation (the largest computing over the lower bound), and transfer (the "
      "lower "
      "bound over the run).</p></details>\n");
  if (const std::string& gaps = lanes_[lanes.front()].run->computing->gaps; !gaps.empty())
    add("<p class=\"about\">{}.</p>\n", escaped(gaps));
  end_section();
}

void ReportPage::calls() {
  section("Calls", "Modelled time in each MPI function, of all ranks together, with communication alone.");
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

void ReportPage::phases() {
  const auto rows = rows_of(lanes_, &ReportLane::phases, nullptr);
  if (rows.empty()) return;
  section("Phases", "Parts of the program named with MPI_Pcontrol: the longest time of any rank.");
  heads_and_lanes({"phase", "times"});
  for (const auto& row : rows) {
    add("<tr><td>{}</td><td>{}</td>", escaped(row.name),
        of_each_report(row, [](const ReplayPhase& p) { return count_text(p.count); }));
    time_cells(row, &ReplayPhase::longest);
  }
  end_table();
  end_section();
}

void ReportPage::places() {
  if (!any_run([](const RunReport& run) { return !run.places.empty(); })) return;
  section("Calls that depend on arrival order",
          "Calls that receive from any source, complete one of several requests, or poll. Modelled time may "
          "differ from run to run with their outcome. addr2line finds the line of an address in a program "
          "with debugging information.");
  for (const RunReport& run : reports_) {
    if (run.places.empty()) continue;
    add("<h3>{}</h3>\n", escaped(run.file));
    begin_table(escaped(run.file));
    add("<th scope=\"col\">times</th><th scope=\"col\" class=\"text\">call</th>"
        "<th scope=\"col\" class=\"text\">communicator</th><th scope=\"col\" class=\"text\">in the "
        "program</th></tr></thead><tbody>\n");
    for (const ReportPlace& place : run.places)
      add("<tr><td>{}</td><td class=\"word\">{}</td><td class=\"text\">{}</td><td "
          "class=\"text\"><code>{}</code></td></tr>\n",
          count_text(place.times), escaped(place.call), escaped(place.communicator),
          escaped(to_string(place.site)));
    end_table();
  }
  end_section();
}

void ReportPage::certificates() {
  if (!any([](const ReportLane& lane) { return !lane.certificate.empty(); })) return;
  section("Certificate",
          "A hash over every call of every rank: its arguments, its data, and its end in modelled time. It "
          "is the same on every run, unless the program depends on arrival order.");
  heads({"hardware", "certificate", "data alone", "arrival-order decisions"});
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    add("<tr><td>{}</td><td><code>{}</code></td><td><code>{}</code></td><td>{}</td></tr>\n", dotted(i),
        escaped(lanes_[i].lane->certificate), escaped(lanes_[i].run->data_certificate),
        count_text(lanes_[i].run->arrival_order_dependences));
  end_table();
  end_section();
}

void ReportPage::settings() {
  if (!any_run([](const RunReport& run) { return !run.settings.empty(); })) return;
  section(
      "Settings",
      "The settings of the run and their origin: the defaults, a line of a file, a variable, or an option.");
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

void ReportPage::settings_table(const RunReport& run, bool defaults) {
  begin_table(escaped(run.file) + (defaults ? ", at their defaults" : ""));
  add("<th scope=\"col\">setting</th><th scope=\"col\">value</th>{}</tr></thead><tbody>\n",
      defaults ? "" : "<th scope=\"col\" class=\"text\">from</th>");
  for (const SettingInForce& setting : run.settings) {
    if (setting.is_default() != defaults) continue;
    add("<tr><td><code>{}</code></td><td>{}</td>", escaped(setting.key),
        setting.value.empty() ? "&ndash;" : escaped(setting.value));
    if (!defaults) add("<td class=\"text\">{}</td>", escaped(setting.source));
    add("</tr>\n");
  }
  end_table();
}

std::string report_page(const std::vector<RunReport>& reports) {
  return ReportPage(reports).write();
}

}  // namespace offramp::tool
