// The firmware's primitives and their times. This file implements messages and moves of one engine.
// processor_dma.cpp implements commands and acknowledgements of an engine with its own memory
// (CallContext::ports), whose units may fail. processor_lanes.cpp implements moves through casting lanes and
// kernels.
//
// run() is the loop of all eager primitives. A segment needs, in order: room in the window (retire() waits
// for the oldest segment in flight), the commands, the flow of its words through the data plane, and the
// packets or the write at the end. now_ is the firmware's clock and never goes back. Units finish later;
// push() records their times in a Flight until retire() or finish() waits for it. In a world, turn() precedes
// every step that occupies a shared unit; otherwise calls of different ranks would reach the unit in
// simulation order.
//
// An error does not end a call at once: fail() records it, the data still moves, and the message carries the
// error to its receiver. unwound_ is set when the first generation abandons a call with segments in flight.
#include "simulators/cclo/processor.hpp"

#include <algorithm>

#include "simulators/cclo/move.hpp"

namespace offramp::cclo {
namespace {

MoveOpcode opcode_of(const Primitive& p, const Datapath* datapath) {
  const auto place = [datapath](std::uint32_t stream) {
    return datapath != nullptr && datapath->streamed(stream) ? Access::kStream : Access::kImmediate;
  };
  return MoveOpcode()
      .with(MoveField::kOperand0, p.has_own ? place(kOperand0Stream) : Access::kNone)
      .with(MoveField::kOperand1, p.receives() ? Access::kOnReceive : Access::kNone)
      .with(MoveField::kResult, place(kResultStream))
      .with(MoveField::kRemote, p.sends() ? 1U : 0U);
}

/// The shared units of the team's rank. `nullopt` for a stand-alone call.
std::optional<Resources> units_of(Team& team) {
  if (TeamHardware* const own = team.hardware()) return own->resources(team.world_rank(team.rank()));
  return {};
}

}  // namespace

Processor::Processor(const CallContext& context, Time begin)
    : context_(context),
      world_(context.team.devices()),
      spec_(context.spec),
      communicator_(context.space, context.communicator),
      pool_(context.space),
      now_(begin),
      units_(units_of(context.team)),
      plane_(spec_, units_),
      transmitter_(spec_, units_),
      receiver_(spec_, units_),
      packets_(context.first_packet) {}

std::uint32_t Processor::window() const {
  const std::uint32_t most = second() ? kGen2InFlight : std::min<std::uint32_t>(spec_.window, kMostInFlight);
  return std::max(1U, std::min(most, spec_.rx_buffers));
}

/// First generation: one write per output of the switch, one to apply, one to poll (read in [accl-2021]). The
/// second generation routes by the destination in each word.
void Processor::configure_switch(const Primitive& primitive) {
  if (second()) return;
  if (context_.ports != nullptr) {
    issued_tag_ = context_.state->dma_tag;
    if (context_.state->broken.stream_switch) {
      wait(now_ + spec_.timeout);
      fail(Error::kSwitch);
      unwound_ = true;
      return;
    }
  }
  const std::int64_t outputs = primitive.reduces() ? 3 : 1;
  access(outputs + 2);
  if (primitive.reduces()) access(1);  // starts the arithmetic unit for the whole length
  spend(spec_.firmware.step);
}

/// Destination, count, tag, source, and sequence number; session and number come from the exchange memory.
void Processor::issue_header() {
  spend(5 * spec_.firmware.word + spec_.firmware.step);
  access(2);
}

void Processor::spend_move(const Primitive& primitive) {
  if (second())
    spend(spec_.firmware.move + move_words(opcode_of(primitive, context_.datapath)) * spec_.firmware.word);
}

Processor::Commands Processor::issue(const Primitive& primitive, Time reserved, bool header) {
  Commands commands;
  if (second()) {
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

/// Stores the message of one segment in an RX buffer. Returns the time when the buffer is RESERVED.
Time Processor::land(const Team::Arrival& arrival, std::uint64_t bytes, int from, Flight& flight) {
  const Stamp& stamp = arrival.stamp;
  const bool charged = arrival.stored >= Time();
  const auto source = static_cast<std::uint32_t>(from);
  const std::uint32_t slots = std::min(spec_.rx_buffers, kSlots);
  flight.slot = landed_++ % slots;
  // Without an enqueued buffer, the DMA stalls until one is free.
  const Time first = charged ? stamp.first + spec_.first_on_link(bytes) : stamp.first;
  const Time stall = later(slot_free_[flight.slot] - first, {});
  Time landed = arrival.stored;
  if (!charged) landed = receiver_.land(first + stall, stamp.last + stall, bytes);
  if (charged && stall > Time()) {  // the stalled message was already charged when it arrived
    EngineUnits idle;
    landed = later(landed, Receiver(spec_, idle).land(first + stall, stamp.last + stall, bytes));
  }
  if (context_.ports != nullptr && !second()) {
    land_in_posted(bytes, flight);
    const Arbiter::Grant service =
        units_[Unit::kRxService].acquire(landed, spec_.cycles(spec_.firmware.interrupt));
    return service.end;
  }
  (void)pool_.enqueue();
  const RxMessage message{static_cast<std::uint32_t>(bytes),
                          static_cast<std::uint32_t>(stamp.detail >> kTagShift), source,
                          communicator_.expected_inbound(source)};
  flight.buffer =
      pool_.fill(context_.ports != nullptr ? context_.ports->incoming().header : message).value_or(kNoBuffer);
  if (flight.buffer != kNoBuffer && pool_.status(flight.buffer) == BufferStatus::kError)
    fail(Error::kBufferStatus);
  seek(from, message.sequence, flight);
  communicator_.count_inbound(source);
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
  if (flight_head_ == kMostInFlight) {
    flights_.erase(flights_.begin(), flights_.begin() + kMostInFlight);
    flight_head_ = 0;
  }
  flights_.push_back(flight);
}

/// Waits for the acknowledgements of the oldest segment in flight.
void Processor::retire() {
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
  if (context_.ports != nullptr) {
    acknowledge(flight);
    if (unwound_ || (second() && error_ != Error::kNone)) return;  // the RX buffer is not released
  }
  if (!flight.receives) return;
  slot_free_[flight.slot] = now_;
  if (flight.buffer != kNoBuffer) pool_.release(flight.buffer);
  if (context_.ports != nullptr && !second()) post_buffers();
}

Crossing Processor::transmit(int to, const Flow& flow, Time header, std::uint64_t bytes, Bytes data,
                             MessageType type) {
  const Flow words = plane_.packetize(flow, header, bytes);
  const PacketFaults packet_faults{context_.faults, rank(), to, packets_, context_.epoch};
  packets_ += std::uint64_t{1} << 20;  // more than the packets of a segment
  std::vector<SentPacket> packets;
  const Crossing passage =
      transmitter_.send(words, bytes, &packet_faults, context_.tap != nullptr ? &packets : nullptr);
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

/// Returns the sequence number of the message.
std::uint32_t Processor::send(int to, Bytes data, const Crossing& passage, MutableBytes scratch) {
  const std::uint32_t number = communicator_.next_outbound(static_cast<std::uint32_t>(to));
  if (context_.ports != nullptr) {
    context_.ports->outgoing(
        {static_cast<std::uint32_t>(data.size()), context_.tag, communicator_.local_rank(), number});
    if (!second()) context_.state->sent.push_back(number);
  }
  outgoing_.emplace_back(send_token(to, data, stamp_of(passage)), scratch);
  return number;
}

MutableBytes Processor::allocate_scratch(std::uint64_t bytes) {
  if (!free_scratch_.empty() && free_scratch_.back().size() >= bytes) {
    const MutableBytes memory = free_scratch_.back();
    free_scratch_.pop_back();
    return memory;
  }
  return team().scratch(bytes);
}

/// Releases the scratch memory of messages that have left.
Task<void> Processor::retire_sends() {
  while (!outgoing_.empty() && outgoing_.front().pending.await_ready()) {
    Outgoing& front = outgoing_.front();
    const Team::Arrival arrival = co_await front.pending;
    if (arrival.outcome != Outcome::kOk && !arrival.stamp.failed()) fail(Error::kPacketizerTimeout);
    if (!front.scratch.empty()) free_scratch_.push_back(front.scratch);
    outgoing_.pop_front();
  }
}

Task<void> Processor::drain() {
  while (!outgoing_.empty()) {
    Outgoing& front = outgoing_.front();
    const Team::Arrival arrival = co_await front.pending;
    if (arrival.outcome != Outcome::kOk && !arrival.stamp.failed()) fail(Error::kPacketizerTimeout);
    if (!front.scratch.empty()) free_scratch_.push_back(front.scratch);
    outgoing_.pop_front();
  }
}

Task<void> Processor::run(Primitive p) {
  if (unwound_) co_return;
  if (has_lanes()) co_return co_await run_lanes(p);
  if (second() && !p.sends() && !p.receives()) {  // a single move for any length
    co_await room();
    copy(p.own, p.into);
    co_return co_await finish();
  }
  const std::uint64_t segments = spec_.segments(p.bytes);
  const Time begin = now_;
  configure_switch(p);
  if (unwound_) co_return;
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
    if (in_flight() == window()) retire();
    if (unwound_) break;
    spend_move(p);
    Flight flight;
    flight.sends = p.sends();
    flight.receives = p.receives();
    flight.bytes = bytes;
    flight.to = p.to;
    const Bytes own = p.has_own ? p.own.subspan(offset, bytes) : Bytes();
    const MutableBytes into = p.sends() ? MutableBytes() : p.into.subspan(offset, bytes);
    MutableBytes landing;
    MutableBytes scratch;
    Time reserved;
    if (p.receives()) {
      if (p.sends() || in_place) scratch = allocate_scratch(bytes);
      landing = scratch.empty() ? into : scratch.first(bytes);
      wanted_ = {};
      const Team::Arrival arrival = co_await receive_token(p.from, landing);
      note_arrival(arrival);
      if (context_.ports != nullptr && arrival.stamp.failed()) {
        unwound_ = !second();
        break;
      }
      reserved = land(arrival, bytes, p.from, flight);
      if (unwound_) break;
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
      flight.sequence = send(p.to, sent, passage, scratch);
      co_await retire_sends();
    } else {
      flight.data = plane_.write(flow, commands.write, bytes, user_memory(bytes));
      span("dma", "write", flow.first, flight.data);
      if (!scratch.empty()) free_scratch_.push_back(scratch);
    }
    if (context_.ports != nullptr) command(p, own, into, flight);
    push(flight);
  }
  co_await finish();
  if (p.reduces()) finish_arithmetic();
  span("control processor", "primitive", begin, now_);
}

Task<void> Processor::fan_out(Slots slots, int root) {
  const std::uint64_t segments = spec_.segments(slots.bytes);
  const std::int64_t status = spec_.firmware.word + spec_.firmware.step;
  const Time begin = now_;
  if (unwound_) co_return;
  if (has_lanes()) {  // one peer at a time
    for (int peer = 0; peer < size(); ++peer) {
      const std::uint64_t offset = static_cast<std::uint64_t>(peer) * slots.stride;
      if (peer != root) co_await run_lanes(Primitive::send(peer, slots.data.subspan(offset, slots.bytes)));
    }
    co_return;
  }
  configure_switch(Primitive::send(root, slots.data));
  for (std::uint64_t i = 0; i < segments && !unwound_; ++i) {
    const std::uint64_t bytes = spec_.segment_bytes(slots.bytes, i);
    PooledVector<Time> accepted;
    PooledVector<Flight> sent;  // with ports
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == root) continue;
      const std::uint64_t offset =
          static_cast<std::uint64_t>(peer) * slots.stride + i * spec_.rx_buffer_bytes;
      const Bytes data = slots.data.subspan(offset, bytes);
      const Primitive one = Primitive::send(peer, data);
      co_await turn();
      spend_move(one);
      const Commands commands = issue(one, {}, true);
      const Flow flow = source(one, commands, bytes);
      const Crossing passage = transmit(peer, flow, commands.header, bytes, data);
      const std::uint32_t number = send(peer, data, passage);
      co_await retire_sends();
      if (!second()) {
        co_await turn(flow.last);
        wait(flow.last);  // a blocking read
        spend(status);
      }
      accepted.push_back(passage.accepted);
      if (context_.ports == nullptr) continue;
      Flight flight;
      flight.to = peer;
      flight.sequence = number;
      flight.bytes = bytes;
      command(one, data, {}, flight);
      acknowledge(flight);
      flight.sends = true;
      flight.commands = 0;
      sent.push_back(flight);
      if (unwound_) break;
    }
    for (const Flight& flight : sent) acknowledge(flight);
    for (const Time at : accepted) {
      wait(at + (second() ? spec_.cycles(spec_.firmware.retire) : Time()));
      co_await turn();
      spend(status);
    }
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
  co_await retire_sends();
  co_return arrival.stored >= Time() ? arrival.stored : spec_.notified_at(arrival.stamp.last);
}

/// Seven words: type, source, tag, address, memory, and count.
void Processor::read_notification(Time at) {
  wait(at);
  spend(7 * spec_.firmware.word + spec_.firmware.step);
}

void Processor::write(int peer, Bytes data) {
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
  if (context_.ports != nullptr) command(p, data, {}, flight);
  push(flight);
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
  if (context_.ports != nullptr) {
    command(DmaChannel::kRead0, in, in.size(), flight);
    command(DmaChannel::kWrite, inout, in.size(), flight);
  }
  push(flight);
  team().combine(in, inout);
}

void Processor::combine_memory(Bytes in, MutableBytes inout) {
  if (second()) {
    combine(in, inout);
    return finish_moves();
  }
  configure_switch(Primitive::receive_reduce(rank(), in, inout));
  if (unwound_) return;
  const std::int64_t words = 4 * spec_.firmware.word + spec_.firmware.step;
  for (std::uint64_t i = 0; i < spec_.segments(in.size()); ++i) {
    if (in_flight() == window()) retire();
    if (unwound_) return;
    const std::uint64_t bytes = spec_.segment_bytes(in.size(), i);
    spend(words);
    const Flow one = plane_.read(0, now_, bytes, user_memory(bytes));
    spend(words);
    const Flow other = plane_.read(1, now_, bytes, user_memory(bytes));
    spend(words);
    Flight flight;
    flight.bytes = bytes;
    flight.data = plane_.write(plane_.reduce(one, other, bytes), now_, bytes, user_memory(bytes));
    if (context_.ports != nullptr) {
      const Bytes result = inout.subspan(i * spec_.rx_buffer_bytes, bytes);
      command(DmaChannel::kRead0, in.subspan(i * spec_.rx_buffer_bytes, bytes), bytes, flight);
      command(DmaChannel::kRead1, result, bytes, flight);
      command(DmaChannel::kWrite, result, bytes, flight);
    }
    push(flight);
  }
  team().combine(in, inout);
  finish_moves();
  finish_arithmetic();
}

void Processor::copy(Bytes from, MutableBytes into) {
  if (in_flight() == window()) retire();
  const Primitive p = Primitive::copy(from, into);
  spend_move(p);
  const Commands commands = issue(p, {}, true);
  Flight flight;
  flight.data =
      plane_.write(source(p, commands, from.size()), commands.write, from.size(), user_memory(from.size()));
  if (context_.ports != nullptr) command(p, from, into, flight);
  push(flight);
  team().copy(from, into);
}

Task<Team::Arrival> Processor::write_of(int peer, MutableBytes into, Missing missing) {
  wanted_ = {MessageType::kWriteDone, missing};
  const Team::Arrival arrival = co_await receive_token(peer, into);
  note_arrival(arrival);
  co_await retire_sends();
  co_return arrival;
}

/// The data lands at its destination; only the notification goes to the control processor.
Time Processor::land_write(const Team::Arrival& arrival, std::uint64_t bytes) {
  if (arrival.stored >= Time()) return arrival.stored;
  const Stamp& stamp = arrival.stamp;
  const Time landed = receiver_.land(stamp.first, stamp.last, bytes, true);
  if (user_memory(bytes) == BufferLocation::kDevice) return landed;
  return later(landed, units_.share_until(Unit::kPcieUp, stamp.first, spec_.pcie_time(bytes))) +
         spec_.pcie_latency;
}

Task<Time> Processor::written_by(int peer, MutableBytes into, Missing missing) {
  const Team::Arrival arrival = co_await write_of(peer, into, missing);
  co_return land_write(arrival, into.size());
}

void Processor::finish_moves() {
  while (in_flight() > 0 && !unwound_) retire();
}

Task<void> Processor::finish() {
  while (in_flight() > 0 && !unwound_) {
    co_await turn(retires_at());
    retire();
  }
}

}  // namespace offramp::cclo
