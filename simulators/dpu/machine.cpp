#include "simulators/dpu/machine.hpp"

#include <map>

namespace offramp::dpu {
namespace {

/// An Arm core of the card against a core of the host: published for BlueField-2 (1.57 zlib, 1.56 zstd) and
/// BlueField-3 (1.60, 1.64).
constexpr std::int64_t kHostSpeedTenths = 16;

constexpr std::uint64_t kCollectives = 1;  // channel: links between service processes, not between ranks

}  // namespace

Machine::Machine(const PlatformSpec& spec, const std::vector<Member>& members,
                 const std::vector<bool>& host_run, std::uint64_t first_packet, Agenda* agenda)
    : spec_(spec),
      agenda_(agenda),
      node_(spec),
      packet_(first_packet),
      own_notifications_(agenda == nullptr ? std::make_unique<Notifications>(spec.posted_sends) : nullptr),
      notifications_(agenda == nullptr ? own_notifications_.get() : &agenda->notifications()) {
  const Placement placement = placement_of(spec);
  std::map<int, int> hosts;
  std::map<int, int> dpus;
  std::map<int, int> processes;
  process_of_.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int world_rank = members[i].world_rank;
    world_rank_.push_back(world_rank);
    const auto host = hosts.emplace(placement.node(world_rank), static_cast<int>(hosts_.size()));
    if (host.second) {
      if (agenda_ == nullptr) own_.push_back(std::make_unique<Units>(node_.descriptions().size()));
      hosts_.push_back(agenda_ != nullptr ? agenda_->resources(world_rank)
                                          : own_.back()->view(node_.descriptions()));
    }
    const int dpu_id = placement.dpu(world_rank);
    const auto dpu = dpus.emplace(dpu_id, static_cast<int>(dpus_.size()));
    if (dpu.second) dpus_.push_back({host.first->second, dpu_id % spec.dpus, 0, 0});
    const int global_id = placement.global_id(world_rank);
    // A host that works for itself has a process of its own, under a name that no service process has.
    const int name = host_run[i] ? -1 - world_rank : global_id;
    const auto process = processes.emplace(name, static_cast<int>(processes_.size()));
    if (process.second) {
      processes_.push_back(
          {host.first->second, dpu.first->second, global_id, host_run[i], node_.process(global_id), {}, {}});
    }
    process_of_.push_back(process.first->second);
    if (!host_run[i] && agenda_ == nullptr)
      host_at(host.first->second)[node_.process(global_id)].timeline.merge(members[i].process_free);
  }
}

Time Machine::process_free(int process) const {
  const Process& p = process_at(process);
  return p.on_host ? p.host_cpu.free_at() : host_at(p.host)[p.resource].timeline.free_at();
}

Time Machine::work(int process, Time at, Time duration) {
  Process& p = process_at(process);
  if (p.on_host) {
    duration = Time::ps(duration.count() * 10 / kHostSpeedTenths);
    p.busy += duration;
    return p.host_cpu.acquire(at, duration).end;
  }
  const FailureSpec& failure = spec_.failure;
  if (failure.kind != Failure::kNone && p.global_id == failure.process) {
    const Time begin = later(at, process_free(process));
    const bool pauses = failure.kind == Failure::kStalls && failure.stall <= failure.detect;
    if (pauses && begin + duration > failure.at && begin < failure.at + failure.stall) {
      at = failure.at + failure.stall;
    } else if (!pauses && begin + duration > failure.at) {
      failure_met_ = true;
    }
  }
  p.busy += duration;
  return host_at(p.host).occupy(p.resource, at, duration).end;
}

Time Machine::import(int process, Time at) {
  const Time end = work(process, at, spec_.card.import);
  const Process& p = process_at(process);
  if (!p.on_host)
    host_at(p.host).occupy(node_.imports(p.global_id), end - spec_.card.import, spec_.card.import);
  return end;
}

Arbiter::Grant Machine::carry(int dpu, NodePart part, Time at, std::int64_t bytes) {
  Dpu& d = dpus_[static_cast<std::size_t>(dpu)];
  int link = 0;
  if (part == NodePart::kNicOut || part == NodePart::kNicIn) {
    int& next = part == NodePart::kNicOut ? d.next_out : d.next_in;
    link = next;
    next = (next + 1) % spec_.links;
  }
  return host_at(d.host).carry(node_.part(d.place, part, link), at, static_cast<std::size_t>(bytes));
}

void Machine::notify(int from, int to, std::int64_t payload, Time at, Event then, dpu::Event* meta) {
  if (from == to) return schedule(at, then.kind, then.subject);  // a call of the handler
  const Note note{Course::kProcesses, from, to, payload, then.kind, then.subject};
  if (on_host(from) || on_host(to)) {  // hosts have no event systems
    schedule(header_arrives(note, payload, at), then.kind, then.subject);
    return;
  }
  notifications_->emit(note, sender_of(note), static_cast<std::uint64_t>(process_at(to).global_id), *this, at,
                       meta);
}

void Machine::notify_host(int from, int member, std::int64_t payload, Time at, Event then) {
  constexpr std::uint64_t kHosts = std::uint64_t{1} << 32;  // behind all service processes
  const Note note{Course::kToHost, from, member, payload, then.kind, then.subject};
  notifications_->emit(note, sender_of(note),
                       kHosts + static_cast<std::uint64_t>(world_rank_[static_cast<std::size_t>(member)]),
                       *this, at);
}

void Machine::notify_process(int member, std::int64_t payload, Time at, Event then) {
  const int process = process_of(member);
  if (on_host(process)) return schedule(at, then.kind, then.subject);
  const Note note{Course::kFromHost, member, process, payload, then.kind, then.subject};
  notifications_->emit(note, sender_of(note), static_cast<std::uint64_t>(process_at(process).global_id),
                       *this, at);
}

Sender Machine::sender_of(const Note& note) const {
  if (note.course == Course::kFromHost) return {0, world_rank_[static_cast<std::size_t>(note.from)]};
  return {process_at(note.from).global_id};
}

bool Machine::depart(const Note& note, std::uint64_t send, Time at) {
  if (note.payload <= spec_.notification_limit) {
    schedule(header_arrives(note, note.payload, at), note.kind, note.subject);
    return true;
  }
  if (unused_fetched_.empty()) {
    unused_fetched_.push_back(static_cast<int>(fetched_.size()));
    fetched_.emplace_back();
  }
  const int number = unused_fetched_.back();
  unused_fetched_.pop_back();
  fetched_[static_cast<std::size_t>(number)] = {note, send, {}};
  schedule(header_arrives(note, 0, at), kRequest, number);
  return false;
}

Time Machine::latency(const Note& note) const {
  if (note.course != Course::kProcesses) return spec_.card.pcie_latency;
  const bool local = process_at(note.from).dpu == process_at(note.to).dpu;
  return local ? spec_.card.local_latency : spec_.card.network_latency;
}

Time Machine::header_arrives(const Note& note, std::int64_t payload, Time at) {
  const std::int64_t bytes = kNotificationHeader + payload;
  count_message(wire_, bytes);
  if (note.course != Course::kProcesses) {
    const Time there = at + spec_.card.pcie.bytes(framed(bytes)) + spec_.card.pcie_latency;
    return note.course == Course::kToHost ? there + spec_.card.poll : there;
  }
  if (process_at(note.from).dpu == process_at(note.to).dpu) return at + spec_.card.local_latency;
  if (spec_.transport.faults.any()) {
    at += repairs(Link::id(static_cast<std::uint64_t>(process_at(note.from).global_id),
                           static_cast<std::uint64_t>(process_at(note.to).global_id), kCollectives),
                  at);
  }
  return at + spec_.card.link.bytes(framed(bytes)) + spec_.card.network_latency;
}

bool Machine::take(const Event& event, Time at) {
  switch (event.kind) {
    case kRequest:
      fetch_payload(event.subject, at);
      return true;
    case kPayload:
      land_payload(event.subject);
      return true;
    case kLeft:
      leave_fetched(event.subject, at);
      return true;
    default:
      return false;
  }
}

/// Its receiver has the header, and READs the payload from the memory of the sender: its DPU's, or its
/// host's.
void Machine::fetch_payload(int number, Time at) {
  Fetched& fetched = fetched_[static_cast<std::size_t>(number)];
  const Note& note = fetched.note;
  const bool of_host = note.course == Course::kFromHost;
  const int dpu = process_at(of_host ? note.to : note.from).dpu;
  const bool remote = note.course == Course::kProcesses && process_at(note.to).dpu != dpu;
  const Time asked = (note.course == Course::kToHost ? at : step(note.to, at)) + latency(note);
  fetched.passage = leave(dpu, remote, note.payload, !of_host, asked);
  schedule(fetched.passage.first, kPayload, number);
}

void Machine::land_payload(int number) {
  const Fetched& fetched = fetched_[static_cast<std::size_t>(number)];
  const Note& note = fetched.note;
  const bool to_host = note.course == Course::kToHost;
  const int dpu = process_at(to_host ? note.from : note.to).dpu;
  const bool remote = note.course == Course::kProcesses && process_at(note.from).dpu != dpu;
  Time landed = land(dpu, note.payload, !to_host, remote, fetched.passage);
  if (to_host) landed += spec_.card.poll;
  schedule(landed, note.kind, note.subject);
  schedule(landed + latency(note), kLeft, number);
}

void Machine::leave_fetched(int number, Time at) {
  const Fetched& fetched = fetched_[static_cast<std::size_t>(number)];
  unused_fetched_.push_back(number);
  notifications_->sent(sender_of(fetched.note), fetched.send, at);
}

Time Machine::repairs(std::uint64_t link, Time at) {
  const ReliableTransport transport = spec_.reliable();
  const Repair repair = repair_of(spec_.transport.faults, transport, link, packet_, at, wire_);
  packet_ += transport.numbers();
  gave_up_ = gave_up_ || repair.gave_up;
  return repair.time;
}

Time Machine::to_host(int member, Time at) {
  const int process = process_of(member);
  if (on_host(process)) return at;
  count_message(wire_, kNotificationHeader + 16);
  return at + spec_.card.pcie_latency + spec_.card.poll;
}

Time Machine::read_request(bool remote, Time at) const {
  return at + (remote ? spec_.card.network_latency : spec_.card.local_latency);
}

Machine::Passage Machine::leave(int dpu, bool remote, std::int64_t bytes, bool of_dpu, Time at) {
  const Time latency = of_dpu ? spec_.card.local_latency : spec_.card.pcie_latency;
  count_message(wire_, bytes);
  const Arbiter::Grant read = carry(dpu, of_dpu ? NodePart::kDram : NodePart::kPcieUp, at, bytes);
  Passage passage{read.begin + latency, read.end + latency};
  if (remote) {
    const Arbiter::Grant out = carry(dpu, NodePart::kNicOut, passage.first, framed(bytes));
    passage = {out.begin + spec_.card.network_latency,
               later(passage.last, out.end) + spec_.card.network_latency};
  }
  return passage;
}

Time Machine::land(int dpu, std::int64_t bytes, bool in_dpu, bool remote, Passage passage) {
  Time last = passage.last;
  Time first = passage.first;
  if (remote) {
    const Arbiter::Grant in = carry(dpu, NodePart::kNicIn, first, framed(bytes));
    first = in.begin;
    last = later(last, in.end);
  }
  last = later(last, carry(dpu, in_dpu ? NodePart::kDram : NodePart::kPcieDown, first, bytes).end);
  return last + (in_dpu ? Time() : spec_.card.pcie_latency) + spec_.card.local_latency;
}

Time Machine::write_to_host(int dpu, std::int64_t bytes, Time at) {
  count_message(wire_, bytes);
  const Arbiter::Grant read = carry(dpu, NodePart::kDram, at, bytes);
  const Dpu& d = dpus_[static_cast<std::size_t>(dpu)];
  const Time dma = later(spec_.card.dma_request, spec_.card.dma_write.bytes(bytes));
  const Arbiter::Grant write = host_at(d.host).occupy(node_.part(d.place, NodePart::kDma), read.begin, dma,
                                                      static_cast<std::uint64_t>(bytes));
  const Arbiter::Grant down = carry(dpu, NodePart::kPcieDown, write.begin, bytes);
  return later(read.end, later(write.end, down.end)) + spec_.card.pcie_latency;
}

}  // namespace offramp::dpu
