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
    case Gen1Config::kInitConnection:  // the UDP engine has no ports to open
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
    default:  // profiling
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

/// What a call runs into in an engine that is not set up: the firmware polls until its timeout.
Error obstacle(const Spec& spec, const EngineState* state, Scenario scenario) {
  if (state == nullptr || scenario == Scenario::kConfig || scenario == Scenario::kNop ||
      scenario == Scenario::kCopy || scenario == Scenario::kCombine)
    return Error::kNone;
  const bool first = spec.generation == Generation::kFirst;
  if (scenario == Scenario::kReceive)  // nothing fills an RX buffer
    return state->packetizers && (state->interrupts || !first) ? Error::kNone : Error::kReceiveTimeout;
  const bool connected = state->connections || !first || spec.transport != Transport::kTcp;
  return state->packetizers && connected ? Error::kNone : Error::kPacketizerTimeout;
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
  processor.spend(spec.firmware.fetch);
  const auto scenario = scenario_of(generation, word(words, Argument::kScenario));
  const auto peer = static_cast<int>(word(words, Argument::kRootSourceDestination));
  Error error = Error::kNone;
  const Error missing = scenario ? obstacle(spec, processor.state(), *scenario) : Error::kNone;
  if (missing != Error::kNone) {
    processor.wait(processor.now() + spec.timeout);
    error = missing;
  } else if (!scenario) {  // the first generation calls this a success
    error = generation == Generation::kFirst ? Error::kNone : Error::kNotImplemented;
  } else if (*scenario == Scenario::kSend) {
    co_await processor.run(Primitive::send(peer, memory.send));
  } else if (*scenario == Scenario::kReceive) {
    co_await processor.run(Primitive::receive(peer, memory.receive));
  } else if (*scenario == Scenario::kCopy) {
    co_await processor.run(Primitive::copy(memory.send, memory.receive));
  } else if (*scenario == Scenario::kCombine) {
    processor.combine_memory(memory.send, memory.receive);
  } else if (*scenario == Scenario::kConfig) {
    Spec changed = spec;
    const std::uint32_t function = word(words, Argument::kFunction);
    EngineState scratch;
    EngineState& state = processor.state() != nullptr ? *processor.state() : scratch;
    error = configure(changed, state, function, word(words, Argument::kCount));
    if (is_reset(generation, function)) space.reset(space.peek(space.layout().hardware_id));
    processor.access(configuration_accesses(generation, function));
  } else if (*scenario == Scenario::kNop) {
  } else if (is_rendezvous(spec, *scenario, word(words, Argument::kCount) * memory.element_bytes)) {
    co_await run_rendezvous(processor, *scenario, peer, memory);
  } else {
    co_await run_eager(processor, *scenario, peer, memory);
  }
  if (error == Error::kNone) error = processor.error();
  processor.spend(spec.firmware.finish);
  if (generation == Generation::kSecond)
    space.poke(space.layout().behind_tables(kPerformanceCounter),
               static_cast<std::uint32_t>(spec.clock.cycles_in(processor.now() - begin)));
  space.complete(encode(generation, error));
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
