// The figures come from [aie-thesis] (reductions, latencies), [wierse] (rates), and [xd100] (ports to
// memory). The source of a row names the parameter that was fitted to it; such rows are no evidence for the
// model. A tree with several layouts has a row for the published one and a row for the layout in use.
#include <fmt/core.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "backends/aie/aie.hpp"
#include "backends/aie/messages.hpp"
#include "simulators/world/benchmarks.hpp"

namespace offramp::aie {
namespace {

struct Cycles {
  double tree = 0;
  double level = 0;
};

/// A benchmark of [aie-thesis] 4.5: the root's first call, and a later one. A later call corresponds to a
/// late root, whose inputs are all full.
Cycles reduce_cycles(int levels, int window, std::string_view placement) {
  const Settings settings = settings_with(parameters(), {{"data", {0, "tiles"}},
                                                         {"window", {static_cast<double>(window), {}}},
                                                         {"placement", {0, std::string(placement)}}});
  Operation reduction;
  reduction.kind = OperationKind::kReduce;
  reduction.element = ElementType::kInt32;
  reduction.function = ReduceFunction::kSum;
  reduction.bytes = static_cast<std::size_t>(window);
  reduction.elements = reduction.bytes / 4;
  reduction.ranks = (1 << levels) - 1;
  WorldOptions options;
  options.ranks = reduction.ranks;
  const auto cycles = [&](Time late) {
    World world(options, {aie_backend(), settings});
    (void)world.run([&](RankHandle& rank) -> Task<void> {
      if (rank.rank() == 0) rank.compute(late);
      (void)co_await rank.collective(reduction);
    });
    return setup_of(settings).timing.in_cycles(world.engine_time());
  };
  return {cycles({}), cycles(Time::ms(10))};
}

void add_trees(const AddRow& add) {
  struct Row {
    int levels;
    int window;
    double tree;   // cycles, median of 10 first calls
    double level;  // cycles, median of the other 1023
  };
  // Measured on a VC1902 with 2^L - 1 kernels.
  static constexpr std::array kRows = {
      Row{3, 16, 1246.5, 729},       Row{4, 16, 1783.5, 729},       Row{5, 16, 2247.5, 729},
      Row{6, 16, 2780, 729},         Row{3, 8192, 379373, 170384},  Row{4, 8192, 551618.5, 170384},
      Row{3, 4096, 189946.5, 85391}, Row{4, 4096, 276165.5, 85404}, Row{5, 4096, 362667.5, 85392},
      Row{6, 4096, 449123, 85391},   Row{3, 2048, 94189, 42895},    Row{3, 1024, 47343, 21647},
      Row{3, 512, 23907, 11023},     Row{3, 256, 12208, 5709},      Row{3, 128, 6344, 3053},
      Row{3, 64, 3408, 1725},        Row{3, 32, 1949, 1061}};
  for (const Row& row : kRows) {
    const std::string what = fmt::format("L = {}, {} B", row.levels, row.window);
    const Cycles automatic = reduce_cycles(row.levels, row.window, "auto");
    const Cycles published = reduce_cycles(row.levels, row.window, "published");
    const bool same = automatic.tree == published.tree;
    const bool unexplained = row.window == 4096 && row.levels >= 5;
    add({"tree time, " + what, "cycles", row.tree, automatic.tree, kFitted,
         same ? unexplained ? "[aie-thesis] table 4.1; `leaf_element`, `skew`; the remainder is not explained"
                            : "[aie-thesis] table 4.1; `leaf_element`, `skew`"
         : row.window == 16
             ? "[aie-thesis] table 4.1; `leaf_element`, `skew`"
             : "[aie-thesis] table 4.1; `skew`; layout chosen after this figure: all edges share memory",
         "", true});
    if (!same)
      add({"the same, placement = published", "cycles", row.tree, published.tree, kFitted,
           "the one layout that [aie-thesis] 4.6 states; its stream copies are not in this figure"});
    const bool call = row.levels == 3 && row.window == 16;
    const bool slope = row.levels == 3 && row.window == 8192;
    const bool step = row.levels == 3 && row.window == 512;
    add({"level time, " + what, "cycles", row.level, automatic.level, call || slope || step,
         call    ? "[aie-thesis] table 4.1; `call`"
         : slope ? "[aie-thesis] table 4.1; `outer_element`"
         : step  ? "[aie-thesis] table 4.1; the step of two cycles"
                 : "[aie-thesis] table 4.1"});
  }
}

void add_latencies(const AddRow& add) {
  // With the default costs.
  const Timing timing = Setup().timing;
  for (const auto& [distance, published] :
       {std::pair(1, 98.5), std::pair(10, 164.0), std::pair(19, 200.0), std::pair(28, 236.0),
        std::pair(37, 272.0), std::pair(46, 308.0), std::pair(56, 346.0)}) {
    Connection connection;
    connection.shared = distance == 1;
    if (!connection.shared) connection.route.assign(static_cast<std::size_t>(distance), Direction::kEast);
    add({fmt::format("latency of 16 B, distance {}", distance), "cycles", published,
         timing.in_cycles(ping_pong(timing, connection)), distance <= 10,
         distance == 1    ? "[aie-thesis] table 3.1; `acquire_single`"
         : distance == 10 ? "[aie-thesis] table 3.1; `dma`"
         : distance == 56
             ? "[aie-thesis] table 3.1: one of four buffers a tile nearer would be these two cycles"
             : "[aie-thesis] table 3.1"});
  }
  Connection shared;
  add({"latency of neighbours by the host's clock", "ns", 85.5, ping_pong(timing, shared).nanoseconds(),
       kHeldOut,
       "[aie-thesis] 3.3.1: 1024 rounds and the host's calls around them; its own cycle counter shows 98.5 "
       "cycles, 78.8 ns"});
}

/// Rate of windows between two kernels with 256-bit copies, without the overhead of the calls.
double gigabytes_per_second(const Connection& connection, std::size_t window) {
  const Timing timing = Setup().timing;
  constexpr std::size_t kWindows = 100;
  // The difference of two lengths excludes the filling of the pipeline.
  const auto end = [&](std::size_t windows) {
    return run_message(timing, connection, {windows * window, window}, Code::kVector, nullptr, 0).last;
  };
  return static_cast<double>(kWindows * window) / (end(2 * kWindows) - end(kWindows)).seconds() / 1e9;
}

void add_rates(const AddRow& add) {
  const Timing timing = Setup().timing;
  add({"512 integers of two buffers by vector code", "cycles", 99,
       timing.in_cycles(timing.reduce(Code::kVector, 1, 512, 2048)), kFitted,
       "[ug1079], products; `vector_fill`"});
  Connection shared;
  Connection far;
  far.shared = false;
  far.route.assign(4, Direction::kEast);
  add({"tile memory, windows of 8 KB", "GB/s", 29, gigabytes_per_second(shared, 8192), kHeldOut,
       "[wierse], cited by [aie-thesis] without the window; accesses of 256 bit; held out: `vector_fill`"});
  for (const std::size_t window : {std::size_t{512}, std::size_t{1024}, std::size_t{8192}})
    add({fmt::format("DMA, windows of {} B", window), "GB/s", 4.4, gigabytes_per_second(far, window),
         kHeldOut,
         "[wierse], cited by [aie-thesis] without the window; in the model the DMAs make no pause between "
         "windows"});
}

/// Throughput of pairs of ports, one in and one out: messages in windows of 1 KB on an array of 1 GHz. Two
/// ranks share a port per direction.
double gmio(int pairs) {
  constexpr std::size_t kBytes = 1 << 20;
  const Settings settings =
      settings_with(parameters(), {{"clock", {1000, {}}}, {"window", {1024, {}}}, {"command", {}}});
  WorldOptions options;
  options.ranks = 64;
  World world(options, {aie_backend(), settings});
  (void)world.run([pairs](RankHandle& rank) -> Task<void> {
    if (rank.rank() >= 2 * pairs) co_return;
    if (rank.rank() % 2 == 0) (void)co_await rank.send(rank.rank() + 1, kBytes);
    if (rank.rank() % 2 == 1) (void)co_await rank.receive(rank.rank() - 1, kBytes);
  });
  return 2.0 * pairs * kBytes / world.end().seconds() / 1e9;
}

void add_gmio(const AddRow& add) {
  for (const auto& [pairs, published] : {std::pair(1, 6.5), std::pair(2, 10.3), std::pair(4, 11.0),
                                         std::pair(8, 10.8), std::pair(16, 11.0), std::pair(32, 10.9)})
    add({fmt::format("GMIO in and out, {} pair{} of ports", pairs, pairs == 1 ? "" : "s"), "GB/s", published,
         gmio(pairs), pairs == 1 || pairs == 8,
         pairs == 1   ? "[xd100], cycle counter; `gmio_turnaround`"
         : pairs == 8 ? "[xd100]; `gmio_total`"
         : pairs == 2 ? "[xd100]; two ports fill the memory here, but not quite on the hardware"
                      : "[xd100]"});
}

/// All blocks pass the root's single port, whose rate is the bound. No figure of this size is published.
void add_blocks(const AddRow& add) {
  Operation operation{.bytes = 32768, .ranks = 64};
  WorldOptions options;
  options.ranks = operation.ranks;
  for (const OperationKind kind : {OperationKind::kGather, OperationKind::kScatter}) {
    const bool gathers = kind == OperationKind::kGather;
    operation.kind = kind;
    World world(options, WorldBackend(aie_backend()));
    (void)world.run([&](RankHandle& rank) -> Task<void> { (void)co_await rank.collective(operation); });
    add({fmt::format("{} of 32 KiB on 64 ranks", to_string(kind)), "us", 0, world.end().seconds() * 1e6,
         kHeldOut,
         gathers ? "inferred: the bound is the root's port, `gmio_port`, which also pauses between "
                   "2048 windows for 121 us (`gmio_turnaround`)"
                 : "inferred: the bound is the root's port, `gmio_port`",
         "above 524"});
  }
}

}  // namespace

ValidationRows validation() {
  return rows_by({add_trees, add_latencies, add_rates, add_gmio, add_blocks});
}

}  // namespace offramp::aie
