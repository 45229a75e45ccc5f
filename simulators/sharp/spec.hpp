// Parameters of a reducing fabric: switches, adapters, and limits. See docs/backends/sharp.md.
#pragma once

#include <cstddef>

#include "offramp/kernel/time.hpp"

namespace offramp::sharp {

/// Bytes of a stream, including framing, that use a link at once: one cut-through train of the network.
inline constexpr std::size_t kStreamTrain = 16384;

/// The parameters. Plain values, for any thread.
struct Spec {
  // Latency from memory to memory over one switch, and the adapter's link.
  Time latency;
  Bandwidth link = Bandwidth::gigabits_per_second(100);
  Time post = Time::ns(850);   // processor time per packet
  Time fetch = Time::ns(550);  // until the adapter has data that is not inline in the work request
  std::size_t inline_limit = 128;

  // Low-latency operations: each switch has one aggregation node behind one port.
  std::size_t payload = 0;  // per packet
  std::size_t header = 0;
  int outstanding = 1;  // packets per group and member that wait for results
  Bandwidth engine = Bandwidth::gigabits_per_second(100);  // into and out of an aggregation node
  Time engine_latency;
  bool multicast = true;      // switches copy result packets; otherwise one packet per child
  bool reproducible = false;  // a node begins to add once all operands have arrived
  bool arms = false;          // the first member arms the switches before each operation
  Time time_out;              // after which a node passes on partial sums; 0: never

  // Streaming operations: every port reduces at its own rate.
  Bandwidth stream = Bandwidth::gigabits_per_second(95);
  Time stream_latency = Time::ns(300);  // per switch
  Time stream_start = Time::ns(3000);   // until the tree is locked and set up

  // Switch resources for all jobs.
  int trees = 126;
  int reserved_groups = 1;  // per job; further groups use turns
};

}  // namespace offramp::sharp
