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

Configuration with(const Values& values) {
  return configuration_of(settings_with(parameters(), values));
}

void add_calls(const AddRow& add) {
  const Configuration gen2 = with({{"profile", {0, "gen2"}}});
  MessageRunner runner(gen2.spec, gen2.layout);
  const Time configuration =
      runner.call(Scenario::kConfig, static_cast<std::uint32_t>(Gen2Config::kEnginesOn));
  add({"configuration call, packetizers on", "ns", 940, configuration.nanoseconds(), kFitted,
       "published [accl-issues]; `fw_fetch`, `fw_finish`"});
  const Time nop = runner.call(Scenario::kNop);
  add({"call without an operation, in the engine", "ns", 0, nop.nanoseconds(), kHeldOut,
       "published [accl-2025]: a bound", "100 to 1000"});
  const auto host_call = [&](const char* driver) {
    const Values values = {{"profile", {0, "gen2"}}, {"driver", {0, driver}}};
    const Configuration configured = with(values);
    Spec spec = configured.spec;
    const Driver host(configured, spec, 0, 2);
    return (host.start_cost() + nop + host.finish_cost()).seconds() * 1e6;
  };
  for (const double published : {73.61, 93.34})
    add({"the same from the host, Coyote, cold", "us", published, host_call("coyote"), kFitted,
         "published [accl-issues]; `call` is the mean of both"});
  add({"a kernel's start through XRT", "us", 0, host_call("xrt"), kFitted,
       "published [xrt-issues]: the middle of a range (`call`)", "50 to 100"});
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

void add_host(const AddRow& add) {
  const Values coyote = {{"profile", {0, "gen2"}}, {"driver", {0, "coyote"}}};
  add({"gather of 24 int32 from 2 ranks, Coyote, at rank 1", "us", 91.06,
       collective(2, 1, OperationKind::kGather, 96, coyote), kHeldOut, "published [accl-issues]", "", true});
  add({"allreduce of 512 int32 on 2 ranks, Coyote", "us", 91.72,
       collective(2, 0, OperationKind::kAllreduce, 2048, coyote), kHeldOut, "published [accl-issues]", "",
       true});
  // Commands of the stack alone, without the engine and the driver's thread.
  Stack stack(with(coyote));
  for (const auto& [bytes, published] : {std::pair{1024, 5.82}, {2048, 6.01}, {4096, 6.56}})
    add({fmt::format("RDMA WRITE of {} B, host to host", bytes), "us", published,
         stack.write(static_cast<std::uint64_t>(bytes)).seconds() * 1e6, kHeldOut,
         "published [coyote-issues]"});
  add({"RDMA READ of 1 MiB, host to host", "us", 92.9, stack.read(1 << 20).seconds() * 1e6, kHeldOut,
       "published [coyote-issues]"});
  const Spec spec = with({}).spec;
  const auto loop = [&spec](std::uint64_t bytes) {
    return (spec.pcie_latency * 2 + spec.pcie_time(bytes)).seconds() * 1e6;
  };
  add({"256 B through host memory and back", "us", 3.10, loop(256), kFitted,
       "published [coyote-issues]; `pcie_latency`"});
  add({"64 KiB through host memory and back", "us", 8.63, loop(65536), kHeldOut,
       "published [coyote-issues]"});
  add({"1 MiB through host memory and back", "us", 85.94, loop(1 << 20), kFitted,
       "published [coyote-issues]; `pcie`"});
  add({"4 MiB through host memory and back", "us", 332, loop(4 << 20), kHeldOut,
       "published [coyote-issues]"});
}

void add_network(const AddRow& add) {
  const Spec spec = with({{"transport", {0, "udp"}}}).spec;
  EngineUnits sending;
  EngineUnits receiving;
  const Flow in{Time::us(1), Time::us(1)};
  const Crossing passage = Transmitter(spec, sending).send(in, 0);
  // Until the datagram is in the other card's memory.
  const Time there = Receiver(spec, receiving).land(passage.first, passage.last, 0);
  add({"64 B over UDP and one switch, one way", "ns", 1380,
       (there - spec.cycles(spec.memory_cycles) - in.first).nanoseconds(), kFitted,
       "published [vnx], half a round trip; `latency`"});
  constexpr std::pair<int, double> kRates[] = {{64, 49.23},   {128, 61.30},  {192, 74.42},  {256, 79.50},
                                               {320, 82.90},  {384, 85.33},  {448, 87.16},  {512, 88.58},
                                               {576, 89.72},  {640, 90.65},  {768, 92.09},  {896, 93.14},
                                               {1024, 93.95}, {1216, 94.85}, {1408, 95.52}, {1472, 95.71}};
  for (const auto& [bytes, published] : kRates) {
    // Framing alone limits the rate.
    const double model = bytes * 8 / (spec.link_time(static_cast<std::uint64_t>(bytes)).seconds() * 1e9);
    add({fmt::format("UDP datagrams of {} B", bytes), "Gb/s", published, model, kHeldOut, "published [vnx]"});
  }
}

/// Throughput of a message of 16 MiB between two engines, in steady state.
double plateau(const Values& values) {
  const Configuration c = with(values);
  // Long enough that the start does not matter.
  constexpr std::uint64_t kBytes = 16 << 20;
  Plans plans(c.spec, c.layout);
  const Time time = is_rendezvous(c.spec, Scenario::kSend, kBytes)
                        ? plans.rendezvous(kBytes).received
                        : plans.eager(kBytes).first + plans.eager(kBytes).waiting;
  return static_cast<double>(kBytes) * 8 / (time.seconds() * 1e9);
}

void add_plateaus(const AddRow& add) {
  add({"send/recv plateau, RDMA", "Gb/s", 95, plateau({{"profile", {0, "gen2"}}}), kFitted,
       "published [accl-plus]; `rdma_bandwidth`"});
  add({"the same, RDMA, data in host memory through Coyote", "Gb/s", 95,
       plateau({{"profile", {0, "gen2"}}, {"driver", {0, "coyote"}}}), kHeldOut,
       "published plot [accl-plus]: nearly equal"});
  add({"the same, first generation over UDP", "Gb/s", 95, plateau({{"transport", {0, "udp"}}}), kHeldOut,
       "published for RDMA [accl-plus]"});
  add({"TCP between two FPGAs", "Gb/s", 91.5, plateau({}), kFitted, "published [easynet]; `tcp_bandwidth`"});
}

void add_shapes(const AddRow& add) {
  // Without the host's costs, as in the plots.
  const Values device = {{"profile", {0, "gen2"}}, {"driver", {0, "mapped"}}, {"data", {0, "device"}}};
  const auto reduce = [&](int ranks, std::size_t bytes) {
    return collective(ranks, 0, OperationKind::kReduce, bytes, device);
  };
  add({"reduce of 8 KiB, 8 over 2 ranks", "", 0, reduce(8, 8192) / reduce(2, 8192), kHeldOut,
       "published plot [accl-plus]", "nearly flat"});
  add({"reduce of 128 KiB, 5 over 4 ranks", "", 0, reduce(5, 131072) / reduce(4, 131072), kHeldOut,
       "published plot [accl-plus]", "a step up"});
  add({"reduce of 128 KiB, 8 over 5 ranks", "", 0, reduce(8, 131072) / reduce(5, 131072), kHeldOut,
       "published plot [accl-plus]", "flat"});
}

/// Blocks cross the link of each rank one after the other; from host memory they cross PCIe before and after.
void add_alltoall(const AddRow& add) {
  const auto alltoall = [](const char* data) {
    return collective(8, 0, OperationKind::kAlltoall, 65536,
                      {{"profile", {0, "gen2"}}, {"driver", {0, "mapped"}}, {"data", {0, data}}});
  };
  add({"alltoall of 64 KiB on 8 ranks, second generation, device memory", "us", 0, alltoall("device"),
       kHeldOut, "inferred: the bound is the link. Each of seven steps waits for its receiver's address",
       "above 38.6"});
  add({"the same from host memory", "us", 0, alltoall("host"), kHeldOut,
       "inferred: the bound is the link and 512 KiB over PCIe each way (`pcie`): XRT's buffers "
       "are copied whole before and after the call",
       "above 125"});
}

}  // namespace

ValidationRows validation() {
  return rows_by({add_calls, add_host, add_network, add_plateaus, add_shapes, add_alltoall});
}

}  // namespace offramp::cclo
