// Free communication is a backend, so the replay over it is the same as over hardware. A collective makes a
// rank wait only for the ranks whose data it receives. Two algorithms suffice for that: through a centre,
// which gathers or spreads or both, and from rank to rank for prefix operations.
#include "lib/answers/replay/free_communication.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <system_error>
#include <utility>

namespace offramp {
namespace {

constexpr std::chrono::milliseconds kPause(100);  // between two calls of ReplayOptions::progress

/// A backend whose messages and collectives take no time and use no resources. A rank waits only for data
/// that MPI requires: from the root, from all others, or from the ranks before it.
class FreeBackend final : public Backend {
 public:
  explicit FreeBackend(const BackendContext& /*context*/) {}

  // Nothing is declined.
  [[nodiscard]] Verdict supports(const Operation& operation) const override {
    return Verdict::accept(operation, {operation.kind});
  }
  [[nodiscard]] bool waits_for_receiver(const Transfer& /*transfer*/) const override { return false; }
  [[nodiscard]] std::span<const ResourceDescription> resources() const override { return {}; }

  void issue(const Transfer& transfer, Passage& passage) override {
    // All stages happen at the moment of the call.
    passage.host_free = passage.begin = passage.issued;
    // A synchronous send waits for its receive, which is waiting for computing.
    if (transfer.synchronous) passage.protocol = Protocol::kRendezvous;
  }
  void depart(const Transfer& /*transfer*/, Passage& passage, const Resources& /*sender*/) override {
    if (passage.protocol == Protocol::kDirect) {
      passage.leaves = passage.left = passage.complete = passage.begin;
    } else {
      passage.requested = passage.begin;
    }
  }
  void grant(const Transfer& /*transfer*/, Passage& passage) override { passage.answered = passage.granted; }
  void transmit(const Transfer& /*transfer*/, Passage& passage, const Resources& /*sender*/) override {
    passage.leaves = passage.left = passage.complete = passage.answered;
  }
  void arrive(const Transfer& /*transfer*/, Passage& passage, const Resources& /*receiver*/) override {
    passage.stored = passage.last;
  }
  Time receive(const Transfer& /*transfer*/, const Passage& /*passage*/, Time at,
               Matched /*matched*/) override {
    return at;
  }
  [[nodiscard]] Time copy_time(std::size_t /*bytes*/) const override { return {}; }
  [[nodiscard]] Time post_receive_cost() const override { return {}; }
  [[nodiscard]] WireCounters wire() const override { return {}; }

  Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers /*buffers*/) override {
    using enum OperationKind;
    if (traits_of(operation.kind).is_prefix) return after_the_rank_before(team);
    // A barrier and an allreduce gather and spread; a gather and a reduce only gather.
    const bool spreads = OperationSet{kBcast, kScatter, kScatterv}.contains(operation.kind);
    return through(team, has_root(operation.kind) ? operation.root : 0, !spreads,
                   spreads || !has_root(operation.kind));
  }

 private:
  static Task<Outcome> after_the_rank_before(Team& team) {
    Outcome outcome = Outcome::kOk;
    if (team.rank() > 0) note(outcome, co_await team.receive(team.rank() - 1, {}));
    if (team.rank() + 1 < team.size()) note(outcome, co_await team.send(team.rank() + 1, {}));
    co_return outcome;
  }

  /// gathers: the centre waits for all others. spreads: all others wait for the centre.
  static Task<Outcome> through(Team& team, int centre, bool gathers, bool spreads) {
    Outcome outcome = Outcome::kOk;
    if (team.rank() != centre) {
      if (gathers) note(outcome, co_await team.send(centre, {}));
      if (spreads) note(outcome, co_await team.receive(centre, {}));
      co_return outcome;
    }
    for (int peer = 0; gathers && peer < team.size(); ++peer) {
      if (peer != centre) note(outcome, co_await team.receive(peer, {}));
    }
    for (int peer = 0; spreads && peer < team.size(); ++peer) {
      if (peer != centre) note(outcome, co_await team.send(peer, {}));
    }
    co_return outcome;
  }
};

const BackendDescription kFree{.name = "free",
                               .description = "communication that takes no time",
                               .parameters = {},
                               .create = make_backend<FreeBackend>};

}  // namespace

WorldSetting free_communication(const WorldSetting& like) {
  WorldSetting free{kFree, Settings::defaults({}), {}, like.machine};
  free.stragglers = like.stragglers;
  return free;
}

Compute with_computing(Compute compute) {
  compute.kind = compute.factor == 1 ? Compute::Mode::kMeasured : Compute::Mode::kFactor;
  return compute;
}

std::optional<ReplayResult> replay_with_computing(const WorldSetting& setting, const ReplaySource& source,
                                                  ReplayOptions options) {
  options.compute = with_computing(options.compute);
  // Only times are wanted; all else costs memory.
  options.details = options.sizes = options.certificate = false;
  options.compare_undisturbed = false;
  options.observer = nullptr;
  options.clock_reads = nullptr;
  Result<ReplayResult> result = replay(setting, source, options);
  return result && !result->stopped ? std::optional(std::move(*result)) : std::nullopt;
}

std::optional<WholeRun> WholeRuns::run_of(const WorldSetting& setting, const ReplaySource& source,
                                          const ReplayOptions& options, const ReplayResult& result) {
  const Computing computing = computing_of(result);
  if (options.compute.kind != Compute::Mode::kNone || !computing.any()) return std::nullopt;
  find_program(setting, source, options, computing);
  const auto run = replay_with_computing(setting, source, options);
  return run ? std::optional(whole_run_of(*run)) : std::nullopt;
}

void WholeRuns::find_program(const WorldSetting& setting, const ReplaySource& source,
                             const ReplayOptions& options, const Computing& computing) {
  const std::scoped_lock lock(mutex_);
  if (program_) return;
  if (const auto free = replay_with_computing(free_communication(setting), source, options))
    program_ = {computing, whole_run_of(*free)};
}

namespace {

/// A replay with computing on a thread of its own. The destructor stops it.
struct RunBeside {
  std::atomic<bool> ended = false;
  std::future<std::optional<ReplayResult>> run;
  ~RunBeside() { ended = true; }
};

/// False where the process may not have another thread.
bool begin_beside(RunBeside& beside, const WorldSetting& setting, const ReplaySource& source,
                  ReplayOptions options) {
  options.progress = [&beside](const ReplayProgress&) { return !beside.ended; };
  try {
    beside.run = std::async(std::launch::async, replay_with_computing, std::cref(setting), std::cref(source),
                            std::move(options));
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

}  // namespace

Result<ReplayResult> WholeRuns::replay_and_run(const WorldSetting& setting, const ReplaySource& source,
                                               const ReplayOptions& options, std::optional<WholeRun>& run) {
  RunBeside beside;
  const bool is_beside = worlds_at_once(source) > 1 && options.compute.kind == Compute::Mode::kNone &&
                         begin_beside(beside, setting, source, options);
  Result<ReplayResult> result = replay(setting, source, options);
  if (!result || result->stopped) return result;
  const Computing computing = computing_of(*result);
  if (!is_beside) {
    run = run_of(setting, source, options, *result);
  } else if (computing.any()) {
    find_program(setting, source, options, computing);
    while (beside.run.wait_for(kPause) != std::future_status::ready) {
      if (options.progress && !options.progress({result->events, source.ranks})) beside.ended = true;
    }
    if (const auto whole = beside.run.get()) run = whole_run_of(*whole);
  }
  return result;
}

}  // namespace offramp
