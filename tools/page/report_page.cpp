#include "tools/page/report_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "lib/answers/report/accounts.hpp"
#include "lib/answers/report/link_loads.hpp"
#include "lib/answers/report/write_report.hpp"
#include "offramp/version.hpp"
#include "page_files.hpp"
#include "tools/page/markup.hpp"
#include "tools/page/plot.hpp"

namespace offramp::tool {
namespace {

using Json = nlohmann::ordered_json;

/// A template with a text for each {{name}}, in their order.
std::string filled(std::string_view page, std::initializer_list<std::string_view> texts) {
  std::string out;
  for (const std::string_view text : texts) {
    const std::size_t begin = page.find("{{");
    out.append(page.substr(0, begin)).append(text);
    page.remove_prefix(page.find("}}", begin) + 2);
  }
  return out.append(page);
}

std::string list(std::string_view name, const auto& items) {
  std::string text = fmt::format("<ul class=\"{}\">", name);
  for (const std::string& item : items) text += fmt::format("<li>{}</li>", escaped(item));
  return text + "</ul>\n";
}

/// "16 nodes of 1 rank, 100 Gb/s, one switch; Open MPI 4.1's algorithms" has three.
std::vector<std::string> machine_facts(const std::string& machine) {
  const std::size_t links = std::min(machine.find(", "), machine.find("; "));
  const std::size_t library = machine.find("; ");
  std::vector<std::string> facts = {machine.substr(0, links)};
  if (links < library) facts.push_back(machine.substr(links + 2, library - links - 2));
  if (library != std::string::npos) facts.push_back(machine.substr(library + 2));
  return facts;
}

/// The answers of changes, and of the reports.
std::vector<ReportAnswer> answers_of(const std::vector<RunReport>& reports) {
  std::vector<ReportAnswer> answers;
  for (VersionChange& change : changes_of(reports)) answers.push_back(std::move(change.answer));
  for (const RunReport& run : reports) {
    if (run.answer) answers.push_back(*run.answer);
  }
  return answers;
}

std::string answer_part(const std::vector<RunReport>& reports, const std::vector<ShownLane>& lanes,
                        const std::vector<ReportAnswer>& answers) {
  // The answer is the first sentence, and the others explain it.
  const std::string text = headline(reports, lanes);
  const std::size_t end = text.find(". ");
  std::string first = escaped(text.substr(0, end));
  for (std::size_t at = 0; (at = first.find(" %", at)) != std::string::npos;) first.replace(at, 1, "&nbsp;");
  std::string part = fmt::format("<h1 class=\"headline\">{}</h1>\n", first);
  if (end != std::string::npos) part += fmt::format("<p>{}</p>\n", escaped(text.substr(end + 2)));
  for (const ReportAnswer& answer : answers) {
    const std::string lines = answer_list(answer);
    part += answers.size() == 1
                ? lines
                : fmt::format("<details{}><summary>{}</summary>\n{}</details>\n",
                              &answer == answers.data() ? " open" : "", escaped(answer.answer), lines);
  }
  return part;
}

std::string facts_part(const std::vector<RunReport>& reports) {
  const std::vector<std::string> warnings = warnings_of(reports);
  std::string part = warnings.empty() ? "" : list("warnings", warnings);
  std::vector<std::string> runs;
  std::vector<std::string> facts;
  for (const RunReport& run : reports) {
    runs.push_back(fmt::format("{} on {}, from {}", run.command.empty() ? "a program" : run.command,
                               counted(run.ranks, "rank"), run.file));
    facts.push_back(fmt::format("{}", fmt::join(facts_of(run), "\n")));
  }
  return fmt::format("{}{}<details><summary>machine, versions, and settings</summary>\n{}</details>\n", part,
                     list("runs", runs), list("runs", facts));
}

Json data_of(const RunReport& run) {
  Json places = Json::array();
  for (const ReportPlace& place : run.places)
    places.push_back({{"call", place.call},
                      {"communicator", place.communicator},
                      {"site", to_string(place.site)},
                      {"times", place.times}});
  Json data = json_of_facts(run);
  data.update({{"file", run.file},
               {"ranks", run.ranks},
               {"call_sites", json_of(call_rows(run))},
               {"data_certificate", run.data_certificate},
               {"arrival_order_dependences", run.arrival_order_dependences},
               {"places", std::move(places)}});
  return data;
}

/// A lane without what is not drawn: calls of each rank, times of phases by rank, links with little traffic.
Json data_of(const ShownLane& shown) {
  constexpr std::size_t kLinks = 10;
  const ReportLane& lane = *shown.lane;
  Json data = json_of(lane);
  data.erase("each_rank");
  for (Json& phase : data["phases"]) phase.erase("per_rank");
  Json ranks = Json::array();
  double run = 0;
  for (const ReportRank& rank : lane.ranks) {
    ranks.push_back(in_nanoseconds(rank.communication));
    run += in_nanoseconds(rank.modelled_time);
  }
  Json links = Json::array();
  for (const LinkUse* link : busiest(lane.links, kLinks))
    links.push_back(data["links"][static_cast<std::size_t>(link - lane.links.data())]);
  data.update({{"label", shown.label},
               {"baseline", shown.baseline},
               {"ranks", std::move(ranks)},
               {"run_ns", run},
               {"links", std::move(links)},
               {"link_count", lane.links.size()},
               {"links_waited_ns", waited_for(lane.links)}});
  if (!lane.time.carries_program()) data["why_not"] = lane.why_not_carried(shown.label);
  if (lane.accounts) data["accounts_text"] = accounts_text(*lane.accounts);
  if (lane.stragglers) data["stragglers_text"] = stragglers_of(lane);
  for (const ReportJob& job : lane.jobs) {
    if (job.run) data["job_texts"].push_back(whole_run_of(shown, job));
  }
  return data;
}

/// What the script draws.
std::string data_part(const std::vector<RunReport>& reports, const std::vector<ShownLane>& lanes,
                      const std::vector<ReportAnswer>& answers) {
  Json data = {{"kinds", Json::array()},
               {"reports", Json::array()},
               {"lanes", Json::array()},
               {"answers", Json::array()}};
  for (const TimeKindName& kind : kTimeKinds)
    data["kinds"].push_back({{"field", kind.field}, {"head", kind.head}, {"what", kind.what}});
  for (const RunReport& run : reports) data["reports"].push_back(data_of(run));
  std::vector<std::string> names;
  names.reserve(lanes.size());
  for (const ShownLane& lane : lanes) names.push_back(lane.lane->backend);
  const std::vector<std::size_t> colours = colours_of(names);
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Json& lane = data["lanes"].emplace_back(data_of(lanes[i]));
    lane["report"] = lanes[i].run - reports.data();
    lane["colour"] = colours[i] == kHostColour ? "var(--host)" : fmt::format("var(--l{})", colours[i]);
  }
  for (const ReportAnswer& answer : answers) data["answers"].push_back(offramp::json_of(answer));
  std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string::npos;) text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

std::string answer_list(const ReportAnswer& answer) {
  std::string text = answer.machine.empty() ? "" : list("machine", machine_facts(answer.machine));
  text += "<dl class=\"answer\">\n";
  for (const auto& [label, line] : answer_lines(answer)) {
    if (label == "on") continue;
    const std::string shown = label == "next" ? fmt::format("<code>{}</code>", escaped(line)) : escaped(line);
    text += fmt::format("<dt>{}</dt><dd>{}</dd>\n", label, shown);
  }
  return text + "</dl>\n";
}

std::string_view page_style() {
  return kPageStyle;
}

std::string report_page(const std::vector<RunReport>& reports) {
  const std::vector<ShownLane> lanes = shown_lanes(reports);
  const std::vector<ReportAnswer> answers = answers_of(reports);
  return filled(kReportPage, {answer_part(reports, lanes, answers), facts_part(reports), OFFRAMP_VERSION,
                              data_part(reports, lanes, answers)});
}

}  // namespace offramp::tool
