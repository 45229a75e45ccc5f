// The kernels: what a core does in each collective, in terms of windows.
#pragma once

#include <cstddef>
#include <vector>

#include "simulators/aie/window.hpp"

namespace offramp::aie {

/// The division of a message into windows. The last chunk may be shorter than its window.
struct Chunks {
  std::size_t bytes = 0;
  std::size_t window = 16;
  /// An empty message has no chunk.
  [[nodiscard]] std::size_t count() const { return bytes == 0 ? 0 : (bytes + window - 1) / window; }
  /// The offset of a chunk.
  [[nodiscard]] std::size_t begin(std::size_t chunk) const { return chunk * window; }
  /// chunk: below count().
  [[nodiscard]] std::size_t size(std::size_t chunk) const {
    const std::size_t left = bytes - begin(chunk);
    return left < window ? left : window;
  }
};

/// The arguments of reduce_kernel().
struct ReduceCall {
  std::vector<Input*> inputs;  // in order of acquisition
  Output* output = nullptr;    // null: no result is needed
  Input* local = nullptr;      // own data that comes in windows; null: it is in the kernel's memory
  Chunks chunks;
  std::size_t element_bytes = 4;
  int operations = 1;  // per element
  Code code = Code::kScalar;
  int meeting = 1;  // accesses of a step to the same double bank
};
/// The outer Reduce function of [aie-thesis] 4.4.2. For each chunk: acquires the inputs in a loop and then
/// the output, runs the inner function, releases the output and then the inputs in reverse.
Task<void> reduce_kernel(Core core, const ReduceCall& call);

/// A source of bytes to forward: windows that are consumed part by part, or own data.
struct Segment {
  Input* input = nullptr;  // null: own data
  std::size_t bytes = 0;   // total from this source
  std::size_t window = 0;  // size of the input's windows
};
/// Packed gather: concatenates the segments and divides them into windows of the output (only reads them if
/// output is null). Each segment's input has its own window size.
struct PackCall {
  std::vector<Segment> segments;
  Output* output = nullptr;
  std::size_t output_window = 0;
  Code copies = Code::kVector;
};
/// The call must outlive the kernel, as for all kernels below.
Task<void> pack_kernel(Core core, const PackCall& call);

/// The reverse: divides the stream of one input into own data (first) and the children's outputs.
struct Share {
  Output* output = nullptr;  // null: own data
  std::size_t bytes = 0;
  std::size_t window = 0;
};
struct UnpackCall {
  Input* input = nullptr;  // null: the root's own memory
  std::size_t input_window = 0;
  std::vector<Share> shares;
  Code copies = Code::kVector;
};
Task<void> unpack_kernel(Core core, const UnpackCall& call);

/// Gather as designed in [aie-thesis] listing 5.1: every edge carries a header window with the number of data
/// windows, then the node's own windows, then those of its children.
struct HeaderGatherCall {
  std::vector<Input*> inputs;
  std::vector<std::size_t> order;  // input of each forwarded window
  Output* output = nullptr;
  std::size_t window = 16;
  Chunks own;
  Code copies = Code::kScalar;
};
Task<void> header_gather_kernel(Core core, const HeaderGatherCall& call);
/// The order of forwarding: one input after the other, or alternating.
std::vector<std::size_t> forwarding_order(const std::vector<std::size_t>& windows, bool in_turns);

/// Copies chunks from a window or own memory to a window or own memory: the ends of broadcasts and messages,
/// and transfers between these and the host.
struct CopyCall {
  Input* input = nullptr;
  Output* output = nullptr;
  Chunks chunks;
  Code copies = Code::kScalar;
};
Task<void> copy_kernel(Core core, const CopyCall& call);

/// Allreduce without root: in round j every kernel exchanges partial results with the partner whose number
/// differs in bit j, and reduces what it receives.
struct ButterflyCall {
  std::vector<Output*> outputs;
  std::vector<Input*> inputs;
  Chunks chunks;  // processed one by one
  std::size_t element_bytes = 4;
  int operations = 1;
  Code code = Code::kScalar;
};
Task<void> butterfly_kernel(Core core, const ButterflyCall& call);

}  // namespace offramp::aie
