// Walks back from the rank that ends last. At each wait it jumps to the sender, at the time when the message
// began; the time between two waits is work of that rank. Waits later than the current time are dropped for
// good, since the time only decreases. One pass over all waits, after a sort of the few that are out of
// order.
#include "lib/answers/replay/critical_path.hpp"

#include <algorithm>

namespace offramp {
namespace {

/// Sorts by time. Only waits of collectives that overlap with other operations are out of order.
void sort(std::vector<MessageWait>& waits) {
  const auto is_earlier = [](const MessageWait& a, const MessageWait& b) { return a.at < b.at; };
  if (!std::is_sorted(waits.begin(), waits.end(), is_earlier))
    std::stable_sort(waits.begin(), waits.end(), is_earlier);
}

/// Removes the waits after `time`, and returns the last one before it.
std::optional<MessageWait> pop_last_before(std::vector<MessageWait>& waits, Time time) {
  while (!waits.empty()) {
    const MessageWait wait = waits.back();
    waits.pop_back();
    if (wait.at <= time) return wait;
  }
  return std::nullopt;
}

// Keeps the list sorted, and no longer than kLongest.
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
    // The lowest of equal ranks, so that the path is the same on every run.
    if (ranks[i].end > ranks[rank].end) rank = i;
  }
  CriticalPath path;
  path.by_rank.resize(ranks.size());
  // Follow the path backwards from the end. Each iteration consumes a wait, so the loop ends.
  for (Time time = ranks[rank].end;;) {
    const std::optional<MessageWait> wait = pop_last_before(ranks[rank].waits, time);
    const Time since = wait ? wait->at : Time();
    path.on_ranks += time - since;
    path.by_rank[rank] += time - since;
    if (!wait) return path;
    time = since;
    const auto source = static_cast<std::size_t>(wait->source);
    // another operation's: stay on this rank
    if (source >= ranks.size() || wait->begin > time) continue;
    if (wait->begin < time) {  // false for clocks that met without a message
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
