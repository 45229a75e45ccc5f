// Populates a cache in two ways: for ranks that connect when the service starts (connect, accept, greet;
// start_service()), and for members of a new communicator with existing connections (add()). The service's
// own EndpointCache decides what to send; this code adds the times.
#include "simulators/dpu/population.hpp"

#include "simulators/dpu/collective.hpp"

namespace offramp::dpu {
namespace {

// Read in [dpu-service-src].
constexpr std::int64_t kRankInfo = 72;
constexpr std::int64_t kWorldRank = 8;         // per rank of the table in an ADD
constexpr std::int64_t kWorkerAddress = 2048;  // maximum length
constexpr std::int64_t kProcessRecord = 40;

/// Divides ranks into runs of consecutive ones. Each run is one message.
std::vector<std::vector<int>> runs_of(const std::vector<int>& ranks) {
  std::vector<std::vector<int>> runs;
  for (const int rank : ranks) {
    if (runs.empty() || rank != runs.back().back() + 1) runs.emplace_back();
    runs.back().push_back(rank);
  }
  return runs;
}

/// All service processes of the job, including those without members.
int processes_of(const PlatformSpec& spec) {
  const Placement placement = placement_of(spec);
  return placement.nodes(spec.ranks) * placement.per_node();
}

}  // namespace

Population::Population(const PlatformSpec& spec, const std::vector<Member>& members, Machine& machine,
                       Observer& observer)
    : spec_(spec),
      machine_(machine),
      observer_(observer),
      process_at_(static_cast<std::size_t>(processes_of(spec)), -1),
      runs_(static_cast<std::size_t>(machine.processes())),
      connected_(members.size()) {
  for (const Member& member : members) group_.world_ranks.push_back(member.world_rank);
  group_.uid = group_uid(0, group_.world_ranks);  // only caches of this communicator
  for (int process = 0; process < machine.processes(); ++process) {
    caches_.emplace_back(placement_of(spec), machine.global_id(process), processes_of(spec));
    process_at_[static_cast<std::size_t>(machine.global_id(process))] = process;
  }
}

Machine::Event Population::event(SetupEventKind kind, int subject) {
  return {Offload::kOthers + kind, subject};
}

bool Population::handle(const Machine::Event& event, Time at) {
  const int subject = event.subject;
  switch (event.kind - Offload::kOthers) {
    case kAdd:
      return on_addition(subject, machine_.step(machine_.process_of(subject), at)), true;
    case kEntries:
      return on_entries(subject, at), true;
    case kTable:
      return observer_.populated(subject, at), true;
    case kConnect:
      return accept(subject, at), true;
    case kWelcome:
      machine_.notify_process(subject, kWorkerAddress + kRankInfo, at + spec_.card.connect,
                              Population::event(kHello, subject));
      return true;
    case kHello:
      return greet(subject, at), true;
    case kProcessData:
      return true;
    default:
      return false;
  }
}

void Population::add(int member, Time posted) {
  const std::int64_t bytes = kRankInfo + kWorldRank * static_cast<std::int64_t>(group_.world_ranks.size());
  machine_.notify_process(member, bytes, posted, event(kAdd, member));
}

Time Population::handle_entries(int process, std::size_t entries, Time at) {
  const auto bytes = static_cast<std::int64_t>(entries) * spec_.cache_entry;
  return machine_.work(process, at, spec_.card.step() + spec_.card.arm_copy.bytes(bytes));
}

void Population::on_addition(int member, Time at) {
  const int process = machine_.process_of(member);
  at = handle_entries(process, 1, at);
  const CacheActions actions = caches_[static_cast<std::size_t>(process)].add_rank(group_, member);
  if (actions.entries_to_processes > 0) notify_processes(process, at);
  if (actions.populated) notify_ranks(process, at);
}

void Population::notify_processes(int process, Time at) {
  const int all = processes_of(spec_);
  const int own = machine_.global_id(process);
  std::vector<RankRange>& runs = runs_[static_cast<std::size_t>(process)];
  runs = runs_of(caches_[static_cast<std::size_t>(process)].own_ranks(group_));
  // Each process begins with its successor, so that they do not all send to one at first.
  for (int step = 1; step < all; ++step) {
    const int to = process_at_[static_cast<std::size_t>((own + step) % all)];
    Event* const meta = machine_.begin_meta(process);
    for (std::size_t run = 0; run < runs.size(); ++run) {
      at = handle_entries(process, runs[run].size(), at);
      if (to < 0) continue;  // not modelled: its receiver handles the entries beside its other work
      const auto bytes = static_cast<std::int64_t>(runs[run].size()) * spec_.cache_entry;
      machine_.notify(process, to, bytes, at, event(kEntries, static_cast<int>(announced_.size())), meta);
      announced_.push_back({to, process, static_cast<int>(run)});
    }
    machine_.end_meta(process, meta);
  }
}

void Population::on_entries(int announced, Time at) {
  const auto [to, from, run] = announced_[static_cast<std::size_t>(announced)];
  const RankRange& ranks = runs_[static_cast<std::size_t>(from)][static_cast<std::size_t>(run)];
  at = handle_entries(to, ranks.size(), at);
  if (caches_[static_cast<std::size_t>(to)].add_entries(group_, ranks).populated) notify_ranks(to, at);
}

void Population::notify_ranks(int process, Time at) {
  const auto table = static_cast<std::int64_t>(group_.world_ranks.size()) * spec_.cache_entry;
  for (const int member : caches_[static_cast<std::size_t>(process)].own_ranks(group_)) {
    // At the start, ranks also learn the addresses of all service processes.
    if (starts_) {
      at = machine_.step(process, at);
      const std::int64_t processes = processes_of(spec_) * (kWorkerAddress + kProcessRecord);
      machine_.notify_host(process, member, processes, at, event(kProcessData, member));
    }
    at = machine_.step(process, at);
    machine_.notify_host(process, member, table, at, event(kTable, member));
  }
}

// --- The connections of ranks ---

void Population::connect(int member, Time at) {
  starts_ = true;
  // SYN, SYN and ACK, ACK.
  machine_.schedule(at + spec_.card.tcp_latency * 3, Offload::kOthers + kConnect, member);
}

/// The service process sends its worker's address and both ids; the rank creates its endpoint.
void Population::accept(int member, Time at) {
  const Time accepted = machine_.work(machine_.process_of(member), at, spec_.card.connect);
  machine_.schedule(accepted + spec_.card.tcp_latency, Offload::kOthers + kWelcome, member);
}

/// The rank has identified itself; the service process creates its endpoint and replies over it.
void Population::greet(int member, Time at) {
  const int process = machine_.process_of(member);
  const Time greeted = machine_.work(process, at, spec_.card.connect);
  connected_[static_cast<std::size_t>(member)] = machine_.to_host(member, greeted);
  on_addition(member, greeted);
}

Start start_service(const PlatformSpec& spec) {
  std::vector<Member> members(static_cast<std::size_t>(spec.ranks));
  for (int rank = 0; rank < spec.ranks; ++rank) members[static_cast<std::size_t>(rank)].world_rank = rank;
  Start start;
  start.populated.resize(members.size());
  class Watcher final : public Population::Observer {
   public:
    explicit Watcher(std::vector<Time>& times) : times_(times) {}
    void populated(int member, Time at) override { times_[static_cast<std::size_t>(member)] = at; }

   private:
    std::vector<Time>& times_;
  } watcher(start.populated);
  Machine machine(spec, members, std::vector<bool>(members.size()), 0, nullptr);
  Population population(spec, members, machine, watcher);
  for (int rank = 0; rank < spec.ranks; ++rank) population.connect(rank, {});
  while (!machine.idle()) {
    const auto [at, order, event] = machine.next();
    if (!machine.handle(event, at)) population.handle(event, at);
  }
  for (int rank = 0; rank < spec.ranks; ++rank) start.connected.push_back(population.connected(rank));
  return start;
}

}  // namespace offramp::dpu
