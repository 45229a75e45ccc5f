// Dissemination: in round r a process sends a token to the one 2^r further on and waits for a token of that
// round. Tokens of later rounds may come early, so each round has a flag. Each step occupies the process's
// Arm core.
#include "simulators/dpu/barrier.hpp"

namespace offramp::dpu {
namespace {
constexpr std::int64_t kTokenPayload = 20;
}  // namespace

Barrier::Barrier(const PlatformSpec& spec, const CollectiveRequest& request,
                 const std::vector<bool>& host_run, EventSink* event_sink, Observer* observer)
    : Offload(spec, request, host_run, event_sink, observer),
      processes_(static_cast<std::size_t>(machine_.processes())) {
  // As many rounds as a doubling distance needs to reach all processes.
  while ((1 << rounds_) < machine_.processes()) ++rounds_;
  for (int i = 0; i < static_cast<int>(request.members.size()); ++i) {
    Process& process = processes_[static_cast<std::size_t>(machine_.process_of(i))];
    process.ranks.push_back(i);
    ++process.missing;
    process.received.resize(static_cast<std::size_t>(rounds_));
  }
}

void Barrier::arrive(int rank, Time at) {
  const int process = machine_.process_of(rank);
  const Time now = machine_.step(process, at);
  if (--processes_[static_cast<std::size_t>(process)].missing == 0) advance(process, now);
}

/// token: destination process and round.
void Barrier::on_token(int token, Time at) {
  const int process = token / rounds_;
  Process& p = processes_[static_cast<std::size_t>(process)];
  const int round = token % rounds_;
  const Time now = machine_.step(process, at);
  // A token of a later round only sets its flag. advance() finds it then.
  p.received[static_cast<std::size_t>(round)] = true;
  if (p.round == round) advance(process, now);
}

/// Sends the tokens of further rounds as long as the tokens of earlier rounds have arrived.
void Barrier::advance(int process, Time at) {
  Process& p = processes_[static_cast<std::size_t>(process)];
  while (++p.round < rounds_) {
    at = machine_.step(process, at);
    const int to = (process + (1 << p.round)) % machine_.processes();
    machine_.notify(process, to, kTokenPayload, at, {kToken, to * rounds_ + p.round});
    if (!p.received[static_cast<std::size_t>(p.round)]) return;
  }
  // The core notifies its ranks one after the other.
  for (const int rank : p.ranks) {
    at = machine_.step(process, at);
    finished(rank, machine_.to_host(rank, at));
  }
}

}  // namespace offramp::dpu
