// The firmware's primitives and their times: messages and moves of one engine.
//
// run() is the loop of all eager primitives. A segment needs, in order: room in the window (retire() waits
// for the oldest segment in flight), the commands, the flow of its words through the data plane, and the
// packets or the write at the end. now_ is the firmware's clock and never goes back. Units finish later;
// push() records their times in a Flight until retire() or finish() waits for it. In a world, turn() precedes
// every step that occupies a shared unit; otherwise calls of different ranks would reach the unit in
// simulation order.
//
// An error does not end a call: fail() records it, the data still moves, and the message carries the error to
// its receiver. Only the units of a card can end a primitive early: see the hook in processor.hpp.
#include "simulators/cclo/processor.hpp"

#include <algorithm>

namespace offramp::cclo {
namespace {

/// The shared units of the team's rank. `nullopt` for a stand-alone call.
std::optional<Resources> units_of(Team& team) {
  if (TeamHardware* const own = team.hardware()) return own->resources(team.world_rank(team.rank()));
  return {};
}

}  // namespace

Processor::Processor(const CallContext& context, Time begin)
    : context_(context),
      spec_(context.spec),
      communicator_(context.space, context.communicator),
      units_(units_of(context.team)),
      plane_(spec_, units_),
      world_(context.team.devices()),
      pool_(context.space),
      now_(begin),
      transmitter_(spec_, units_),
      receiver_(spec_, units_),
      packets_(context.first_packet) {}

// The first generation's window is limited by the list of flights as well.
std::uint32_t Processor::window() const {
  const std::uint32_t most = second() ? kGen2InFlight : std::min<std::uint32_t>(spec_.window, kMostInFlight);
  return std::max(1U, std::min(most, spec_.rx_buffers));
}

MoveOpcode Processor::opcode_of(const Primitive& primitive) {
  return MoveOpcode()
      .with(MoveField::kOperand0, primitive.has_own ? Access::kImmediate : Access::kNone)
      .with(MoveField::kOperand1, primitive.receives() ? Access::kOnReceive : Access::kNone)
      .with(MoveField::kResult, Access::kImmediate)
      .with(MoveField::kRemote, primitive.sends() ? 1U : 0U);
}

bool Processor::configure_switch(const Primitive& primitive) {
  if (second()) return true;
  const std::int64_t outputs = primitive.reduces() ? 3 : 1;
  access(outputs + 2);
  if (primitive.reduces()) access(1);  // starts the arithmetic unit for the whole length
  spend(spec_.firmware.step);
  return true;
}

/// Destination, count, tag, source, and sequence number; session and number come from the exchange memory.
void Processor::issue_header() {
  spend(5 * spec_.firmware.word + spec_.firmware.step);
  access(2);
}

Processor::Commands Processor::issue(const Primitive& primitive, Time reserved, bool header) {
  Commands commands;
  if (second()) {
    // The decoder issues all unit commands of a move at once.
    const Time decoded =
        units_[Unit::kDecoder].acquire(later(now_, reserved), spec_.cycles(spec_.firmware.decode)).end;
    return {decoded, decoded, decoded, decoded};
  }
  const std::int64_t command = 4 * spec_.firmware.word + spec_.firmware.step;
  if (primitive.receives()) {
    wait(reserved);
    // Status, length, tag, source, and number of the descriptor, then the next expected number.
    access(6);
    spend(spec_.firmware.step);
  }
  if (primitive.sends()) {
    if (header) issue_header();
    commands.header = now_;
  }
  if (primitive.has_own) spend(command);
  commands.read0 = now_;
  if (primitive.receives()) spend(command);
  commands.read1 = now_;
  if (!primitive.sends()) spend(command);
  commands.write = now_;
  return commands;
}

// A single operand is read with channel 1. A reduction reads its own operand with channel 0.
Flow Processor::source(const Primitive& primitive, const Commands& commands, std::uint64_t bytes) {
  if (!primitive.reduces())
    return primitive.receives() ? plane_.read(1, commands.read1, bytes)
                                : plane_.read(1, commands.read0, bytes, user_memory(bytes));
  const Flow own = plane_.read(0, commands.read0, bytes, user_memory(bytes));
  const Flow message = plane_.read(1, commands.read1, bytes);
  const Flow result = plane_.reduce(own, message, bytes);
  span("arithmetic", "reduce", result.first, result.last);
  return result;
}

std::optional<Time> Processor::land(const Team::Arrival& arrival, std::uint64_t bytes, int from,
                                    Flight& flight) {
  const Time landed = receive(arrival, bytes, flight);
  const auto source = static_cast<std::uint32_t>(from);
  const RxMessage message{static_cast<std::uint32_t>(bytes),
                          static_cast<std::uint32_t>(arrival.stamp.detail >> kTagShift), source,
                          communicator_.expected_inbound(source)};
  store(message, from, message.sequence, flight);
  return serve(landed);
}

Time Processor::receive(const Team::Arrival& arrival, std::uint64_t bytes, Flight& flight) {
  const Stamp& stamp = arrival.stamp;
  const bool charged = arrival.stored >= Time();
  const std::uint32_t slots = std::min(spec_.rx_buffers, kSlots);
  flight.slot = landed_++ % slots;
  // Without an enqueued buffer, the DMA stalls until one is free.
  const bool may_stall = slot_free_[flight.slot] > stamp.first;
  const Time first = charged && may_stall ? stamp.first + spec_.first_on_link(bytes) : stamp.first;
  const Time stall = later(slot_free_[flight.slot] - first, {});
  Time landed = arrival.stored;
  if (!charged) landed = receiver_.land(first + stall, stamp.last + stall, bytes);
  if (charged && stall > Time()) {  // the stalled message was already charged when it arrived
    EngineUnits idle;
    landed = later(landed, Receiver(spec_, idle).land(first + stall, stamp.last + stall, bytes));
  }
  return landed;
}

void Processor::store(const RxMessage& message, int from, std::uint32_t sequence, Flight& flight) {
  (void)pool_.enqueue();
  flight.buffer = pool_.fill(message).value_or(kNoBuffer);
  if (flight.buffer != kNoBuffer && pool_.status(flight.buffer) == BufferStatus::kError)
    fail(Error::kBufferStatus);
  seek(from, sequence, flight);
  communicator_.count_inbound(static_cast<std::uint32_t>(from));
}

/// By an interrupt in the first generation, by hardware in the second.
Time Processor::serve(Time landed) {
  const std::int64_t cycles = second() ? spec_.firmware.enqueue : spec_.firmware.interrupt;
  const Arbiter::Grant service = units_[Unit::kRxService].acquire(landed, spec_.cycles(cycles));
  span("rx buffers", second() ? "dequeue" : "interrupt", service.begin, service.end);
  return service.end;
}

/// Finds the buffer with the requested message; the firmware polls for it until its timeout. Messages of a
/// source are received in order, so one with another tag blocks those behind it.
void Processor::seek(int from, std::uint32_t sequence, Flight& flight) {
  if (flight.buffer == kNoBuffer || pool_.status(flight.buffer) == BufferStatus::kError) return;
  if (const auto found = pool_.seek(static_cast<std::uint32_t>(from), context_.tag, sequence)) {
    flight.buffer = *found;
    return;
  }
  fail(Error::kReceiveTimeout);
  wait(now_ + spec_.timeout);
}

void Processor::note_arrival(const Team::Arrival& arrival) {
  if (arrival.outcome != Outcome::kOk && !arrival.stamp.failed()) fail(Error::kDmaUnexpectedBytes);
  if (!arrival.stamp.failed()) return;
  const std::uint64_t code = arrival.stamp.detail & kErrorMask;
  fail(code > 0 && code < static_cast<std::uint64_t>(Error::kNumber) ? static_cast<Error>(code)
                                                                     : Error::kReceiveTimeout);
  // The firmware polls for a lost message until its timeout, but not for a propagated error.
  if ((arrival.stamp.detail & kLost) != 0) wait(later(now_, arrival.stamp.last) + spec_.timeout);
}

void Processor::push(const Flight& flight) {
  // Entries before the head have ended. Erasing many at a time keeps this cheap.
  if (flight_head_ == flights_.size()) {
    flights_.clear();
    flight_head_ = 0;
  } else if (flight_head_ == kMostInFlight) {
    flights_.erase(flights_.begin(), flights_.begin() + kMostInFlight);
    flight_head_ = 0;
  }
  flights_.push_back(flight);
}

bool Processor::retire() {
  const Flight flight = flights_[flight_head_++];
  const std::int64_t status = spec_.firmware.word + spec_.firmware.step;
  if (second()) {
    wait(later(flight.data, flight.packet) + spec_.cycles(spec_.firmware.retire));
    spend(status);
  } else {
    wait(flight.data);
    spend(status);
    if (flight.sends) {
      wait(flight.packet);
      spend(status);
    }
    if (flight.receives) access(1);
  }
  return retired(flight);
}

bool Processor::retired(const Flight& flight) {
  if (!flight.receives) return true;
  slot_free_[flight.slot] = now_;
  if (flight.buffer != kNoBuffer) pool_.release(flight.buffer);
  return true;
}

Crossing Processor::transmit(int to, const Flow& flow, Time header, std::uint64_t bytes, Bytes data,
                             MessageType type) {
  const Flow words = plane_.packetize(flow, header, bytes);
  std::optional<PacketFaults> packet_faults;
  if (context_.faults.any()) packet_faults = {context_.faults, rank(), to, packets_, context_.epoch};
  packets_ += std::uint64_t{1} << 20;  // more than the packets of a segment
  std::vector<SentPacket> packets;
  const Crossing passage = transmitter_.send(words, bytes, packet_faults ? &*packet_faults : nullptr,
                                             context_.tap != nullptr ? &packets : nullptr);
  if (context_.tap != nullptr) tap(to, bytes, data, type, packets);
  wire_ += passage.wire;
  span("network", "message", words.first, passage.last);
  return passage;
}

void Processor::tap(int to, std::uint64_t bytes, Bytes data, MessageType type,
                    const std::vector<SentPacket>& packets) {
  TappedMessage message{team().world_rank(rank()), team().world_rank(to), bytes, {}, context_.tag, type};
  if (team().carries_data()) message.data = data;
  if (context_.shown_at != nullptr) {
    const auto offset = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(data.data()) -
                                                 reinterpret_cast<std::uintptr_t>(context_.shown_at));
    message.data = {};
    if (!data.empty() && offset < context_.shown.size())
      message.data = context_.shown.subspan(offset, std::min(data.size(), context_.shown.size() - offset));
  }
  context_.tap->message(message, packets);
}

Stamp Processor::stamp_of(const Crossing& passage, MessageType type) const {
  Stamp stamp{
      passage.first, passage.last,
      kOfCall | std::uint64_t{context_.tag} << kTagShift | static_cast<std::uint64_t>(type) << kTypeShift};
  if (passage.error != Error::kNone) {
    stamp.detail |= Stamp::kFailed | kLost | static_cast<std::uint64_t>(passage.error);
  } else if (error_ != Error::kNone) {  // this rank's data is already wrong
    stamp.detail |= Stamp::kFailed | static_cast<std::uint64_t>(error_);
  }
  return stamp;
}

/// A world's network counts messages from their first byte on.
Team::PendingToken Processor::send_token(int to, Bytes data, Stamp stamp) {
  if (world_ == nullptr) return team().send_token(to, data, stamp);
  team().clock = now_;
  stamp.first -= spec_.first_on_link(data.size());
  return team().send_crossing(to, data, stamp, spec_.latency);
}

Team::PendingToken Processor::receive_token(int from, MutableBytes data) {
  if (world_ != nullptr) team().clock = now_;
  return team().receive_token(from, data);
}

std::uint32_t Processor::count_message(int to, std::uint64_t /*bytes*/) {
  return communicator_.next_outbound(static_cast<std::uint32_t>(to));
}

void Processor::send(int to, Bytes data, const Crossing& passage, MutableBytes scratch) {
  (void)count_message(to, data.size());
  const Outgoing sent(send_token(to, data, stamp_of(passage)), scratch);
  // In a world, a token has left at once.
  if (!has_outgoing() && sent.pending.await_ready()) return retire_send(sent, sent.pending.await_resume());
  outgoing_.push_back(sent);
}

MutableBytes Processor::allocate_scratch(std::uint64_t bytes) {
  if (!free_scratch_.empty() && free_scratch_.back().size() >= bytes) {
    const MutableBytes memory = free_scratch_.back();
    free_scratch_.pop_back();
    return memory;
  }
  return team().scratch(bytes);
}

/// Releases the scratch memory of a message that has left.
void Processor::retire_send(const Outgoing& sent, const Team::Arrival& arrival) {
  if (arrival.outcome != Outcome::kOk && !arrival.stamp.failed()) fail(Error::kPacketizerTimeout);
  if (!sent.scratch.empty()) free_scratch_.push_back(sent.scratch);
}

void Processor::retire_sends() {
  while (has_outgoing() && outgoing_.front().pending.await_ready()) {
    retire_send(outgoing_.front(), outgoing_.front().pending.await_resume());
    outgoing_.pop_front();
  }
}

Task<void> Processor::drain() {
  while (has_outgoing()) {
    const Team::Arrival arrival = co_await outgoing_.front().pending;
    retire_send(outgoing_.front(), arrival);
    outgoing_.pop_front();
  }
}

Task<void> Processor::run(Primitive p) {
  if (second() && !p.sends() && !p.receives()) {  // a single move for any length
    co_await room();
    copy(p.own, p.into);
    co_return co_await finish();
  }
  const std::uint64_t segments = spec_.segments(p.bytes);
  const Time begin = now_;
  if (!configure_switch(p)) co_return;
  // SEND issues the headers of a whole window before the first read (read in [accl-2021]).
  std::uint64_t headers = 0;
  if (!second() && p.sends() && !p.receives()) {
    headers = std::min<std::uint64_t>(segments, window());
    for (std::uint64_t i = 0; i < headers; ++i) issue_header();
  }
  const bool in_place = p.has_own && p.own.data() == p.into.data();
  for (std::uint64_t i = 0; i < segments; ++i) {
    const std::uint64_t bytes = spec_.segment_bytes(p.bytes, i);
    const std::uint64_t offset = i * spec_.rx_buffer_bytes;
    co_await room();
    if (in_flight() == window() && !retire()) break;
    spend_move(p);
    Flight flight;
    flight.sends = p.sends();
    flight.receives = p.receives();
    const Bytes own = p.has_own ? p.own.subspan(offset, bytes) : Bytes();
    const MutableBytes into = p.sends() ? MutableBytes() : p.into.subspan(offset, bytes);
    MutableBytes landing;
    MutableBytes scratch;
    Time reserved;
    if (p.receives()) {
      // A segment that is sent on, or combined in place, lands apart from the user's memory.
      if (p.sends() || in_place) scratch = allocate_scratch(bytes);
      landing = scratch.empty() ? into : scratch.first(bytes);
      wanted_ = {};
      const Team::Arrival arrival = co_await receive_token(p.from, landing);
      note_arrival(arrival);
      const std::optional<Time> stored = land(arrival, bytes, p.from, flight);
      if (!stored) break;
      reserved = *stored;
      co_await turn(reserved);
      if (p.reduces()) in_place ? team().combine(landing, into) : team().combine(own, landing);
    } else if (!p.sends()) {
      team().copy(own, into);
    }
    const Commands commands = issue(p, reserved, i >= headers);
    const Flow flow = source(p, commands, bytes);
    if (p.sends()) {
      const Bytes sent = p.receives() ? Bytes(landing) : own;
      const Crossing passage = transmit(p.to, flow, commands.header, bytes, sent);
      flight.data = flow.last;
      flight.packet = passage.accepted;
      send(p.to, sent, passage, scratch);
      // Early, so that the next segment can reuse the memory of one that has left.
      retire_sends();
    } else {
      flight.data = plane_.write(flow, commands.write, bytes, user_memory(bytes));
      span("dma", "write", flow.first, flight.data);
      if (!scratch.empty()) free_scratch_.push_back(scratch);
    }
    push(flight, p, offset, bytes);
  }
  while (in_flight() > 0) {  // finish() without a frame
    co_await turn(retires_at());
    retire();
  }
  span("control processor", "primitive", begin, now_);
}

Task<void> Processor::fan_out(Slots slots, int root) {
  const std::uint64_t segments = spec_.segments(slots.bytes);
  const std::int64_t status = spec_.firmware.word + spec_.firmware.step;
  const Time begin = now_;
  bool goes_on = configure_switch(Primitive::send(root, slots.data));
  for (std::uint64_t i = 0; i < segments && goes_on; ++i) {
    const std::uint64_t bytes = spec_.segment_bytes(slots.bytes, i);
    PooledVector<Time> accepted;
    accepted.reserve(static_cast<std::size_t>(size()));
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == root) continue;
      const std::uint64_t offset =
          static_cast<std::uint64_t>(peer) * slots.stride + i * spec_.rx_buffer_bytes;
      const Bytes data = slots.data.subspan(offset, bytes);
      const Primitive one = Primitive::send(peer, data);
      // Another rank's call may use the shared units of the card before this one.
      co_await turn();
      spend_move(one);
      const Commands commands = issue(one, {}, true);
      const Flow flow = source(one, commands, bytes);
      const Crossing passage = transmit(peer, flow, commands.header, bytes, data);
      send(peer, data, passage);
      retire_sends();
      if (!second()) {
        co_await turn(flow.last);
        wait(flow.last);  // a blocking read
        spend(status);
      }
      accepted.push_back(passage.accepted);
      if (!fan_out_read(one)) break;
    }
    // The acknowledgements are checked in the order of the peers, also if a later one comes first.
    for (const Time at : accepted) {
      wait(at + (second() ? spec_.cycles(spec_.firmware.retire) : Time()));
      co_await turn();
      spend(status);
    }
    goes_on = fan_out_sent();
  }
  span("control processor", "fan out", begin, now_);
}

// --- second generation: rendezvous ---

void Processor::announce(int peer) {
  spend(7 * spec_.firmware.word + spec_.firmware.step);
  const Flow header{now_ + spec_.cycles(1), now_ + spec_.cycles(1)};
  const Crossing passage = transmit(peer, header, now_, 0, {}, MessageType::kRendezvousInit);
  const Stamp stamp = stamp_of(passage, MessageType::kRendezvousInit);
  outgoing_.emplace_back(send_token(peer, {}, stamp), MutableBytes());
}

Task<Time> Processor::address_of(int peer, Missing missing) {
  wanted_ = {MessageType::kRendezvousInit, missing};
  const Team::Arrival arrival = co_await receive_token(peer, {});
  note_arrival(arrival);
  retire_sends();
  co_return arrival.stored >= Time() ? arrival.stored : spec_.notified_at(arrival.stamp.last);
}

/// Seven words: type, source, tag, address, memory, and count.
void Processor::read_notification(Time at) {
  wait(at);
  spend(7 * spec_.firmware.word + spec_.firmware.step);
}

void Processor::write(int peer, Bytes data) {
  // The window is full: its oldest move has to end before this one.
  if (in_flight() == window()) retire();
  const Primitive p = Primitive::send(peer, data);
  spend_move(p);
  const Commands commands = issue(p, {}, true);
  const Flow flow = source(p, commands, data.size());
  // The write itself has no ACCL header; its write-done, a header, follows on the same connection.
  const Crossing passage =
      transmit(peer, flow, commands.header, data.size(), data, MessageType::kRendezvousData);
  Flight flight;
  flight.sends = true;
  flight.data = flow.last;
  flight.packet = passage.accepted;
  push(flight, p, 0, data.size());
  const Stamp stamp = stamp_of(passage, MessageType::kWriteDone);
  outgoing_.emplace_back(send_token(peer, data, stamp), MutableBytes());
}

void Processor::combine(Bytes in, MutableBytes inout) {
  if (in_flight() == window()) retire();
  const Primitive p = Primitive::receive_reduce(rank(), in, inout);
  spend_move(p);
  const Commands commands = issue(p, {}, true);
  const Flow flow = source(p, commands, in.size());
  Flight flight;
  flight.data = plane_.write(flow, commands.write, in.size(), user_memory(in.size()));
  span("dma", "write", flow.first, flight.data);
  push(flight, p, 0, in.size());
  // The data is combined at once. Only its time lies in the future.
  team().combine(in, inout);
}

void Processor::copy(Bytes from, MutableBytes into) {
  if (in_flight() == window()) retire();
  const Primitive p = Primitive::copy(from, into);
  spend_move(p);
  const Commands commands = issue(p, {}, true);
  Flight flight;
  flight.data =
      plane_.write(source(p, commands, from.size()), commands.write, from.size(), user_memory(from.size()));
  push(flight, p, 0, from.size());
  team().copy(from, into);
}

Task<Team::Arrival> Processor::write_of(int peer, MutableBytes into, Missing missing) {
  wanted_ = {MessageType::kWriteDone, missing};
  const Team::Arrival arrival = co_await receive_token(peer, into);
  note_arrival(arrival);
  retire_sends();
  co_return arrival;
}

/// The data lands at its destination; only the notification goes to the control processor.
Time Processor::land_write(const Team::Arrival& arrival, std::uint64_t bytes) {
  // In a world, the message was charged when it arrived.
  if (arrival.stored >= Time()) return arrival.stored;
  const Stamp& stamp = arrival.stamp;
  const Time landed = receiver_.land(stamp.first, stamp.last, bytes, true);
  // In host memory, the last word also crosses PCIe.
  if (user_memory(bytes) == BufferLocation::kDevice) return landed;
  return later(landed, units_.share_until(Unit::kPcieUp, stamp.first, spec_.pcie_time(bytes))) +
         spec_.pcie_latency;
}

Task<Time> Processor::written_by(int peer, MutableBytes into, Missing missing) {
  const Team::Arrival arrival = co_await write_of(peer, into, missing);
  co_return land_write(arrival, into.size());
}

void Processor::finish_moves() {
  while (in_flight() > 0) retire();
}

Task<void> Processor::finish() {
  while (in_flight() > 0) {
    co_await turn(retires_at());
    retire();
  }
}

}  // namespace offramp::cclo
