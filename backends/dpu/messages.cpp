// Point-to-point messages: MessagePath computes their stages; this file adds faults, counters, and spans.
#include "backends/dpu/backend.hpp"

namespace offramp::dpu {

void DpuBackend::issue(const Transfer& transfer, Passage& passage) {
  // A message of a rank to itself bypasses the service.
  const bool local = transfer.source == transfer.destination;
  const Time issued = local ? passage.issued : later(passage.issued, ready(transfer.source).populated);
  passage.host_free = passage.begin = issued + path_.emit();
  if (transfer.synchronous || waits_for_receiver(transfer)) passage.protocol = Protocol::kRendezvous;
}

void DpuBackend::depart(const Transfer& transfer, Passage& passage, const Resources& sender) {
  const Time asked = passage.again;
  const bool rerouted = path_.depart(transfer, passage, sender);
  // The stage is called again at that time, and counts then.
  if (passage.again != asked) return;
  const bool direct = passage.protocol == Protocol::kDirect;
  // A long message sends a request first, without its data.
  count_notification(direct ? static_cast<std::int64_t>(transfer.bytes) : kRtsPayload,
                     path_.notifies_remotely(transfer) || !rerouted);
  if (rerouted) ++wire_.rerouted;
  const Repair repair = repair_of_message(transfer, direct ? passage.leaves : passage.requested);
  (direct ? passage.latency : passage.requested) += repair.time;
  passage.failed = passage.failed || repair.gave_up;
}

Time DpuBackend::receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) {
  if (transfer.source == transfer.destination) return at;
  const Time done = path_.receive(transfer, passage, at, matched);
  span("service process", "deliver", passage.first, done, transfer.operation, transfer.destination);
  return done;
}

/// Counts the READ and its ACK.
void DpuBackend::count(const Transfer& transfer, const Passage& /*passage*/) {
  count_notification(static_cast<std::int64_t>(transfer.bytes), true);
  // The acknowledgement frees the sender's buffer.
  count_notification(kAckPayload, true);
}

void DpuBackend::count_notification(std::int64_t payload, bool by_process) {
  count_message(wire_, kNotificationHeader + payload);
  if (by_process) count_message(wire_, kNotificationHeader);
}

void DpuBackend::record_sender(const Transfer& transfer, const Passage& passage) {
  const bool direct = passage.protocol == Protocol::kDirect;
  const Time emitted = passage.begin - path_.emit();
  if (transfer.source != transfer.destination && emitted > passage.issued)
    record_setup(ready(transfer.source), passage.issued, transfer.operation, transfer.source);
  span("host", "emit", emitted, passage.begin, transfer.operation, transfer.source);
  if (direct) {
    span("service process", "notification", passage.complete, passage.left, transfer.operation,
         transfer.source);
  } else {
    span("service process", "RTS", passage.begin, passage.granted, transfer.operation, transfer.source);
    span("network", "READ", passage.leaves, passage.left, transfer.operation, transfer.source);
  }
}

Repair DpuBackend::repair_of_message(const Transfer& transfer, Time at) {
  const FaultRates& faults = driver_.platform.transport.faults;
  if (!faults.any() || !path_.notifies_remotely(transfer)) return {};
  const ReliableTransport transport = driver_.platform.reliable();
  const std::uint64_t link =
      Link::id(static_cast<std::uint64_t>(transfer.source), static_cast<std::uint64_t>(transfer.destination));
  return repair_of(faults, transport, link, transfer.number * transport.numbers(), at, wire_);
}

}  // namespace offramp::dpu
