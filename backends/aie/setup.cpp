#include "backends/aie/setup.hpp"

#include <algorithm>
#include <string>

namespace offramp::aie {
namespace {

ArraySpec array_of(const Settings& settings) {
  const auto read = [&](const char* name) { return static_cast<int>(settings.integer(name)); };
  ArraySpec array;
  array.rows = read("rows");
  array.columns = read("columns");
  array.memory_bytes = read("memory");
  array.banks = read("banks");
  array.user_bytes = read("user_memory");
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
  costs.vector_fill = settings.real("vector_fill");
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
std::size_t largest_window(std::int64_t set) {
  return set == 0 ? kLargestWindow : std::max<std::size_t>(static_cast<std::size_t>(set) / 16 * 16, 16);
}
Code code_of(const std::string& name) {
  return name == "vector" ? Code::kVector : Code::kScalar;
}

}  // namespace

Setup::Setup(const Settings& settings)
    : array(array_of(settings)),
      timing(timing_of(settings)),
      placement(placement_of(settings.choice("placement"))),
      arity(static_cast<int>(settings.integer("arity"))),
      window(largest_window(settings.integer("window"))),
      best_window(settings.integer("window") == 0),
      kernels(code_of(settings.choice("kernels"))),
      copies(code_of(settings.choice("copies"))),
      gather(settings.choice("gather") == "packed"   ? GatherDesign::kPacked
             : settings.choice("gather") == "header" ? GatherDesign::kHeaderSerial
                                                     : GatherDesign::kHeaderInTurns),
      allreduce(settings.choice("allreduce") == "tree" ? AllreduceDesign::kTree
                                                       : AllreduceDesign::kButterfly),
      host_data(settings.choice("data") == "host"),
      command(settings.nanoseconds("command")),
      configuration(
          Bandwidth::bits_per_second(static_cast<std::int64_t>(settings.real("configuration") * 8e9 + 0.5))),
      eager_limit(static_cast<std::size_t>(settings.integer("eager_limit"))),
      bounce(settings.gigabits("bounce_bandwidth")) {
  const auto bytes_per_second = [&](const char* name) {
    return Bandwidth::bits_per_second(static_cast<std::int64_t>(settings.real(name) * 8e9 + 0.5));
  };
  host.port = bytes_per_second("gmio_port");
  host.total = bytes_per_second("gmio_total");
  host.turnaround = settings.nanoseconds("gmio_turnaround");
  host.ports = static_cast<int>(settings.integer("gmio_ports"));
  host.latency = settings.nanoseconds("gmio_latency");
}

}  // namespace offramp::aie
