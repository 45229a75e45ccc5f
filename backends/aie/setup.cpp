#include "backends/aie/setup.hpp"

#include <string>
#include <vector>

#include "offramp/kernel/immortal.hpp"

namespace offramp::aie {
namespace {

Parameter number(std::string_view name, std::string_view unit, double value, double least, double most,
                 std::string_view source, std::string_view description) {
  return {name, ParameterKind::kReal, unit, value, least, most, {}, {}, source, description};
}
Parameter whole(std::string_view name, std::string_view unit, double value, double least, double most,
                std::string_view source, std::string_view description) {
  return {name, ParameterKind::kInteger, unit, value, least, most, {}, {}, source, description};
}
Parameter choice(std::string_view name, std::vector<std::string_view> names, std::string_view source,
                 std::string_view description) {
  return {name, ParameterKind::kChoice, "", 0, 0, 0, names.front(), std::move(names), source, description};
}

std::vector<Parameter> hardware() {
  return {
      number("clock", "MHz", 1250, 1, 10000, "published: grade -2M, as measured", "of the array"),
      whole("rows", "1", 8, 1, 64, "published: VC1902", "of the array"),
      whole("columns", "1", 50, 1, 512, "published: VC1902", "of the array"),
      whole("memory", "B", 32768, 4096, 1048576, "published", "of one tile's module"),
      whole("locks", "1", 16, 2, 256, "published", "of one tile's module"),
      whole("dma_channels", "1", 2, 1, 16, "published", "of one tile, in each direction"),
      whole("max_windows", "1", 14, 2, 64, "published: original document", "of one kernel, in and out"),
      number("hop", "cycles", 4, 0, 1000, "published: a switch is two ports of two cycles",
             "one stream switch"),
      number("word", "cycles", 1, 0.1, 100, "published: 32 bits per cycle", "of a stream, per 32-bit word"),
      number("dma", "cycles", 21.5, 0, 10000, "inferred: latency at distance 10",
             "both DMA engines of a window and their locks"),
      number("acquire_loop", "cycles", 48, 8, 10000, "published: compiler report",
             "acquiring one of several inputs"),
      number("acquire_single", "cycles", 21, 8, 10000, "inferred: round trip of neighbours",
             "acquiring one window"),
      number("release", "cycles", 45, 30, 10000, "published: compiler report", "releasing a window"),
      number("hand_over", "cycles", 38, 8, 38, "published: simulator trace",
             "from a release to a consumer that waits, in shared memory"),
      number("leaf_element", "cycles", 17, 0, 10000, "fitted by the original document",
             "copying an element of own data into a window"),
      number("outer_element", "cycles", 23, 0, 10000, "inferred: slope of the level time",
             "reducing an element, besides its inputs"),
      number("input_element", "cycles", 30, 0, 10000, "published: compiler report",
             "reducing an element of one input"),
      number("call", "cycles", 145, 105, 10000, "inferred: level time without its locks",
             "set-up and end of a Reduce"),
      number("skew", "cycles", 40, 0, 10000, "fitted on tree times (34 in the simulator trace)",
             "forecasts: the root begins this much later")};
}

std::vector<Parameter> design() {
  return {choice("placement", {"auto", "published", "snake", "refined"}, "see the page",
                 "kernels to tiles; auto follows the measured layouts where there are some"),
          whole("arity", "1", 2, 1, 13, "published: measured with 2", "children of a kernel"),
          whole("window", "B", 8192, 16, 1048576, "published: 8 KB is the largest that compiled",
                "the largest window; longer messages go in chunks"),
          choice("kernels", {"scalar", "vector"}, "scalar: published; vector: assumed costs",
                 "code that reduces"),
          choice("copies", {"vector", "scalar"}, "scalar: published; vector: assumed costs",
                 "code that copies from window to window"),
          choice("gather", {"packed", "header", "header_in_turns"}, "header: original document; packed: ours",
                 "design of gather"),
          choice("allreduce", {"tree", "butterfly"}, "ours", "reduce and multicast, or pairwise exchange")};
}

std::vector<Parameter> host() {
  return {
      choice("data", {"host", "tiles"}, "tiles: as the original document's benchmarks",
             "where messages lie: in the host's memory, or in the tiles'"),
      number("gmio_port", "GB/s", 4, 0.001, 1000, "published", "of one port between array and memory"),
      number("gmio_total", "GB/s", 5.4, 0.001, 1000, "published: 10.9 both ways, half of it assumed each way",
             "of all ports together, in one direction"),
      whole("gmio_ports", "1", 32, 1, 1024, "published: 16 columns with two", "in each direction"),
      number("gmio_latency", "ns", 200, 0, 1e9, "assumed", "of a window between array and memory"),
      number("command", "ns", 500, 0, 1e9, "assumed: no source has the driver's cost",
             "the host's time to start or to end an operation"),
      whole("eager_limit", "B", 65536, 0, 1e9, "design: small sends do not wait",
            "up to here a message moves on into the host's memory without a receive"),
      number("bounce_bandwidth", "Gb/s", 80, 0.1, 10000, "assumed",
             "of the copy out of the memory where such messages wait")};
}

Time nanoseconds(const Settings& settings, const char* name) {
  return Time::ps(static_cast<std::int64_t>(settings.real(name) * 1e3 + 0.5));
}

ArraySpec array_of(const Settings& settings) {
  const auto read = [&](const char* name) { return static_cast<int>(settings.integer(name)); };
  ArraySpec array;
  array.rows = read("rows");
  array.columns = read("columns");
  array.memory_bytes = read("memory");
  array.bank_bytes = array.memory_bytes / 8;
  array.locks = read("locks");
  array.s2mm = array.mm2s = read("dma_channels");
  array.windows = read("max_windows");
  return array;
}

Timing timing_of(const Settings& settings) {
  Costs costs;
  costs.hop = settings.real("hop");
  costs.word = settings.real("word");
  costs.dma = settings.real("dma");
  costs.acquire_loop = settings.real("acquire_loop");
  costs.acquire_single = settings.real("acquire_single");
  costs.release = settings.real("release");
  costs.hand_over = settings.real("hand_over");
  costs.leaf_element = settings.real("leaf_element");
  costs.outer_element = settings.real("outer_element");
  costs.input_element = settings.real("input_element");
  costs.call = settings.real("call");
  costs.skew = settings.real("skew");
  return {costs, settings.real("clock")};
}

Placement placement_of(const std::string& name) {
  return name == "published" ? Placement::kPublished
         : name == "snake"   ? Placement::kSnake
         : name == "refined" ? Placement::kRefined
                             : Placement::kAuto;
}
Code code_of(const std::string& name) {
  return name == "vector" ? Code::kVector : Code::kScalar;
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

Setup::Setup(const Settings& settings)
    : array(array_of(settings)),
      timing(timing_of(settings)),
      placement(placement_of(settings.choice("placement"))),
      arity(static_cast<int>(settings.integer("arity"))),
      window(static_cast<std::size_t>(settings.integer("window")) / 16 * 16),
      kernels(code_of(settings.choice("kernels"))),
      copies(code_of(settings.choice("copies"))),
      gather(settings.choice("gather") == "packed"   ? GatherDesign::kPacked
             : settings.choice("gather") == "header" ? GatherDesign::kHeaderSerial
                                                     : GatherDesign::kHeaderInTurns),
      allreduce(settings.choice("allreduce") == "tree" ? AllreduceDesign::kTree
                                                       : AllreduceDesign::kButterfly),
      host_data(settings.choice("data") == "host"),
      command(nanoseconds(settings, "command")),
      eager_limit(static_cast<std::size_t>(settings.integer("eager_limit"))),
      bounce(Bandwidth::bits_per_second(
          static_cast<std::int64_t>(settings.real("bounce_bandwidth") * 1e9 + 0.5))) {
  host.port = settings.real("gmio_port") * 1e9;
  host.total = settings.real("gmio_total") * 1e9;
  host.ports = static_cast<int>(settings.integer("gmio_ports"));
  host.latency = nanoseconds(settings, "gmio_latency");
}

}  // namespace offramp::aie
