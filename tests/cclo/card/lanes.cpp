// Moves of the second generation with compressed or kernel operands or results, and the first generation's
// calls through external kernels (read in [accl-2021]).
//
// Three lanes cast: first operand, second operand, and result. The arithmetic configuration determines in
// which of the two types a reduction computes. Segments are cut by the size of the plain type, so compressed
// ones fill only part of their RX buffer.
#include <algorithm>

#include "tests/cclo/card/card_processor.hpp"

namespace offramp::cclo {

/// Issues the move instruction, with its streams.
void CardProcessor::spend_lane_move(const Primitive& primitive) {
  MoveOpcode opcode = opcode_of(primitive);
  if (primitive.has_own && card_.datapath.streamed(kOperand0Stream))
    opcode = opcode.with(MoveField::kOperand0, Access::kStream);
  if (card_.datapath.streamed(kResultStream)) opcode = opcode.with(MoveField::kResult, Access::kStream);
  spend_move(opcode);
}

/// Whole elements in `bytes`, and whole units of the compression ratio.
std::uint64_t CardProcessor::elements_in(std::uint64_t bytes, bool compressed) const {
  const ArithmeticRecord& record = card_.datapath.record;
  const std::uint64_t unit = std::uint64_t{1} << record.ratio_log;
  return bytes / std::max<std::uint64_t>(1, record.bytes(unit, compressed)) * unit;
}

/// Passes words from or to a kernel's port, one per cycle.
Flow CardProcessor::port(Unit unit, const Flow& in, std::uint64_t bytes) {
  return pass(units_[unit], plane_.through_switch(in), Spec::words(bytes), spec_.cycles(1), spec_.cycles(1));
}

/// The first operand, from memory or from a kernel.
Bytes CardProcessor::operand(const Piece& piece, Time command_at, Flow& flow) {
  const Datapath& path = card_.datapath;
  if (!path.streamed(kOperand0Stream)) {
    flow = plane_.read(0, command_at, piece.own.size(), user_memory(piece.own.size()));
    command(DmaChannel::kRead0, piece.own, piece.own.size());
    return piece.own;
  }
  const std::uint64_t bytes = path.record.bytes(piece.elements, path.compressed(kOperand0Compressed));
  const MutableBytes room = allocate_scratch(bytes).first(bytes);
  Kernel* const kernel = card_.ports.kernel();
  Kernel::Supply supply{0, false, {command_at, command_at}};
  if (kernel != nullptr) supply = kernel->supply(room, command_at);
  if (supply.bytes < bytes) {
    if (!supply.ended) wait(later(now(), supply.when.last) + spec_.timeout);
    fail(supply.ended ? Error::kKernelCount : Error::kKernelTimeout);
  }
  const Flow in{later(supply.when.first, command_at), later(supply.when.last, command_at)};
  flow = port(Unit::kPortIn, in, bytes);
  return room;
}

/// Passes an operand or result through its casting lane. The side with more words determines the time, one
/// word per cycle.
Bytes CardProcessor::convert(Unit lane, Bytes data, bool from, bool to, std::uint64_t elements, Flow& flow) {
  if (from == to) return data;
  const ArithmeticRecord& record = card_.datapath.record;
  const std::uint64_t bytes = record.bytes(elements, to);
  const MutableBytes out = team().scratch(bytes).first(bytes);
  if (team().carries_data()) cclo::cast(to ? record.compressor : record.decompressor, data, out);
  flow =
      pass(units_[lane], plane_.through_switch(flow), std::max(Spec::words(data.size()), Spec::words(bytes)),
           spec_.cycles(1), spec_.cycles(spec_.arithmetic_cycles));
  return out;
}

/// Passes operands through their lanes, the arithmetic unit, and the result's lane. result: memory for these
/// elements, of the result's type.
Flow CardProcessor::produce(const Piece& piece, const Commands& commands, MutableBytes result) {
  const Datapath& path = card_.datapath;
  const bool own_compressed = path.compressed(kOperand0Compressed);
  const bool both = piece.has_own && piece.has_second;
  const bool computes_compressed = path.record.computes_compressed;
  const std::uint64_t n = piece.elements;
  Flow own_flow;
  Flow second_flow;
  Bytes own;
  Bytes second = piece.second;
  if (piece.has_own) own = operand(piece, commands.read0, own_flow);
  if (piece.has_second) {
    const BufferLocation place =
        piece.second_is_message ? BufferLocation::kDevice : user_memory(second.size());
    second_flow = plane_.read(1, commands.read1, second.size(), place);
    command(DmaChannel::kRead1, piece.second_is_message ? Bytes() : second, second.size());
  }
  const bool target = both ? computes_compressed : piece.result_compressed;
  if (piece.has_own) own = convert(Unit::kLane0, own, own_compressed, target, n, own_flow);
  if (piece.has_second)
    second = convert(Unit::kLane1, second, piece.second_compressed, target, n, second_flow);
  Flow flow = piece.has_own ? own_flow : second_flow;
  Bytes out = piece.has_own ? own : second;
  if (both) {
    const std::uint64_t bytes = path.record.bytes(n, computes_compressed);
    const MutableBytes sum = team().scratch(bytes).first(bytes);
    if (team().carries_data()) compute(path.lane(), own, second, sum);
    flow = plane_.reduce(own_flow, second_flow, bytes);
    span("arithmetic", "reduce", flow.first, flow.last);
    out = convert(Unit::kLane2, sum, computes_compressed, piece.result_compressed, n, flow);
  }
  team().copy(out.first(std::min(out.size(), result.size())),
              result.first(std::min(out.size(), result.size())));
  return flow;
}

/// Delivers a result at this engine, to memory or to a kernel.
void CardProcessor::deliver(const Flow& flow, MutableBytes result, Time command_at, Flight& flight) {
  if (!card_.datapath.streamed(kResultStream)) {
    flight.data = plane_.write(flow, command_at, result.size(), user_memory(result.size()));
    command(DmaChannel::kWrite, result, result.size());
    return;
  }
  const Flow out = port(Unit::kPortOut, flow, result.size());
  flight.data = out.last;
  std::uint32_t& lost = card_.state.broken.lost_words;
  const std::size_t kept = result.size() - std::min<std::size_t>(result.size(), lost * kWordBytes);
  if (Kernel* const kernel = card_.ports.kernel(); kernel != nullptr)
    kernel->consume(context_.tag, Bytes(result).first(kept), out);
  if (lost > 0) fail(Error::kSegmenterBytes);
  lost = 0;
}

/// Runs one move of this engine's data. piece: its operands.
void CardProcessor::move_through_lanes(const Primitive& primitive, Piece piece, MutableBytes into) {
  const Datapath& path = card_.datapath;
  if (in_flight() == window()) retire();
  spend_lane_move(primitive);
  const Commands commands = issue(primitive, {}, true);
  piece.elements = elements_in(primitive.own.size(), path.compressed(kOperand0Compressed));
  piece.has_own = true;
  piece.own = primitive.own;
  piece.result_compressed = path.compressed(kResultCompressed);
  Flight flight;
  const Flow flow = produce(piece, commands, into);
  deliver(flow, into, commands.write, flight);
  launch(flight);
  finish_moves();
}

void CardProcessor::copy_through_lanes(Bytes from, MutableBytes into) {
  move_through_lanes(Primitive::copy(from, into), {}, into);
}

void CardProcessor::combine_through_lanes(Bytes a, Bytes b, MutableBytes into) {
  Piece piece;
  piece.has_second = true;
  piece.second = b;
  piece.second_compressed = card_.datapath.compressed(kOperand1Compressed);
  move_through_lanes(Primitive::receive_reduce(rank(), a, into), piece, into);
}

Task<void> CardProcessor::run_lanes(Primitive p) {
  const Datapath& path = card_.datapath;
  const ArithmeticRecord& record = path.record;
  const bool own_compressed = path.compressed(kOperand0Compressed);
  const bool message_compressed = path.compressed(kMessagesCompressed);
  const bool result_compressed = p.sends() ? message_compressed : path.compressed(kResultCompressed);
  const bool to_kernel = p.sends() && !p.receives() && path.streamed(kResultStream);
  const std::uint64_t unit = std::uint64_t{1} << record.ratio_log;
  const std::uint64_t elements = p.has_own   ? elements_in(p.own.size(), own_compressed)
                                 : p.sends() ? elements_in(p.bytes, false)
                                             : elements_in(p.into.size(), result_compressed);
  const std::uint64_t most =
      std::max<std::uint64_t>(unit, spec_.rx_buffer_bytes / std::max(1U, record.plain_bytes));
  for (std::uint64_t at = 0; at < elements; at += most) {
    const std::uint64_t n = std::min(most, elements - at);
    if (in_flight() == window()) retire();
    Flight flight;
    flight.sends = p.sends();
    flight.receives = p.receives();
    Piece piece;
    piece.elements = n;
    piece.has_own = p.has_own;
    piece.result_compressed = result_compressed;
    if (p.has_own)
      piece.own = p.own.subspan(record.bytes(at, own_compressed), record.bytes(n, own_compressed));
    Time reserved;
    if (p.receives()) {
      const std::uint64_t bytes = record.bytes(n, message_compressed);
      const MutableBytes landing = team().scratch(bytes).first(bytes);
      wanted_ = {};
      const Team::Arrival arrival = co_await team().receive_token(p.from, landing);
      note_arrival(arrival);
      const std::optional<Time> stored = land(arrival, bytes, p.from, flight);
      if (!stored) break;
      reserved = *stored;
      piece.has_second = piece.second_is_message = true;
      piece.second = landing;
      piece.second_compressed = message_compressed;
    }
    spend_lane_move(p);
    const Commands commands = issue(p, reserved, true);
    const std::uint64_t bytes = record.bytes(n, result_compressed);
    const bool in_memory = !p.sends() && !path.streamed(kResultStream);
    const MutableBytes result = in_memory ? p.into.subspan(record.bytes(at, result_compressed), bytes)
                                          : team().scratch(bytes).first(bytes);
    const Flow flow = produce(piece, commands, result);
    if (p.sends()) {
      const Crossing passage = transmit(p.to, flow, commands.header, bytes, result);
      flight.data = flow.last;
      flight.packet = passage.accepted;
      if (to_kernel) {
        card_.ports.send_to_kernel(p.to, context_.tag + kFirstStream, result, {passage.first, passage.last});
      } else {
        send(p.to, result, passage);
      }
      retire_sends();
    } else {
      deliver(flow, result, commands.write, flight);
    }
    launch(flight);
  }
  finish_moves();
}

/// Processes segments one by one: the kernel receives the words, and its result is written.
void CardProcessor::run_external(Bytes a, Bytes b, MutableBytes into) {
  const bool reduces = !b.empty();
  const Primitive shape = reduces ? Primitive::receive_reduce(rank(), a, into) : Primitive::copy(a, into);
  if (!configure_switch(shape)) return;
  Kernel* const kernel = card_.ports.kernel();
  const std::int64_t words = 4 * spec_.firmware.word + spec_.firmware.step;
  for (std::uint64_t i = 0; i < spec_.segments(a.size()); ++i) {
    if (in_flight() == window() && !retire()) return;
    const std::uint64_t bytes = spec_.segment_bytes(a.size(), i);
    const std::uint64_t offset = i * spec_.rx_buffer_bytes;
    Flight flight;
    spend(words);
    Flow flow = plane_.read(0, now(), bytes, user_memory(bytes));
    command(reduces ? DmaChannel::kRead0 : DmaChannel::kRead1, a.subspan(offset, bytes), bytes);
    if (reduces) {
      spend(words);
      const Flow other = plane_.read(1, now(), bytes, user_memory(bytes));
      flow = {later(flow.first, other.first), later(flow.last, other.last)};
      command(DmaChannel::kRead1, b.subspan(offset, bytes), bytes);
    }
    spend(words);
    const MutableBytes result = into.subspan(offset, bytes);
    flow = port(Unit::kPortOut, flow, bytes);
    bool answered = kernel != nullptr;
    if (answered && reduces) {
      flow = kernel->combine(a.subspan(offset, bytes), b.subspan(offset, bytes), result, flow);
    } else if (answered) {
      kernel->consume(0, a.subspan(offset, bytes), flow);
      const Kernel::Supply supply = kernel->supply(result, flow.first);
      answered = supply.bytes == bytes;
      flow = supply.when;
    }
    if (answered) {
      flow = port(Unit::kPortIn, flow, bytes);
      flight.data = plane_.write(flow, now(), bytes, user_memory(bytes));
      command(DmaChannel::kWrite, result, bytes);
    } else {  // the write is never acknowledged
      issuing_.command[issuing_.commands++] = {DmaChannel::kWrite, true, {}};
    }
    launch(flight);
  }
  finish_moves();
}

}  // namespace offramp::cclo
