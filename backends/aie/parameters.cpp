#include "backends/aie/parameters.hpp"

#include <vector>

#include "offramp/kernel/immortal.hpp"

namespace offramp::aie {
namespace {

std::vector<Parameter> hardware() {
  return {
      real("clock", "MHz", 1250, {1, 10000}, "published: grade -2M, as measured", "of the array"),
      integer("rows", "1", 8, {1, 64}, "published: VC1902", "of the array"),
      integer("columns", "1", 50, {1, 512}, "published: VC1902", "of the array"),
      integer("memory", "B", 32768, {4096, 1048576}, "published", "of one tile's module"),
      integer("locks", "1", 16, {2, 256}, "published", "of one tile's module"),
      integer("dma_channels", "1", 2, {1, 16}, "published", "of one tile, in each direction"),
      integer("max_windows", "1", 14, {2, 64}, "published: original document", "of one kernel, in and out"),
      real("hop", "cycles", 4, {0, 1000}, "published: a switch is two ports of two cycles",
           "one stream switch"),
      real("word", "cycles", 1, {0.1, 100}, "published: 32 bits per cycle", "of a stream, per 32-bit word"),
      real("dma", "cycles", 21.5, {0, 10000}, "inferred: latency at distance 10",
           "both DMA engines of a window and their locks"),
      real("acquire_loop", "cycles", 48, {8, 10000}, "published: compiler report",
           "acquiring one of several inputs"),
      real("acquire_single", "cycles", 21, {8, 10000}, "inferred: round trip of neighbours",
           "acquiring one window"),
      real("release", "cycles", 45, {30, 10000}, "published: compiler report", "releasing a window"),
      real("hand_over", "cycles", 38, {8, 38}, "published: simulator trace",
           "from a release to a consumer that waits, in shared memory"),
      real("leaf_element", "cycles", 17, {0, 10000}, "fitted by the original document",
           "copying an element of own data into a window"),
      real("outer_element", "cycles", 23, {0, 10000}, "inferred: slope of the level time",
           "reducing an element, besides its inputs"),
      real("input_element", "cycles", 30, {0, 10000}, "published: compiler report",
           "reducing an element of one input"),
      real("call", "cycles", 145, {105, 10000}, "inferred: level time without its locks",
           "set-up and end of a Reduce"),
      real("skew", "cycles", 40, {0, 10000}, "fitted on tree times (34 in the simulator trace)",
           "forecasts: the root begins this much later")};
}

std::vector<Parameter> design() {
  return {choice("placement", "auto", {"auto", "published", "snake", "refined"}, "see the page",
                 "kernels to tiles; auto follows the measured layouts where there are some"),
          integer("arity", "1", 2, {1, 13}, "published: measured with 2", "children of a kernel"),
          integer("window", "B", 8192, {16, 1048576}, "published: 8 KB is the largest that compiled",
                  "the largest window; longer messages go in chunks"),
          choice("kernels", "scalar", {"scalar", "vector"}, "scalar: published; vector: assumed costs",
                 "code that reduces"),
          choice("copies", "vector", {"vector", "scalar"}, "scalar: published; vector: assumed costs",
                 "code that copies from window to window"),
          choice("gather", "packed", {"packed", "header", "header_in_turns"},
                 "header: original document; packed: ours", "design of gather"),
          choice("allreduce", "tree", {"tree", "butterfly"}, "ours",
                 "reduce and multicast, or pairwise exchange")};
}

std::vector<Parameter> host() {
  return {
      choice("data", "host", {"host", "tiles"}, "tiles: as the original document's benchmarks",
             "where messages lie: in the host's memory, or in the tiles'"),
      real("gmio_port", "GB/s", 4, {0.001, 1000}, "published", "of one port between array and memory"),
      real("gmio_total", "GB/s", 5.4, {0.001, 1000}, "published: 10.9 both ways, half of it assumed each way",
           "of all ports together, in one direction"),
      integer("gmio_ports", "1", 32, {1, 1024}, "published: 16 columns with two", "in each direction"),
      real("gmio_latency", "ns", 200, {0, 1e9}, "assumed", "of a window between array and memory"),
      real("command", "ns", 500, {0, 1e9}, "assumed: no source has the driver's cost",
           "the host's time to start or to end an operation"),
      integer("eager_limit", "B", 65536, {0, 1e9}, "design: small sends do not wait",
              "up to here a message moves on into the host's memory without a receive"),
      real("bounce_bandwidth", "Gb/s", 80, {0.1, 10000}, "assumed",
           "of the copy out of the memory where such messages wait")};
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
