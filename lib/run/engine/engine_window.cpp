// The engine's use of payload windows (payload_window.hpp).
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "lib/run/engine/engine.hpp"

namespace offramp {

UnexpectedMessage::~UnexpectedMessage() {
  if (held > 0) engine->payload_left(*this);
}

// --- at the sender ---

/// Keeps the payload at the sender. A send that waits for its receive offers its own buffer. Any other send
/// offers a copy, and is complete.
Fabric::State Engine::defer(SendRecord& record) {
  record.envelope.flags |= kStays;
  if (!record.reply_done)
    return fabric_.offer(record.destination_world, record.envelope.encoded(), record.data, record);
  std::unique_ptr<DeferredSend> deferred = make_with_payload<DeferredSend>(record.data.size());
  deferred->engine = this;
  deferred->envelope = record.envelope;
  deferred->bytes = record.data.size();
  deferred->data = payload_behind(*deferred);
  // From here on, the program may reuse its buffer.
  std::memcpy(deferred->data, record.data.data(), deferred->bytes);
  deferred->notify = [](FabricWaiter& waiter, bool) {
    auto& sent = static_cast<DeferredSend&>(waiter);
    Engine& engine = *sent.engine;
    const std::unique_ptr<DeferredSend> self = engine.deferred_.remove(sent);
    --engine.deferred_count_;
    engine.deferred_bytes_ -= self->bytes;
  };
  const Fabric::State state = fabric_.offer(record.destination_world, deferred->envelope.encoded(),
                                            {deferred->data, deferred->bytes}, *deferred);
  if (state != Fabric::State::kPending) return state;
  ++deferred_count_;
  deferred_bytes_ += deferred->bytes;
  deferred_.add(std::move(deferred));
  return Fabric::State::kDone;
}

void Engine::on_window(const Envelope& e) {
  if (!window_.restore(static_cast<int>(e.source_world), e.bytes)) ++malformed_;
}

// --- at the receiver ---

void Engine::payload_arrived(UnexpectedMessage& message, std::size_t bytes) {
  message.data = payload_behind(message);
  message.held = bytes;
  unexpected_bytes_ += bytes;
  unexpected_bytes_peak_ = std::max(unexpected_bytes_peak_, unexpected_bytes_);
}

void Engine::payload_left(UnexpectedMessage& message) {
  unexpected_bytes_ -= message.held;
  leave_window(message.envelope);
}

int Engine::return_windows() {
  const std::vector<int> due = std::exchange(due_, {});
  for (const int source : due) {
    Envelope envelope;
    envelope.bytes = window_.collect_due(source);
    dispatch(notice_for(envelope, EnvelopeKind::kWindow), source);
  }
  return static_cast<int>(due.size());
}

}  // namespace offramp
