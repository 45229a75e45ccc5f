// DMA and packetizer commands and acknowledgements of engines with their own memory.
//
// The first generation's firmware checks acknowledgements one by one and leaves the call at the first error;
// further acknowledgements stay queued for the next call. The second generation's data movement processor
// collects the errors of a move (read in [accl-2021] and [accl-2025]).
#include <algorithm>

#include "simulators/cclo/processor.hpp"

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

/// Substitutes the next injected acknowledgement, if there is one.
void break_next(BrokenUnits& broken, DmaStatus& status) {
  if (broken.dma.empty()) return;
  const std::uint32_t tag = status.tag;
  status = broken.dma.front();
  broken.dma.pop_front();
  status.tag = (tag + status.tag) % kTags;
}

}  // namespace

void Processor::command(const Primitive& primitive, Bytes own, Bytes into, Flight& flight) {
  const std::uint64_t bytes = flight.bytes > 0 ? flight.bytes : own.size();
  if (primitive.has_own)
    command(primitive.reduces() ? DmaChannel::kRead0 : DmaChannel::kRead1, own, bytes, flight);
  if (primitive.receives()) command(DmaChannel::kRead1, {}, bytes, flight);
  if (!primitive.sends()) command(DmaChannel::kWrite, into, bytes, flight);
}

/// target: empty for an RX buffer, whose memory was checked when it was written.
void Processor::command(DmaChannel channel, Bytes target, std::uint64_t bytes, Flight& flight) {
  if (context_.ports == nullptr) return;
  if (bytes == 0 && second()) return;  // an empty move issues no command
  EngineState& state = *context_.state;
  const Answer answer = context_.ports->memory().answer(target);
  DmaCommand& command = flight.command[flight.commands++];
  command.channel = channel;
  command.silent = answer == Answer::kSilence;
  const std::uint32_t tag = second() ? 0 : issued_tag_ = (issued_tag_ + 1) % kTags;
  command.status = status_of(answer, tag, bytes);
  break_next(state.broken, command.status);
  if (!second() && !command.silent) state.acknowledgements[index_of(channel)].push_back(command.status);
}

void Processor::acknowledge(const Flight& flight) {
  if (second()) return acknowledge_second(flight);
  if (unwound_) return unwind(flight);
  acknowledge_first(flight);
  if (!unwound_ && flight.sends) acknowledge_packet(flight);
  if (unwound_) unwind(flight);
}

void Processor::acknowledge_first(const Flight& flight) {
  EngineState& state = *context_.state;
  const auto leave_at = [this](Error error) {
    fail(error);
    unwound_ = true;
  };
  for (std::uint32_t i = 0; i < flight.commands; ++i) {  // all must be present before the first is checked
    if (!state.acknowledgements[index_of(flight.command[i].channel)].empty()) continue;
    wait(now_ + spec_.timeout);
    return leave_at(Error::kDmaTimeout);
  }
  for (std::uint32_t i = 0; i < flight.commands; ++i) {
    std::deque<DmaStatus>& queue = state.acknowledgements[index_of(flight.command[i].channel)];
    const DmaStatus status = queue.front();
    queue.pop_front();
    state.dma_tag = (state.dma_tag + 1) % kTags;
    const Error error = error_of(status, state.dma_tag);
    if (error != Error::kNone) return leave_at(error);
  }
}

void Processor::acknowledge_packet(const Flight& flight) {
  EngineState& state = *context_.state;
  if (state.sent.empty()) return;  // the message went to a kernel
  std::uint32_t sequence = state.sent.front();
  state.sent.pop_front();
  if (!state.broken.packetizer.empty()) {
    sequence += state.broken.packetizer.front();
    state.broken.packetizer.pop_front();
  }
  if (sequence == flight.sequence) return;
  fail(Error::kPacketizerSequence);
  unwound_ = true;
}

/// Takes back the numbers of unacknowledged messages, which the next messages reuse.
void Processor::unwind(const Flight& flight) {
  const auto forget = [this](const Flight& gone) {
    if (gone.to == Primitive::kNobody || gone.sequence == 0) return;
    const auto peer = static_cast<std::uint32_t>(gone.to);
    const std::uint32_t counted = communicator_.get(peer, RankField::kOutboundSequence);
    communicator_.set(peer, RankField::kOutboundSequence, std::min(counted, gone.sequence - 1));
  };
  forget(flight);
  for (; flight_head_ < flights_.size(); ++flight_head_) forget(flights_[flight_head_]);
}

void Processor::acknowledge_second(const Flight& flight) {
  BrokenUnits& broken = context_.state->broken;
  for (std::uint32_t i = 0; i < flight.commands; ++i) {
    const DmaCommand& command = flight.command[i];
    if (command.silent) {
      wait(now_ + spec_.timeout);
      fail(Error::kDmaTimeout);
      continue;
    }
    if (command.status.internal_error) fail(Error::kDmaInternal);
    if (command.status.decode_error) fail(Error::kDmaDecode);
    if (command.status.slave_error) fail(Error::kDmaSlave);
    if (!command.status.okay) fail(Error::kDmaNotOkay);
    if (command.status.tag != 0) fail(Error::kSegmenterTag);
  }
  if (!flight.sends || broken.packetizer.empty()) return;
  if (broken.packetizer.front() != 0) fail(Error::kPacketizerSequence);
  broken.packetizer.pop_front();
}

/// First generation: the unit was started for the whole length and must be idle at the end.
void Processor::finish_arithmetic() {
  if (second() || context_.ports == nullptr || unwound_ || !context_.state->broken.arithmetic) return;
  wait(now_ + spec_.timeout);
  fail(Error::kArithmetic);
  unwound_ = true;
}

void Processor::post_buffers() {
  std::deque<EngineState::Posted>& posted = context_.state->posted;
  for (std::uint32_t i = 0; i < pool_.buffers() && posted.size() < RxPool::kMostEnqueued; ++i) {
    if (pool_.status(i) != BufferStatus::kIdle) continue;
    std::uint32_t tag = 0;
    const auto taken = [&posted](std::uint32_t candidate) {
      return std::any_of(posted.begin(), posted.end(), [&](const auto& p) { return p.tag == candidate; });
    };
    while (taken(tag)) ++tag;
    pool_.post(i, tag);
    posted.push_back({i, tag});
  }
}

/// First generation: a message fills the buffer of the oldest posted write command. The interrupt service
/// checks the descriptor and the DMA's acknowledgement.
void Processor::land_in_posted(std::uint64_t bytes, Flight& flight) {
  EngineState& state = *context_.state;
  const auto leave_at = [this](Error error) {
    fail(error);
    unwound_ = true;
  };
  if (state.posted.empty()) post_buffers();
  if (state.posted.empty()) {  // no buffer can receive the message
    wait(now_ + spec_.timeout);
    return leave_at(Error::kReceiveTimeout);
  }
  const EngineState::Posted posted = state.posted.front();
  state.posted.pop_front();
  if (pool_.status(posted.buffer) != BufferStatus::kEnqueued) return leave_at(Error::kBufferStatus);
  if (pool_.tag(posted.buffer) != posted.tag) return leave_at(Error::kBufferTagMismatch);
  if (posted.buffer >= pool_.buffers()) return leave_at(Error::kBufferIndex);
  const EnginePorts::Incoming& incoming = context_.ports->incoming();
  pool_.store(posted.buffer, incoming.header, BufferStatus::kError);
  const std::uint64_t written = std::min<std::uint64_t>(incoming.payload, kMaximumTransactionBytes);
  const std::uint64_t room = std::min<std::uint64_t>(written, pool_.capacity(posted.buffer));
  const Answer answer = context_.ports->memory().answer(pool_.address(posted.buffer), room);
  DmaStatus status = status_of(answer, posted.tag, std::max<std::uint64_t>(written, 1));
  status.bytes = static_cast<std::uint32_t>(written);
  status.end_of_packet = incoming.payload == written;
  const Error error = error_of(status, posted.tag, incoming.header.length);
  if (error != Error::kNone) return leave_at(error);
  if (incoming.header.length > pool_.capacity(posted.buffer)) return leave_at(Error::kBufferStatus);
  pool_.store(posted.buffer, incoming.header, BufferStatus::kReserved);
  post_buffers();
  flight.buffer = posted.buffer;
  const auto source = incoming.header.source;
  const std::uint32_t expected = communicator_.expected_inbound(source);
  if (incoming.header.length == bytes) {
    seek(static_cast<int>(source), expected, flight);
  } else {  // the search compares lengths
    fail(Error::kReceiveTimeout);
    wait(now_ + spec_.timeout);
  }
  if (error_ == Error::kNone) {
    communicator_.count_inbound(source);
  } else {
    unwound_ = true;
  }
}

}  // namespace offramp::cclo
