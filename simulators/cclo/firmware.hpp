// The firmware: a call of 15 words in, a return code out.
#pragma once

#include "simulators/cclo/processor.hpp"

namespace offramp::cclo {

/// The memory that a call's addresses name (see CollectiveBuffers; for SEND `send` is the message, for RECV
/// `receive`).
struct CallMemory {
  Bytes send;
  MutableBytes receive;
  std::uint64_t element_bytes = 1;  // chunks of an allreduce hold whole elements
  Bytes second = {};                // of COMBINE and EXT_REDUCE; empty: receive is the second operand too
};

/// Fetches the call, runs it, writes RETVAL and completes. The clock of the processor begins when the call
/// block has the call.
Task<Error> run_call(Processor& processor, IoSpace& space, CallWords words, CallMemory memory);

/// A configuration call: what it sets in `spec` and in the engine's state. Part of run_call().
Error configure(Spec& spec, EngineState& state, std::uint32_t function, std::uint32_t value);
/// Whether it resets the engine: its state, and its exchange memory but for the hardware id.
bool is_reset(Generation generation, std::uint32_t function);
/// Accesses of the control processor to its peripherals during a configuration call (read in [accl-2025]:
/// switching the packetizers on takes 14).
std::int64_t configuration_accesses(Generation generation, std::uint32_t function);

/// A message of the second generation whose receiver tells where it may go, at its two ends.
Task<void> send_by_rendezvous(Processor& processor, int peer, Bytes data);
Task<void> receive_by_rendezvous(Processor& processor, int peer, MutableBytes into);

/// Collectives of messages that nobody has to wait for: all of the first generation, and the second's up to
/// its threshold.
Task<void> run_eager(Processor& processor, Scenario scenario, int root, CallMemory memory);
/// Those of the second generation in which the receiver tells where the data may go.
Task<void> run_rendezvous(Processor& processor, Scenario scenario, int root, CallMemory memory);
/// Which of the two the second generation takes. bytes: the message; of gather and the like one block.
bool is_rendezvous(const Spec& spec, Scenario scenario, std::uint64_t bytes);

/// The part of rank `index` when `bytes` of whole elements are cut for `ranks`: all parts but the last ones
/// are equally long; those may be shorter, or empty.
struct Chunk {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
Chunk chunk_of(std::uint64_t bytes, std::uint64_t element_bytes, int ranks, int index);

}  // namespace offramp::cclo
