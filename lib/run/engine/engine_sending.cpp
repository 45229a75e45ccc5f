// The engine's sends and replies. send() fills the envelope, chooses the backend, applies faults of the
// wires, and hands the message to the fabric. A send is complete when the fabric no longer needs its data
// (transport_done) and, if requested, the reply has come (reply_done).
#include <utility>

#include "lib/run/engine/engine.hpp"

namespace offramp {

namespace {

// Copies pointer and size separately: one 16-byte load right after two 8-byte stores misses store forwarding.
Bytes copy_words(const Bytes& from) {
  return {from.data(), from.size()};
}

}  // namespace

[[gnu::always_inline]] inline ContextPeer& Engine::prepare(SendRecord& record,
                                                           const SendArguments& arguments) {
  Context& context = arguments.context;
  record.done = false;
  record.transport_done = false;
  record.outcome = Outcome::kOk;
  record.engine = this;
  record.context = &context;
  record.data = copy_words(arguments.data);
  record.destination = arguments.destination;
  record.destination_world = context.world_rank(arguments.destination);
  record.function = function_;
  Envelope& e = record.envelope;
  // No field of an earlier message may reach the peer.
  e = Envelope{};
  e.element = arguments.element;
  ContextPeer& peer = context.peer(arguments.destination);
  e.sequence = peer.send_sequence++;
  e.context = context.id();
  e.source = context.rank();
  e.tag = arguments.tag;
  e.bytes = arguments.data.size();
  e.source_world = static_cast<std::uint32_t>(rank());
  if (arguments.synchronous) e.flags |= kWantsReply | kSynchronous;
  ++context.pending;
  ++sends_;
  return peer;
}

/// Marks the message if a fault of the wires makes it fail. Repaired faults only cost modelled time.
void Engine::apply_delivery_fault(SendRecord& record) {
  // A message to oneself crosses no wire.
  if (record.destination_world == rank()) return;
  Envelope& e = record.envelope;
  const bool of_collective = (e.context & kCollectiveContext) != 0;
  std::uint32_t& number = numbers_[e.backend][of_collective ? 1 : 0][record.destination_world];
  Transfer transfer = transfer_of(e, record.destination_world);
  transfer.number = number++ + (of_collective ? kFirstOfCollectives : 0);
  const DeliveryFault fault = lane_->backend(e.backend).delivery_fault(transfer);
  if (!fault.failed) return;
  ++lane_->counters.given_up;
  e.flags |= kFailed;
  e.reason = fault.reason;
  record.outcome = Outcome::kFault;
}

[[gnu::always_inline]] inline void Engine::launch(SendRecord& record) {
  record.reply_done = (record.envelope.flags & kWantsReply) == 0;
  // The token exists before the message leaves, because the reply may come during the call.
  if (!record.reply_done) record.envelope.token = make_token(record);
  record.notify = [](FabricWaiter& waiter, bool ok) {
    auto& self = static_cast<SendRecord&>(waiter);
    self.transport_done = true;
    if (!ok) self.engine->abandon_send(self);
    if (self.reply_done) self.engine->complete(self);
  };
  const Fabric::State state =
      // Payloads up to this size never need window: the common case takes one comparison.
      record.envelope.bytes > PayloadWindow::kUncounted
          ? launch_large(record)
          : fabric_.send(record.destination_world, record.envelope.encoded(), record.data, record);
  switch (state) {
    case Fabric::State::kPending:
      break;
    case Fabric::State::kFailed:
      abandon_send(record);
      [[fallthrough]];
    case Fabric::State::kDone:
      record.transport_done = true;
      if (record.reply_done) return complete(record);  // in no list yet, which remove() allows
  }
  in_flight_.push_back(record);
}

Fabric::State Engine::launch_large(SendRecord& record) {
  const int to = record.destination_world;
  const Bytes& data = record.data;
  if (data.data() == nullptr)
    // Pieces stay at the sender until the receive, so they need no window.
    return fabric_.offer_pieces(to, record.envelope.encoded(), *record.pieces, data.size(), record);
  return must_defer(record) ? defer(record) : fabric_.send(to, record.envelope.encoded(), data, record);
}

/// The peer is gone: no reply will come.
void Engine::abandon_send(SendRecord& record) {
  record.outcome = Outcome::kFault;
  if (!std::exchange(record.reply_done, true)) release_token(record.envelope.token);
}

/// Chooses and counts the backend, and decides whether the send waits for its receive.
void Engine::choose(SendRecord& record, SendAnswer& answer) {
  Envelope& e = record.envelope;
  Operation operation{.element = e.element, .bytes = e.bytes, .tag = e.tag};
  Lane& lane = *lane_;
  operation.on_one_node = lane.machine.is_within_node(rank(), record.destination_world);
  const Lane::Choice choice = lane.choose(operation);
  lane.count(lane.counters.calls[function_], choice.backend, !choice.reason.empty());
  e.backend = choice.backend;
  Transfer transfer = transfer_of(e, record.destination_world);
  transfer.synchronous = false;  // `answer` also applies to other sends
  // MPI libraries let small sends complete without a receive, and programs rely on it. A run does so over all
  // hardware; the world makes them wait where the hardware does.
  const bool waits = e.bytes > kBounceLimit && record.destination_world != rank() &&
                     lane.backend(choice.backend).waits_for_receiver(transfer);
  if (waits) e.flags |= kWantsReply;
  answer = {e.bytes, e.tag, e.element, choice.backend, waits, choice.reason};
}

void Engine::send(SendRecord& record, const SendArguments& arguments) {
  SendAnswer& answer = prepare(record, arguments).answer;
  Envelope& e = record.envelope;
  // The verdict depends on these fields and the peer only.
  if (answer.bytes == e.bytes && answer.tag == e.tag && answer.element == e.element) {
    const bool declined = !answer.reason.empty();
    lane_->count(lane_->counters.calls[function_], answer.backend, declined);
    if (declined) lane_->count_decline(OperationKind::kSend, answer.reason);
    e.backend = answer.backend;
    if (answer.waits) e.flags |= kWantsReply;
  } else {
    choose(record, answer);
  }
  lane_->counters.calls[function_].bytes += e.bytes;
  if (lane_->faulty) apply_delivery_fault(record);
  if (certificate_ != nullptr) certificate_->note_data(Certificate::digest(record.data));
  launch(record);
}

void Engine::send(SendRecord& record, const SendArguments& arguments, const TeamSend& team) {
  prepare(record, arguments);
  Envelope& e = record.envelope;
  e.backend = team.backend;
  e.flags &= static_cast<std::uint8_t>(~kWantsReply);  // algorithms never wait for a reply
  if (lane_->faulty) apply_delivery_fault(record);
  if (team.failed) e.flags |= kFailed;
  launch(record);
}

[[gnu::always_inline]] inline void Engine::complete(SendRecord& record) {
  record.done = true;
  ++completions_;
  if (record.outcome == Outcome::kFault) note_fault(record);
  in_flight_.remove(record);
  --sends_;
  release(*record.context);
  if (record.on_complete != nullptr) record.on_complete(record);
}

// Tokens identify records in replies. A reply whose record does not wait for one is dropped.
std::uint64_t Engine::make_token(SendRecord& record) {
  if (free_tokens_.empty()) {
    free_tokens_.push_back(static_cast<std::uint32_t>(tokens_.size()));
    tokens_.emplace_back();
  }
  const std::uint32_t index = free_tokens_.back();
  free_tokens_.pop_back();
  tokens_[index].record = &record;
  return (static_cast<std::uint64_t>(++tokens_[index].generation) << 32) | index;
}

SendRecord* Engine::record_of_token(std::uint64_t token) const {
  const auto index = static_cast<std::uint32_t>(token);
  // The slot serves another record now, or the token was invented.
  if (index >= tokens_.size() || tokens_[index].generation != token >> 32) return nullptr;
  return tokens_[index].record;
}

void Engine::release_token(std::uint64_t token) {
  const auto index = static_cast<std::uint32_t>(token);
  tokens_[index].record = nullptr;
  free_tokens_.push_back(index);
}

void Engine::on_reply(const Envelope& e) {
  SendRecord* record = record_of_token(e.token);
  const Envelope* sent = record != nullptr ? &record->envelope : nullptr;
  // A peer may answer only its own message.
  if (sent == nullptr || static_cast<int>(e.source_world) != record->destination_world ||
      e.context != sent->context || e.sequence != sent->sequence) {
    ++malformed_;
    return;
  }
  release_token(e.token);
  record->reply_done = true;
  if (record->transport_done) complete(*record);
}

}  // namespace offramp
