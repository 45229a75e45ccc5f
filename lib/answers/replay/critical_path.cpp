#include "lib/answers/replay/critical_path.hpp"

#include <algorithm>
#include <utility>

namespace offramp {
namespace {

/// By time. They are in order already, but for those of collectives that overlap with something else.
void sort(std::vector<MessageWait>& waits) {
  const auto is_earlier = [](const MessageWait& a, const MessageWait& b) { return a.at < b.at; };
  if (!std::is_sorted(waits.begin(), waits.end(), is_earlier))
    std::stable_sort(waits.begin(), waits.end(), is_earlier);
}

/// The last message that the rank waited for until `time`, taken from the waits behind it.
std::optional<MessageWait> pop_last_before(std::vector<MessageWait>& waits, Time time) {
  while (!waits.empty()) {
    const MessageWait wait = waits.back();
    waits.pop_back();
    if (wait.at <= time) return wait;
  }
  return std::nullopt;
}

void retain_longest(std::vector<CriticalPath::Step>& steps, const CriticalPath::Step& step) {
  const auto longer = [](const CriticalPath::Step& a, const CriticalPath::Step& b) {
    return a.end - a.begin > b.end - b.begin;
  };
  if (steps.size() == CriticalPath::kLongest && !longer(step, steps.back())) return;
  steps.insert(std::upper_bound(steps.begin(), steps.end(), step, longer), step);
  if (steps.size() > CriticalPath::kLongest) steps.pop_back();
}

}  // namespace

std::optional<CriticalPath> critical_path(std::vector<RankWaits> ranks) {
  if (ranks.empty()) return std::nullopt;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    sort(ranks[i].waits);
    if (ranks[i].end > ranks[rank].end) rank = i;
  }
  CriticalPath path;
  path.by_rank.resize(ranks.size());
  // Backwards from the end. Every turn uses up a wait, so it ends.
  for (Time time = ranks[rank].end;;) {
    const std::optional<MessageWait> wait = pop_last_before(ranks[rank].waits, time);
    const Time since = wait ? wait->at : Time();
    path.on_ranks += time - since;
    path.by_rank[rank] += time - since;
    if (!wait) return path;
    time = since;
    const auto source = static_cast<std::size_t>(wait->source);
    if (source >= ranks.size() || wait->begin > time) continue;  // of another operation: stay on this rank
    if (wait->begin < time) {                                    // or clocks that met, without a message
      path.in_messages += time - wait->begin;
      const Time shared = earlier(wait->shared, time - wait->begin);
      path.shared += shared;
      ++path.messages;
      retain_longest(path.longest, {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(rank),
                                    wait->bytes, wait->begin, time, shared});
    }
    rank = source;
    time = wait->begin;
  }
}

}  // namespace offramp
