// Whole collectives on the array, from planned placement to the times of every kernel. Kernels are numbered
// as the tree's nodes; they begin at given times (empty: all at 0).
#pragma once

#include <vector>

#include "simulators/aie/host_path.hpp"
#include "simulators/aie/kernels.hpp"
#include "simulators/aie/plan.hpp"

namespace offramp::aie {

/// What the kernels of a reduction have in common.
struct Arithmetic {
  Chunks chunks;
  std::size_t element_bytes = 4;
  int operations = 1;
  Code code = Code::kScalar;
};

struct Run {
  bool ok = false;          // all kernels came to their ends
  std::vector<Time> ends;   // of each kernel
  std::vector<Time> calls;  // of the root, call after call (reduce)
  std::uint64_t windows = 0;
  [[nodiscard]] Time last() const;
};

/// The order in which a kernel acquires its inputs. In the published layout: by number. Otherwise what
/// arrives earliest first: shared windows, then the shortest routes.
std::vector<int> acquisition_order(const Tree& tree, const Plan& plan, int node);

struct ReduceOptions {
  int calls = 1;  // one after the other, as in the benchmark
  std::vector<Time> begins;
};
Run run_reduce(const Timing& timing, const Tree& tree, const Plan& plan, const Arithmetic& arithmetic,
               const ReduceOptions& options = {});
/// Kernel 0 to all others.
Run run_bcast(const Timing& timing, const Plan& plan, const Chunks& chunks, Code copies,
              const std::vector<Time>& begins = {});

enum class GatherDesign : std::uint8_t { kPacked, kHeaderSerial, kHeaderInTurns };
/// block: of each kernel. window: the largest.
Run run_gather(const Timing& timing, const Tree& tree, const Plan& plan, std::size_t block,
               std::size_t window, GatherDesign design, Code copies, const std::vector<Time>& begins = {});
Run run_scatter(const Timing& timing, const Tree& tree, const Plan& plan, std::size_t block,
                std::size_t window, Code copies, const std::vector<Time>& begins = {});

/// rounds: 2^rounds kernels. connections[round * kernels + i]: of kernel i to its partner.
Graph butterfly_graph(int rounds, int window_bytes, int data_bytes);
Run run_butterfly(const Timing& timing, int rounds, const Plan& plan, const Arithmetic& arithmetic,
                  const std::vector<Time>& begins = {});

/// The window of an edge that carries `bytes` in all.
std::size_t edge_window(std::size_t bytes, std::size_t largest);
/// Windows on the edge above a node in the header design, without the header; and the (node, chunk) in each.
struct Forwarded {
  int node = 0;
  std::size_t chunk = 0;
};
std::vector<Forwarded> forwarded_windows(const Tree& tree, int node, std::size_t chunks_per_node,
                                         bool in_turns);

/// One message between two kernels, out of the host's memory and into it (or out of tiles' memories if host
/// is null). Times count from the sender's begin; the receiver is ready.
struct Message {
  Time first;     // the receiver has the first window
  Time last;      // the receiver has used the last one
  Time complete;  // the sender is done
  std::uint64_t windows = 0;
};
Message run_message(const Timing& timing, const Connection& connection, const Chunks& chunks, Code copies,
                    const HostPath* host, int header_words);

/// Table 3.1: half a round trip of 16 bytes between two kernels, in the steady state.
Time ping_pong(const Timing& timing, const Connection& connection);

}  // namespace offramp::aie
