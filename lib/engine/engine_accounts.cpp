// What the engine writes down of its operations: certificate, faults.
#include <fmt/core.h>

#include "lib/engine/engine.hpp"

namespace offramp {

/// On completion, because a packed buffer is gone when the program observes.
void Engine::take_digest(ReceiveRecord& record) const {
  const bool own = (record.context->id() & kCollectiveContext) == 0;
  const bool there = own && record.outcome != Outcome::kCancelled;
  record.digest = there ? Certificate::digest(record.buffer.first(record.received)) : 0;
}

/// The one of the two that says so.
static const Stamp& failed_stamp(const SendRecord& record) {
  const Stamp& out = record.header.stamp;
  return out.failed() ? out : record.reply;
}

void Engine::note_fault(const SendRecord& record) {
  const Lane::Member& carrier = lane_->members()[record.header.envelope.backend];
  const Stamp& stamp = failed_stamp(record);
  ++faults_;
  last_fault_ = fmt::format("offramp: rank {}: {} gave up sending {} bytes to rank {}: {}", rank(),
                            carrier.name, record.header.envelope.bytes, record.destination_world,
                            stamp.failed() ? carrier.backend->failure(stamp) : "the peer cannot be reached");
}

void Engine::note_fault(const ReceiveRecord& record) {
  const Envelope& e = record.header.envelope;
  const Header& in = record.header;
  const Lane::Member& carrier = lane_->members()[e.backend];
  ++faults_;
  last_fault_ = fmt::format(
      "offramp: rank {}: {} gave up receiving {} bytes from rank {}: {}", rank(), carrier.name, e.bytes,
      e.source_world,
      in.failed() || in.handshake() ? carrier.backend->failure(in.stamp) : "the payload was lost");
}

void Engine::note_fault(std::uint8_t backend, OperationKind kind) {
  const Lane::Member& carrier = lane_->members()[backend];
  Stamp failed;
  failed.detail = Stamp::kFailed;
  ++faults_;
  last_fault_ = fmt::format("offramp: rank {}: {} gave up a {}: {}", rank(), carrier.name, to_string(kind),
                            carrier.backend->failure(failed));
}

}  // namespace offramp
