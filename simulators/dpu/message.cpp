// One function per stage of the Backend interface: depart, answer, transmit, arrive, receive. A stage that
// continues later sets passage.again and is called again then, so it never reserves resources ahead of other
// work.
#include "simulators/dpu/message.hpp"

namespace offramp::dpu {
namespace {

/// Bytes of the first notification, which has the payload or is an RTS.
std::int64_t first_bytes(const Transfer& transfer, const Passage& passage) {
  const bool rts = passage.protocol == Protocol::kRendezvous;
  return framed(kNotificationHeader + (rts ? kRtsPayload : static_cast<std::int64_t>(transfer.bytes)));
}

/// Partners consider a long pause a failure, and bypass the process from then on.
bool ends_for_good(const FailureSpec& failure) {
  return failure.kind == Failure::kNever || failure.kind == Failure::kDies ||
         (failure.kind == Failure::kStalls && failure.stall > failure.detect);
}

}  // namespace

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

Arbiter::Grant MessagePath::work(const Resources& node, int world_rank, Time at, Time duration) const {
  const FailureSpec& failure = spec_.failure;
  const int process = placement_.global_id(world_rank);
  const std::size_t index = node_.process(process);
  const bool pauses = failure.kind == Failure::kStalls && !ends_for_good(failure);
  if (pauses && process == failure.process) {
    const Time begin = later(at, node[index].timeline.free_at());
    const Time resumed = failure.at + failure.stall;
    // Work that would overlap the pause begins again after it.
    if (begin + duration > failure.at && begin < resumed) at = resumed;
  }
  return node.occupy(index, at, duration);
}

Arbiter::Grant MessagePath::carry(const Resources& node, int world_rank, NodePart part, Time at,
                                  std::int64_t bytes) const {
  const int dpu = placement_.dpu(world_rank) % placement_.dpus;
  return node.carry(node_.part(dpu, part, placement_.link(world_rank)), at, static_cast<std::size_t>(bytes));
}

Time MessagePath::dma_time(std::int64_t bytes) const {
  return later(card_.dma_request, card_.dma_write.bytes(bytes));
}

// Compares the failure with the time at which the service processes would handle the message without load.
MessagePath::Reroute MessagePath::reroute(const Transfer& transfer, Time issued) const {
  const FailureSpec& failure = spec_.failure;
  if (!ends_for_good(failure)) return {};
  const Time taken = issued + emit_ + card_.pcie_latency + card_.step() * 2;
  const Time received = taken + card_.network_latency + card_.step();
  const bool source = placement_.global_id(transfer.source) == failure.process && taken > failure.at;
  const bool destination =
      placement_.global_id(transfer.destination) == failure.process && received > failure.at;
  if (!source && !destination) return {};
  // A message before that time waits for its own detection. Later ones are bypassed at once.
  const Time known = failure.at + failure.detect;
  return {true, issued >= known ? issued : later(issued, failure.at) + failure.detect};
}

bool MessagePath::is_by_host(const Transfer& transfer, Time at) const {
  const FailureSpec& failure = spec_.failure;
  if (!ends_for_good(failure) || at < failure.at + failure.detect) return false;
  return placement_.global_id(transfer.source) == failure.process ||
         placement_.global_id(transfer.destination) == failure.process;
}

// Occupies PCIe, service process, and network, each after the one before.
bool MessagePath::depart(const Transfer& transfer, Passage& passage, const Resources& sender) const {
  const std::int64_t whole = first_bytes(transfer, passage);
  const Reroute rerouted = reroute(transfer, passage.begin - emit_);
  Distance way = distance(transfer);
  if (passage.again < Time()) {
    const Time from = rerouted.needed ? later(rerouted.from + emit_, passage.begin) : passage.begin;
    const Arbiter::Grant up = carry(sender, transfer.source, NodePart::kPcieUp, from, whole);
    passage.leaves = up.begin;
    passage.left = up.end;
    if (passage.protocol == Protocol::kDirect) passage.complete = up.end;  // the host's buffer has been read
    // The service process continues at passage.again.
    if (!rerouted.needed) {
      passage.leaves = {};
      passage.again = up.end + card_.pcie_latency;
      return false;
    }
  } else if (passage.leaves == Time()) {  // receive the notification and send it on
    passage.leaves = passage.left = work(sender, transfer.source, passage.again, card_.step() * 2).end;
    // The NIC is reserved at the later time, so that this message does not overtake others.
    if (way >= Distance::kOtherDpu && passage.leaves > passage.again) {
      passage.again = passage.leaves;
      return false;
    }
  }
  Time latency_of_way = latency(way);
  if (rerouted.needed) {
    // Hosts need no network between the DPUs of one node.
    if (way == Distance::kOtherDpu) way = Distance::kSameNode;
    latency_of_way = card_.pcie_latency + latency(way) + card_.pcie_latency;
  }
  if (way >= Distance::kOtherDpu) {
    const Arbiter::Grant out = carry(sender, transfer.source, NodePart::kNicOut, passage.leaves, whole);
    passage.leaves = out.begin;
    passage.left = later(passage.left, out.end);
  }
  if (passage.protocol == Protocol::kRendezvous) {
    passage.requested = passage.left + latency_of_way;
  } else {
    passage.latency = latency_of_way;
  }
  return rerouted.needed;
}

// Processes the RTS or the receive, whichever is later; imports handles if necessary; posts the READ.
void MessagePath::answer(const Transfer& transfer, Passage& passage, const Resources& receiver) const {
  const Distance way = distance(transfer);
  if (is_by_host(transfer, passage.granted)) {
    const Time between = latency(way == Distance::kOtherDpu ? Distance::kSameNode : way);
    passage.answered = passage.granted + card_.pcie_latency + between + card_.pcie_latency;
    return;
  }
  // A receive is also a notification. If it was posted before the RTS arrived, it has already arrived.
  if (passage.again < Time() && passage.granted > passage.requested) {
    passage.again = passage.granted + card_.pcie_latency;
    return;
  }
  const Time known = later(passage.granted, passage.again);
  const Time posted =
      work(receiver, transfer.destination, known, card_.step() * 2 + card_.message_import).end;
  if (card_.message_import > Time())
    receiver.occupy(node_.imports(placement_.global_id(transfer.destination)), posted - card_.message_import,
                    card_.message_import);
  const Time request = way == Distance::kNetwork ? card_.network_latency : card_.local_latency;
  passage.answered = posted + request + card_.pcie_latency;
}

Time MessagePath::rest_of_read(std::int64_t bytes) const {
  Time rest = card_.pcie_latency + card_.local_latency;
  if (spec_.path == DataPath::kStaging) rest += later(card_.dram.bytes(bytes), dma_time(bytes));
  return rest;
}

void MessagePath::transmit(const Transfer& transfer, Passage& passage, const Resources& sender) const {
  const auto bytes = static_cast<std::int64_t>(transfer.bytes);
  Distance way = distance(transfer);
  const bool by_host = is_by_host(transfer, passage.granted);
  if (by_host && way == Distance::kOtherDpu) way = Distance::kSameNode;
  const bool remote = way == Distance::kNetwork;
  if (passage.again < Time()) {
    // Within a host, the reader's own NIC reads. answered is when the first byte can be at the NIC.
    const int reader = remote ? transfer.source : transfer.destination;
    const Arbiter::Grant read =
        carry(sender, reader, NodePart::kPcieUp, passage.answered - card_.pcie_latency, bytes);
    passage.leaves = read.begin + card_.pcie_latency;
    passage.left = read.end + card_.pcie_latency;
    if (!by_host) work(sender, transfer.source, passage.answered, card_.step());  // receive the ACK
    if (remote && passage.leaves > passage.answered) {
      passage.again = passage.leaves;
      return;
    }
  }
  if (remote) {
    const Arbiter::Grant out =
        carry(sender, transfer.source, NodePart::kNicOut, passage.leaves, framed(bytes));
    passage.leaves = out.begin;
    passage.left = later(passage.left, out.end);
    passage.latency = card_.network_latency;
  }
  const Time landed = passage.left + passage.latency;
  if (by_host) {
    passage.complete =
        landed + card_.pcie_latency + card_.poll + latency(way) + card_.pcie_latency + card_.poll;
    return;
  }
  passage.complete = landed + rest_of_read(bytes) + card_.step() + latency(way) + card_.step() +
                     card_.pcie_latency + card_.poll;
}

/// Enters the receiver's NIC if the message crosses the network. The rest begins with its first byte.
void MessagePath::arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) const {
  const bool is_read = passage.protocol == Protocol::kRendezvous;
  const bool remote = is_read || is_by_host(transfer, passage.first)
                          ? distance(transfer) == Distance::kNetwork
                          : notifies_remotely(transfer);
  if (remote && passage.again < Time()) {
    const std::int64_t bytes =
        is_read ? framed(static_cast<std::int64_t>(transfer.bytes)) : first_bytes(transfer, passage);
    const Arbiter::Grant in = carry(receiver, transfer.destination, NodePart::kNicIn, passage.first, bytes);
    passage.last = later(passage.last, in.end);
    if (in.begin > passage.first) {
      passage.first = passage.again = in.begin;
      return;
    }
  }
  is_read ? arrive_read(transfer, passage, receiver) : arrive_short(transfer, passage, receiver);
}

/// A short message: into the DPU's memory, then to the host, once its receive is posted.
void MessagePath::arrive_short(const Transfer& transfer, Passage& passage, const Resources& receiver) const {
  const auto bytes = static_cast<std::int64_t>(transfer.bytes);
  if (is_by_host(transfer, passage.first)) {
    passage.stored = later(
        passage.last, carry(receiver, transfer.destination, NodePart::kPcieDown, passage.first, bytes).end);
    return;
  }
  const Time handling = card_.step() * 2 + card_.arm_copy.bytes(bytes);
  // The core is reserved from the first byte on, but it handles the message after the last byte.
  const Time handled =
      later(passage.last, work(receiver, transfer.destination, passage.first, handling).begin) + handling;
  const int dpu = placement_.dpu(transfer.destination) % placement_.dpus;
  const Arbiter::Grant write = receiver.occupy(node_.part(dpu, NodePart::kDma), passage.first,
                                               dma_time(bytes), static_cast<std::uint64_t>(bytes));
  passage.stored = later(handled, write.begin) + dma_time(bytes) + card_.pcie_latency;
}

/// A READ: into host memory, possibly through the DPU's memory; then the service process notifies the host.
void MessagePath::arrive_read(const Transfer& transfer, Passage& passage, const Resources& receiver) const {
  const auto bytes = static_cast<std::int64_t>(transfer.bytes);
  const int to = transfer.destination;
  Time last = later(passage.last, carry(receiver, to, NodePart::kPcieDown, passage.first, bytes).end);
  if (is_by_host(transfer, passage.first)) {
    passage.stored = last + card_.pcie_latency;
    return;
  }
  if (spec_.path == DataPath::kStaging) {
    last = later(last, carry(receiver, to, NodePart::kDram, passage.first, bytes).end);
    last = later(last, carry(receiver, to, NodePart::kDma, passage.first, bytes).begin);
  }
  last += rest_of_read(bytes);
  // Reserved from the first byte on, as above. The notification follows the last byte.
  const Arbiter::Grant notified = work(receiver, to, passage.first, card_.step());
  passage.stored = later(last, notified.begin) + card_.step() + card_.pcie_latency;
}

Time MessagePath::receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) const {
  const auto bytes = static_cast<std::int64_t>(transfer.bytes);
  if (matched == Matched::kPosted)
    return later(at, passage.stored + card_.poll);  // polling sees a flag at once that is already set
  if (is_by_host(transfer, passage.first)) return at + card_.poll + card_.core_copy.bytes(bytes);
  // The receive notifies the service process, which writes the message to the host.
  return at + card_.pcie_latency + card_.step() * 2 + dma_time(bytes) + card_.pcie_latency + card_.poll;
}

}  // namespace offramp::dpu
