// A row binds a parameter to a field of Setup or Costs, and the field's initial value is the default. The
// second string of a row is its source: published or read there, inferred from a figure, fitted to it, or
// assumed. Fitted figures are repeated in validation.cpp, marked as such.
#include "backends/aie/parameters.hpp"

#include <algorithm>

#include "backends/aie/aie.hpp"
#include "offramp/kernel/immortal.hpp"
#include "offramp/model/parameter_rows.hpp"

namespace offramp::aie {
namespace {

/// What the parameters set.
struct Values {
  Setup setup;
  Costs costs;
  double clock = 1250;  // MHz
};

void describe_design(ParameterRows& rows, Setup& setup) {
  rows.choice<Placement>(setup.placement, "placement",
                         {{"auto", Placement::kAuto},
                          {"published", Placement::kPublished},
                          {"snake", Placement::kSnake},
                          {"refined", Placement::kRefined}},
                         "published: layout of [aie-thesis] 4.6; the others are ours",
                         "placement of kernels on tiles; auto follows the measured layouts where they exist");
  rows(setup.arity, "arity", "1", {1, 13}, "published [aie-thesis]: measured with 2", "children of a kernel");
  rows.add(integer(
      "window", "B", 0, {0, 1048576}, "design; published [aie-thesis]: 8 KB is the largest that compiled",
      "largest window; longer messages are sent in chunks; 0: the fastest up to 8 KB for each size"));
  rows.choice<Code>(setup.kernels, "kernels", {{"scalar", Code::kScalar}, {"vector", Code::kVector}},
                    "scalar: [aie-thesis]; vector: inferred from a loop of [ug1079]", "code of reductions");
  rows.choice<Code>(setup.copies, "copies", {{"vector", Code::kVector}, {"scalar", Code::kScalar}},
                    "scalar: [aie-thesis]; vector: inferred from a loop of [ug1079]",
                    "code of copies from window to window");
  rows.choice<GatherDesign>(setup.gather, "gather",
                            {{"packed", GatherDesign::kPacked},
                             {"header", GatherDesign::kHeaderSerial},
                             {"header_in_turns", GatherDesign::kHeaderInTurns}},
                            "header: [aie-thesis] chapter 5; packed: ours", "design of gather");
  rows.choice<AllreduceDesign>(setup.allreduce, "allreduce",
                               {{"tree", AllreduceDesign::kTree}, {"butterfly", AllreduceDesign::kButterfly}},
                               "ours", "algorithm of allreduce: reduce and multicast, or pairwise exchange");
}

void describe_host(ParameterRows& rows, Setup& setup) {
  HostPath& host = setup.host;
  rows.choice<bool>(setup.host_data, "data", {{"host", true}, {"tiles", false}},
                    "tiles: as the benchmarks of [aie-thesis]",
                    "location of messages: the host's memory, or the tiles'");
  rows(host.port, "gmio_port", "GB/s", {0.001, 1000}, "published [ug1079]",
       "bandwidth of one port between array and memory");
  rows(host.turnaround, "gmio_turnaround", "ns", {0, 1e6},
       "fitted to [xd100]: 6.5 GB/s of one port in and one out, windows of 1 KB",
       "pause of a port between two windows");
  rows(host.total, "gmio_total", "GB/s", {0.001, 1000},
       "published [xd100]: 10.8 both ways, half of it assumed each way",
       "bandwidth of all ports together, per direction");
  rows(host.ports, "gmio_ports", "1", {1, 1024}, "published [xd100]: 16 columns with two",
       "ports between array and memory, per direction");
  rows(host.latency, "gmio_latency", "ns", {0, 1e9}, "assumed",
       "latency of a window between array and memory");
  rows(setup.command, "command", "ns", {0, 1e9}, "assumed: no source states the driver's cost",
       "time of the host to start or to end an operation");
  rows(setup.configuration, "configuration", "GB/s", {0.001, 1000},
       "published [am009]: memory-mapped AXI, about", "rate of loading a graph: 16 KB of program per kernel");
  rows(setup.eager_limit, "eager_limit", "B", {0, 1e9}, "design: small sends do not wait",
       "largest message that moves into the host's memory without a receive");
  rows(setup.bounce, "bounce_bandwidth", "Gb/s", {0.1, 10000}, "assumed",
       "bandwidth of the copy out of the memory where such messages wait");
}

void describe_hardware(ParameterRows& rows, ArraySpec& array, Costs& costs, double& clock) {
  rows(clock, "clock", "MHz", {1, 10000}, "published [ds957]: grade -2M, as in [aie-thesis]",
       "clock of the array");
  rows(array.rows, "rows", "1", {1, 64}, "published [aie-thesis]: VC1902", "rows of tiles");
  rows(array.columns, "columns", "1", {1, 512}, "published [aie-thesis]: VC1902", "columns of tiles");
  rows(array.memory_bytes, "memory", "B", {4096, 1048576}, "published [ug1079]",
       "memory of one tile's module");
  rows(array.banks, "banks", "1", {1, 64}, "published [ug1079]",
       "memory banks of one module; two serve 256 bits per cycle");
  rows(array.user_bytes, "user_memory", "B", {0, 1048576}, "design",
       "memory of each module that is reserved for windows and data of the program's own kernels");
  rows(array.locks, "locks", "1", {2, 256}, "published [am009]", "locks of one tile's module");
  rows(array.mm2s, "dma_channels", "1", {1, 16}, "published [xd100]",
       "DMA channels of one tile, per direction");
  rows(array.windows, "max_windows", "1", {2, 64}, "published [aie-thesis]",
       "windows of one kernel, in and out");
  rows(costs.hop, "hop", "cycles", {0, 1000}, "published [am009]: a switch is two ports of two cycles",
       "latency of one stream switch");
  rows(costs.word, "word", "cycles", {0.1, 100}, "published [am009]: 32 bits per cycle",
       "time of a 32-bit word on a stream");
  rows(costs.dma, "dma", "cycles", {0, 10000}, "inferred from [aie-thesis] table 3.1: latency at distance 10",
       "latency of both DMA engines of a window and their locks");
  rows(costs.acquire_loop, "acquire_loop", "cycles", {8, 10000}, "published [aie-thesis]: compiler report",
       "time to acquire one of several inputs");
  rows(costs.acquire_single, "acquire_single", "cycles", {8, 10000},
       "inferred from [aie-thesis] table 3.1: round trip of neighbours", "time to acquire one window");
  rows(costs.release, "release", "cycles", {30, 10000}, "published [aie-thesis]: compiler report",
       "time to release a window");
  rows(costs.hand_over, "hand_over", "cycles", {8, 38}, "published [aie-thesis]: simulator trace",
       "time from a release to a waiting consumer, in shared memory");
  rows(costs.leaf_element, "leaf_element", "cycles", {0, 10000}, "fitted by [aie-thesis]",
       "time to copy an element of own data into a window");
  rows(costs.outer_element, "outer_element", "cycles", {0, 10000},
       "inferred from [aie-thesis] table 4.1: slope of the level time",
       "time to reduce an element, besides its inputs");
  rows(costs.input_element, "input_element", "cycles", {0, 10000}, "published [aie-thesis]: compiler report",
       "time to reduce an element of one input");
  rows(costs.vector_fill, "vector_fill", "cycles", {0, 10000},
       "inferred from [ug1079]: 99 cycles for 64 steps of a loop",
       "time to begin and end a loop of vector code");
  rows(costs.call, "call", "cycles", {105, 10000},
       "inferred from [aie-thesis] table 4.1: level time without its locks",
       "time to set up and end a Reduce");
  rows(costs.skew, "skew", "cycles", {0, 10000},
       "fitted to the tree times of [aie-thesis] table 4.1 (34 in its simulator trace)",
       "delay of the root's kernel after the others");
}

void describe(ParameterRows& rows, Values& values) {
  describe_design(rows, values.setup);
  describe_host(rows, values.setup);
  describe_hardware(rows, values.setup.array, values.costs, values.clock);
}

std::size_t largest_window(std::int64_t set) {
  // Windows are whole words of 128 bits.
  return set == 0 ? kLargestWindow : std::max<std::size_t>(static_cast<std::size_t>(set) / 16 * 16, 16);
}

}  // namespace

std::span<const Parameter> parameters() {
  static const auto& table = immortal(rows_of<Values>(describe));
  return table;
}

Setup setup_of(const Settings& settings) {
  Values values;
  ParameterRows rows(settings);
  describe(rows, values);
  Setup setup = values.setup;
  // Both directions have equally many channels.
  setup.array.s2mm = setup.array.mm2s;
  setup.timing = {values.costs, values.clock};
  setup.window = largest_window(settings.integer("window"));
  setup.best_window = settings.integer("window") == 0;
  return setup;
}

}  // namespace offramp::aie
