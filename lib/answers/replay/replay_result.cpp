// A rank's time is that of its clock, or the sum over its threads where it has several. Efficiencies are the
// factors of POP: load balance, serialisation (free communication, no transfer), and transfer. They are not
// computed if a rank computes longer than the run over free communication lasts, as threads of a rank may.
#include "lib/answers/replay/replay_result.hpp"

namespace offramp {

Time ReplayPhase::longest() const {
  return per_rank.empty() ? Time() : *std::max_element(per_rank.begin(), per_rank.end());
}

std::vector<Time> ReplayResult::clocks() const {
  std::vector<Time> all;
  for (const ReplayedRank& rank : ranks) all.push_back(rank.clock);
  return all;
}

Counters ReplayResult::total() const {
  return total({0, static_cast<int>(ranks.size())});
}

Counters ReplayResult::total(const ReplayJob& job) const {
  Counters sum;
  for (int rank = job.first; rank < job.first + job.ranks; ++rank)
    sum += ranks[static_cast<std::size_t>(rank)].counters;
  return sum;
}

std::uint64_t ReplayResult::done() const {
  const auto waiting = std::count_if(unfinished.begin(), unfinished.end(),
                                     [](const UnfinishedRank& rank) { return rank.waits; });
  // A waiting rank has counted the event that it has not completed.
  return events - std::min(events, static_cast<std::uint64_t>(waiting));
}

Time ReplayResult::end(const ReplayJob& job) const {
  Time end;
  for (int rank = job.first; rank < job.first + job.ranks; ++rank)
    end = later(end, ranks[static_cast<std::size_t>(rank)].clock);
  return end;
}

std::optional<ReplayResult::Disturbance> ReplayResult::disturbance(const ReplayJob& job) const {
  if (undisturbed.empty()) return std::nullopt;
  Disturbance all;
  auto rank = static_cast<std::size_t>(job.first);
  for (const std::size_t end = rank + static_cast<std::size_t>(job.ranks); rank < end; ++rank) {
    all.undisturbed = later(all.undisturbed, undisturbed[rank]);
    all.longest = later(all.longest, ranks[rank].straggler_delay);
  }
  return all;
}

std::optional<ReplayResult::Disturbance> ReplayResult::disturbance() const {
  return disturbance({0, static_cast<int>(ranks.size())});
}

Computing computing_of(const ReplayResult& result) {
  return computing_of(result, {0, static_cast<int>(result.ranks.size())});
}

Computing computing_of(const ReplayResult& result, const ReplayJob& job) {
  Computing computing{{}, {}, job.ranks, {}};
  for (int i = job.first; i < job.first + job.ranks; ++i) {
    const ReplayedRank& rank = result.ranks[static_cast<std::size_t>(i)];
    // Blocked time is the program's own, too: no network can shorten it.
    computing.sum += rank.computing + rank.blocked;
    computing.largest = later(computing.largest, rank.computing + rank.blocked);
    computing.blocked += rank.blocked;
    computing.brief_gaps += rank.brief_gaps;
    computing.longer_gaps += rank.longer_gaps;
  }
  return computing;
}

WholeRun whole_run_of(const ReplayResult& result) {
  return whole_run_of(result, {0, static_cast<int>(result.ranks.size())});
}

WholeRun whole_run_of(const ReplayResult& result, const ReplayJob& job) {
  WholeRun run{result.end(job), {}, {}};
  std::vector<CallCounter> calls(result.functions.size());
  for (int i = job.first; i < job.first + job.ranks; ++i) {
    const ReplayedRank& rank = result.ranks[static_cast<std::size_t>(i)];
    run.sum += later(rank.clock, rank.of_threads);
    for (std::size_t function = 0; function < rank.counters.calls.size(); ++function) {
      const CallCounter& call = rank.counters.calls[function];
      run.in_calls += call.modelled - call.unmodelled;
      run.without_model += call.unmodelled;
      calls[function] += call;
    }
  }
  const CallCounter* most = nullptr;
  for (std::size_t function = 0; function < calls.size(); ++function) {
    const CallCounter& call = calls[function];
    run.bytes += call.bytes;
    run.unmodelled += call.outside;
    run.bytes_unmodelled += call.bytes_outside;
    // By bytes first, since unmodelled time may be zero in a replay without computing.
    const auto size = [](const CallCounter& one) { return std::pair(one.bytes_outside, one.outside); };
    run.unmodelled_functions += size(call) > size({}) ? 1 : 0;
    if (size(call) <= (most != nullptr ? size(*most) : size({}))) continue;
    most = &call;
    run.unmodelled_function = result.functions[function];
  }
  return run;
}

double hidden_share(Time communication, const WholeRun& run, const WholeRun& free) {
  if (communication <= Time()) return 0;
  // Contention may prolong a run by more than the communication alone takes.
  return std::clamp(1 - (run.end - free.end).seconds() / communication.seconds(), 0.0, 1.0);
}

std::optional<Efficiencies> efficiencies_of(const Computing& computing, const WholeRun& run,
                                            const WholeRun& free) {
  if (!computing.any() || computing.largest > free.end || run.end <= Time()) return std::nullopt;
  return Efficiencies{.load_balance = 1 / computing.imbalance(),
                      .serialisation = computing.largest.seconds() / free.end.seconds(),
                      .transfer = free.end.seconds() / run.end.seconds()};
}

}  // namespace offramp
