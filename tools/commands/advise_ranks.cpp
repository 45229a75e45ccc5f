// offramp advise --ranks with several numbers: from how many ranks which hardware pays.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "lib/answers/advice/rank_curve.hpp"
#include "lib/answers/report/write_report.hpp"
#include "lib/base/format.hpp"
#include "lib/base/text_format.hpp"
#include "tools/command_line/tool.hpp"
#include "tools/commands/advise.hpp"
#include "tools/commands/scaled_program.hpp"
#include "tools/page/markup.hpp"
#include "tools/page/plot.hpp"
#include "tools/page/report_page.hpp"
#include "tools/text/replay_output.hpp"

namespace offramp::tool {
namespace {

std::vector<std::string_view> hardware_of(const RankCurve& curve) {
  std::vector<std::string_view> names;
  for (const BackendDescription* backend : curve.backends()) {
    if (backend->name != baseline_name()) names.push_back(backend->name);
  }
  const bool has_tuned = std::ranges::any_of(
      curve.points(), [](const CurvePoint& point) { return point.cell_of(kTunedHost) != nullptr; });
  if (has_tuned) names.push_back(kTunedHost);
  return names;
}

/// A common name of files that differ in the number of ranks.
std::string program_of(const AdviseOptions& options) {
  std::string name = name_of_program(options.scaled.files.front());
  if (options.scaled.files.size() > 1) name += fmt::format(" and {} more", options.scaled.files.size() - 1);
  return name;
}

/// True if the hardware has a ratio at this point, and the plain NIC carries a part.
bool is_partial(const CurvePoint& point, std::string_view backend) {
  const BackendResult* const cell = point.cell_of(backend);
  return point.ratio(backend) && cell->time.is_partial();
}

/// "offloads 50 %" or "offloads 50 to 88 %": the hardware's shares at partial points. Empty if there are
/// none.
std::string carried_text(const RankCurve& curve, std::string_view backend) {
  double least = 1;
  double most = 0;
  for (const CurvePoint& point : curve.points()) {
    if (!is_partial(point, backend)) continue;
    least = std::min(least, *point.cell_of(backend)->time.share());
    most = std::max(most, *point.cell_of(backend)->time.share());
  }
  if (most == 0) return {};
  const std::string from = share_text(least);
  const std::string to = share_text(most);
  return from == to ? fmt::format("offloads {}", from)
                    : fmt::format("offloads {} to {}", from.substr(0, from.find(' ')), to);
}

std::string table_text(const RankCurve& curve) {
  const std::vector<std::string_view> names = hardware_of(curve);
  std::string text =
      fmt::format("{:<10} {:>16}", "# ranks", curve.with_computing() ? "host, run (us)" : "host (us)");
  for (const std::string_view name : names) text += fmt::format(" {:>10}", name);
  text += '\n';
  for (const CurvePoint& point : curve.points()) {
    const BackendResult* const host = point.cell_of(baseline_name());
    text += fmt::format(
        "{:<10} {:>16}", point.ranks,
        host != nullptr && host->counts() ? fmt::format("{:.3f}", in_microseconds(host->end())) : "-");
    for (const std::string_view name : names) {
      const auto ratio = point.ratio(name);
      text += fmt::format(" {:>10}",
                          ratio ? fmt::format("{:.3f}{}", *ratio, is_partial(point, name) ? "*" : "") : "-");
    }
    text += '\n';
  }
  for (const std::string_view name : names) {
    if (const std::string share = carried_text(curve, name); !share.empty())
      text +=
          fmt::format("* {} {} of the host's communication; the plain NIC carries the rest\n", name, share);
  }
  return text;
}

std::string plotted(const RankCurve& curve) {
  TextPlot plot;
  for (const CurvePoint& point : curve.points()) plot.columns.push_back(fmt::to_string(point.ranks));
  for (const std::string_view name : hardware_of(curve)) {
    TextPlot::Line& line = plot.lines.emplace_back(TextPlot::Line{std::string(name), {}});
    for (const CurvePoint& point : curve.points()) {
      line.values.push_back(point.ratio(name));
      line.open.push_back(is_partial(point, name));
    }
    if (const std::string share = carried_text(curve, name); !share.empty())
      line.note = fmt::format(" (capital: {})", share);
  }
  return text_plot(plot);
}

Plot plot_of(const RankCurve& curve, const std::string& program) {
  Plot plot{.title = fmt::format("{}, {} relative to host", program,
                                 curve.with_computing() ? "run" : "communication"),
            .x = "ranks",
            .y = "time / host's time",
            .below_one = "hardware pays here"};
  std::vector<std::string> names = {std::string(baseline_name())};
  for (const std::string_view name : hardware_of(curve)) names.emplace_back(name);
  const std::vector<std::size_t> colours = colours_of(names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    PlotLine line{.name = names[i], .points = {}, .colour = colour_text(colours[i])};
    for (const CurvePoint& point : curve.points()) {
      const auto ratio = point.ratio(names[i]);
      if (!ratio) continue;
      line.points.emplace_back(point.ranks, *ratio);
      line.open.push_back(is_partial(point, names[i]));
    }
    line.note = carried_text(curve, names[i]);
    if (!line.note.empty()) plot.x = "ranks (rings: the plain NIC carries the rest)";
    plot.lines.push_back(std::move(line));
  }
  return plot;
}

/// Numbers of ranks at which the program does not exist, by reason.
std::vector<std::string> refusals_of(const RankCurve& curve) {
  std::vector<std::string> texts;
  for (const CurvePoint& point : curve.points()) {
    if (!point.refused.empty())
      texts.push_back(fmt::format("not at {} ranks: {}", point.ranks, point.refused));
  }
  return texts;
}

/// Lines below the table: from when each hardware pays, and where it has no result.
std::vector<std::string> remarks_on(const RankCurve& curve) {
  std::vector<std::string> texts;
  for (const std::string_view name : hardware_of(curve)) {
    for (const std::string& text : {paying_text(curve, name), lacking_text(curve, name)}) {
      if (!text.empty()) texts.push_back(printable(text, 400));
    }
  }
  return texts;
}

std::string page_of(const RankCurve& curve, const ReportAnswer& answer, const std::string& program) {
  Plot plot = plot_of(curve, program);
  plot.part_of_page = true;
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>Offramp "
      "report</title>\n<style>{}</style></head>\n<body><main>\n<p class=\"about\">Offramp report</p>\n<h1 "
      "class=\"headline\">{}</h1>\n{}<section><h2>Time relative to the "
      "host</h2>\n<div class=\"scroll\">{}</div>\n<div class=\"scroll\"><table><caption>Time relative to the "
      "host</caption><thead><tr><th scope=\"col\">ranks</th><th scope=\"col\">host, {}</th>",
      page_style(), escaped(answer.answer), answer_list(answer), svg(plot),
      curve.with_computing() ? "run" : "communication");
  const std::vector<std::string_view> names = hardware_of(curve);
  for (const std::string_view name : names) text += fmt::format("<th scope=\"col\">{}</th>", escaped(name));
  text += "</tr></thead><tbody>\n";
  for (const CurvePoint& point : curve.points()) {
    const BackendResult* const host = point.cell_of(baseline_name());
    text += fmt::format("<tr><td>{}</td><td>{}</td>", point.ranks,
                        host != nullptr && host->counts() ? time_text(host->end()) : "&ndash;");
    for (const std::string_view name : names) {
      const auto ratio = point.ratio(name);
      const std::string part =
          is_partial(point, name)
              ? fmt::format(" (offloads {})", share_text(*point.cell_of(name)->time.share()))
              : std::string();
      text += ratio
                  ? fmt::format("<td{}>{:.3f}{}</td>", *ratio < 0.9995 ? " class=\"good\"" : "", *ratio, part)
                  : "<td class=\"none\">&ndash;</td>";
    }
    text += "</tr>\n";
  }
  text += "</tbody></table></div>\n";
  for (const std::vector<std::string>& texts : {remarks_on(curve), refusals_of(curve)}) {
    for (const std::string& one : texts) text += fmt::format("<p class=\"about\">{}</p>\n", escaped(one));
  }
  return text + "</section>\n</main></body></html>\n";
}

void print_text(const RankCurve& curve, const ReportAnswer& answer, const scale::Scaling& scaling,
                const AdviseOptions& options) {
  fmt::print("{}{}", answer_text(answer), table_text(curve));
  if (!options.details) return;
  for (const std::string& text : refusals_of(curve)) fmt::print("# {}\n", text);
  fmt::print("\n# time relative to host (host = 1)\n{}\n", plotted(curve));
  for (const std::string& text : remarks_on(curve)) fmt::print("# {}\n", text);
  print_scaling(scaling, options.scaled);
}

void print_json(const RankCurve& curve, const ReportAnswer& answer, const scale::Scaling& scaling) {
  Json points = Json::array();
  for (const CurvePoint& point : curve.points()) {
    Json one = {{"ranks", point.ranks}};
    if (!point.refused.empty()) one["refused"] = point.refused;
    Json& cells = one["hardware"] = Json::array();
    for (const BackendResult& cell : point.cells) {
      Json json = {{"backend", cell.backend}};
      if (cell.problem.empty()) json["time_ns"] = in_nanoseconds(cell.end());
      if (cell.problem.empty()) json["carried_share"] = cell.time.share().value_or(1);
      if (!cell.counts()) json["why_not"] = cell.why_not();
      if (const auto ratio = point.ratio(cell.backend)) json["ratio"] = *ratio;
      if (const auto range = point.fair_range(cell.backend)) json["range"] = {range->low, range->high};
      cells.push_back(std::move(json));
    }
    points.push_back(std::move(one));
  }
  Json pays = Json::array();
  for (const std::string_view name : hardware_of(curve)) {
    Json ranges = Json::array();
    for (const PayingRange& range : paying_ranges(curve, name))
      ranges.push_back({{"from", range.from}, {"to", range.to}, {"to_the_end", range.to_the_end}});
    Json one = {{"backend", name}, {"ranges", std::move(ranges)}, {"text", paying_text(curve, name)}};
    if (const auto from = thresholds_of(curve, name)) {
      one["surely_from"] = from->surely ? Json(*from->surely) : Json();
      one["perhaps_from"] = from->perhaps ? Json(*from->perhaps) : Json();
    }
    pays.push_back(std::move(one));
  }
  const scale::Share held_out = scaling.held_out.total();
  const Json json = {{"answer", offramp::json_of(answer)},
                     {"recorded", scaling.model->learned_from},
                     {"layout", scaling.model->layout.text()},
                     {"held_out", {{"calls", held_out.count()}, {"exact", held_out.exact}}},
                     {"with_computing", curve.with_computing()},
                     {"points", std::move(points)},
                     {"pays", std::move(pays)},
                     {"cut_short", curve.cut_short()}};
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

/// Throws Misuse if no point has a result.
void check_points(const RankCurve& curve, const AdviseOptions& options) {
  std::set<std::string> reasons;
  for (const CurvePoint& point : curve.points()) {
    for (const BackendResult& cell : point.cells) {
      if (cell.problem.empty()) return;
      reasons.insert(cell.problem);
    }
    if (!point.refused.empty()) reasons.insert(fmt::format("at {} ranks: {}", point.ranks, point.refused));
  }
  if (reasons.empty())
    throw Misuse{fmt::format("no replay finished within {} s; raise --seconds", options.seconds)};
  throw Misuse{fmt::format("{}", fmt::join(reasons, "; "))};
}

}  // namespace

std::string other_scaling_text(const ReportAnswer& answer, int ranks, const scale::LearnedProgram& learned,
                               const scale::Scaling& scaling, const Configuration& configuration,
                               const Setup& setup, Advisor::Options how) {
  using scale::ComputeScaling;
  if (scaling.model->learned_from.size() < 3 || !answer.of_run || answer.end == Time()) return {};
  std::erase_if(how.backends, [&](const BackendDescription* one) {
    return !is_baseline(one->name) && one->name != answer.candidate;
  });
  if (how.backends.size() < 2) return {};
  const bool is_strong = scaling.compute == ComputeScaling::kStrong;
  const Result<scale::Scaling> other =
      learned.at(ranks, is_strong ? ComputeScaling::kWeak : ComputeScaling::kStrong);
  if (!other) return {};
  RankCurve curve(configuration, setup.registry, std::move(how));
  if (!curve.add(source_of(other->program))) return {};
  const auto ratio = curve.points().front().ratio(answer.candidate);
  if (!ratio || std::abs(*ratio - ratio_of(answer.end, answer.baseline)) < kWorthwhile) return {};
  return fmt::format("with {} scaling {} is {} at {} ranks", is_strong ? "weak" : "strong", answer.candidate,
                     slower_text(*ratio), count_text(static_cast<std::uint64_t>(ranks)));
}

int advise_over_ranks(const AdviseOptions& options, const Setup& setup) {
  const scale::LearnedProgram learned = learned_program(options.scaled);
  const ProgressLine progress;
  RankCurve curve(*setup.configuration, setup.registry, options_for(options, setup, progress));
  std::optional<scale::Scaling> last;
  for (const int ranks : options.rank_counts) {
    if (!curve.may_go_on(fmt::format("{} ranks: the program", ranks))) break;
    Result<scale::Scaling> scaling = learned.at(ranks);
    if (!scaling) {
      curve.refuse(ranks, scaling.error());
      continue;
    }
    const bool goes_on = curve.add(source_of(scaling->program));
    last = std::move(*scaling);
    if (!goes_on) break;
  }
  curve.find_ranges();
  if (!last && is_interrupted()) return kInterrupted;
  check_points(curve, options);
  print_program_notes(*last);
  const std::string program = program_of(options);
  ReportAnswer answer = answer_of(curve, program);
  answer.sure = clauses_text({answer.sure, held_out_text(*last)});
  const int ranks = last->program.description.ranks;
  int answered = ranks;  // of the answer's times
  if (const auto host = world_setting(*setup.configuration, setup.registry, setup.registry.baseline(), ranks))
    answer.machine = fmt::format("{}; {}", machine_text(*host, ranks), scaling_text(*last));
  for (const CurvePoint& point : curve.points())
    if (point.ratio(answer.candidate)) answered = point.ranks;
  answer.but = clauses_text({other_scaling_text(answer, answered, learned, *last, *setup.configuration, setup,
                                                options_for(options, setup, progress)),
                             answer.but});
  progress.clear();
  answer.complete = !curve.cut_short();
  std::vector<int> missing = options.rank_counts;
  for (const CurvePoint& point : curve.points()) {
    if (!point.refused.empty() || point.cells.size() >= curve.backends().size())
      std::erase(missing, point.ranks);
  }
  if (!answer.complete && !missing.empty()) {
    const std::size_t all = options.rank_counts.size();
    answer.answer =
        fmt::format("best so far, {} of {} numbers of ranks: {}", all - missing.size(), all, answer.answer);
    answer.but = clauses_text({fmt::format("missing: {} ranks", fmt::join(missing, ", ")), answer.but});
  }
  if (options.json) {
    print_json(curve, answer, *last);
  } else {
    print_text(curve, answer, *last, options);
  }
  for (const std::string& note : setup.notes()) warn(note);
  int written = options.svg.empty() ? kDone : write_file(options.svg, svg(plot_of(curve, program)));
  if (written == kDone && !options.html.empty())
    written = write_file(options.html, page_of(curve, answer, program));
  if (written != kDone) return written;
  if (is_interrupted()) return kInterrupted;
  if (!answer.complete) return kIncomplete;
  return last->caveat().empty() ? kDone : kFoundFailures;
}

}  // namespace offramp::tool
