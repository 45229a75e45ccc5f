// What the engine writes down of its operations: certificate, faults.
#include <fmt/core.h>

#include "lib/core/engine.hpp"

namespace offramp {

void Engine::certify(const SendRecord& record, const SendArguments& arguments) {
  const Envelope& e = record.header.envelope;
  certificate->note({function, e.context, static_cast<std::uint64_t>(arguments.destination),
                     static_cast<std::uint64_t>(e.tag), static_cast<std::uint64_t>(e.element),
                     static_cast<std::uint64_t>(arguments.synchronous), e.bytes});
  certificate->note_data(Certificate::digest(record.data));
}

void Engine::certify_sent(const SendRecord& record) {
  certificate->note({static_cast<std::uint64_t>(record.outcome)});
}

void Engine::certify_posted(const ReceiveRecord& record) {
  certificate->note({function, record.context->id(), static_cast<std::uint64_t>(record.source),
                     static_cast<std::uint64_t>(record.tag), record.buffer.size()});
}

/// On completion, because a packed buffer is gone when the program observes.
void Engine::take_digest(ReceiveRecord& record) const {
  const bool own = (record.context->id() & kCollectiveContext) == 0;
  const bool there = own && carries_payload_ && record.outcome != Outcome::kCancelled;
  record.digest = there ? Certificate::digest(record.buffer.first(record.received)) : 0;
}

void Engine::certify(const ReceiveRecord& record) {
  const Envelope& e = record.header.envelope;
  certificate->note({e.source_world, static_cast<std::uint64_t>(e.tag), record.received,
                     static_cast<std::uint64_t>(record.outcome)});
  certificate->note_data(record.digest);
}

/// The one of the two that says so.
static const Stamp& failed_stamp(const SendRecord& record) {
  const Stamp& out = record.header.lanes[0].stamp;
  return out.failed() ? out : record.lanes[0].reply;
}

void Engine::note_fault(const SendRecord& record) {
  const Lane::Member& carrier = lanes_[0]->members()[record.header.lanes[0].backend];
  const Stamp& stamp = failed_stamp(record);
  ++faults_;
  last_fault_ = fmt::format("offramp: rank {}: {} gave up sending {} bytes to rank {}: {}", rank(),
                            carrier.name, record.header.envelope.bytes, record.destination_world,
                            stamp.failed() ? carrier.backend->failure(stamp) : "the peer cannot be reached");
}

void Engine::note_fault(const ReceiveRecord& record) {
  const Envelope& e = record.header.envelope;
  const LaneStamp& in = record.header.lanes[0];
  const Lane::Member& carrier = lanes_[0]->members()[in.backend];
  ++faults_;
  last_fault_ = fmt::format(
      "offramp: rank {}: {} gave up receiving {} bytes from rank {}: {}", rank(), carrier.name, e.bytes,
      e.source_world,
      in.stamp.failed() || in.handshake != 0 ? carrier.backend->failure(in.stamp) : "the payload was lost");
}

void Engine::note_fault(std::uint8_t backend, OperationKind kind) {
  const Lane::Member& carrier = lanes_[0]->members()[backend];
  Stamp failed;
  failed.detail = Stamp::kFailed;
  ++faults_;
  last_fault_ = fmt::format("offramp: rank {}: {} gave up a {}: {}", rank(), carrier.name, to_string(kind),
                            carrier.backend->failure(failed));
}

}  // namespace offramp
