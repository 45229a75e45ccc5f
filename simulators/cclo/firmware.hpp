// The firmware: executes a call of 15 words and returns its code.
#pragma once

#include "simulators/cclo/processor.hpp"

namespace offramp::cclo {

/// The memory of a call's addresses (see CollectiveBuffers). SEND uses `send`, RECV uses `receive`.
struct CallMemory {
  Bytes send;
  MutableBytes receive;
  std::uint64_t element_bytes = 1;  // an allreduce cuts its data at whole elements
};

/// Fetches a call, executes it, writes RETVAL, and completes. Begins at the processor's clock. A
/// configuration call takes its time here; the driver applies it with configure().
/// words: as read by IoSpace::pop_call(). References must outlive the task.
/// Returns the first error of the call. The task ends once the call's messages have left.
Task<Error> run_call(Processor& processor, IoSpace& space, CallWords words, CallMemory memory);
/// The last steps of a call before RETVAL.
void finish_call(Processor& processor, IoSpace& space, Time begin);

/// What configuration calls switch on.
struct EngineState {
  bool interrupts = false;   // first generation: RX buffers are serviced
  bool packetizers = false;  // and depacketizers; in the second generation also the RX engines
  bool port = false;         // first generation over TCP
  bool connections = false;
};
/// Executes a configuration call: changes `spec` and `state`.
/// Returns the error that the call ends with, without changes to `spec` for a refused value.
Error configure(Spec& spec, EngineState& state, std::uint32_t function, std::uint32_t value);
/// Returns whether a configuration call resets the engine: state and exchange memory, but not HWID.
bool is_reset(Generation generation, std::uint32_t function);
/// Peripheral accesses of the control processor during a configuration call (read in [accl-2025]: enabling
/// the packetizers needs 14).
std::int64_t configuration_accesses(Generation generation, std::uint32_t function);

/// Runs a message, a collective, or COPY with RX buffers: all of the first generation, and those of the
/// second up to its threshold. peer: the other rank, or the root.
Task<void> run_eager(Processor& processor, Scenario scenario, int peer, CallMemory memory);
/// Runs a message or collective of the second generation whose receivers advertise destinations.
Task<void> run_rendezvous(Processor& processor, Scenario scenario, int peer, CallMemory memory);
/// Returns whether the second generation uses rendezvous. bytes: one message or block.
bool is_rendezvous(const Spec& spec, Scenario scenario, std::uint64_t bytes);

/// The part of rank `index` when `bytes` of whole elements are divided among `ranks`. All parts have equal
/// length, except that the last ones may be shorter or empty.
/// index: below `ranks`. Empty if element_bytes is 0.
struct Chunk {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};
Chunk chunk_of(std::uint64_t bytes, std::uint64_t element_bytes, int ranks, int index);

}  // namespace offramp::cclo
