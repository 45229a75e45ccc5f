// Executes calls: dispatch, errors of engines without set-up, configuration calls, and calls within one
// engine's memory. firmware_eager.cpp and firmware_rendezvous.cpp implement calls between engines;
// is_rendezvous() selects.
//
// run_call() checks in the firmware's order: an engine without set-up (its polls end in the timeout), an
// unknown call, flags that the second generation refuses. It returns the first error.
#include "simulators/cclo/firmware.hpp"

#include <algorithm>

namespace offramp::cclo {
namespace {

Error configure_gen1(Spec& spec, EngineState& state, Gen1Config function, std::uint32_t value) {
  switch (function) {
    case Gen1Config::kTimeout:
      spec.timeout = spec.polls(value);
      return Error::kNone;
    case Gen1Config::kTransactionSize:
      if (value > kMaximumTransactionBytes) return Error::kDmaUnexpectedBytes;
      spec.rx_buffer_bytes = value;
      return Error::kNone;
    case Gen1Config::kTransactionsInFlight:
      if (value > kMaximumTransactionsInFlight) return Error::kDmaNotOkay;
      spec.window = value;
      return Error::kNone;
    case Gen1Config::kUseTcp:
      spec.transport = Transport::kTcp;
      return Error::kNone;
    case Gen1Config::kUseUdp:
      spec.transport = Transport::kUdp;
      return Error::kNone;
    case Gen1Config::kInterruptsOn:
    case Gen1Config::kInterruptsOff:
      state.interrupts = function == Gen1Config::kInterruptsOn;
      return Error::kNone;
    case Gen1Config::kPacketizersOn:
      state.packetizers = true;
      return Error::kNone;
    case Gen1Config::kOpenPort:
    case Gen1Config::kInitConnection:  // the UDP engine opens no ports
      if (spec.transport != Transport::kTcp) return Error::kOpenPort;
      state.port = true;
      if (function == Gen1Config::kOpenPort) return Error::kNone;
      [[fallthrough]];
    case Gen1Config::kOpenConnections:
      if (!state.port) return Error::kOpenConnection;
      state.connections = true;
      return Error::kNone;
    case Gen1Config::kReset:
      state = {};
      return Error::kNone;
    default:  // profiling: no effect
      return Error::kNone;
  }
}

Error configure_gen2(Spec& spec, EngineState& state, Gen2Config function, std::uint32_t value) {
  switch (function) {
    case Gen2Config::kTimeout:
      spec.timeout = spec.cycles(value);
      return Error::kNone;
    case Gen2Config::kMaximumEager:
      if (value < spec.rx_buffer_bytes) return Error::kEagerThreshold;
      spec.max_eager = value;
      return Error::kNone;
    case Gen2Config::kMaximumRendezvous:
      return value <= spec.max_eager ? Error::kRendezvousThreshold : Error::kNone;
    case Gen2Config::kEnginesOn:
      state.packetizers = true;
      return Error::kNone;
    case Gen2Config::kReset:
      state = {};
      return Error::kNone;
  }
  return Error::kNone;
}

std::uint32_t word(const CallWords& words, Argument argument) {
  return words[static_cast<std::size_t>(argument)];
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

/// The error of a call on an engine without set-up, where the firmware polls until its timeout.
Error obstacle(const Spec& spec, const EngineState* state, Scenario scenario) {
  if (state == nullptr || stays_in_memory(scenario)) return Error::kNone;
  const bool first = spec.generation == Generation::kFirst;
  if (scenario == Scenario::kReceive)  // without set-up, RX buffers are never filled
    return state->packetizers && (state->interrupts || !first) ? Error::kNone : Error::kReceiveTimeout;
  const bool connected = state->connections || !first || spec.transport != Transport::kTcp;
  return state->packetizers && connected ? Error::kNone : Error::kPacketizerTimeout;
}

bool computes(Scenario scenario) {
  return scenario == Scenario::kReduce || scenario == Scenario::kAllreduce ||
         scenario == Scenario::kReduceScatter || scenario == Scenario::kCombine;
}

bool has_root(Scenario scenario) {
  return scenario == Scenario::kBcast || scenario == Scenario::kScatter || scenario == Scenario::kGather ||
         scenario == Scenario::kReduce;
}

/// Returns the error with which the second generation refuses a call's flags. Kernel streams are allowed for
/// messages, reductions, and copies. Compressed operands are allowed for messages, copies, combinations, and
/// reductions. Other collectives may only compress their messages.
Error objection(const Datapath& path, Scenario scenario, std::uint32_t count) {
  if (scenario == Scenario::kConfig || scenario == Scenario::kNop) return Error::kNone;
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

/// Runs COPY, COMBINE, and the calls with external kernels.
Task<void> run_in_memory(Processor& processor, Scenario scenario, CallMemory memory) {
  const Bytes second = memory.second.empty() ? Bytes(memory.receive) : memory.second;
  switch (scenario) {
    case Scenario::kCopy:
      if (!processor.has_lanes())
        co_return co_await processor.run(Primitive::copy(memory.send, memory.receive));
      co_return processor.copy_through_lanes(memory.send, memory.receive);
    case Scenario::kCombine:
      if (processor.has_lanes())
        co_return processor.combine_through_lanes(memory.send, second, memory.receive);
      if (second.data() != memory.receive.data()) processor.team().copy(second, memory.receive);
      co_return processor.combine_memory(memory.send, memory.receive);
    case Scenario::kExternalStream:
      co_return processor.run_external(memory.send, {}, memory.receive);
    default:
      co_return processor.run_external(memory.send, second, memory.receive);
  }
}

/// Runs messages and collectives.
Task<void> run_between(Processor& processor, Scenario scenario, int peer, CallMemory memory,
                       bool rendezvous) {
  if (scenario == Scenario::kSend) {
    if (rendezvous) co_return co_await send_by_rendezvous(processor, peer, memory.send);
    co_return co_await processor.run(Primitive::send(peer, memory.send));
  }
  if (scenario == Scenario::kReceive) {
    if (rendezvous) co_return co_await receive_by_rendezvous(processor, peer, memory.receive);
    co_return co_await processor.run(Primitive::receive(peer, memory.receive));
  }
  if (has_root(scenario) && peer >= processor.size()) {  // no such root: all ranks time out
    processor.wait(processor.now() + processor.spec().timeout);
    co_return processor.fail(Error::kReceiveTimeout);
  }
  if (rendezvous) co_return co_await run_rendezvous(processor, scenario, peer, memory);
  co_await run_eager(processor, scenario, peer, memory);
}

/// Runs a configuration call, which changes the engine's state and settings.
Error run_configuration(Processor& processor, IoSpace& space, std::uint32_t function, std::uint32_t value) {
  Spec changed = processor.spec();
  Spec& settings = processor.context().settings != nullptr ? *processor.context().settings : changed;
  EngineState scratch;
  EngineState& state = processor.state() != nullptr ? *processor.state() : scratch;
  const Generation generation = settings.generation;
  const Error error = configure(settings, state, function, value);
  if (is_reset(generation, function)) space.reset(space.peek(space.layout().hardware_id));
  processor.access(configuration_accesses(generation, function));
  if (processor.context().ports != nullptr && generation == Generation::kFirst && state.interrupts)
    processor.post_buffers();
  return error;
}

}  // namespace

Error configure(Spec& spec, EngineState& state, std::uint32_t function, std::uint32_t value) {
  return spec.generation == Generation::kFirst
             ? configure_gen1(spec, state, static_cast<Gen1Config>(function), value)
             : configure_gen2(spec, state, static_cast<Gen2Config>(function), value);
}

bool is_reset(Generation generation, std::uint32_t function) {
  return generation == Generation::kFirst ? function == static_cast<std::uint32_t>(Gen1Config::kReset)
                                          : function == static_cast<std::uint32_t>(Gen2Config::kReset);
}

std::int64_t configuration_accesses(Generation generation, std::uint32_t function) {
  const std::uint32_t packetizers = generation == Generation::kFirst
                                        ? static_cast<std::uint32_t>(Gen1Config::kPacketizersOn)
                                        : static_cast<std::uint32_t>(Gen2Config::kEnginesOn);
  return function == packetizers ? 14 : 1;  // 2 + 3 + 9
}

Task<Error> run_call(Processor& processor, IoSpace& space, CallWords words, CallMemory memory) {
  const Spec& spec = processor.spec();
  const Generation generation = spec.generation;
  const Time begin = processor.now();
  co_await processor.turn();
  processor.spend(spec.firmware.fetch);
  const auto scenario = scenario_of(generation, word(words, Argument::kScenario));
  constexpr std::uint32_t kMostRanks = 0x7fffffff;
  const auto peer = static_cast<int>(std::min(word(words, Argument::kRootSourceDestination), kMostRanks));
  const std::uint32_t count = word(words, Argument::kCount);
  Error error = Error::kNone;
  const Error missing = scenario ? obstacle(spec, processor.state(), *scenario) : Error::kNone;
  if (missing != Error::kNone) {
    processor.wait(processor.now() + spec.timeout);
    error = missing;
  } else if (!scenario) {  // the first generation reports success
    error = generation == Generation::kFirst ? Error::kNone : Error::kNotImplemented;
  } else if (processor.context().datapath != nullptr &&
             objection(*processor.context().datapath, *scenario, count) != Error::kNone) {
    error = objection(*processor.context().datapath, *scenario, count);
  } else if (*scenario == Scenario::kConfig) {
    error = run_configuration(processor, space, word(words, Argument::kFunction), count);
  } else if (*scenario == Scenario::kNop) {
  } else if (stays_in_memory(*scenario)) {
    co_await run_in_memory(processor, *scenario, memory);
  } else {
    const bool rendezvous =
        !processor.has_lanes() && is_rendezvous(spec, *scenario, count * memory.element_bytes);
    co_await run_between(processor, *scenario, peer, memory, rendezvous);
  }
  if (error != Error::kNone) processor.fail(error);
  error = processor.error();
  processor.spend(spec.firmware.finish);
  if (generation == Generation::kSecond)
    space.poke(space.layout().behind_tables(kPerformanceCounter),
               static_cast<std::uint32_t>(spec.clock.cycles_in(processor.now() - begin)));
  if (processor.context().from_kernel) {
    space.poke(space.layout().return_value, processor.return_value());
  } else {
    space.complete(processor.return_value());
  }
  processor.span("control processor", scenario ? to_string(*scenario) : "unknown call", begin,
                 processor.now());
  co_await processor.drain();
  co_return error;
}

bool is_rendezvous(const Spec& spec, Scenario scenario, std::uint64_t bytes) {
  if (spec.generation == Generation::kFirst || spec.transport != Transport::kRdma) return false;
  return scenario == Scenario::kAlltoall || scenario == Scenario::kBarrier || bytes > spec.max_eager;
}

Chunk chunk_of(std::uint64_t bytes, std::uint64_t element_bytes, int ranks, int index) {
  if (element_bytes == 0) return {};
  const std::uint64_t elements = bytes / element_bytes;
  const auto count = static_cast<std::uint64_t>(ranks);
  const std::uint64_t each = (elements + count - 1) / count * element_bytes;
  const std::uint64_t offset = std::min(bytes, each * static_cast<std::uint64_t>(index));
  return {offset, std::min(each, bytes - offset)};
}

}  // namespace offramp::cclo
