// Calls with any words: errors of engines without set-up, configuration calls, and calls within one engine's
// memory. The firmware (simulators/cclo) runs messages and collectives.
//
// execute() checks in the firmware's order: an engine without set-up (its polls end in the timeout), flags
// that the second generation refuses, a root that the communicator does not have.
#include <algorithm>

#include "tests/cclo/card/card_processor.hpp"

namespace offramp::cclo {
namespace {

std::uint32_t argument(const CallWords& words, Argument which) {
  return words[static_cast<std::size_t>(which)];
}

bool stays_in_memory(Scenario scenario) {
  switch (scenario) {
    case Scenario::kConfig:
    case Scenario::kNop:
    case Scenario::kCopy:
    case Scenario::kCombine:
    case Scenario::kExternalStream:
    case Scenario::kExternalReduce:
      return true;
    default:
      return false;
  }
}

bool computes(Scenario scenario) {
  return scenario == Scenario::kReduce || scenario == Scenario::kAllreduce ||
         scenario == Scenario::kReduceScatter || scenario == Scenario::kCombine;
}

bool has_root(Scenario scenario) {
  return scenario == Scenario::kBcast || scenario == Scenario::kScatter || scenario == Scenario::kGather ||
         scenario == Scenario::kReduce;
}

}  // namespace

void complete_call(IoSpace& space, std::uint32_t return_value, bool from_kernel) {
  if (from_kernel) {
    space.poke(space.layout().return_value, return_value);
  } else {
    space.complete(return_value);
  }
}

Task<Error> CardProcessor::run_call(CallWords words, CardMemory memory) {
  const Time begin = now();
  spend(spec_.firmware.fetch);
  const auto scenario = scenario_of(spec_.generation, argument(words, Argument::kScenario));
  if (scenario) {
    co_await execute(*scenario, words, memory);
  } else if (second()) {  // the first generation reports success
    fail(Error::kNotImplemented);
  }
  const Error result = error();
  finish_call(*this, context_.space, begin);
  complete_call(context_.space, return_value(), card_.from_kernel);
  co_await drain();
  co_return result;
}

Task<void> CardProcessor::execute(Scenario scenario, const CallWords& words, CardMemory memory) {
  const std::uint32_t count = argument(words, Argument::kCount);
  if (const Error missing = obstacle(scenario); missing != Error::kNone) {
    wait(now() + spec_.timeout);
    co_return fail(missing);
  }
  if (const Error refused = objection(scenario, count); refused != Error::kNone) co_return fail(refused);
  if (scenario == Scenario::kNop) co_return;
  if (scenario == Scenario::kConfig) {
    const Error result = configure_engine(argument(words, Argument::kFunction), count);
    if (result != Error::kNone) fail(result);
    co_return;
  }
  if (stays_in_memory(scenario)) co_return co_await run_in_memory(scenario, memory);
  constexpr std::uint32_t kMostRanks = 0x7fffffff;
  const auto peer = static_cast<int>(std::min(argument(words, Argument::kRootSourceDestination), kMostRanks));
  if (has_root(scenario) && peer >= size()) {  // all ranks time out
    wait(now() + spec_.timeout);
    co_return fail(Error::kReceiveTimeout);
  }
  if (!has_lanes() && is_rendezvous(spec_, scenario, count * memory.element_bytes)) {
    co_await run_rendezvous(*this, scenario, peer, memory);
  } else {
    co_await run_eager(*this, scenario, peer, memory);
  }
}

/// The error of a call on an engine without set-up, where the firmware polls until its timeout.
Error CardProcessor::obstacle(Scenario scenario) const {
  if (stays_in_memory(scenario)) return Error::kNone;
  const CardState& state = card_.state;
  if (scenario == Scenario::kReceive)  // without set-up, RX buffers are never filled
    return state.packetizers && (state.interrupts || second()) ? Error::kNone : Error::kReceiveTimeout;
  const bool connected = state.connections || second() || spec_.transport != Transport::kTcp;
  return state.packetizers && connected ? Error::kNone : Error::kPacketizerTimeout;
}

/// Returns the error with which the second generation refuses a call's flags. Kernel streams are allowed for
/// messages, reductions, and copies. Compressed operands are allowed for messages, copies, combinations, and
/// reductions. Other collectives may only compress their messages.
Error CardProcessor::objection(Scenario scenario, std::uint32_t count) const {
  if (!second() || scenario == Scenario::kConfig || scenario == Scenario::kNop) return Error::kNone;
  const Datapath& path = card_.datapath;
  const bool one_to_one = scenario == Scenario::kSend || scenario == Scenario::kReceive ||
                          scenario == Scenario::kCopy || scenario == Scenario::kCombine;
  if (path.streams != 0 && !one_to_one && scenario != Scenario::kReduce) return Error::kNotImplemented;
  if ((path.compression & ~kMessagesCompressed) != 0 && !one_to_one && scenario != Scenario::kReduce)
    return Error::kNotImplemented;
  if (scenario == Scenario::kAlltoall && !path.plain()) return Error::kNotImplemented;
  if (computes(scenario) && path.function >= path.record.functions) return Error::kCompression;
  const std::uint32_t unit = std::uint32_t{1} << path.record.ratio_log;
  return path.compression != 0 && count % unit != 0 ? Error::kCompression : Error::kNone;
}

Error CardProcessor::configure_engine(std::uint32_t function, std::uint32_t value) {
  const Generation generation = spec_.generation;
  const Error result = configure(card_.settings, card_.state, function, value);
  if (is_reset(generation, function)) {
    card_.state = {};
    context_.space.reset(context_.space.peek(context_.space.layout().hardware_id));
  }
  access(configuration_accesses(generation, function));
  if (!second() && card_.state.interrupts) post_buffers();
  return result;
}

/// Runs COPY, COMBINE, and the calls with external kernels.
Task<void> CardProcessor::run_in_memory(Scenario scenario, CardMemory memory) {
  const Bytes second = memory.second.empty() ? Bytes(memory.receive) : memory.second;
  switch (scenario) {
    case Scenario::kCopy:
      if (!has_lanes()) co_return co_await run(Primitive::copy(memory.send, memory.receive));
      co_return copy_through_lanes(memory.send, memory.receive);
    case Scenario::kCombine:
      if (has_lanes()) co_return combine_through_lanes(memory.send, second, memory.receive);
      if (second.data() != memory.receive.data()) team().copy(second, memory.receive);
      co_return combine_memory(memory.send, memory.receive);
    case Scenario::kExternalStream:
      co_return run_external(memory.send, {}, memory.receive);
    default:
      co_return run_external(memory.send, second, memory.receive);
  }
}

/// COMBINE: inout = in (op) inout.
void CardProcessor::combine_memory(Bytes in, MutableBytes inout) {
  if (second()) {
    combine(in, inout);
    return finish_moves();
  }
  if (!configure_switch(Primitive::receive_reduce(rank(), in, inout))) return;
  const std::int64_t words = 4 * spec_.firmware.word + spec_.firmware.step;
  for (std::uint64_t i = 0; i < spec_.segments(in.size()); ++i) {
    if (in_flight() == window() && !retire()) return;
    const std::uint64_t bytes = spec_.segment_bytes(in.size(), i);
    spend(words);
    const Flow one = plane_.read(0, now(), bytes, user_memory(bytes));
    spend(words);
    const Flow other = plane_.read(1, now(), bytes, user_memory(bytes));
    spend(words);
    Flight flight;
    flight.data = plane_.write(plane_.reduce(one, other, bytes), now(), bytes, user_memory(bytes));
    const Bytes result = inout.subspan(i * spec_.rx_buffer_bytes, bytes);
    command(DmaChannel::kRead0, in.subspan(i * spec_.rx_buffer_bytes, bytes), bytes);
    command(DmaChannel::kRead1, result, bytes);
    command(DmaChannel::kWrite, result, bytes);
    launch(flight);
  }
  team().combine(in, inout);
  finish_moves();
  finish_arithmetic();
}

}  // namespace offramp::cclo
