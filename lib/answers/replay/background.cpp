// A destination is a function of seed, node, and round, so the traffic does not depend on the order in which
// the world runs its ranks. Messages are synchronous: a send is complete when it is received, so kWindow
// limits the messages in flight. A round that finds the window full is skipped and not made up for.
#include "lib/answers/replay/background.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "lib/base/text_format.hpp"
#include "offramp/kernel/random.hpp"

namespace offramp {

namespace {

/// Drops the completed requests at the front.
Task<void> retire_done(RankHandle& rank, std::deque<RankRequest>& requests) {
  while (!requests.empty()) {
    const std::optional<Received> done = co_await rank.test(requests.front());
    if (!done) co_return;
    requests.pop_front();
  }
}

}  // namespace

int BackgroundTraffic::destination(int own, std::uint64_t round) const {
  const auto all = static_cast<int>(ranks.size());
  if (kind == Pattern::kIncast) return own == 0 ? -1 : 0;
  if (kind == Pattern::kShift) return (own + all / 2) % all;
  // Two rounds of hashing keep neighbouring nodes and rounds independent.
  const std::uint64_t node = splitmix_finaliser(seed) + static_cast<std::uint64_t>(own);
  const std::uint64_t draw = splitmix_finaliser(splitmix_finaliser(node) + round);
  // Never the node itself.
  return (own + 1 + static_cast<int>(draw % static_cast<std::uint64_t>(all - 1))) % all;
}

Task<void> BackgroundTraffic::play(RankHandle& rank, std::function<bool()> is_over) const {
  const auto own = static_cast<int>(std::find(ranks.begin(), ranks.end(), rank.rank()) - ranks.begin());
  const Time period = rate.bytes(static_cast<std::int64_t>(kBytes));
  std::deque<RankRequest> sends;
  std::deque<RankRequest> receives;
  for (std::uint64_t round = 0; ranks.size() > 1; ++round) {
    // Whether the jobs are over is only known once the world has come this far.
    co_await rank.wait_for_world();
    if (is_over()) break;
    co_await retire_done(rank, sends);
    co_await retire_done(rank, receives);
    // Receives from any rank, since destinations may be random.
    while (receives.size() < kWindow) receives.push_back(rank.irecv(kAnySource, kBytes));
    const int to = destination(own, round);
    if (to >= 0 && sends.size() < kWindow)
      sends.push_back(rank.isend(rank.world_communicator(), ranks[static_cast<std::size_t>(to)], kBytes, 0,
                                 ElementType::kByte, Synchronous::kYes));
    const Time next = period * static_cast<std::int64_t>(round + 1);
    rank.rest_until(next);
  }
  // Messages in flight are dropped with the world.
  for (std::deque<RankRequest>* const left : {&sends, &receives}) {
    for (RankRequest& request : *left) rank.abandon(request);
  }
}

Result<BackgroundTraffic> parse_background(const std::string& text) {
  BackgroundTraffic traffic;
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const double gigabits =
      colon == std::string::npos ? 0 : parse_quantity(text.substr(colon + 1), "Gb/s").value_or(0);
  const bool known = kind == "uniform" || kind == "incast" || kind == "shift";
  if (!known || !(gigabits >= 1e-3 && gigabits <= 1e5))
    return failure(fmt::format(
        "{} is not uniform:RATE, incast:RATE or shift:RATE, in Gb/s from 0.001 to 100000", in_quotes(text)));
  traffic.kind = kind == "uniform"  ? BackgroundTraffic::Pattern::kUniform
                 : kind == "incast" ? BackgroundTraffic::Pattern::kIncast
                                    : BackgroundTraffic::Pattern::kShift;
  traffic.rate = Bandwidth::bits_per_second(static_cast<std::int64_t>(gigabits * 1e9 + 0.5));
  return traffic;
}

}  // namespace offramp
