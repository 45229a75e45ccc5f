// Consequences of a plan for the kernels of a collective: order of inputs, windows, and graphs. Also two
// kernels on an otherwise idle array: a message, and the ping-pong of the latency measurements.
#pragma once

#include <vector>

#include "simulators/aie/host_path.hpp"
#include "simulators/aie/kernels.hpp"
#include "simulators/aie/plan.hpp"

namespace offramp::aie {

/// The order in which a kernel acquires its inputs. Published layout: by number. Otherwise by earliest
/// arrival: shared windows, then the shortest routes.
std::vector<int> acquisition_order(const Tree& tree, const Plan& plan, int node);

/// How a gather divides blocks among windows.
enum class GatherDesign : std::uint8_t { kPacked, kHeaderSerial, kHeaderInTurns };

/// Graph of 2^rounds kernels. connections[round * kernels + i] connects kernel i to its partner.
Graph butterfly_graph(int rounds, int window_bytes, int data_bytes);

/// Window size of an edge that carries `bytes` in total.
std::size_t edge_window(std::size_t bytes, std::size_t largest);
/// Windows that a node sends to its parent in the header design, without the header, as (node, chunk).
struct Forwarded {
  int node = 0;
  std::size_t chunk = 0;
};
/// In the order of sending.
std::vector<Forwarded> forwarded_windows(const Tree& tree, int node, std::size_t chunks_per_node,
                                         bool in_turns);

/// One message between two kernels, from host memory to host memory (tile memory to tile memory if host is
/// null). Times are relative to the sender's start; the receiver is ready.
struct MessageTiming {
  Time first;     // the receiver has the first window
  Time last;      // the receiver has processed the last one
  Time complete;  // the sender is done
  std::uint64_t windows = 0;
};
/// header_words: on the stream before each window.
MessageTiming run_message(const Timing& timing, const Connection& connection, const Chunks& chunks,
                          Code copies, const HostPath* host, int header_words);

/// Table 3.1: half the round trip of 16 bytes between two kernels in the steady state.
Time ping_pong(const Timing& timing, const Connection& connection);

}  // namespace offramp::aie
