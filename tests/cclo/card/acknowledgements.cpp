// DMA and packetizer commands and acknowledgements of a card's engine.
//
// The first generation's firmware checks acknowledgements one by one and leaves the call at the first error;
// further acknowledgements stay queued for the next call. The second generation's data movement processor
// collects the errors of a move (read in [accl-2021] and [accl-2025]).
#include <algorithm>
#include <utility>

#include "tests/cclo/card/card_processor.hpp"

namespace offramp::cclo {
namespace {

constexpr std::uint32_t kTags = 16;

std::size_t index_of(DmaChannel channel) {
  return static_cast<std::size_t>(channel);
}

DmaStatus status_of(Answer answer, std::uint32_t tag, std::uint64_t bytes) {
  DmaStatus status;
  status.tag = tag;
  status.internal_error = bytes == 0;
  status.decode_error = answer == Answer::kNoMemory;
  status.slave_error = answer == Answer::kError;
  status.okay = answer == Answer::kOkay && bytes > 0;
  status.bytes = static_cast<std::uint32_t>(bytes);
  return status;
}

/// The first generation's error for an acknowledgement of a command with this tag. length: for a write into
/// an RX buffer, the message length according to its header.
Error error_of(const DmaStatus& status, std::uint32_t tag,
               std::optional<std::uint32_t> length = std::nullopt) {
  if (status.tag != tag) return Error::kDmaMismatch;
  if (status.internal_error) return Error::kDmaInternal;
  if (status.decode_error) return Error::kDmaDecode;
  if (status.slave_error) return Error::kDmaSlave;
  if (!status.okay) return Error::kDmaNotOkay;
  if (!length) return Error::kNone;
  if (!status.end_of_packet) return Error::kDmaNotEndOfPacket;
  return status.bytes != *length ? Error::kDmaUnexpectedBytes : Error::kNone;
}

/// Substitutes the next injected acknowledgement, if there is one.
void break_next(BrokenUnits& broken, DmaStatus& status) {
  if (broken.dma.empty()) return;
  const std::uint32_t tag = status.tag;
  status = broken.dma.front();
  broken.dma.pop_front();
  status.tag = (tag + status.tag) % kTags;
}

}  // namespace

Task<void> CardProcessor::run(Primitive primitive) {
  if (abandoned_) co_return;
  if (has_lanes()) co_return co_await run_lanes(primitive);
  co_await Processor::run(primitive);
  if (primitive.reduces()) finish_arithmetic();
}

Task<void> CardProcessor::fan_out(Slots slots, int root) {
  if (abandoned_) co_return;
  if (!has_lanes()) co_return co_await Processor::fan_out(slots, root);
  for (int peer = 0; peer < size(); ++peer) {  // one peer at a time
    const std::uint64_t offset = static_cast<std::uint64_t>(peer) * slots.stride;
    if (peer != root) co_await run_lanes(Primitive::send(peer, slots.data.subspan(offset, slots.bytes)));
  }
}

bool CardProcessor::configure_switch(const Primitive& primitive) {
  if (!second()) {
    issued_tag_ = card_.state.dma_tag;
    if (card_.state.broken.stream_switch) {
      wait(now() + spec_.timeout);
      abandon(Error::kSwitch);
      return false;
    }
  }
  return Processor::configure_switch(primitive);
}

std::uint32_t CardProcessor::count_message(int to, std::uint64_t bytes) {
  sequence_ = Processor::count_message(to, bytes);
  card_.ports.outgoing(
      {static_cast<std::uint32_t>(bytes), context_.tag, communicator_.local_rank(), sequence_});
  if (!second()) card_.state.sent.push_back(sequence_);
  return sequence_;
}

void CardProcessor::issued(const Primitive& primitive, std::uint64_t offset, std::uint64_t bytes) {
  if (primitive.has_own)
    command(primitive.reduces() ? DmaChannel::kRead0 : DmaChannel::kRead1,
            primitive.own.subspan(offset, bytes), bytes);
  // The second operand of a combination within memory lies where its result is written.
  const bool in_memory = primitive.reduces() && primitive.from == rank();
  if (primitive.receives() && !in_memory) command(DmaChannel::kRead1, {}, bytes);
  if (!primitive.sends()) command(DmaChannel::kWrite, primitive.into.subspan(offset, bytes), bytes);
  issuing_.to = primitive.to;
  issuing_.sequence = sequence_;
  issued_.push_back(std::exchange(issuing_, {}));
}

/// Issues a DMA command of the next move. target: empty for an RX buffer, whose memory was checked when it
/// was written.
void CardProcessor::command(DmaChannel channel, Bytes target, std::uint64_t bytes) {
  if (bytes == 0 && second()) return;  // an empty move issues no command
  CardState& state = card_.state;
  const Answer answer = card_.ports.memory().answer(target);
  DmaCommand& command = issuing_.command[issuing_.commands++];
  command.channel = channel;
  command.silent = answer == Answer::kSilence;
  const std::uint32_t tag = second() ? 0 : issued_tag_ = (issued_tag_ + 1) % kTags;
  command.status = status_of(answer, tag, bytes);
  break_next(state.broken, command.status);
  if (!second() && !command.silent) state.acknowledgements[index_of(channel)].push_back(command.status);
}

/// Puts a move whose commands are issued into flight.
void CardProcessor::launch(const Flight& flight) {
  issued_.push_back(std::exchange(issuing_, {}));
  push(flight);
}

bool CardProcessor::retired(const Flight& flight) {
  const Issued move = issued_.front();
  issued_.pop_front();
  acknowledge_dma(move);
  if (!abandoned_ && flight.sends) acknowledge_packet(move);
  if (abandoned_) {
    unwind(move);
    return false;
  }
  if (second() && error_ != Error::kNone) return true;  // the RX buffer is not released
  (void)Processor::retired(flight);
  if (!second() && flight.receives) post_buffers();
  return true;
}

bool CardProcessor::fan_out_read(const Primitive& message) {
  issued(message, 0, message.bytes);
  const Issued move = issued_.back();
  acknowledge_dma(move);
  if (abandoned_) unwind(move);
  return !abandoned_;
}

bool CardProcessor::fan_out_sent() {
  while (!issued_.empty()) {
    const Issued move = issued_.front();
    issued_.pop_front();
    acknowledge_packet(move);
    if (abandoned_) unwind(move);
  }
  return !abandoned_;
}

void CardProcessor::acknowledge_dma(const Issued& move) {
  if (!second()) return acknowledge_in_order(move);
  for (std::uint32_t i = 0; i < move.commands; ++i) {
    const DmaCommand& command = move.command[i];
    if (command.silent) {
      wait(now() + spec_.timeout);
      fail(Error::kDmaTimeout);
      continue;
    }
    if (command.status.internal_error) fail(Error::kDmaInternal);
    if (command.status.decode_error) fail(Error::kDmaDecode);
    if (command.status.slave_error) fail(Error::kDmaSlave);
    if (!command.status.okay) fail(Error::kDmaNotOkay);
    if (command.status.tag != 0) fail(Error::kSegmenterTag);
  }
}

/// First generation: all must be present before the first is checked.
void CardProcessor::acknowledge_in_order(const Issued& move) {
  CardState& state = card_.state;
  for (std::uint32_t i = 0; i < move.commands; ++i) {
    if (!state.acknowledgements[index_of(move.command[i].channel)].empty()) continue;
    wait(now() + spec_.timeout);
    return abandon(Error::kDmaTimeout);
  }
  for (std::uint32_t i = 0; i < move.commands; ++i) {
    std::deque<DmaStatus>& queue = state.acknowledgements[index_of(move.command[i].channel)];
    const DmaStatus status = queue.front();
    queue.pop_front();
    state.dma_tag = (state.dma_tag + 1) % kTags;
    const Error error = error_of(status, state.dma_tag);
    if (error != Error::kNone) return abandon(error);
  }
}

void CardProcessor::acknowledge_packet(const Issued& move) {
  CardState& state = card_.state;
  std::uint32_t offset = 0;
  const auto take_offset = [&] {
    if (state.broken.packetizer.empty()) return;
    offset = state.broken.packetizer.front();
    state.broken.packetizer.pop_front();
  };
  if (second()) {
    take_offset();
    if (offset != 0) fail(Error::kPacketizerSequence);
    return;
  }
  if (state.sent.empty()) return;  // the message went to a kernel
  const std::uint32_t sequence = state.sent.front();
  state.sent.pop_front();
  take_offset();
  if (sequence + offset != move.sequence) abandon(Error::kPacketizerSequence);
}

/// First generation: leaves the call.
void CardProcessor::abandon(Error error) {
  fail(error);
  abandoned_ = true;
}

/// Leaves the moves in flight unacknowledged.
void CardProcessor::drop_moves() {
  issued_.clear();
  abandon_flights();
}

/// Takes back the numbers of unacknowledged messages, which the next messages reuse.
void CardProcessor::unwind(const Issued& move) {
  const auto forget = [this](const Issued& gone) {
    if (gone.to == Primitive::kNobody || gone.sequence == 0) return;
    const auto peer = static_cast<std::uint32_t>(gone.to);
    const std::uint32_t counted = communicator_.get(peer, RankField::kOutboundSequence);
    communicator_.set(peer, RankField::kOutboundSequence, std::min(counted, gone.sequence - 1));
  };
  forget(move);
  for (const Issued& other : issued_) forget(other);
  drop_moves();
}

/// First generation: the unit was started for the whole length and must be idle at the end.
void CardProcessor::finish_arithmetic() {
  if (second() || abandoned_ || !card_.state.broken.arithmetic) return;
  wait(now() + spec_.timeout);
  abandon(Error::kArithmetic);
}

/// First generation: posts write commands for idle RX buffers.
void CardProcessor::post_buffers() {
  std::deque<CardState::Posted>& posted = card_.state.posted;
  for (std::uint32_t i = 0; i < buffers_.buffers() && posted.size() < RxPool::kMostEnqueued; ++i) {
    if (buffers_.status(i) != BufferStatus::kIdle) continue;
    std::uint32_t tag = 0;
    const auto taken = [&posted](std::uint32_t candidate) {
      return std::any_of(posted.begin(), posted.end(), [&](const auto& p) { return p.tag == candidate; });
    };
    while (taken(tag)) ++tag;
    buffers_.post(i, tag);
    posted.push_back({i, tag});
  }
}

std::optional<Time> CardProcessor::land(const Team::Arrival& arrival, std::uint64_t bytes, int from,
                                        Flight& flight) {
  if (arrival.stamp.failed()) {
    abandoned_ = !second();
    if (abandoned_) drop_moves();
    return std::nullopt;
  }
  const Time landed = receive(arrival, bytes, flight);
  if (second()) {
    store(card_.ports.incoming().header, from,
          communicator_.expected_inbound(static_cast<std::uint32_t>(from)), flight);
    return serve(landed);
  }
  land_in_posted(bytes, flight);
  const Time served = serve(landed);
  if (!abandoned_) return served;
  drop_moves();
  return std::nullopt;
}

/// First generation: a message fills the buffer of the oldest posted write command. The interrupt service
/// checks the descriptor and the DMA's acknowledgement.
void CardProcessor::land_in_posted(std::uint64_t bytes, Flight& flight) {
  CardState& state = card_.state;
  if (state.posted.empty()) post_buffers();
  if (state.posted.empty()) {  // no buffer can receive the message
    wait(now() + spec_.timeout);
    return abandon(Error::kReceiveTimeout);
  }
  const CardState::Posted posted = state.posted.front();
  state.posted.pop_front();
  if (buffers_.status(posted.buffer) != BufferStatus::kEnqueued) return abandon(Error::kBufferStatus);
  if (buffers_.tag(posted.buffer) != posted.tag) return abandon(Error::kBufferTagMismatch);
  if (posted.buffer >= buffers_.buffers()) return abandon(Error::kBufferIndex);
  const EnginePorts::Incoming& incoming = card_.ports.incoming();
  buffers_.store(posted.buffer, incoming.header, BufferStatus::kError);
  const std::uint64_t written = std::min<std::uint64_t>(incoming.payload, kMaximumTransactionBytes);
  const std::uint64_t room = std::min<std::uint64_t>(written, buffers_.capacity(posted.buffer));
  const Answer answer = card_.ports.memory().answer(buffers_.address(posted.buffer), room);
  DmaStatus status = status_of(answer, posted.tag, std::max<std::uint64_t>(written, 1));
  status.bytes = static_cast<std::uint32_t>(written);
  status.end_of_packet = incoming.payload == written;
  const Error error = error_of(status, posted.tag, incoming.header.length);
  if (error != Error::kNone) return abandon(error);
  if (incoming.header.length > buffers_.capacity(posted.buffer)) return abandon(Error::kBufferStatus);
  buffers_.store(posted.buffer, incoming.header, BufferStatus::kReserved);
  post_buffers();
  flight.buffer = posted.buffer;
  const auto source = incoming.header.source;
  const std::uint32_t expected = communicator_.expected_inbound(source);
  if (incoming.header.length == bytes) {
    seek(static_cast<int>(source), expected, flight);
  } else {  // the search compares lengths
    fail(Error::kReceiveTimeout);
    wait(now() + spec_.timeout);
  }
  if (error_ == Error::kNone) {
    communicator_.count_inbound(source);
  } else {
    abandoned_ = true;
  }
}

}  // namespace offramp::cclo
