#include "simulators/dpu/message.hpp"

namespace offramp::dpu {

Distance distance_between(const Placement& placement, int world_rank, int other) {
  if (placement.node(world_rank) != placement.node(other)) return Distance::kNetwork;
  if (placement.dpu(world_rank) != placement.dpu(other)) return Distance::kOtherDpu;
  return placement.global_id(world_rank) == placement.global_id(other) ? Distance::kSameProcess
                                                                       : Distance::kSameNode;
}

Time MessagePath::latency(Distance distance) const {
  switch (distance) {
    case Distance::kSameProcess:
      return {};
    case Distance::kSameNode:
      return card_.local_latency;
    case Distance::kOtherDpu:
    case Distance::kNetwork:
      break;
  }
  return card_.network_latency;
}

Time MessagePath::work(Arbiter& unit, int process, Time at, Time duration) const {
  const FailureSpec& failure = spec_.failure;
  const bool pauses = failure.kind == Failure::kStalls && failure.stall <= failure.detect;
  if (pauses && process == failure.process) {
    const Time begin = later(at, unit.free_at());
    const Time resumed = failure.at + failure.stall;
    if (begin + duration > failure.at && begin < resumed) at = resumed;
  }
  return unit.acquire(at, duration).end;
}

MessagePath::Sent MessagePath::send(std::int64_t bytes, Distance distance, int process, Time issued,
                                    HostUnits units) const {
  const std::int64_t whole = framed(kNotificationHeader + bytes);
  Sent sent;
  sent.host_free = issued + emit_;
  const Arbiter::Grant up = units.up.acquire(sent.host_free, card_.pcie.bytes(whole));
  sent.complete = later(sent.host_free, up.end);
  // Take the notification, send it on.
  const Time handled = work(units.service_out, process, up.end + card_.pcie_latency, card_.step() * 2);
  if (distance >= Distance::kOtherDpu) {
    const Arbiter::Grant out = units.nic_out.acquire(handled, card_.link.bytes(whole));
    sent.first = out.begin + latency(distance);
    sent.last = out.end + latency(distance);
  } else {
    sent.first = sent.last = handled + latency(distance);
  }
  return sent;
}

Time MessagePath::receive(std::int64_t bytes, int process, Time arrived, Time posted,
                          ReceiveUnits units) const {
  // The receive is a notification, too, and meets the message at the service process.
  const Time asked = posted + card_.pcie_latency;
  const Time matched = work(units.service_in, process, later(arrived, asked), card_.step() * 2);
  const Arbiter::Grant down = units.down.acquire(matched, card_.dma_write.bytes(bytes));
  return later(down.end + card_.pcie_latency + card_.poll, posted);
}

Time MessagePath::stream(std::int64_t bytes) const {
  return later(card_.pcie.bytes(bytes), card_.link.bytes(framed(bytes)));
}

MessagePath::Read MessagePath::read(std::int64_t bytes, Distance distance, Time requested,
                                    Time posted) const {
  const Time step = card_.step();
  // Take RTS or receive, whichever is later; import both hosts' handles; post the READ.
  const Time matched = later(requested, posted + card_.pcie_latency) + step + card_.import + step;
  Read read;
  const Time way = distance == Distance::kNetwork ? latency(distance) : card_.local_latency;
  read.begin = matched + way + card_.pcie_latency;
  const Time taken = spec_.path == DataPath::kGvmi
                         ? stream(bytes)
                         : stream(bytes) + later(card_.dram.bytes(bytes), card_.dma_write.bytes(bytes));
  const Time arrival = distance == Distance::kNetwork ? way : Time();
  read.landed = read.begin + taken + arrival + card_.pcie_latency + card_.local_latency;
  read.acked = read.landed + step + latency(distance) + step + card_.pcie_latency + card_.poll;
  return read;
}

Time MessagePath::notified(int process, Time landed, std::int64_t bytes, ReceiveUnits units) const {
  const Time written = later(landed, units.down.acquire(landed - stream(bytes), stream(bytes)).end);
  return work(units.service_in, process, written, card_.step()) + card_.pcie_latency + card_.poll;
}

MessagePath::Sent MessagePath::send_by_host(std::int64_t bytes, Distance distance, Time issued,
                                            HostUnits units) const {
  if (distance == Distance::kOtherDpu) distance = Distance::kSameNode;
  const std::int64_t whole = framed(kNotificationHeader + bytes);
  Sent sent;
  sent.host_free = issued + emit_;
  const Arbiter::Grant up = units.up.acquire(sent.host_free, card_.pcie.bytes(whole));
  sent.complete = later(sent.host_free, up.end);
  Arbiter::Grant out = up;
  if (distance == Distance::kNetwork) out = units.nic_out.acquire(up.begin, card_.link.bytes(whole));
  const Time way = card_.pcie_latency + latency(distance) + card_.pcie_latency;
  sent.first = out.begin + way;
  sent.last = later(out.end, up.end) + way;
  return sent;
}

MessagePath::Read MessagePath::read_by_host(std::int64_t bytes, Distance distance, Time requested,
                                            Time posted) const {
  if (distance == Distance::kOtherDpu) distance = Distance::kSameNode;
  Read read;
  read.begin = later(requested, posted) + card_.pcie_latency + latency(distance) + card_.pcie_latency;
  read.landed = read.begin + stream(bytes) + latency(distance) + card_.pcie_latency + card_.poll;
  read.acked = read.landed + latency(distance) + card_.pcie_latency + card_.poll;
  return read;
}

Time MessagePath::receive_by_host(std::int64_t bytes, Time arrived, Time posted) const {
  const Time done = later(arrived, posted) + card_.poll;
  return posted > arrived ? done + card_.core_copy.bytes(bytes) : done;
}

MessagePath::Reroute MessagePath::reroute(int process, Time issued, Time used) const {
  const FailureSpec& failure = spec_.failure;
  const bool lasts = failure.kind == Failure::kNever || failure.kind == Failure::kDies ||
                     (failure.kind == Failure::kStalls && failure.stall > failure.detect);
  if (!lasts || process != failure.process || used <= failure.at) return {};
  const Time known = failure.at + failure.detect;
  return {true, issued >= known ? issued : later(issued, failure.at) + failure.detect};
}

}  // namespace offramp::dpu
