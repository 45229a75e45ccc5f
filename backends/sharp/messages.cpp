// Messages: only those of ranks that combine within a node, before and after the switches. The sender copies
// to memory that both ranks share, and the receiver copies from it. In a run, which calls no stages, messages
// between nodes move the data of the switches, too.
#include "backends/sharp/backend.hpp"

namespace offramp::sharp {

Time SharpBackend::path_time(const Transfer& transfer) const {
  return machine_.on_one_node(transfer.source, transfer.destination) ? node_.latency : driver_.spec.latency;
}

void SharpBackend::issue(const Transfer& transfer, Passage& passage) {
  passage.host_free = passage.begin = passage.issued + node_.overhead + copy_time(transfer.bytes);
  if (transfer.synchronous) {
    passage.protocol = Protocol::kRendezvous;
  } else {
    passage.complete = passage.host_free;
  }
}

void SharpBackend::depart(const Transfer& transfer, Passage& passage, const Resources& sender) {
  if (passage.protocol == Protocol::kDirect) {
    passage.answered = passage.begin;
    return transmit(transfer, passage, sender);
  }
  passage.requested = passage.begin + path_time(transfer);
}

void SharpBackend::grant(const Transfer& transfer, Passage& passage) {
  passage.answered = passage.granted + path_time(transfer);
}

void SharpBackend::transmit(const Transfer& transfer, Passage& passage, const Resources& sender) {
  passage.latency = path_time(transfer);
  passage.leaves = passage.left = passage.answered;
  // Between nodes, data crosses the adapter's port.
  if (!machine_.on_one_node(transfer.source, transfer.destination)) {
    const Arbiter::Grant port = sender.carry(kPortOut, passage.answered, transfer.bytes);
    passage.leaves = port.begin;
    passage.left = port.end;
  }
  passage.complete = later(passage.complete, passage.left);
}

void SharpBackend::arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) {
  passage.stored = passage.last;
  if (machine_.on_one_node(transfer.source, transfer.destination))
    passage.stored = later(passage.last, receiver.carry(kMemory, passage.first, transfer.bytes).end);
}

Time SharpBackend::receive(const Transfer& transfer, const Passage& passage, Time at, Matched) {
  const Time done = at + node_.overhead + copy_time(transfer.bytes);
  if (spans_ != nullptr)
    spans_->record({"sharp.host", "copy within the node", later(at, passage.stored), done, transfer.operation,
                    transfer.destination});
  return done;
}

}  // namespace offramp::sharp
