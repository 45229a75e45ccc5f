#include "simulators/dpu/barrier.hpp"

namespace offramp::dpu {
namespace {
enum Kind { kArrive, kToken };
constexpr std::int64_t kTokenPayload = 20;
}  // namespace

Barrier::Barrier(const PlatformSpec& spec, const CollectiveRequest& request,
                 const std::vector<bool>& host_run)
    : request_(request),
      machine_(spec, request.members, host_run, first_packet(request)),
      processes_(static_cast<std::size_t>(machine_.processes())),
      done_(request.members.size()) {
  while ((1 << rounds_) < machine_.processes()) ++rounds_;
  for (int i = 0; i < static_cast<int>(request.members.size()); ++i) {
    Process& process = processes_[static_cast<std::size_t>(machine_.process_of(i))];
    process.ranks.push_back(i);
    ++process.missing;
    process.heard.resize(static_cast<std::size_t>(rounds_));
  }
}

void Barrier::run() {
  for (int i = 0; i < static_cast<int>(done_.size()); ++i) {
    const Time posted = request_.members[static_cast<std::size_t>(i)].posted;
    const std::int64_t payload = arrival_payload(request_.kind, static_cast<int>(done_.size()), false);
    machine_.schedule(machine_.from_host(i, payload, posted), kArrive, i);
  }
  while (!machine_.idle()) {
    const auto [at, order, event] = machine_.next();
    event.kind == kArrive ? arrive(event.subject, at) : hear(event.subject, at);
  }
}

void Barrier::arrive(int rank, Time at) {
  const int process = machine_.process_of(rank);
  const Time now = machine_.step(process, at);
  if (--processes_[static_cast<std::size_t>(process)].missing == 0) advance(process, now);
}

/// token: the process that it is for and the round.
void Barrier::hear(int token, Time at) {
  const int process = token / rounds_;
  Process& p = processes_[static_cast<std::size_t>(process)];
  const int round = token % rounds_;
  const Time now = machine_.step(process, at);
  p.heard[static_cast<std::size_t>(round)] = true;
  if (p.round == round) advance(process, now);
}

/// The next rounds, as long as their tokens are there.
void Barrier::advance(int process, Time at) {
  Process& p = processes_[static_cast<std::size_t>(process)];
  while (++p.round < rounds_) {
    at = machine_.step(process, at);
    const int to = (process + (1 << p.round)) % machine_.processes();
    machine_.schedule(machine_.notify(process, to, kTokenPayload, at), kToken, to * rounds_ + p.round);
    if (!p.heard[static_cast<std::size_t>(p.round)]) return;
  }
  for (const int rank : p.ranks) {
    at = machine_.step(process, at);
    done_[static_cast<std::size_t>(rank)] = machine_.to_host(rank, at);
  }
}

}  // namespace offramp::dpu
