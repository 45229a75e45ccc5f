// The state that the ranks of a replay share (class ReplayRun), and the replay itself. ReplayThread
// (replay_rank.cpp) replays the events of one rank's thread; ReplayLog (replay_log.cpp) collects data for
// observers and reports; ReplayResult (replay_result.cpp) is the result.
//
// Each rank's recording has its own numbers of functions and communicators. number_of_function() and
// number_of() map them to common numbers. disagreement() compares the collectives of each communicator in
// order, and keeps one entry for each collective that some members have not reached. A replay ends normally,
// is stopped by options.progress, stops at the truncation of a recording, or fails: because of an invalid
// event, a declined operation, or ranks that wait for each other.
#include "lib/answers/replay/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "lib/answers/replay/replay_rank.hpp"
#include "lib/base/side_by_side.hpp"
#include "lib/programs/recording/all_ranks.hpp"
#include "offramp/kernel/event_queue.hpp"

namespace offramp {
namespace {

constexpr std::uint64_t kBetweenProgress = 1 << 14;  // events
constexpr std::uint64_t kBetweenTimes = 1 << 4;      // events between two looks at the wall clock
// Users notice longer pauses before a stop.
constexpr std::chrono::milliseconds kLongestPause(100);
constexpr std::size_t kShown = 8;  // waiting ranks in a message
/// In all worlds that are simulated side by side. Each takes some KiB.
constexpr std::size_t kRanksAtOnce = std::size_t{1} << 17;

}  // namespace

std::vector<OpenRequest> OpenRequests::remove_all() {
  std::vector<OpenRequest> all;
  for (OpenRequest& slot : slots_) {
    if (slot.number != OpenRequest::kNone) all.push_back(std::exchange(slot, OpenRequest()));
  }
  size_ = 0;
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return all;
}

// --- what the ranks share ---

static ReplayResult result_of(int ranks) {
  ReplayResult result;
  result.ranks.resize(static_cast<std::size_t>(ranks));
  return result;
}

ReplayRun::ReplayRun(const ReplaySource& source, const ReplayOptions& options_)
    : options(options_),
      arrival(source.has_arrival ? options_.arrival : Arrival::kModelled),
      result(result_of(source.ranks)),
      log(options_, result.ranks),
      rank_states(static_cast<std::size_t>(source.ranks)),
      jobs(source.jobs) {
  // Reads of an earlier replay are dropped.
  if (options.clock_reads != nullptr) options.clock_reads->assign(result.ranks.size(), {});
  if (jobs.empty()) jobs.push_back({0, source.ranks});
  for (const ReplayJob& job : jobs) ranks += job.ranks;
}

WorldOptions ReplayRun::observed() {
  WorldOptions world = log.options();
  world.choices = this;
  return world;
}

void ReplayRun::fail(const std::string& what) {
  // Later errors are often consequences.
  if (error.empty()) error = what;
  over = true;
}

void ReplayRun::count_event() {
  ++result.events;
  // Reading the clock takes longer than many events.
  if (options.progress == nullptr || result.events % kBetweenTimes != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (result.events % kBetweenProgress != 0 && now - last_progress_ < kLongestPause) return;
  last_progress_ = now;
  if (options.progress({result.events, ranks_ended})) return;
  result.stopped = true;
  over = true;
}

std::uint16_t ReplayRun::number_of_function(std::string_view name) {
  // Programs call few functions, so a search in a list is fast. Ranks map their numbers once.
  const auto known = std::find(result.functions.begin(), result.functions.end(), name);
  const auto number = static_cast<std::uint16_t>(known - result.functions.begin());
  if (known != result.functions.end()) return number;
  result.functions.emplace_back(name);
  if (name == "MPI_Finalize") finalize_ = number;
  return number;
}

void ReplayRun::chosen(int rank, const Operation& operation, Handling handling, std::string_view reason) {
  const auto index = static_cast<std::size_t>(rank);
  RankState& place = rank_states[index];
  Counters& counters = result.ranks[index].counters;
  counters.counter_of(place.call).note(handling);
  // The thread that began the operation reads it later.
  (place.handling != nullptr ? *place.handling : untold_) = handling;
  if (handling != Handling::kDeclined) return;
  if (operation.access == Access::kNone) return place.declines.count(counters, operation.kind, reason);
  ++counters.declines[{result.functions[place.call], std::string(reason)}];
}

void ReplayRun::send_failed(int rank) {
  ++result.ranks[static_cast<std::size_t>(rank)].counters.given_up;
}

std::size_t ReplayRun::Hash::operator()(const std::vector<int>& members) const {
  std::uint64_t hash = members.size();
  for (const int member : members) hash = (hash ^ static_cast<std::uint64_t>(member)) * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

const ReplayRun::Members* ReplayRun::last_members(std::span<const std::uint64_t> listed,
                                                  const ReplayJob& job) const {
  // Lists are relative to their job.
  if (last_members_ == nullptr || first_of_last_ != job.first) return nullptr;
  // Comparing addresses avoids reading a million members on each of a million ranks.
  if (last_is_all_ && recording::is_all_ranks(listed) && listed.size() == last_members_->first.size())
    return last_members_;
  const auto is_same = [first = static_cast<std::uint64_t>(job.first)](std::uint64_t rank, int member) {
    return rank + first == static_cast<std::uint64_t>(member);
  };
  return std::ranges::equal(listed, last_members_->first, is_same) ? last_members_ : nullptr;
}

const ReplayRun::Members& ReplayRun::members_of(const std::vector<int>& members, const ReplayJob& job,
                                                bool all) {
  last_is_all_ = all;
  first_of_last_ = job.first;
  last_members_ = &*lists_.try_emplace(members, static_cast<std::uint32_t>(lists_.size())).first;
  return *last_members_;
}

std::uint32_t ReplayRun::number_of(const Members& members, std::uint64_t id) {
  return known_.try_emplace({id, members.second}, static_cast<std::uint32_t>(known_.size())).first->second;
}

std::size_t ReplayRun::phase(std::int64_t level, const std::string& name) {
  const auto [place, is_new] = phases_.try_emplace({level, name}, result.phases.size());
  if (is_new) {
    ReplayPhase& phase = result.phases.emplace_back();
    phase.name = name.empty() ? fmt::format("level {}", level) : name;
    phase.level = level;
    phase.per_rank.resize(rank_states.size());
  }
  ++result.phases[place->second].count;
  return place->second;
}

std::string ReplayRun::disagreement(const Communicator& communicator, std::uint32_t number,
                                    const std::optional<Operation>& operation) {
  const auto place = agreed_.try_emplace({communicator.context(), number}).first;
  Agreed& agreed = place->second;
  // The first member to arrive determines the operation.
  if (agreed.missing == 0) agreed = {operation, communicator.size()};
  const auto name = [](const std::optional<Operation>& one) {
    return one ? fmt::format("{}{} of {} bytes, {}, root {}", one->nonblocking ? "nonblocking " : "",
                             to_string(one->kind), one->bytes, to_string(one->element), one->root)
               : std::string("a meeting");
  };
  // Sizes that may differ between members are not compared.
  const auto same = [](const Operation& a, const Operation& b) {
    return a.kind == b.kind && a.element == b.element && a.function == b.function &&
           a.commutative == b.commutative && a.bytes == b.bytes && a.elements == b.elements &&
           a.root == b.root && a.nonblocking == b.nonblocking;
  };
  const bool alike = agreed.operation.has_value() == operation.has_value() &&
                     (!operation || same(*agreed.operation, *operation));
  if (!alike)
    return fmt::format("collective {} of its communicator is {} here and {} on another rank", number + 1,
                       name(operation), name(agreed.operation));
  // Entries last only until all members have arrived.
  if (--agreed.missing == 0) agreed_.erase(place);
  return {};
}

// --- a replay ---

namespace {

Task<void> play(ReplayRun& run, RankHandle& rank, const ReplayJob& job,
                std::unique_ptr<recording::Reader> reader) {
  ReplayRank own(run, rank, job);
  ReplayThread player(run, own, rank, *reader);
  co_await player.play();
}

/// The state that the threads of a rank share. It exists until the last of them has ended.
struct ThreadedRank {
  ThreadedRank(ReplayRun& run_, RankHandle& rank, const ReplayJob& job,
               std::unique_ptr<recording::Reader> reader)
      : run(run_),
        own(run, rank, job),
        threads(std::move(reader), [this](RankHandle& handle, RankThreads::Stream& stream) {
          ++own.playing;  // counted now: the others may end before its first event
          return play_thread(*this, handle, stream);
        }) {
    run.threads.push_back(&threads);
  }
  ~ThreadedRank() { std::erase(run.threads, &threads); }
  ThreadedRank& operator=(ThreadedRank&&) = delete;

  static Task<void> play_thread(ThreadedRank& all, RankHandle& rank, RankThreads::Stream& stream) {
    ReplayThread player(all.run, all.own, rank, stream, &all.threads);
    co_await player.play();
  }

  ReplayRun& run;
  ReplayRank own;
  RankThreads threads;
};

Task<void> play_threads(ReplayRun& run, RankHandle& rank, const ReplayJob& job,
                        std::unique_ptr<recording::Reader> reader) {
  ThreadedRank all(run, rank, job, std::move(reader));
  co_await ThreadedRank::play_thread(all, rank, all.threads.first(rank));
  // The coroutine owns the shared state, so it must end last.
  while (all.own.playing > 0) {
    all.own.keeper = &rank;
    co_await rank.sleep();
  }
}

/// Begins a thread whose creation time is unknown, when nothing else can continue. False if there is none.
bool begin_another_thread(const ReplayRun& run) {
  return !run.over && std::any_of(run.threads.begin(), run.threads.end(),
                                  [](RankThreads* threads) { return threads->begin_another(); });
}

std::string place_of(const ReplayRun& run, std::size_t rank) {
  const ReplayRun::RankState& place = run.rank_states[rank];
  if (place.events == 0) return fmt::format("rank {} before its first event", rank);
  return fmt::format("rank {} at event {} ({})", rank, place.events, run.result.functions[place.call]);
}

std::vector<UnfinishedRank> unfinished(const ReplayRun& run) {
  std::vector<UnfinishedRank> all;
  for (const ReplayJob& job : run.jobs) {
    for (int rank = job.first; rank < job.first + job.ranks; ++rank) {
      const ReplayRun::RankState& place = run.rank_states[static_cast<std::size_t>(rank)];
      if (place.ended && place.why_early.empty()) continue;
      all.push_back({rank, place_of(run, static_cast<std::size_t>(rank)),
                     place.ended ? place.why_early : place.cut, !place.ended});
    }
  }
  return all;
}

std::string deadlock(const ReplayRun& run, const std::string& stuck) {
  const std::vector<UnfinishedRank> waiting = unfinished(run);
  // The usual reason: the program relies on buffering, which MPI does not promise.
  const bool in_send = std::any_of(waiting.begin(), waiting.end(), [&](const UnfinishedRank& rank) {
    const ReplayRun::RankState& place = run.rank_states[static_cast<std::size_t>(rank.rank)];
    return rank.waits && place.events > 0 && run.result.functions[place.call] == "MPI_Send";
  });
  std::string text = "the replay does not finish:\n";
  if (in_send)
    text +=
        "an MPI_Send of this size waits for its receive over this hardware (parameter eager_limit); a "
        "program that relies on sends that do not wait does not finish here\n";
  text += stuck;
  for (std::size_t i = 0; i < std::min(waiting.size(), kShown); ++i) text += waiting[i].text() + '\n';
  if (waiting.size() > kShown) text += fmt::format("and {} more ranks\n", waiting.size() - kShown);
  return text;
}

/// background: ranks that run no program, and have no end.
void collect(ReplayRun& run, const World& world, const std::vector<int>& background) {
  ReplayResult& result = run.result;
  for (int rank = 0; rank < world.ranks(); ++rank) {
    ReplayedRank& replayed = result.ranks[static_cast<std::size_t>(rank)];
    replayed.clock = world.clock(rank);
    replayed.straggler_delay = world.straggler_delay(rank);
    replayed.counters.calls.resize(result.functions.size());
  }
  // Background traffic would otherwise end last.
  for (const int rank : background) result.ranks[static_cast<std::size_t>(rank)].clock = Time();
  for (const ReplayJob& job : run.jobs) result.modelled_time = later(result.modelled_time, result.end(job));
  result.wire = world.wire();
  result.messages = world.messages();
  for (const World::ResourceUse& use : world.resources())
    result.resources.push_back({std::string(use.name), use.first_rank, use.busy, use.waited, use.bytes});
  result.links = world.links();
}

std::vector<int> working_ranks(const ReplayRun& run, const ReplaySource& source) {
  std::vector<int> ranks = source.background.ranks;
  for (const ReplayJob& job : run.jobs) {
    for (int rank = job.first; rank < job.first + job.ranks; ++rank) ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace

static Result<ReplayResult> replay_once(const WorldSetting& setting, const ReplaySource& source,
                                        const ReplayOptions& options) {
  if (source.ranks < 1 || source.ranks > static_cast<int>(EventQueue<int>::kMaximumRank))
    return failure(fmt::format("a recording of {} ranks cannot be replayed", source.ranks));
  ReplayRun run(source, options);
  auto made = make_world(setting, source.ranks, run.observed());
  if (!made) return failure(made.error());
  const std::unique_ptr<World> world = std::move(*made);
  const auto program = [&](RankHandle& rank) {
    const auto job = std::find_if(run.jobs.begin(), run.jobs.end(), [&](const ReplayJob& one) {
      return rank.rank() >= one.first && rank.rank() - one.first < one.ranks;
    });
    if (job == run.jobs.end())
      // Ranks of no job carry the background.
      return source.background.play(rank, [&run] { return run.over || run.ranks_ended == run.ranks; });
    std::unique_ptr<recording::Reader> reader = source.read(rank.rank());
    run.rank_states[static_cast<std::size_t>(rank.rank())].cut = reader->cut();
    return reader->has_threads() ? play_threads(run, rank, *job, std::move(reader))
                                 : play(run, rank, *job, std::move(reader));
  };
  const std::string stuck =
      world->run(program, working_ranks(run, source), [&run] { return begin_another_thread(run); });
  if (!run.error.empty()) return failure(run.error);
  if (!world->declined().empty()) return failure(world->declined());
  const bool cut = std::any_of(run.rank_states.begin(), run.rank_states.end(),
                               [](const ReplayRun::RankState& place) { return !place.why_early.empty(); });
  // If some ranks are cut off, others wait for them: that is no deadlock.
  if (!stuck.empty() && !cut && !run.over) return failure(deadlock(run, stuck));
  if (!run.over) run.result.unfinished = unfinished(run);
  const bool whole = stuck.empty() && !cut && !run.over;
  // Operations that did not finish would count as violations.
  if (const std::vector<std::string> broken = world->violations(false); whole && !broken.empty())
    return failure(fmt::format("the simulation violates its invariants:\n{}", fmt::join(broken, "\n")));
  collect(run, *world, source.background.ranks);
  run.result.path = run.log.release_path();
  run.result.deployment = deployment_of(setting, source.ranks);
  return std::move(run.result);
}

std::size_t worlds_at_once(const ReplaySource& source) {
  if (!source.is_concurrent) return 1;
  return std::clamp(kRanksAtOnce / static_cast<std::size_t>(source.ranks), std::size_t{1}, usable_cores());
}

Result<ReplayResult> replay(const WorldSetting& setting, const ReplaySource& source,
                            const ReplayOptions& options) {
  Result<ReplayResult> result = replay_once(setting, source, options);
  if (!result || result->stopped || !options.compare_undisturbed || !setting.stragglers.any()) return result;
  WorldSetting undisturbed = setting;
  undisturbed.stragglers = {};
  // Only what affects times.
  ReplayOptions alike;
  alike.compute = options.compute;
  alike.arrival = options.arrival;
  alike.progress = options.progress;
  Result<ReplayResult> without = replay_once(undisturbed, source, alike);
  if (!without) return failure(without.error());
  result->stopped = without->stopped;
  result->undisturbed = without->clocks();
  return result;
}

}  // namespace offramp
