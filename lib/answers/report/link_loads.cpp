// A link's load is the sum of the rates of the trains on it. Rates of the same moment are added before a
// value is written, so a train that follows another one leaves no notch. Links are ordered by bits, and the
// first kMostTracks get a track.
#include "lib/answers/report/link_loads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/answers/report/trace.hpp"

namespace offramp {

void LinkLoadRecorder::carried(const Network& network, std::size_t number, Time begin, Time end,
                               Bandwidth rate) {
  Link& link = links_[number];
  if (link.name.empty()) link.name = network.link_name(number);
  link.bits += static_cast<double>(rate.count()) * (end - begin).seconds();
  // Trains that follow each other are one interval.
  if (!link.intervals.empty() && link.intervals.back().end == begin &&
      link.intervals.back().rate == rate.count()) {
    link.intervals.back().end = end;
  } else if (intervals_ < kMost) {
    ++intervals_;
    link.intervals.push_back({begin, end, rate.count()});
  } else {
    ++dropped_;
  }
}

std::string LinkLoadRecorder::trace_events(int process, std::string_view name) const {
  if (links_.empty()) return {};
  std::vector<const Link*> busiest;
  for (const auto& [number, link] : links_) busiest.push_back(&link);
  std::stable_sort(busiest.begin(), busiest.end(),
                   [](const Link* a, const Link* b) { return a->bits > b->bits; });
  busiest.resize(std::min(busiest.size(), kMostTracks));
  fmt::memory_buffer text;
  text.append(trace_process(process, name));
  for (const Link* link : busiest) {
    std::vector<std::pair<Time, std::int64_t>> changes;
    for (const Interval& interval : link->intervals) {
      changes.emplace_back(interval.begin, interval.rate);
      changes.emplace_back(interval.end, -interval.rate);
    }
    std::sort(changes.begin(), changes.end());
    const std::string track = trace_quoted("link " + link->name);
    std::int64_t shown = 0;
    std::int64_t load = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      load += changes[i].second;
      const bool is_last_of_its_time = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
      if (!is_last_of_its_time || load == shown) continue;
      shown = load;
      text.append(fmt::format(R"({}{{"ph":"C","pid":{},"name":{},"ts":{},"args":{{"Gb/s":{:.6g}}}}})",
                              kTraceSeparator, process, track, trace_microseconds(changes[i].first),
                              static_cast<double>(load) / 1e9));
    }
  }
  return fmt::to_string(text);
}

double waited_for(const std::vector<LinkUse>& links) {
  double waited = 0;
  for (const LinkUse& link : links) waited += in_nanoseconds(link.waited);
  return waited;
}

std::vector<const LinkUse*> busiest(const std::vector<LinkUse>& links, std::size_t most) {
  std::vector<const LinkUse*> order;
  order.reserve(links.size());
  for (const LinkUse& link : links) order.push_back(&link);
  std::stable_sort(order.begin(), order.end(),
                   [](const LinkUse* a, const LinkUse* b) { return a->busy > b->busy; });
  order.resize(std::min(order.size(), most));
  return order;
}

}  // namespace offramp
