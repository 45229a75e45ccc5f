// The engine's certificate and its descriptions of faults.
#include <fmt/core.h>

#include "lib/run/engine/engine.hpp"

namespace offramp {

/// Called on completion: packed data is gone when the program observes the receive.
void Engine::compute_digest(ReceiveRecord& record, Bytes data) const {
  // Messages of algorithms differ between backends, so the certificate has the program's own only.
  const bool own = (record.context->id() & kCollectiveContext) == 0;
  record.digest = own ? Certificate::digest(data) : 0;
}

/// The backend's reason if a fault of its wires ended the message, else `otherwise`.
static std::string_view failure_of(const Lane::Member& carrier, const Envelope& e,
                                   std::string_view otherwise) {
  return e.failed() ? carrier.backend->failure(static_cast<std::uint8_t>(e.reason)) : otherwise;
}

void Engine::note_fault(const SendRecord& record) {
  const Envelope& e = record.envelope;
  const Lane::Member& carrier = lane_->members()[e.backend];
  ++faults_;
  last_fault_ =
      fmt::format("offramp: rank {}: {} gave up sending {} bytes to rank {}: {}", rank(), carrier.name,
                  e.bytes, record.destination_world, failure_of(carrier, e, "the peer cannot be reached"));
}

void Engine::note_fault(const ReceiveRecord& record) {
  const Envelope& e = record.envelope;
  const Lane::Member& carrier = lane_->members()[e.backend];
  ++faults_;
  last_fault_ =
      fmt::format("offramp: rank {}: {} gave up receiving {} bytes from rank {}: {}", rank(), carrier.name,
                  e.bytes, e.source_world, failure_of(carrier, e, "the payload was lost"));
}

void Engine::note_fault(std::uint8_t backend, OperationKind kind) {
  const Lane::Member& carrier = lane_->members()[backend];
  ++faults_;
  last_fault_ = fmt::format("offramp: rank {}: {} gave up a {}: {}", rank(), carrier.name, to_string(kind),
                            carrier.backend->failure(0));
}

}  // namespace offramp
