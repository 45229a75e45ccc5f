// Executes calls: dispatch, and what configuration calls change. firmware_eager.cpp and
// firmware_rendezvous.cpp implement messages and collectives; is_rendezvous() selects. The calls are those of
// the backend, so none of them is refused. tests/cclo/card/calls.cpp has the checks for any words.
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
  const Time begin = processor.now();
  // Calls of a world begin in the order of modelled time.
  co_await processor.turn();
  processor.spend(spec.firmware.fetch);
  const Scenario scenario =
      scenario_of(spec.generation, word(words, Argument::kScenario)).value_or(Scenario::kNop);
  if (scenario == Scenario::kConfig) {
    processor.access(configuration_accesses(spec.generation, word(words, Argument::kFunction)));
  } else if (scenario != Scenario::kNop) {
    const auto peer = static_cast<int>(word(words, Argument::kRootSourceDestination));
    if (is_rendezvous(spec, scenario, word(words, Argument::kCount) * memory.element_bytes)) {
      co_await run_rendezvous(processor, scenario, peer, memory);
    } else {
      co_await run_eager(processor, scenario, peer, memory);
    }
  }
  const Error error = processor.error();
  finish_call(processor, space, begin);
  space.complete(processor.return_value());
  processor.span("control processor", to_string(scenario), begin, processor.now());
  // The call is complete, but its messages may still be on their way. Their memory must stay valid.
  if (processor.has_outgoing()) co_await processor.drain();
  co_return error;
}

void finish_call(Processor& processor, IoSpace& space, Time begin) {
  const Spec& spec = processor.spec();
  processor.spend(spec.firmware.finish);
  if (spec.generation == Generation::kSecond)
    space.poke(space.layout().behind_tables(kPerformanceCounter),
               static_cast<std::uint32_t>(spec.clock.cycles_in(processor.now() - begin)));
}

bool is_rendezvous(const Spec& spec, Scenario scenario, std::uint64_t bytes) {
  if (spec.generation == Generation::kFirst || spec.transport != Transport::kRdma) return false;
  // run_eager() has neither alltoall nor barrier.
  return scenario == Scenario::kAlltoall || scenario == Scenario::kBarrier || bytes > spec.max_eager;
}

Chunk chunk_of(std::uint64_t bytes, std::uint64_t element_bytes, int ranks, int index) {
  if (element_bytes == 0) return {};
  const std::uint64_t elements = bytes / element_bytes;
  const auto count = static_cast<std::uint64_t>(ranks);
  // Rounded up, so that only the last parts are shorter.
  const std::uint64_t each = (elements + count - 1) / count * element_bytes;
  const std::uint64_t offset = std::min(bytes, each * static_cast<std::uint64_t>(index));
  return {offset, std::min(each, bytes - offset)};
}

}  // namespace offramp::cclo
