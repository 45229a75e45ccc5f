// The engine's sends: out of the program's hands, through the lanes' models, onto the fabric; and the
// replies.
#include <utility>

#include "lib/core/engine.hpp"

namespace offramp {

namespace {

// Two words that were written a moment ago, one after the other, are copied one after the other: a copy of
// both at once would have to wait until they have left the processor.
void copy_words(const Stamp& from, Stamp& to) {
  to.first = from.first;
  to.last = from.last;
  to.detail = from.detail;
}
Bytes copy_words(const Bytes& from) {
  return {from.data(), from.size()};
}

}  // namespace

[[gnu::always_inline]] inline void Engine::prepare(SendRecord& record, const SendArguments& arguments) {
  Context& context = arguments.context;
  record.done = false;
  record.observed = false;
  record.transport_done = false;
  record.replied = false;
  record.outcome = Outcome::kOk;
  record.engine = this;
  record.context = &context;
  record.data = arguments.carried ? copy_words(arguments.data) : Bytes();
  record.destination = arguments.destination;
  record.destination_world = context.world(arguments.destination);
  record.function = function;
  Envelope& e = record.header.envelope;
  e = Envelope{};
  e.lanes = static_cast<std::uint8_t>(lanes_.size());
  e.element = arguments.element;
  e.sequence = context.peer(arguments.destination).send_sequence++;
  e.context = context.id();
  e.source = context.rank();
  e.tag = arguments.tag;
  e.bytes = arguments.data.size();
  e.source_world = static_cast<std::uint32_t>(rank());
  if (!arguments.carried) e.flags |= kNoPayload;
  e.operation = ++operations_;
  if (arguments.synchronous) e.flags |= kWantsReply | kSynchronous;
  ++context.pending;
  ++sends_;
}

[[gnu::always_inline]] inline LaneStamp& Engine::number(SendRecord& record, const TeamPosition& at) {
  LaneStamp& out = record.header.lanes[at.lane];
  out = LaneStamp{};
  out.backend = at.backend;
  out.number = lanes_[at.lane]->next_number(at.backend, record.destination_world);
  return out;
}

[[gnu::always_inline]] inline void Engine::depart(SendRecord& record, const TeamPosition& at) {
  Lane& lane = *lanes_[at.lane];
  LaneStamp& out = number(record, at);
  Transfer transfer = transfer_of(record.header, record.destination_world, at.lane);
  if (shows_payload) transfer.data = record.data;
  if (lane.path != nullptr) lane.path->issued(record.header.envelope.operation, *at.clock);
  const Time issued = *at.clock;
  const Departure departure = lane.messages(at.backend).depart(transfer, issued, *at.units);
  copy_words(departure.stamp, out.stamp);
  out.handshake = departure.handshake ? 1 : 0;
  if (departure.handshake) record.header.envelope.flags |= kWantsReply;
  if (shows_payload && departure.handshake) record.kept.assign(record.data.begin(), record.data.end());
  record.lanes[at.lane].complete = departure.complete;
  record.lanes[at.lane].reply = {};
  *at.clock = later(*at.clock, departure.host_free);
  if (log != nullptr && at.lane == 0) log->host(transfer.operation, "send", issued, *at.clock);
  if (!departure.stamp.failed()) return;
  ++lane.counters.given_up;
  if (at.lane == 0) record.outcome = Outcome::kFault;
}

[[gnu::always_inline]] inline void Engine::launch(SendRecord& record) {
  record.reply_done = (record.header.envelope.flags & kWantsReply) == 0;
  if (!record.reply_done) record.header.envelope.token = make_token(record);
  record.notify = [](FabricWaiter& waiter, bool ok) {
    auto& self = static_cast<SendRecord&>(waiter);
    self.transport_done = true;
    if (!ok) self.engine->give_up(self);
    if (self.reply_done) self.engine->complete(self);
  };
  const Fabric::State state =
      stays(record) ? keep(record)
                    : fabric_.send(record.destination_world, record.header.encoded(), record.data, record);
  switch (state) {
    case Fabric::State::kPending:
      break;
    case Fabric::State::kFailed:
      give_up(record);
      [[fallthrough]];
    case Fabric::State::kDone:
      record.transport_done = true;
      if (record.reply_done) return complete(record);
  }
  in_flight_.push_back(record);
}

/// The peer is gone: no reply will come.
void Engine::give_up(SendRecord& record) {
  record.outcome = Outcome::kFault;
  if (!std::exchange(record.reply_done, true)) give_back_token(record.header.envelope.token);
}

void Engine::send(SendRecord& record, const SendArguments& arguments) {
  prepare(record, arguments);
  Operation operation;
  operation.element = arguments.element;
  operation.bytes = arguments.data.size();
  operation.tag = arguments.tag;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = *lanes_[i];
    const Lane::Choice choice = lane.choose(operation);
    CallCounter& counter = lane.counters.calls[function];
    lane.count(counter, choice);
    counter.bytes += operation.bytes;
    const Time before = lane.clock;
    if (log != nullptr && i == 0) {
      log->used(operation_of(record.header));
      log->sent(operation_of(record.header), record.destination_world);
    }
    depart(record, {i, choice.backend, &lane.clock, &lane.units(choice.backend)});
    if (lane.sizes != nullptr) lane.sizes->add(SizeTable::Kind::kSend, operation.bytes, lane.clock - before);
  }
  if (certificate != nullptr) certify(record, arguments);
  launch(record);
}

void Engine::send(SendRecord& record, const SendArguments& arguments, const TeamPosition& team,
                  const Stamp* token) {
  prepare(record, arguments);
  for (std::size_t i = 0; i < lanes_.size(); ++i) record.header.lanes[i] = LaneStamp{};
  if (log != nullptr && team.lane == 0) {
    log->part(operation_of(record.header), team.operation);
    log->sent(operation_of(record.header), record.destination_world);
  }
  if (token != nullptr) {
    number(record, team).stamp = *token;
    if (PathLog* path = lanes_[team.lane]->path.get())
      path->issued(record.header.envelope.operation, *team.clock);
  } else {
    depart(record, team);
  }
  if (team.failed) record.header.lanes[team.lane].stamp.detail |= Stamp::kFailed;
  launch(record);
}

void Engine::observe(SendRecord& record) {
  if (std::exchange(record.observed, true)) return;
  if (log != nullptr) log->used(operation_of(record.header));
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = *lanes_[i];
    const Time before = lane.clock;
    settle(record, own_position(i, record.header));
    if (lane.sizes != nullptr)
      lane.sizes->add_time(SizeTable::Kind::kSend, record.header.envelope.bytes, lane.clock - before);
  }
  if (certificate != nullptr) certify_sent(record);
}

void Engine::observe(SendRecord& record, const TeamPosition& team) {
  if (!std::exchange(record.observed, true)) settle(record, team);
}

bool Engine::is_over(const SendRecord& record) const {
  if (!record.done || record.outcome != Outcome::kOk || log != nullptr || certificate != nullptr)
    return false;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (record.header.lanes[i].handshake != 0 || record.lanes[i].complete > lanes_[i]->clock) return false;
  }
  return true;
}

[[gnu::always_inline]] inline void Engine::settle(const SendRecord& record, const TeamPosition& at) {
  const LaneStamp& out = record.header.lanes[at.lane];
  const Stamp& reply = record.lanes[at.lane].reply;
  Time complete = record.lanes[at.lane].complete;
  if (out.handshake != 0 && reply.failed()) {
    complete = reply.last;  // when the protocol gave up
  } else if (out.handshake != 0 && record.outcome == Outcome::kOk) {
    Transfer transfer = transfer_of(record.header, record.destination_world, at.lane);
    if (shows_payload) transfer.data = record.kept;
    complete = lanes_[at.lane]->messages(out.backend).complete_send(transfer, out.stamp, reply, *at.units);
  }
  if (log != nullptr && at.lane == 0 && out.handshake != 0)
    log->host(operation_of(record.header), kWaitForPeer, *at.clock, reply.last);
  *at.clock = later(*at.clock, complete);
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

// Tokens name records in replies. A reply that names a record which is not waiting for one is dropped.
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
  if (index >= tokens_.size() || tokens_[index].generation != token >> 32) return nullptr;
  return tokens_[index].record;
}

void Engine::give_back_token(std::uint64_t token) {
  const auto index = static_cast<std::uint32_t>(token);
  tokens_[index].record = nullptr;
  free_tokens_.push_back(index);
}

void Engine::on_reply(const Header& header) {
  const Envelope& e = header.envelope;
  SendRecord* record = record_of_token(e.token);
  const Envelope* sent = record != nullptr ? &record->header.envelope : nullptr;
  if (sent == nullptr || static_cast<int>(e.source_world) != record->destination_world ||
      e.context != sent->context || e.sequence != sent->sequence) {
    ++malformed_;
    return;
  }
  give_back_token(e.token);
  record->replied = true;
  for (std::size_t i = 0; i < lanes_.size(); ++i) record->lanes[i].reply = header.lanes[i].stamp;
  if (header.lanes[0].stamp.failed()) record->outcome = Outcome::kFault;
  record->reply_done = true;
  if (record->transport_done) complete(*record);
}

}  // namespace offramp
