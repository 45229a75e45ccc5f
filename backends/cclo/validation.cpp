// Three groups of figures:
// - calls of the engine, alone and from the host (add_calls())
// - the host's path and the network without an engine (class Stack, add_network())
// - collectives in a world (collective()); for some of them only shapes are published
#include <fmt/core.h>

#include <utility>

#include "backends/cclo/cclo.hpp"
#include "backends/cclo/driver.hpp"
#include "backends/cclo/plans.hpp"
#include "simulators/world/benchmarks.hpp"

namespace offramp::cclo {
namespace {

Settings::Value word(const char* text) {
  return {0, text};
}

Configuration with(const Values& values) {
  return configuration_of(settings_with(parameters(), values));
}

struct Table {
  void add(const std::string& quantity, double published, double ours, const char* unit, bool fitted,
           const char* source) {
    rows.push_back({quantity, unit, published, ours, fitted, source});
  }
  /// bound: a range or a shape.
  void add_bound(const std::string& quantity, const char* bound, double ours, const char* unit, bool fitted,
                 const char* source) {
    rows.push_back({quantity, unit, 0, ours, fitted, source, bound});
  }
  ValidationRows rows;
};

void add_calls(Table& table) {
  const Configuration gen2 = with({{"profile", word("gen2")}});
  MessageRunner runner(gen2.spec, gen2.layout);
  const Time configuration =
      runner.call(Scenario::kConfig, static_cast<std::uint32_t>(Gen2Config::kEnginesOn));
  table.add("configuration call, packetizers on", 940, configuration.nanoseconds(), "ns", kFitted,
            "published [accl-issues]; `fw_fetch`, `fw_finish`");
  const Time nop = runner.call(Scenario::kNop);
  table.add_bound("call without an operation, in the engine", "100 to 1000", nop.nanoseconds(), "ns",
                  kHeldOut, "published [accl-2025]: a bound");
  const auto host_call = [&](const char* driver) {
    const Values values = {{"profile", word("gen2")}, {"driver", word(driver)}};
    const Configuration configured = with(values);
    Spec spec = configured.spec;
    const Driver host(configured, spec, 0, 2);
    return (host.start_cost() + nop + host.finish_cost()).seconds() * 1e6;
  };
  for (const double published : {73.61, 93.34})
    table.add("the same from the host, Coyote, cold", published, host_call("coyote"), "us", kFitted,
              "published [accl-issues]; `call` is the mean of both");
  table.add_bound("a kernel's start through XRT", "50 to 100", host_call("xrt"), "us", kFitted,
                  "published [xrt-issues]: the middle of a range (`call`)");
}

/// The time at which a rank's program continues after a collective.
double collective(int ranks, int rank, OperationKind kind, std::size_t bytes, const Values& values) {
  WorldOptions options;
  options.ranks = ranks;
  World world(options, WorldBackend(cclo_backend(), settings_with(parameters(), values)));
  Operation operation;
  operation.kind = kind;
  operation.bytes = bytes;
  operation.ranks = ranks;
  operation.element = ElementType::kInt32;
  operation.elements = bytes / 4;
  operation.function = ReduceFunction::kSum;
  (void)world.run([operation](RankHandle& handle) -> Task<void> { co_await handle.collective(operation); });
  return world.clock(rank).seconds() * 1e6;
}

/// The host's requests to the RDMA stack alone, with data in the memories of both hosts.
class Stack {
 public:
  explicit Stack(const Configuration& configuration) : c_(configuration) {}

  /// From writing the command's register until the last byte is in the other host's memory.
  [[nodiscard]] Time write(std::uint64_t bytes) const { return data(c_.host.write, bytes); }
  /// As write(), plus the transfer of the request.
  [[nodiscard]] Time read(std::uint64_t bytes) const {
    EngineUnits units;
    const Flow request{c_.host.write, c_.host.write};
    return data(Transmitter(c_.spec, units).send(request, 0).last, bytes);
  }

 private:
  [[nodiscard]] Time data(Time from, std::uint64_t bytes) const {
    EngineUnits sending;
    const Flow words = DataPlane(c_.spec, sending).read(0, from, bytes, BufferLocation::kHost);
    const Crossing way = Transmitter(c_.spec, sending).send(words, bytes);
    // The data bypasses the card's memory.
    return later(way.last, way.first + c_.spec.pcie_time(bytes)) + c_.spec.pcie_latency;
  }

  Configuration c_;
};

void add_host(Table& table) {
  const Values coyote = {{"profile", word("gen2")}, {"driver", word("coyote")}};
  table.add("gather of 24 int32 from 2 ranks, Coyote, at rank 1", 91.06,
            collective(2, 1, OperationKind::kGather, 96, coyote), "us", kHeldOut, "published [accl-issues]");
  table.add("allreduce of 512 int32 on 2 ranks, Coyote", 91.72,
            collective(2, 0, OperationKind::kAllreduce, 2048, coyote), "us", kHeldOut,
            "published [accl-issues]");
  mark_operations(table.rows, table.rows.size() - 2);
  // Commands of the stack alone, without the engine and the driver's thread.
  Stack stack(with(coyote));
  for (const auto& [bytes, published] : {std::pair{1024, 5.82}, {2048, 6.01}, {4096, 6.56}})
    table.add(fmt::format("RDMA WRITE of {} B, host to host", bytes), published,
              stack.write(static_cast<std::uint64_t>(bytes)).seconds() * 1e6, "us", kHeldOut,
              "published [coyote-issues]");
  table.add("RDMA READ of 1 MiB, host to host", 92.9, stack.read(1 << 20).seconds() * 1e6, "us", kHeldOut,
            "published [coyote-issues]");
  const Spec spec = with({}).spec;
  const auto loop = [&spec](std::uint64_t bytes) {
    return (spec.pcie_latency * 2 + spec.pcie_time(bytes)).seconds() * 1e6;
  };
  table.add("256 B through host memory and back", 3.10, loop(256), "us", kFitted,
            "published [coyote-issues]; `pcie_latency`");
  table.add("64 KiB through host memory and back", 8.63, loop(65536), "us", kHeldOut,
            "published [coyote-issues]");
  table.add("1 MiB through host memory and back", 85.94, loop(1 << 20), "us", kFitted,
            "published [coyote-issues]; `pcie`");
  table.add("4 MiB through host memory and back", 332, loop(4 << 20), "us", kHeldOut,
            "published [coyote-issues]");
}

void add_network(Table& table) {
  const Spec spec = with({{"transport", word("udp")}}).spec;
  EngineUnits sending;
  EngineUnits receiving;
  const Flow in{Time::us(1), Time::us(1)};
  const Crossing passage = Transmitter(spec, sending).send(in, 0);
  const Time there = Receiver(spec, receiving).land(passage.first, passage.last, 0);
  table.add("64 B over UDP and one switch, one way", 1380,
            (there - spec.cycles(spec.memory_cycles) - in.first).nanoseconds(), "ns", kFitted,
            "published [vnx], half a round trip; `latency`");
  constexpr std::pair<int, double> kRates[] = {{64, 49.23},   {128, 61.30},  {192, 74.42},  {256, 79.50},
                                               {320, 82.90},  {384, 85.33},  {448, 87.16},  {512, 88.58},
                                               {576, 89.72},  {640, 90.65},  {768, 92.09},  {896, 93.14},
                                               {1024, 93.95}, {1216, 94.85}, {1408, 95.52}, {1472, 95.71}};
  for (const auto& [bytes, published] : kRates) {
    const double model = bytes * 8 / (spec.link_time(static_cast<std::uint64_t>(bytes)).seconds() * 1e9);
    table.add(fmt::format("UDP datagrams of {} B", bytes), published, model, "Gb/s", kHeldOut,
              "published [vnx]");
  }
}

/// Throughput of a message of 16 MiB between two engines, in steady state.
double plateau(const Values& values) {
  const Configuration c = with(values);
  constexpr std::uint64_t kBytes = 16 << 20;
  Plans plans(c.spec, c.layout);
  const Time time = is_rendezvous(c.spec, Scenario::kSend, kBytes)
                        ? plans.rendezvous(kBytes).received
                        : plans.eager(kBytes).first + plans.eager(kBytes).waiting;
  return static_cast<double>(kBytes) * 8 / (time.seconds() * 1e9);
}

void add_plateaus(Table& table) {
  table.add("send/recv plateau, RDMA", 95, plateau({{"profile", word("gen2")}}), "Gb/s", kFitted,
            "published [accl-plus]; `rdma_bandwidth`");
  table.add("the same, RDMA, data in host memory through Coyote", 95,
            plateau({{"profile", word("gen2")}, {"driver", word("coyote")}}), "Gb/s", kHeldOut,
            "published plot [accl-plus]: nearly equal");
  table.add("the same, first generation over UDP", 95, plateau({{"transport", word("udp")}}), "Gb/s",
            kHeldOut, "published for RDMA [accl-plus]");
  table.add("TCP between two FPGAs", 91.5, plateau({}), "Gb/s", kFitted,
            "published [easynet]; `tcp_bandwidth`");
}

void add_shapes(Table& table) {
  const Values device = {{"profile", word("gen2")}, {"driver", word("mapped")}, {"data", word("device")}};
  const auto reduce = [&](int ranks, std::size_t bytes) {
    return collective(ranks, 0, OperationKind::kReduce, bytes, device);
  };
  table.add_bound("reduce of 8 KiB, 8 over 2 ranks", "nearly flat", reduce(8, 8192) / reduce(2, 8192), "",
                  kHeldOut, "published plot [accl-plus]");
  table.add_bound("reduce of 128 KiB, 5 over 4 ranks", "a step up", reduce(5, 131072) / reduce(4, 131072), "",
                  kHeldOut, "published plot [accl-plus]");
  table.add_bound("reduce of 128 KiB, 8 over 5 ranks", "flat", reduce(8, 131072) / reduce(5, 131072), "",
                  kHeldOut, "published plot [accl-plus]");
}

/// Blocks cross the link of each rank one after the other; from host memory they cross PCIe before and after.
void add_alltoall(Table& table) {
  const auto alltoall = [](const char* data) {
    return collective(8, 0, OperationKind::kAlltoall, 65536,
                      {{"profile", word("gen2")}, {"driver", word("mapped")}, {"data", word(data)}});
  };
  table.add_bound("alltoall of 64 KiB on 8 ranks, second generation, device memory", "above 38.6",
                  alltoall("device"), "us", kHeldOut,
                  "inferred: the bound is the link. Each of seven steps waits for its receiver's address");
  table.add_bound("the same from host memory", "above 125", alltoall("host"), "us", kHeldOut,
                  "inferred: the bound is the link and 512 KiB over PCIe each way (`pcie`): XRT's buffers "
                  "are copied whole before and after the call");
}

}  // namespace

ValidationRows validation() {
  Table table;
  add_calls(table);
  add_host(table);
  add_network(table);
  add_plateaus(table);
  add_shapes(table);
  add_alltoall(table);
  return table.rows;
}

}  // namespace offramp::cclo
