// The kernels: what a core does in each collective, over windows. Data does not pass through here: whoever
// carries windows moves it, and Data says when a kernel has used what it acquired.
#pragma once

#include <cstddef>
#include <vector>

#include "simulators/aie/window.hpp"

namespace offramp::aie {

/// What happens to data while a kernel computes.
class Data {
 public:
  virtual ~Data() = default;
  /// Chunk `chunk` of all inputs is acquired, and the output's buffer is there: reduce it.
  virtual void reduce(std::size_t chunk) = 0;
};

/// How a message is cut into windows; the last chunk may be shorter, the window is not.
struct Chunks {
  std::size_t bytes = 0;
  std::size_t window = 16;
  [[nodiscard]] std::size_t count() const { return bytes == 0 ? 0 : (bytes + window - 1) / window; }
  [[nodiscard]] std::size_t begin(std::size_t chunk) const { return chunk * window; }
  [[nodiscard]] std::size_t size(std::size_t chunk) const {
    const std::size_t left = bytes - begin(chunk);
    return left < window ? left : window;
  }
};

struct ReduceCall {
  std::vector<Input*> inputs;  // in the order of acquisition
  Output* output = nullptr;    // none: nobody wants the result
  Input* local = nullptr;      // own data that comes in windows; none: it lies in the kernel's memory
  Chunks chunks;
  std::size_t element_bytes = 4;
  int operations = 1;  // of the function, per element
  Code code = Code::kScalar;
  int meeting = 1;  // accesses of a step that go to one double bank
  Data* data = nullptr;
};
/// The outer Reduce function of [aie-thesis] 4.4.2: per chunk acquires the inputs in a loop and the
/// output, runs the inner function, releases the output and then the inputs in reverse.
Task<void> reduce_kernel(Core core, const ReduceCall& call);

/// A source of bytes for forwarding: a window whose parts are used up one after the other, or own data.
struct Segment {
  Input* input = nullptr;  // none: own data
  std::size_t bytes = 0;   // to take from here
  std::size_t window = 0;  // of the input
};
/// Packed gather: the concatenation of the segments, cut into windows of the output (or only read where there
/// is none). Every segment's input carries windows of its own size.
struct PackCall {
  std::vector<Segment> segments;
  Output* output = nullptr;
  std::size_t output_window = 0;
  Code copies = Code::kVector;
};
Task<void> pack_kernel(Core core, const PackCall& call);

/// The reverse: the stream of one input is cut into own data (first) and the children's outputs.
struct Share {
  Output* output = nullptr;  // none: own data
  std::size_t bytes = 0;
  std::size_t window = 0;
};
struct UnpackCall {
  Input* input = nullptr;  // none: the root's own memory
  std::size_t input_window = 0;
  std::vector<Share> shares;
  Code copies = Code::kVector;
};
Task<void> unpack_kernel(Core core, const UnpackCall& call);

/// Gather as [aie-thesis] listing 5.1 designs it: every edge first carries a header window with
/// the number of data windows, then the node's own, then those of its children.
struct HeaderGatherCall {
  std::vector<Input*> inputs;
  std::vector<std::size_t> order;  // input of each forwarded window
  Output* output = nullptr;
  std::size_t window = 16;
  Chunks own;
  Code copies = Code::kScalar;
};
Task<void> header_gather_kernel(Core core, const HeaderGatherCall& call);
/// The order of forwarding: one input after the other, or in turns.
std::vector<std::size_t> forwarding_order(const std::vector<std::size_t>& windows, bool in_turns);

/// Copies chunk by chunk from a window or own memory to a window or own memory: both ends of a broadcast and
/// of a message, and what stands between them and the host.
struct CopyCall {
  Input* input = nullptr;
  Output* output = nullptr;
  Chunks chunks;
  Code copies = Code::kScalar;
};
Task<void> copy_kernel(Core core, const CopyCall& call);

/// Allreduce without a root: in round j every kernel sends its partial result to the partner whose number
/// differs in bit j, and reduces what comes from there.
struct ButterflyCall {
  std::vector<Output*> outputs;
  std::vector<Input*> inputs;
  Chunks chunks;  // one chunk after the other
  std::size_t element_bytes = 4;
  int operations = 1;
  Code code = Code::kScalar;
  std::vector<Data*> data;  // of each round; may be empty
};
Task<void> butterfly_kernel(Core core, const ButterflyCall& call);

}  // namespace offramp::aie
