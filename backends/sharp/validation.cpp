// One function per source: its figures, the measured machine, and the same calls in a world, timed as by
// OSU's benchmarks. If a source does not describe the cabling, nodes are in a fat tree of its switches'
// radix. A row explains why its figure is missed.
#include <fmt/core.h>

#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/host/host.hpp"
#include "backends/sharp/parameters.hpp"
#include "backends/sharp/sharp.hpp"
#include "simulators/network/make_network.hpp"
#include "simulators/world/benchmarks.hpp"

namespace offramp::sharp {
namespace {

constexpr std::size_t kKi = 1024;

// A measured machine and the settings that describe it.
struct Job {
  int nodes;
  int ranks_per_node;
  std::string topology;
  const BackendDescription& backend;
  Settings settings;
  Settings host;  // for operations that the switches decline
};

/// InfiniBand adapters of 100 Gb/s, with UCX.
const Values kHost = {{"nic", {0, "200g"}}, {"bandwidth", {97, {}}}, {"transport", {0, "ucx"}}};

Job job_of(int nodes, int ranks_per_node, std::string topology, const Values& values) {
  return {nodes,
          ranks_per_node,
          std::move(topology),
          sharp_backend(),
          settings_with(sharp_backend().parameters, values),
          settings_with(host_backend().parameters, kHost)};
}
Job job_on_host(int nodes, int ranks_per_node, std::string topology, Values values = {}) {
  values.insert(values.end(), kHost.begin(), kHost.end());
  Job job = job_of(nodes, ranks_per_node, std::move(topology), {});
  return {job.nodes,
          job.ranks_per_node,
          job.topology,
          host_backend(),
          settings_with(host_backend().parameters, values),
          job.host};
}

/// Duration of a call on all ranks, in us.
double mean_time(const Job& job, OperationKind kind, std::size_t bytes) {
  WorldOptions options;
  options.ranks = job.nodes * job.ranks_per_node;
  options.machine.ranks_per_node = job.ranks_per_node;
  NetworkOptions network;
  network.topology = job.topology;
  auto made = make_network(network, options.ranks, options.machine);
  // A topology that is too small shows as no value.
  if (!made) return std::nan("");
  options.network = std::move(*made);
  options.machine.switches = switches_of(network, options.ranks, options.machine);
  WorldBackend hardware(job.backend, job.settings);
  hardware.host = &host_backend();
  hardware.host_settings = job.host;
  World world(options, hardware);
  Operation operation;
  operation.kind = kind;
  operation.ranks = options.ranks;
  operation.bytes = bytes;
  operation.element = ElementType::kFloat32;
  operation.elements = (has_block_per_rank(kind) ? static_cast<std::size_t>(options.ranks) : 1) * bytes / 4;
  operation.function = ReduceFunction::kSum;
  std::vector<int> members(static_cast<std::size_t>(options.ranks));
  std::iota(members.begin(), members.end(), 0);
  return in_microseconds(
      mean_of_calls(world, members, operation, [&](int rank) { return sizes_of(operation, rank); }));
}

// One published size, in us.
struct Point {
  std::size_t bytes;
  double published;
  bool fitted = kHeldOut;
  std::string_view why = {};
};

void add_points(ValidationRows& rows, std::string_view what, const Job& job, OperationKind kind,
                std::span<const Point> points, std::string_view source) {
  for (const Point& point : points) {
    const double ours = mean_time(job, kind, point.bytes);
    // Within 10 %, a row needs no explanation.
    const bool is_met = point.fitted || std::abs(ours / point.published - 1) < 0.1;
    rows.push_back({fmt::format("{} of {}", what, size_text(point.bytes)), "us", point.published, ours,
                    point.fitted,
                    fmt::format("published {}{}", source, is_met && !point.fitted ? "" : point.why)});
    // The host's rows are unrelated to the switches.
    rows.back().operation = job.backend.name == sharp_backend().name;
  }
}

constexpr std::string_view kHostsOwn = "; the host's model, with a NIC that differs from the source's";

/// 128 hosts on Switch-IB 2, EDR: switches of 36 ports.
void add_2016(ValidationRows& rows) {
  const Job job = job_of(128, 1, "fat-tree:18", {{"preset", {0, "switch_ib2"}}});
  constexpr Point kSharp[] = {{8, 2.83, kFitted, "; `engine_latency`"},
                              {4 * kKi, 14.48, kHeldOut, "; the number of packets in flight is assumed"}};
  add_points(rows, "allreduce on 128 nodes, Switch-IB 2,", job, OperationKind::kAllreduce, kSharp,
             "[sharp-2016]");
  constexpr std::string_view kHcoll = "; HCOLL's algorithm, which the host's model does not have";
  constexpr Point kWithout[] = {{8, 6.01, kHeldOut, kHcoll}, {4 * kKi, 46.93, kHeldOut, kHostsOwn}};
  add_points(rows, "without the switches, allreduce on 128 nodes", job_on_host(128, 1, "fat-tree:18"),
             OperationKind::kAllreduce, kWithout, "[sharp-2016]");
  const double copies =
      mean_time(job_of(128, 1, "fat-tree:18", {{"preset", {0, "switch_ib2"}}, {"multicast", {0, {}}}}),
                OperationKind::kAllreduce, 8);
  rows.push_back(
      {"gain of a result by multicast, 8 B on 128 nodes, Switch-IB 2", "%", 16,
       100 * (1 - mean_time(job, OperationKind::kAllreduce, 8) / copies), kHeldOut,
       "published [sharp-2017]; the cost of a further copy at an aggregation node is not published"});
}

/// 128 nodes with one rank, HPC-X on Quantum. The library limits low-latency operations to two packets of a
/// group, so the host carries 4 and 8 KiB.
void add_documentation(ValidationRows& rows) {
  const Job job = job_of(128, 1, "fat-tree:20", {{"outstanding", {2, {}}}, {"call", {5000, {}}}});
  constexpr std::string_view kByHost = "; carried by the host: above two packets, and below 16 KiB";
  constexpr Point kPoints[] = {{4, 7.44},
                               {8, 8.43, kFitted, "; `call` of this library"},
                               {16, 7.81},
                               {32, 8.55},
                               {64, 9.06},
                               {128, 8.44},
                               {256, 9.41},
                               {512, 8.50},
                               {kKi, 9.03},
                               {2 * kKi, 10.43},
                               {4 * kKi, 42.61, kHeldOut, kByHost},
                               {8 * kKi, 37.93, kHeldOut, kByHost},
                               {16 * kKi, 15.48},
                               {32 * kKi, 16.26},
                               {64 * kKi, 17.62, kFitted, "; `stream_start`"},
                               {128 * kKi, 23.09},
                               {256 * kKi, 33.90},
                               {512 * kKi, 58.98},
                               {kKi * kKi, 101.53}};
  add_points(rows, "allreduce on 128 nodes, Quantum,", job, OperationKind::kAllreduce, kPoints,
             "[sharp-docs]");
}

/// 4 and 8 nodes with one rank. The reduce-scatter is an allreduce of all blocks, by low-latency packets or
/// streams.
void add_ucc(ValidationRows& rows) {
  const Job packets = job_of(8, 1, "star", {{"streaming", {0, {}}}, {"low_latency_limit", {1e9, {}}}});
  constexpr Point kPackets[] = {{64, 2.84, kFitted, "; `call`"},
                                {128, 2.94},
                                {256, 3.58},
                                {512, 4.04},
                                {kKi, 4.59},
                                {2 * kKi, 5.39},
                                {4 * kKi, 6.86},
                                {8 * kKi, 9.26},
                                {16 * kKi, 16.76},
                                {32 * kKi, 30.31},
                                {64 * kKi, 57.95},
                                {128 * kKi, 112.52, kFitted, "; `post`"},
                                {256 * kKi, 222.68},
                                {512 * kKi, 446.37},
                                {kKi * kKi, 869.17}};
  add_points(rows, "allreduce in packets on 8 nodes, Quantum,", packets, OperationKind::kAllreduce, kPackets,
             "[ucc-sharp]");
  constexpr std::string_view kCopies =
      "; the source allocates, registers and copies a buffer for all blocks in each call";
  constexpr Point kStreams[] = {{kKi * kKi, 118.47, kHeldOut, kCopies},
                                {2 * kKi * kKi, 264.26, kHeldOut, kCopies},
                                {4 * kKi * kKi, 529.61, kHeldOut, kCopies},
                                {8 * kKi * kKi, 1042.82, kHeldOut, kCopies}};
  add_points(rows, "allreduce in a stream on 8 nodes, Quantum,", job_of(8, 1, "star", {}),
             OperationKind::kAllreduce, kStreams, "[ucc-sharp]");
  constexpr Point kWithout[] = {{8, 7.44, kHeldOut, kHostsOwn},
                                {256, 10.51, kHeldOut, kHostsOwn},
                                {kKi, 11.35, kHeldOut, kHostsOwn},
                                {4 * kKi, 14.1, kHeldOut, kHostsOwn},
                                {16 * kKi, 25.43, kHeldOut, kHostsOwn}};
  add_points(rows, "without the switches, reduce_scatter on 4 nodes, blocks",
             job_on_host(4, 1, "star", {{"reduce_scatter", {0, "pairwise"}}}), OperationKind::kReduceScatter,
             kWithout, "[ucc-sharp]");
}

/// 32 nodes with 40 ranks, hierarchical, with and without the switches between the nodes.
void add_hierarchical(ValidationRows& rows) {
  constexpr std::string_view kNode =
      "; within a node UCC sends messages, whose times are not published separately";
  Job job = job_of(32, 40, "fat-tree:20", {});
  for (const auto& [name, value] : Values{{"memory_latency", {65, {}}},
                                          {"memory_overhead", {350, {}}},
                                          {"copy_bandwidth", {24, {}}},
                                          {"processor", {0, "sc23"}}})
    job.host.set(name, value);
  constexpr Point kWith[] = {{4, 11.03, kFitted, "; `host.memory_overhead` of UCC"},
                             {8, 12.03, kHeldOut, kNode},
                             {16, 11.72, kHeldOut, kNode},
                             {32, 13.21, kHeldOut, kNode},
                             {64, 14.32, kHeldOut, kNode},
                             {128, 18.19, kHeldOut, kNode},
                             {256, 22.88, kHeldOut, kNode},
                             {512, 23.81, kHeldOut, kNode},
                             {kKi, 28.49, kHeldOut, kNode},
                             {2 * kKi, 31.88, kFitted, "; `host.copy_bandwidth` of UCC"}};
  add_points(rows, "allreduce on 32 x 40 ranks, Quantum,", job, OperationKind::kAllreduce, kWith,
             "[ucc-hier]");
  constexpr Point kWithout[] = {{8, 14.9, kHeldOut, kHostsOwn},
                                {256, 27.92, kHeldOut, kHostsOwn},
                                {kKi, 33.06, kHeldOut, kHostsOwn},
                                {2 * kKi, 37.01, kHeldOut, kHostsOwn}};
  add_points(rows, "without the switches, allreduce on 32 x 40 ranks,",
             job_on_host(32, 40, "fat-tree:20", {{"allreduce", {0, "han"}}}), OperationKind::kAllreduce,
             kWithout, "[ucc-hier]");
}

}  // namespace

ValidationRows validation() {
  ValidationRows rows;
  add_2016(rows);
  add_documentation(rows);
  add_ucc(rows);
  add_hierarchical(rows);
  return rows;
}

}  // namespace offramp::sharp
