// What follows from a plan for the kernels of a collective: the order of their inputs, windows and graphs.
// And two kernels on the array by themselves: a message, and the ping-pong of the latency measurements.
#pragma once

#include <vector>

#include "simulators/aie/host_path.hpp"
#include "simulators/aie/kernels.hpp"
#include "simulators/aie/plan.hpp"

namespace offramp::aie {

/// The order in which a kernel acquires its inputs. In the published layout: by number. Otherwise what
/// arrives earliest first: shared windows, then the shortest routes.
std::vector<int> acquisition_order(const Tree& tree, const Plan& plan, int node);

enum class GatherDesign : std::uint8_t { kPacked, kHeaderSerial, kHeaderInTurns };

/// rounds: 2^rounds kernels. connections[round * kernels + i]: of kernel i to its partner.
Graph butterfly_graph(int rounds, int window_bytes, int data_bytes);

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
