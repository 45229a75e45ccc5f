#include <vector>

#include "backends/aie/aie.hpp"
#include "offramp/kernel/immortal.hpp"
#include "simulators/aie/array.hpp"
#include "simulators/aie/host_path.hpp"
#include "simulators/aie/timing.hpp"

namespace offramp::aie {
namespace {

std::vector<Parameter> hardware() {
  const ArraySpec array;
  const Costs costs;
  return {
      real("clock", "MHz", 1250, {1, 10000}, "published [ds957]: grade -2M, as in [aie-thesis]",
           "clock of the array"),
      integer("rows", "1", array.rows, {1, 64}, "published [aie-thesis]: VC1902", "rows of tiles"),
      integer("columns", "1", array.columns, {1, 512}, "published [aie-thesis]: VC1902", "columns of tiles"),
      integer("memory", "B", array.memory_bytes, {4096, 1048576}, "published [ug1079]",
              "memory of one tile's module"),
      integer("banks", "1", array.banks, {1, 64}, "published [ug1079]",
              "memory banks of one module; two serve 256 bits per cycle"),
      integer("user_memory", "B", array.user_bytes, {0, 1048576}, "design",
              "memory of each module that is reserved for windows and data of the program's own kernels"),
      integer("locks", "1", array.locks, {2, 256}, "published [am009]", "locks of one tile's module"),
      integer("dma_channels", "1", array.mm2s, {1, 16}, "published [xd100]",
              "DMA channels of one tile, per direction"),
      integer("max_windows", "1", array.windows, {2, 64}, "published [aie-thesis]",
              "windows of one kernel, in and out"),
      real("hop", "cycles", costs.hop, {0, 1000}, "published [am009]: a switch is two ports of two cycles",
           "latency of one stream switch"),
      real("word", "cycles", costs.word, {0.1, 100}, "published [am009]: 32 bits per cycle",
           "time of a 32-bit word on a stream"),
      real("dma", "cycles", costs.dma, {0, 10000},
           "inferred from [aie-thesis] table 3.1: latency at distance 10",
           "latency of both DMA engines of a window and their locks"),
      real("acquire_loop", "cycles", costs.acquire_loop, {8, 10000},
           "published [aie-thesis]: compiler report", "time to acquire one of several inputs"),
      real("acquire_single", "cycles", costs.acquire_single, {8, 10000},
           "inferred from [aie-thesis] table 3.1: round trip of neighbours", "time to acquire one window"),
      real("release", "cycles", costs.release, {30, 10000}, "published [aie-thesis]: compiler report",
           "time to release a window"),
      real("hand_over", "cycles", costs.hand_over, {8, 38}, "published [aie-thesis]: simulator trace",
           "time from a release to a waiting consumer, in shared memory"),
      real("leaf_element", "cycles", costs.leaf_element, {0, 10000}, "fitted by [aie-thesis]",
           "time to copy an element of own data into a window"),
      real("outer_element", "cycles", costs.outer_element, {0, 10000},
           "inferred from [aie-thesis] table 4.1: slope of the level time",
           "time to reduce an element, besides its inputs"),
      real("input_element", "cycles", costs.input_element, {0, 10000},
           "published [aie-thesis]: compiler report", "time to reduce an element of one input"),
      real("vector_fill", "cycles", costs.vector_fill, {0, 10000},
           "inferred from [ug1079]: 99 cycles for 64 steps of a loop",
           "time to begin and end a loop of vector code"),
      real("call", "cycles", costs.call, {105, 10000},
           "inferred from [aie-thesis] table 4.1: level time without its locks",
           "time to set up and end a Reduce"),
      real("skew", "cycles", costs.skew, {0, 10000},
           "fitted to the tree times of [aie-thesis] table 4.1 (34 in its simulator trace)",
           "delay of the root's kernel after the others")};
}

std::vector<Parameter> design() {
  return {
      choice("placement", "auto", {"auto", "published", "snake", "refined"},
             "published: layout of [aie-thesis] 4.6; the others are ours",
             "placement of kernels on tiles; auto follows the measured layouts where they exist"),
      integer("arity", "1", 2, {1, 13}, "published [aie-thesis]: measured with 2", "children of a kernel"),
      integer("window", "B", 0, {0, 1048576},
              "design; published [aie-thesis]: 8 KB is the largest that compiled",
              "largest window; longer messages are sent in chunks; 0: the fastest up to 8 KB for each size"),
      choice("kernels", "scalar", {"scalar", "vector"},
             "scalar: [aie-thesis]; vector: inferred from a loop of [ug1079]", "code of reductions"),
      choice("copies", "vector", {"vector", "scalar"},
             "scalar: [aie-thesis]; vector: inferred from a loop of [ug1079]",
             "code of copies from window to window"),
      choice("gather", "packed", {"packed", "header", "header_in_turns"},
             "header: [aie-thesis] chapter 5; packed: ours", "design of gather"),
      choice("allreduce", "tree", {"tree", "butterfly"}, "ours",
             "algorithm of allreduce: reduce and multicast, or pairwise exchange")};
}

std::vector<Parameter> host() {
  const HostPath path;
  return {choice("data", "host", {"host", "tiles"}, "tiles: as the benchmarks of [aie-thesis]",
                 "location of messages: the host's memory, or the tiles'"),
          real("gmio_port", "GB/s", in_gigabits(path.port) / 8, {0.001, 1000}, "published [ug1079]",
               "bandwidth of one port between array and memory"),
          real("gmio_turnaround", "ns", in_nanoseconds(path.turnaround), {0, 1e6},
               "fitted to [xd100]: 6.5 GB/s of one port in and one out, windows of 1 KB",
               "pause of a port between two windows"),
          real("gmio_total", "GB/s", in_gigabits(path.total) / 8, {0.001, 1000},
               "published [xd100]: 10.8 both ways, half of it assumed each way",
               "bandwidth of all ports together, per direction"),
          integer("gmio_ports", "1", path.ports, {1, 1024}, "published [xd100]: 16 columns with two",
                  "ports between array and memory, per direction"),
          real("gmio_latency", "ns", in_nanoseconds(path.latency), {0, 1e9}, "assumed",
               "latency of a window between array and memory"),
          real("command", "ns", 500, {0, 1e9}, "assumed: no source states the driver's cost",
               "time of the host to start or to end an operation"),
          real("configuration", "GB/s", 1.5, {0.001, 1000}, "published [am009]: memory-mapped AXI, about",
               "rate of loading a graph: 16 KB of program per kernel"),
          integer("eager_limit", "B", 65536, {0, 1e9}, "design: small sends do not wait",
                  "largest message that moves into the host's memory without a receive"),
          real("bounce_bandwidth", "Gb/s", 80, {0.1, 10000}, "assumed",
               "bandwidth of the copy out of the memory where such messages wait")};
}

}  // namespace

std::span<const Parameter> parameters() {
  static const auto& table = immortal([] {
    std::vector<Parameter> all = design();
    for (const std::vector<Parameter>& part : {host(), hardware()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }());
  return table;
}

}  // namespace offramp::aie
