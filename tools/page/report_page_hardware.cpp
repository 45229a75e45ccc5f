// Sections about the hardware: what it carries, where it is busy, its links, and the critical path.
#include "lib/answers/report/link_loads.hpp"
#include "tools/page/markup.hpp"
#include "tools/page/report_page.hpp"

namespace offramp::tool {
namespace {

constexpr std::size_t kMostUnits = 12;  // of one lane
constexpr std::size_t kMostPathRanks = 5;

}  // namespace

void ReportPage::shares() {
  section("Offloaded operations",
          "The model of a plain host carries the operations that the hardware declines. Native operations "
          "stay with the MPI library and cost no modelled time.");
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
    begin_table("declines");
    add("<th scope=\"col\">hardware</th><th scope=\"col\">times</th><th scope=\"col\" "
        "class=\"text\">operation</th><th scope=\"col\" class=\"text\">why it was "
        "declined</th></tr></thead><tbody>\n");
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      for (const ReportDecline& decline : lanes_[i].lane->declines)
        add("<tr><td>{}</td><td>{}</td><td class=\"word\">{}</td><td class=\"text\">{}</td></tr>\n",
            dotted(i), count_text(decline.count), escaped(decline.operation), escaped(decline.reason));
    }
    end_table();
  }
  end_section();
}

void ReportPage::units() {
  if (!any([](const ReportLane& lane) { return !lane.units.empty(); })) return;
  section("Where the hardware is busy",
          "The share of the run in which each unit is busy, over all ranks, with one operation or several.");
  add("<div class=\"cards\">\n");
  for (std::size_t i = 0; i < lanes_.size(); ++i) unit_card(i);
  add("</div>\n");
  end_section();
}

void ReportPage::unit_card(std::size_t index) {
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
  if (shown < units.size()) add("<p>and {} less busy units</p>", units.size() - shown);
  add("</div>\n");
}

void ReportPage::paths() {
  if (!any([](const ReportLane& lane) { return lane.path.has_value(); })) return;
  section("Critical path",
          "The chain of work and messages that ends with the last rank. Only a gain on this path makes the "
          "run shorter. Full colour: on ranks and their hardware; lighter: waiting for a message of another "
          "rank, from the beginning of its send.");
  add("<div class=\"cards\">\n");
  for (std::size_t i = 0; i < lanes_.size(); ++i) path_card(i);
  add("</div>\n");
  end_section();
}

void ReportPage::path_card(std::size_t index) {
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
  const auto on_path = static_cast<std::size_t>(
      std::count_if(path.by_rank.begin(), path.by_rank.end(), [](Time time) { return time > Time(); }));
  order.resize(std::min(order.size(), kMostPathRanks));
  for (const std::size_t rank : order) {
    if (path.by_rank[rank] <= Time()) continue;
    add("<span class=\"name\">rank {}</span><span class=\"track\">{}</span><span "
        "class=\"value\">{}</span>\n",
        rank, bar({{share(path.by_rank[rank], all), colour(index)}}, "time on this rank"),
        percent_text(path.by_rank[rank], all));
  }
  add("</div>");
  left_out(on_path, kMostPathRanks);
  add("<p>{} of other ranks {} waited for, one after the other: {} of the path.",
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

void ReportPage::jobs() {
  if (!any([](const ReportLane& lane) { return !lane.jobs.empty(); })) return;
  section("Programs at the same time",
          "The time of each program together with the others, and alone on the same nodes.");
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const std::vector<ReportJob>& jobs = lanes_[i].lane->jobs;
    if (jobs.empty()) continue;
    add("<h3>{}</h3>\n", dotted(i));
    heads({"program", "ranks", "nodes", "modelled time", "alone", "slowdown"}, label(i));
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

void ReportPage::stragglers() {
  if (!any([](const ReportLane& lane) { return lane.stragglers.has_value(); })) return;
  section("Stragglers",
          "The cost of interrupted processors and slow nodes, compared with the same run without them.");
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].lane->stragglers) add("<p>{}: {}.</p>\n", dotted(i), stragglers_of(*lanes_[i].lane));
  }
  end_section();
}

void ReportPage::links() {
  constexpr std::size_t kShown = 10;
  if (!any([](const ReportLane& lane) { return !lane.links.empty(); })) return;
  section("The network between the nodes",
          "The busiest links, and the delay of messages by other messages on the same link.");
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const std::vector<LinkUse>& links = lanes_[i].lane->links;
    if (links.empty()) continue;
    add("<h3>{}</h3>\n<p>{} used; messages waited {} in total for other messages.</p>\n", dotted(i),
        counted(links.size(), "link"), time_text(waited_for(links)));
    heads({"link", "busy", "share of the run", "bytes", "waiting", "longest wait"}, label(i));
    for (const LinkUse* link : busiest(links, kShown))
      add("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
          escaped(link->name), time_text(link->busy), percent_text(link->busy, lanes_[i].lane->modelled_time),
          bytes_text(link->bytes), time_text(link->waited), time_text(link->longest));
    end_table();
    left_out(links.size(), kShown);
  }
  end_section();
}

}  // namespace offramp::tool
