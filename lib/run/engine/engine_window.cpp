// The engine's part in the windows for payload that nobody receives yet: see payload_window.hpp.
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

/// The payload stays here. A send that does not wait for its receive is complete all the same: a copy stays.
Fabric::State Engine::keep(SendRecord& record) {
  record.envelope.flags |= kStays;
  if (!record.reply_done)
    return fabric_.offer(record.destination_world, record.envelope.encoded(), record.data, record);
  std::unique_ptr<KeptSend> kept = make_with_payload<KeptSend>(record.data.size());
  kept->engine = this;
  kept->envelope = record.envelope;
  kept->bytes = record.data.size();
  kept->data = payload_behind(*kept);
  std::memcpy(kept->data, record.data.data(), kept->bytes);
  kept->notify = [](FabricWaiter& waiter, bool) {
    const std::unique_ptr<KeptSend> self(static_cast<KeptSend*>(&waiter));
    Engine& engine = *self->engine;
    engine.kept_.remove(*self);
    --engine.kept_count_;
    engine.kept_bytes_ -= self->bytes;
  };
  const Fabric::State state =
      fabric_.offer(record.destination_world, kept->envelope.encoded(), {kept->data, kept->bytes}, *kept);
  if (state != Fabric::State::kPending) return state;
  ++kept_count_;
  kept_bytes_ += kept->bytes;
  kept_.push_back(*kept.release());  // NOLINT: the list owns it; its notify ends it
  return Fabric::State::kDone;
}

void Engine::on_window(const Envelope& e) {
  if (!window_.restore(static_cast<int>(e.source_world), e.bytes)) ++malformed_;
}

// --- at the receiver ---

void Engine::payload_came(UnexpectedMessage& message, std::size_t bytes) {
  message.data = payload_behind(message);
  message.held = bytes;
  unexpected_bytes_ += bytes;
  unexpected_bytes_peak_ = std::max(unexpected_bytes_peak_, unexpected_bytes_);
}

void Engine::payload_left(UnexpectedMessage& message) {
  unexpected_bytes_ -= message.held;
  leave_window(message.envelope);
}

int Engine::give_back_windows() {
  const std::vector<int> due = std::exchange(due_, {});
  for (const int source : due) {
    Envelope envelope;
    envelope.bytes = window_.settle(source);
    dispatch(notice_for(envelope, EnvelopeKind::kWindow), source);
  }
  return static_cast<int>(due.size());
}

}  // namespace offramp
