// The page itself: its parts, what is told first, and what is told last.
#include "tools/page/report_page.hpp"

#include <numeric>

#include "lib/base/text_format.hpp"
#include "offramp/version.hpp"
#include "tools/page/markup.hpp"
#include "tools/page/plot.hpp"
#include "tools/page/report_style.hpp"

namespace offramp::tool {
namespace {

Time longest_of(const std::vector<ShownLane>& lanes) {
  Time longest;
  for (const ShownLane& lane : lanes) longest = later(longest, lane.lane->communication);
  return longest;
}

}  // namespace

ReportPage::ReportPage(const std::vector<RunReport>& reports)
    : reports_(reports), lanes_(shown_lanes(reports)), baseline_(baseline_of(lanes_)) {
  std::vector<std::string> names;
  for (const ShownLane& lane : lanes_) names.push_back(lane.lane->backend);
  colours_ = colours_of(names);
}

std::string ReportPage::write() {
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

void ReportPage::time_cell(Time time, bool there, Time baseline, bool is_baseline) {
  if (!there || time <= Time()) {
    add("<td class=\"none\">{}</td>", there ? "0" : "&ndash;");
    return;
  }
  const bool good =
      baseline_ != nullptr && !is_baseline && baseline > Time() && share(time, baseline) < 0.995;
  add("<td{}>{}</td>", good ? " class=\"good\"" : "", time_text(time));
}

void ReportPage::answer(const ReportAnswer& answer) {
  add("<dl class=\"answer\">\n");
  for (const auto& [label, line] :
       {std::pair("why", &answer.why), std::pair("sure", &answer.sure), std::pair("but", &answer.but)}) {
    if (!line->empty()) add("<dt>{}</dt><dd>{}</dd>\n", label, escaped(*line));
  }
  if (!answer.next.empty()) add("<dt>next</dt><dd><code>{}</code></dd>\n", escaped(answer.next));
  add("</dl>\n<div class=\"bars\">\n");
  Time longest;
  for (const ReportAnswerBar& one : answer.bars) longest = later(longest, one.end);
  for (const ReportAnswerBar& one : answer.bars) {
    const bool known = one.end > Time();
    const auto lane = std::find_if(lanes_.begin(), lanes_.end(),
                                   [&](const ShownLane& shown) { return shown.lane->backend == one.name; });
    const std::string fill =
        lane == lanes_.end() ? "var(--muted)" : colour(static_cast<std::size_t>(lane - lanes_.begin()));
    add("<span class=\"name\">{}</span><span class=\"track\">{}</span><span class=\"value\">{}</span>"
        "<span class=\"note\">{}{}{}</span>\n",
        escaped(one.name), bar({{share(one.end, longest), fill}}, one.name), known ? time_text(one.end) : "",
        known ? ratio_text(one.end, answer.baseline) : "", known && !one.note.empty() ? ", " : "",
        escaped(one.note));
  }
  add("</div>\n");
  if (answer.details.empty()) return;
  add("<details><summary>details</summary>\n");
  for (const std::string& text : answer.details) add("<pre class=\"advice\">{}</pre>\n", escaped(text));
  add("</details>\n");
}

void ReportPage::begin() {
  add("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>Offramp report</title>\n<style>{}</style></head>\n<body><main>\n<p class=\"about\">Offramp "
      "report</p>\n"
      "<h1 class=\"headline\">{}</h1>\n<ul class=\"runs\">\n",
      kReportStyle, escaped(headline(reports_, lanes_)));
  for (const RunReport& run : reports_) {
    add("<li><code>{}</code> on {}, clock {}, CPU time {}, from {}",
        escaped(run.command.empty() ? "a program" : run.command), counted(run.ranks, "rank"),
        escaped(run.clock), escaped(run.compute), escaped(run.file));
    for (const std::string& line : facts_of(run)) add("<br>{}", escaped(line));
    add("</li>\n");
  }
  add("</ul>\n");
  for (const RunReport& run : reports_) {
    if (run.answer) answer(*run.answer);
  }
  const std::vector<VersionChange> changes = changes_of(reports_);
  for (const VersionChange& change : changes) {
    if (changes.size() > 1) add("<h3>{}</h3>\n", escaped(change.answer.answer));
    answer(change.answer);
  }
  const std::vector<std::string> warnings = warnings_of(reports_);
  if (warnings.empty()) return;
  add("<div class=\"warnings\"><ul>\n");
  for (const std::string& warning : warnings) add("<li>{}</li>\n", escaped(warning));
  add("</ul></div>\n");
}

void ReportPage::overview() {
  section("Communication time",
          "The longest modelled time that any rank spends in MPI calls. The others are compared with the "
          "plain host, a NIC without offload.");
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
  std::vector<std::string> columns = {"hardware",  "communication", "modelled time", "operations",
                                      "offloaded", "packets",       "on the wire"};
  if (faults) columns.insert(columns.end(), {"retransmissions", "failed"});
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
    const std::string& ground = shown.lane->deployment.text;
    if (!ground.empty())
      add("<p class=\"about\">{} runs on {}.</p>\n", escaped(shown.label), escaped(ground));
  }
  for (const ShownLane& shown : lanes_) {
    if (!shown.lane->time.carries_program())
      add("<p class=\"about\">{}.</p>\n", escaped(why_not_carried(shown)));
  }
  end_section();
}

void ReportPage::whole_runs() {
  const auto has_run = [](const ShownLane& shown) { return shown.lane->run && shown.run->computing; };
  const auto first = std::find_if(lanes_.begin(), lanes_.end(), has_run);
  if (first == lanes_.end()) return;
  section("Whole run",
          "The run with the program's computing, as recorded. Time in MPI calls contains the waiting for "
          "ranks that still compute. The lower bound is the run with communication that takes no time; no "
          "hardware changes it. The efficiency is the computing of all ranks over their time, the product of "
          "load balance (the mean computing of a rank over the largest), serialisation (the largest "
          "computing over the lower bound), and transfer (the lower bound over the run).");
  heads({"hardware", "run", "of host", "in MPI calls", "lower bound", "computing of a rank", "efficiency",
         "load balance", "serialisation", "transfer"});
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!has_run(lanes_[i])) continue;
    const WholeRun& run = *lanes_[i].lane->run;
    const ReportComputing& computing = *lanes_[i].run->computing;
    const double ranks = std::max(1.0, static_cast<double>(lanes_[i].run->ranks));
    const bool compared = baseline_ != nullptr && &lanes_[i] != baseline_ && baseline_->lane->run &&
                          lanes_[i].lane->time.carries_program();
    add("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>", dotted(i),
        time_text(run.end), compared ? ratio_text(run.end, baseline_->lane->run->end) : "",
        percent_text(run.share_in_calls(), 1), time_text(computing.free.end),
        time_text(in_nanoseconds(computing.sum) / ranks));
    const auto& efficiencies = lanes_[i].lane->efficiencies;
    for (const std::string& cell : efficiency_cells(efficiencies.value_or(Efficiencies{})))
      add("<td>{}</td>", efficiencies ? cell : "&ndash;");
    add("</tr>\n");
  }
  end_table();
  if (const std::string& gaps = first->run->computing->gaps; !gaps.empty())
    add("<p class=\"about\">{}.</p>\n", escaped(gaps));
  end_section();
}

void ReportPage::calls() {
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
