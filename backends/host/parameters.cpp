#include "backends/host/parameters.hpp"

#include "backends/host/collectives.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/kernel/repair.hpp"

namespace offramp::host {
namespace {

std::vector<Parameter> with_algorithms(std::vector<Parameter> table) {
  for (Parameter& parameter : algorithm_parameters()) table.push_back(std::move(parameter));
  return table;
}

}  // namespace

// LogGP: latency L, overhead o, gap g, gap per byte G (Alexandrov et al., SPAA 1995). The defaults describe a
// 100 Gb/s NIC without any offload; they are assumed, not measured on one machine, and meant to be set to
// one's own.
const std::vector<Parameter>& parameters() {
  static const auto& table = immortal(with_algorithms(std::vector<Parameter>{
      real("latency", "ns", 1000, {0, 1e9}, "assumed: 100 Gb/s NIC and one switch",
           "L: first bit out to first bit in"),
      real("overhead", "ns", 250, {0, 1e9}, "assumed", "o: time of the processor per message, at each end"),
      real("gap", "ns", 50, {0, 1e9}, "assumed: 20 million messages per second",
           "g: least time between two messages of one NIC"),
      real("bandwidth", "Gb/s", 100, {0.001, 100000}, "assumed", "1/G: of the link"),
      real("post", "ns", 30, {0, 1e9}, "assumed", "time of the processor to post a receive"),
      integer("eager_limit", "B", 65536, {0, 1e9}, "design: small sends do not wait",
              "larger messages ask the receiver first"),
      real("memory_latency", "ns", 65, {0, 1e9},
           "fitted: half a round trip of 8 bytes, Open MPI's vader: 165 ns", "between two ranks of a node"),
      real("memory_overhead", "ns", 50, {0, 1e9}, "fitted to the same",
           "time of the processor per message within a node, at each end"),
      real("memory_bandwidth", "Gb/s", 712, {0.001, 1e6},
           "published: 89 GB/s delivered on a node of 32 ranks",
           "of a node's memory: all that its ranks receive"),
      integer("memory_eager_limit", "B", 4096, {0, 1e9}, "Open MPI 4.1: btl_vader_eager_limit",
              "larger messages within a node ask the receiver first, and are copied once"),
      real("copy_bandwidth", "Gb/s", 80, {0.001, 100000}, "assumed",
           "local copies, and messages that arrive before their receive"),
      real("combine_bandwidth", "Gb/s", 160, {0.001, 100000},
           "measured: MPI_Reduce_local of doubles beyond the cache, 50 ps per byte",
           "reductions in host software"),
      real("retry_timeout", "us", in_microseconds(ReliableTransport{}.retry_timeout), {0, 1e9},
           "InfiniBand: 4.096 us x 2^14", "after which a packet without an acknowledgement is sent again"),
      integer("retries", "1", ReliableTransport{}.retries, {0, 7}, "InfiniBand: 3-bit counter",
              "of one packet, before the connection is given up"),
      integer("segment", "B", 0, {0, 1e9}, "Open MPI 4.1: its fixed decisions cut nothing",
              "pieces in which trees and segmented rings forward a long message; 0: in one piece"),
      integer("han_segment", "B", 65536, {0, 1e9},
              "Open MPI 4.1: coll_han_bcast_segsize, and of reduce, allreduce",
              "pieces in which han pipelines bcast, reduce and allreduce; 0: in one piece")}));
  return table;
}

}  // namespace offramp::host
