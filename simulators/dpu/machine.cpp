// Work, notifications, and transfers as events. The stages of a transfer are: read from memory in move(), out
// of a NIC (kOut), into the other NIC (kIn), and down into memory (kDown); the DPU's DMA engine writes to its
// own host (kDma). Each stage occupies its resource from its own time on and is therefore an event. A
// notification with a payload above the limit first sends its header; the receiver then READs the payload
// (kRequest, kFetch, kFetched, kLeft).
#include "simulators/dpu/machine.hpp"

#include <map>

namespace offramp::dpu {
namespace {

/// Speed of a host core relative to an Arm core of the card, in tenths. Published for BlueField-2
/// [dpdk-compression] (1.57 zlib, 1.56 zstd) and BlueField-3 (1.60, 1.64).
constexpr std::int64_t kHostSpeedTenths = 16;

constexpr std::uint64_t kCollectives = 1;  // channel of links between service processes

}  // namespace

Machine::Machine(const PlatformSpec& spec, const std::vector<Member>& members,
                 const std::vector<bool>& host_run, std::uint64_t first_packet, EventSink* event_sink)
    : spec_(spec),
      event_sink_(event_sink),
      node_(spec),
      packet_(first_packet),
      own_notifications_(event_sink == nullptr ? std::make_unique<Notifications>(spec.posted_sends)
                                               : nullptr),
      notifications_(event_sink == nullptr ? own_notifications_.get() : &event_sink->notifications()) {
  const Placement placement = placement_of(spec);
  // Local indices, in the order in which members mention them.
  std::map<int, int> hosts;
  std::map<int, int> dpus;
  std::map<int, int> processes;
  process_of_.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int world_rank = members[i].world_rank;
    world_rank_.push_back(world_rank);
    const auto host = hosts.emplace(placement.node(world_rank), static_cast<int>(hosts_.size()));
    if (host.second) {
      if (event_sink_ == nullptr) own_.emplace_back(node_.descriptions().size());
      hosts_.push_back(event_sink_ != nullptr ? event_sink_->resources(world_rank)
                                              : Resources(node_.descriptions(), own_.back().data()));
    }
    const int dpu_id = placement.dpu(world_rank);
    const auto dpu = dpus.emplace(dpu_id, static_cast<int>(dpus_.size()));
    if (dpu.second) dpus_.push_back({host.first->second, dpu_id % spec.dpus, 0, 0});
    const int global_id = placement.global_id(world_rank);
    // A host that replaces its process has a private process, with a name that no service process has.
    const int name = host_run[i] ? -1 - world_rank : global_id;
    const auto process = processes.emplace(name, static_cast<int>(processes_.size()));
    if (process.second) {
      processes_.push_back(
          {host.first->second, dpu.first->second, global_id, host_run[i], node_.process(global_id), {}, {}});
    }
    process_of_.push_back(process.first->second);
    // The process may still be busy with earlier work.
    if (!host_run[i] && event_sink_ == nullptr)
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
    // Partners notice only pauses that are longer than the detection.
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
  // The import also occupies a resource of its own, which reports its time separately.
  const Time end = work(process, at, spec_.card.import);
  const Process& p = process_at(process);
  // Imports are part of the process's work, and are also counted apart.
  if (!p.on_host)
    host_at(p.host).occupy(node_.imports(p.global_id), end - spec_.card.import, spec_.card.import);
  return end;
}

Arbiter::Grant Machine::carry(int dpu, NodePart part, Time at, std::int64_t bytes) {
  Dpu& d = dpus_[static_cast<std::size_t>(dpu)];
  int link = 0;
  if (part == NodePart::kNicOut || part == NodePart::kNicIn) {
    // Both directions choose their links independently.
    int& next = part == NodePart::kNicOut ? d.next_out : d.next_in;
    link = next;
    next = (next + 1) % spec_.links;
  }
  return host_at(d.host).carry(node_.part(d.place, part, link), at, static_cast<std::size_t>(bytes));
}

void Machine::notify(int from, int to, std::int64_t payload, Time at, Event then, dpu::Event* meta) {
  if (from == to) return schedule(at, then.kind, then.subject);  // a direct call of the handler
  const Note note{Course::kProcesses, from, to, payload, then.kind, then.subject};
  if (on_host(from) || on_host(to)) {  // hosts have no event systems
    schedule(header_arrives(note, payload, at), then.kind, then.subject);
    return;
  }
  notifications_->emit(note, sender_of(note), static_cast<std::uint64_t>(process_at(to).global_id), *this, at,
                       meta);
}

void Machine::notify_host(int from, int member, std::int64_t payload, Time at, Event then) {
  constexpr std::uint64_t kHosts = std::uint64_t{1} << 32;  // after all service processes
  const Note note{Course::kToHost, from, member, payload, then.kind, then.subject};
  notifications_->emit(note, sender_of(note),
                       kHosts + static_cast<std::uint64_t>(world_rank_[static_cast<std::size_t>(member)]),
                       *this, at);
}

void Machine::notify_process(int member, std::int64_t payload, Time at, Event then) {
  const int process = process_of(member);
  // Rank and replacement run on the same host, so they need no PCIe.
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
  // Events refer to notes by number. Numbers are reused.
  if (unused_fetched_.empty()) {
    unused_fetched_.push_back(static_cast<int>(fetched_.size()));
    fetched_.emplace_back();
  }
  const int number = unused_fetched_.back();
  unused_fetched_.pop_back();
  fetched_[static_cast<std::size_t>(number)] = {note, send};
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

bool Machine::handle(const Event& event, Time at) {
  const int number = event.subject;
  switch (event.kind) {
    case kRequest:
      request_payload(number, at);
      return true;
    case kFetch:
      move(path_of(fetched_at(number).note), fetched_at(number).note.payload, at, {kFetched, number});
      return true;
    case kFetched:
      payload_landed(number, at);
      return true;
    case kLeft:
      leave_fetched(number, at);
      return true;
    case kOut:
      leave(number, at);
      return true;
    case kIn:
      enter(number, at);
      return true;
    case kDown:
      land(number, at);
      return true;
    case kDma:
      write(number, at);
      return true;
    default:
      return false;
  }
}

/// The receiver has the header and READs the payload from the sender's memory, on its DPU or its host.
void Machine::request_payload(int number, Time at) {
  const Note& note = fetched_at(number).note;
  const Time posted = note.course == Course::kToHost ? at : step(note.to, at);
  schedule(posted + latency(note), kFetch, number);
}

Machine::TransferPath Machine::path_of(const Note& note) const {
  const bool of_host = note.course == Course::kFromHost;
  const bool to_host = note.course == Course::kToHost;
  const int from = process_at(of_host ? note.to : note.from).dpu;
  const int to = process_at(to_host ? note.from : note.to).dpu;
  return {from, to, note.course == Course::kProcesses && to != from, !of_host, !to_host};
}

void Machine::payload_landed(int number, Time at) {
  const Note& note = fetched_at(number).note;
  const Time landed = note.course == Course::kToHost ? at + spec_.card.poll : at;
  schedule(landed, note.kind, note.subject);
  // The sender learns of it one latency later, and may then post its next note.
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

int Machine::begin_moving(const Moving& moving) {
  count_message(wire_, moving.bytes);
  if (unused_moving_.empty()) {
    unused_moving_.push_back(static_cast<int>(moving_.size()));
    moving_.emplace_back();
  }
  const int number = unused_moving_.back();
  unused_moving_.pop_back();
  moving_[static_cast<std::size_t>(number)] = moving;
  return number;
}

void Machine::move(const TransferPath& path, std::int64_t bytes, Time now, Event then) {
  const Time latency = path.of_dpu ? spec_.card.local_latency : spec_.card.pcie_latency;
  const Arbiter::Grant read = carry(path.from, path.of_dpu ? NodePart::kDram : NodePart::kPcieUp, now, bytes);
  const Time behind = (path.in_dpu ? Time() : spec_.card.pcie_latency) + spec_.card.local_latency;
  const int number = begin_moving({path, bytes, then, read.end + latency, behind});
  schedule(read.begin + latency, path.remote ? kOut : kDown, number);
}

void Machine::leave(int number, Time at) {
  Moving& moving = moving_[static_cast<std::size_t>(number)];
  const Arbiter::Grant out = carry(moving.path.from, NodePart::kNicOut, at, framed(moving.bytes));
  moving.last = later(moving.last, out.end) + spec_.card.network_latency;
  schedule(out.begin + spec_.card.network_latency, kIn, number);
}

void Machine::enter(int number, Time at) {
  Moving& moving = moving_[static_cast<std::size_t>(number)];
  const Arbiter::Grant in = carry(moving.path.to, NodePart::kNicIn, at, framed(moving.bytes));
  moving.last = later(moving.last, in.end);
  // A busy NIC delays the next resource, which must not be reserved ahead of other work.
  if (in.begin > at) return schedule(in.begin, kDown, number);
  land(number, at);
}

void Machine::land(int number, Time at) {
  const Moving moving = moving_[static_cast<std::size_t>(number)];
  unused_moving_.push_back(number);
  const NodePart part = moving.path.in_dpu ? NodePart::kDram : NodePart::kPcieDown;
  const Time landed = later(moving.last, carry(moving.path.to, part, at, moving.bytes).end);
  schedule(landed + moving.behind, moving.then.kind, moving.then.subject);
}

void Machine::write_to_host(int dpu, std::int64_t bytes, Time now, Event then) {
  const Arbiter::Grant read = carry(dpu, NodePart::kDram, now, bytes);
  const int number = begin_moving({{.from = dpu, .to = dpu}, bytes, then, read.end, spec_.card.pcie_latency});
  if (read.begin > now) return schedule(read.begin, kDma, number);
  write(number, now);
}

void Machine::write(int number, Time at) {
  Moving& moving = moving_[static_cast<std::size_t>(number)];
  const Dpu& d = dpus_[static_cast<std::size_t>(moving.path.from)];
  const Time dma = later(spec_.card.dma_request, spec_.card.dma_write.bytes(moving.bytes));
  const Arbiter::Grant write = host_at(d.host).occupy(node_.part(d.place, NodePart::kDma), at, dma,
                                                      static_cast<std::uint64_t>(moving.bytes));
  moving.last = later(moving.last, write.end);
  if (write.begin > at) return schedule(write.begin, kDown, number);
  land(number, at);
}

}  // namespace offramp::dpu
