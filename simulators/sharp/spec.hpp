// The switches, the adapters, and the limits of a fabric that reduces: see docs/backends/sharp.md.
#pragma once

#include <cstddef>
#include <cstdint>

#include "offramp/kernel/time.hpp"

namespace offramp::sharp {

/// Bytes of a stream that go on a link at once, with what frames them: a train of the network, which passes
/// several links cut-through.
inline constexpr std::size_t kStreamTrain = 16384;

struct Spec {
  // From memory to memory over one switch, and the link of an adapter.
  Time latency;
  Bandwidth link = Bandwidth::gigabits_per_second(100);
  Time post;   // by the processor, for each packet that it hands to the adapter
  Time fetch;  // until the adapter has what is not in the work request itself
  std::size_t inline_limit = 0;

  // Low-latency operations: each switch has one aggregation node behind one port.
  std::size_t payload = 0;  // of a packet
  std::size_t header = 0;
  int outstanding = 1;  // packets of one group at each member that wait for their result
  Bandwidth engine = Bandwidth::gigabits_per_second(100);  // into and out of an aggregation node
  Time engine_latency;
  bool multicast = true;      // a result is one packet that the switches copy; else one for each child
  bool reproducible = false;  // a node begins to add when all operands are there
  bool arms = false;          // the first member arms the switches before each operation
  Time time_out;              // after which a node passes on what it has; 0: it waits

  // Streaming operations: every port reduces at its rate.
  Bandwidth stream = Bandwidth::gigabits_per_second(95);
  Time stream_latency;  // of a switch
  Time stream_start;    // until the tree is locked and set up

  // What switches have for all jobs.
  int trees = 1;
  int reserved_groups = 1;  // of one job: others take turns
};

}  // namespace offramp::sharp
