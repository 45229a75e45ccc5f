// One function per source: its figures, the measured job (ranks, nodes, distribution of ranks, settings), and
// the same job in a world, with collectives timed as in OSU's benchmarks by the mean over the ranks. A row
// explains why its figure is missed.
#include "backends/host/validation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backends/host/collectives.hpp"
#include "backends/host/host.hpp"
#include "backends/host/parameters.hpp"
#include "simulators/world/benchmarks.hpp"

namespace offramp::host {
namespace {

constexpr std::size_t kKi = 1024;

/// A job's ranks: block by block on its nodes, or round-robin (mpirun --map-by node).
struct Job {
  int ranks;
  int ranks_per_node;
  bool dealt = false;
  Settings settings = Settings::defaults(parameters());
};

/// In the order of the job's communicator.
std::vector<int> world_ranks(const Job& job) {
  std::vector<int> members;
  const int step = job.dealt ? job.ranks_per_node : 1;
  for (int first = 0; first < step; ++first) {
    for (int rank = first; rank < job.ranks; rank += step) members.push_back(rank);
  }
  return members;
}

Operation operation_of(const Job& job, OperationKind kind, std::size_t bytes, bool nonblocking) {
  Operation operation;
  operation.kind = kind;
  operation.ranks = job.ranks;
  operation.nonblocking = nonblocking;
  operation.element = ElementType::kFloat32;
  operation.bytes = kind == OperationKind::kAllgatherv ? 0 : bytes;
  operation.elements = operation.bytes / sizeof(float);
  if (reduces(kind)) operation.function = ReduceFunction::kSum;
  return operation;
}

World world_of(const Job& job) {
  WorldOptions options;
  options.ranks = job.ranks;
  options.machine.ranks_per_node = job.ranks_per_node;
  return World(options, WorldBackend(host_backend(), job.settings));
}

/// In us.
double mean_time(const Job& job, OperationKind kind, std::size_t bytes, bool nonblocking = false) {
  World world = world_of(job);
  const Operation operation = operation_of(job, kind, bytes, nonblocking);
  const Time mean = mean_of_calls(world, world_ranks(job), operation,
                                  [&](int rank) { return sizes_of_equal_blocks(operation, bytes, rank); });
  return mean.seconds() * 1e6;
}

constexpr std::string_view kNotKnownWhy = "; not known why";
bool is_met(double published, double ours) {
  return std::abs(ours / published - 1) < 0.1;
}

/// Half a round trip, in us.
double message_time(const Job& job, std::size_t bytes) {
  World world = world_of(job);
  return half_round_trip(world, bytes).seconds() * 1e6;
}

/// The remark on a row of the allgatherv table that misses its figure.
std::string_view reason(std::size_t bytes) {
  if (bytes <= 512) return "; by bruck";
  if (bytes <= 16 * kKi) return "; by neighbor";
  if (bytes <= 128 * kKi)
    return "; `memory_detour`: the published ones take 70 us per KiB, which is 1.5 times those of one copy";
  return "; `processor = sc23`: 47 us per KiB";
}

/// 4 nodes with 32 ranks, cards as plain NICs on InfiniBand, OSU 5.8, Open MPI with pml ucx, September 2023.
/// Its version and the link's rate are unpublished [sc23-logs]; the nonblocking figures move 97 Gb/s into
/// each node.
void add_allgatherv(ValidationRows& rows) {
  struct Point {
    std::size_t bytes;
    double bluefield2;
    double bluefield3;
    double nonblocking;  // BlueField-2
  };
  constexpr Point kPoints[] = {{256, 75.0, 70.1, 296.7},          {512, 136.0, 123.3, 354.9},
                               {kKi, 216.4, 201.8, 602.6},        {2 * kKi, 272.5, 249.3, 707.0},
                               {4 * kKi, 344.1, 318.5, 1359.5},   {8 * kKi, 481.9, 467.3, 2331.8},
                               {16 * kKi, 973.7, 980.6, 4264.4},  {32 * kKi, 2276.6, 2273.2, 8553.1},
                               {64 * kKi, 4461.2, 4571.4, 17477}, {128 * kKi, 9034.1, 9029.5, 38932},
                               {256 * kKi, 12139, 11807, 83728},  {512 * kKi, 24773, 24319, 166250},
                               {kKi * kKi, 53655, 53379, 307566}};
  for (const Point& point : kPoints) {
    const PublishedAllgatherv ours = published_allgatherv(point.bytes, false);
    rows.push_back({fmt::format("allgatherv of {} on 4 x 32 ranks, BlueField-2", size_text(point.bytes)),
                    "us", point.bluefield2, ours.us, ours.is_fitted,
                    fmt::format("published [sc23-logs]{}", reason(point.bytes))});
  }
  for (const Point& point : kPoints) {
    const PublishedAllgatherv ours = published_allgatherv(point.bytes, false);
    rows.push_back({fmt::format("the same of {}, BlueField-3", size_text(point.bytes)), "us",
                    point.bluefield3, ours.us, ours.is_fitted, "published [sc23-logs]; as above"});
  }
  for (const Point& point : kPoints) {
    const bool is_fitted = &point == std::begin(kPoints);
    const double ours = published_allgatherv(point.bytes, true).us;
    std::string why;
    if (is_fitted) {
      why = "; `gap` of `nic = bf2`";
    } else if (!is_met(point.nonblocking, ours)) {
      constexpr double kBlocks = 96 * 32;  // that come into a node
      if (point.bytes >= 128 * kKi)
        why = fmt::format("; {:.0f} Gb/s come into each node, of the 94 that 16 KiB reach",
                          kBlocks * static_cast<double>(point.bytes) * 8 / point.nonblocking / 1e3);
      why += kNotKnownWhy;
    }
    rows.push_back(
        {fmt::format("iallgatherv of {}, BlueField-2", size_text(point.bytes)), "us", point.nonblocking, ours,
         is_fitted ? kFitted : kHeldOut,
         fmt::format("published [sc23-logs]; libnbc's schedule: all blocks between all ranks at once{}",
                     why)});
  }
}

/// A collective's times at these sizes.
constexpr std::size_t kSizes[] = {8, kKi, 64 * kKi, kKi* kKi};
struct Measured {
  OperationKind kind;
  double us[std::size(kSizes)];
};

/// osu_latency between two virtual machines, Open MPI, November 2019 [azure-hbv2].
void add_messages(ValidationRows& rows) {
  Job job{2, 1};
  job.settings.set("nic", {0, "200g"});
  job.settings.set("transport", {0, "ucx"});
  const auto add = [&](const Job& of, std::string_view where, std::size_t bytes, double known,
                       std::string_view source) {
    const double ours = message_time(of, bytes);
    rows.push_back({fmt::format("message of {}{}", size_text(bytes), where), "us", known, ours, kHeldOut,
                    fmt::format("{}{}", source, is_met(known, ours) ? "" : kNotKnownWhy)});
  };
  constexpr std::pair<std::size_t, double> kLonger[] = {
      {64, 1.82}, {256, 2.44}, {kKi, 2.62}, {4 * kKi, 3.74}};
  rows.push_back({"message of 8 B, 200 Gb/s", "us", 1.61, message_time(job, 8), kFitted,
                  "published [azure-hbv2]; `latency` of `nic = 200g`"});
  for (const auto& [bytes, published] : kLonger)
    add(job, ", 200 Gb/s", bytes, published, "published [azure-hbv2]");
  Job here{2, 2};
  here.settings.set("copy_bandwidth", {137, {}});
  rows.push_back({"message of 8 B within a node", "us", 0.165, message_time(here, 8), kFitted,
                  "measured: Open MPI 4.1.4, vader; `memory_latency`, `memory_overhead`"});
  rows.push_back({"message of 4 KiB within a node", "us", 2.393, message_time(here, 4 * kKi), kFitted,
                  "measured: the same; `single_copy`"});
  rows.push_back({"message of 1 MiB within a node", "us", 61.982, message_time(here, kKi * kKi), kFitted,
                  "measured: the same; `copy_bandwidth` of that machine: 137 Gb/s"});
  constexpr std::pair<std::size_t, double> kWithin[] = {
      {64, 0.187}, {512, 0.247}, {32 * kKi, 3.995}, {256 * kKi, 15.806}};
  for (const auto& [bytes, measured] : kWithin)
    add(here, " within a node", bytes, measured, "measured: the same");
}

/// The reason why a figure of OSU 5.3 is missed.
std::string_view reason(const Job& job, OperationKind kind, std::size_t bytes, double published,
                        double ours) {
  using enum OperationKind;
  constexpr std::size_t kMi = kKi * kKi;
  if (is_met(published, ours)) return "";
  if (kind == kBcast && bytes == kKi)
    return "; inferred: where the call does not block, UCX copies nothing from a size on that it chooses by "
           "the machine, and such a send is complete only when the other NIC has acknowledged it. The model "
           "copies";
  if (job.ranks_per_node > 1)
    return ours < published ? "; inferred: processor time of han's tasks and libnbc's schedules"
                            : kNotKnownWhy;
  if (bytes == kMi && (kind == kAllgather || kind == kBcast) && job.ranks > 2)
    return "; 113 Gb/s come into each node in the published allgather: the link's rate is not published";
  if (bytes == kMi && ours < published)
    return "; inferred: the own operand is copied out of memory, at 5.8 GB/s in place of 10";
  return kNotKnownWhy;
}

/// The figure to which parameters were fitted.
struct FittedTo {
  OperationKind kind;
  std::size_t bytes;
  std::string_view parameters;
};

void add_collectives(ValidationRows& rows, const Job& job, std::string_view where,
                     std::span<const Measured> all, const FittedTo& fitted_to = {}) {
  for (const Measured& one : all) {
    for (std::size_t i = 0; i < std::size(kSizes); ++i) {
      const double ours = mean_time(job, one.kind, kSizes[i]);
      const bool is_fitted = one.kind == fitted_to.kind && kSizes[i] == fitted_to.bytes;
      rows.push_back({fmt::format("{} of {} on {}", to_string(one.kind), size_text(kSizes[i]), where), "us",
                      one.us[i], ours, is_fitted ? kFitted : kHeldOut,
                      fmt::format("published [bf2-osu]{}",
                                  is_fitted ? fitted_to.parameters
                                            : reason(job, one.kind, kSizes[i], one.us[i], ours))});
    }
  }
}

/// OSU 5.3, 2 and 4 nodes with one BlueField-2 each as a NIC, July 2025 [bf2-osu], ranks distributed
/// round-robin. The version of Open MPI and the link's rate are unpublished. Its messages are UCX's, the only
/// transport with the tag matching of the related measurements. With one rank per node "han" delegates
/// everything to "tuned".
void add_nodes(ValidationRows& rows) {
  using enum OperationKind;
  constexpr Measured kOnTwo[] = {{kAllreduce, {1.99, 3.41, 27.79, 305.28}},
                                 {kAllgather, {1.95, 2.93, 15.89, 265.19}},
                                 {kBcast, {1.75, 3.27, 12.40, 84.18}}};
  constexpr Measured kOnFour[] = {
      {kAllreduce, {3.68, 5.76, 41.58, 362.73}}, {kAllgather, {3.60, 6.18, 56.70, 222.89}},
      {kBcast, {1.06, 4.48, 16.77, 167.26}},     {kReduce, {1.97, 2.78, 16.30, 249.31}},
      {kGather, {1.77, 1.40, 32.87, 215.31}},    {kScatter, {0.97, 2.33, 18.83, 220.30}}};
  constexpr Measured kByNodes[] = {
      {kAllreduce, {7.81, 19.87, 128.79, 1523.63}}, {kAllgather, {6.49, 19.18, 461.14, 7683.63}},
      {kBcast, {1.77, 6.37, 30.28, 395.25}},        {kReduce, {1.32, 3.79, 32.90, 472.52}},
      {kGather, {1.05, 1.40, 40.59, 576.75}},       {kScatter, {2.24, 8.55, 215.68, 2837.65}}};
  const auto job = [](int ranks, int ranks_per_node, bool dealt = false) {
    Job one{ranks, ranks_per_node, dealt};
    one.settings.set("transport", {0, "ucx"});
    one.settings.set("nic", {0, "bf2"});
    one.settings.set("memory_latency", {140, {}});
    one.settings.set("memory_overhead", {140, {}});
    return one;
  };
  add_collectives(rows, job(2, 1), "2 nodes", kOnTwo, {kBcast, 8, "; `latency` of `nic = bf2`"});
  add_collectives(rows, job(4, 1), "4 nodes", kOnFour);
  Job han = job(16, 4, true);
  for (const Measured& one : kByNodes) han.settings.set(to_string(one.kind), {0, "han"});
  han.settings.set("barrier", {0, "han"});
  add_collectives(rows, han, "4 x 4 ranks, han", kByNodes,
                  {kGather, 8, "; `memory_latency`, `memory_overhead` of that machine: 140 ns each"});
}

/// Time in MPI of rank 0, with two ranks on a node, for a nonblocking operation. Between start and wait the
/// program computes for `computing` and polls at equal distances.
double time_in_mpi(OperationKind kind, std::size_t bytes, Time computing, int questions) {
  WorldOptions options;
  options.ranks = options.machine.ranks_per_node = 2;
  World world(options, WorldBackend(host_backend()));
  Operation operation;
  operation.kind = kind;
  operation.bytes = bytes;
  operation.nonblocking = true;
  operation.element = ElementType::kFloat32;
  operation.elements = bytes / sizeof(float);
  if (reduces(kind)) operation.function = ReduceFunction::kSum;
  (void)world.run([&](RankHandle& rank) -> Task<void> {
    RankRequest request = kind != OperationKind::kSend ? rank.start(rank.world_communicator(), operation)
                          : rank.rank() == 0           ? rank.isend(1, bytes)
                                                       : rank.irecv(0, bytes);
    for (int part = 0; part <= questions; ++part) {
      rank.compute(Time::ps(computing.count() / (questions + 1)));
      if (part < questions && !request.empty()) (void)co_await rank.test(request);
    }
    if (!request.empty()) (void)co_await rank.wait(request);
  });
  return (world.clock(0) - computing).seconds();
}

/// The share of an operation that is hidden by computing, in percent: two ranks of a node with Open MPI
/// 4.1.4; for messages, at the sender. Medians of 7 runs of 10 operations each; negative shares count as 0.
void add_overlap(ValidationRows& rows) {
  struct Point {
    OperationKind kind;
    std::size_t bytes;
    int questions;
    double hidden;
  };
  using enum OperationKind;
  constexpr std::size_t kMi = kKi * kKi;
  constexpr Point kPoints[] = {
      {kSend, 64 * kKi, 0, 22},     {kSend, kMi, 0, 0},           {kSend, 4 * kMi, 0, 0},
      {kSend, 4 * kMi, 4, 98},      {kAllreduce, 64 * kKi, 0, 0}, {kAllreduce, kMi, 0, 33},
      {kAllreduce, 4 * kMi, 0, 23}, {kAllreduce, 4 * kMi, 4, 34}, {kAllgather, 64 * kKi, 0, 0},
      {kAllgather, kMi, 0, 0},      {kAllgather, 4 * kMi, 0, 8},  {kAllgather, 4 * kMi, 4, 11}};
  for (const Point& point : kPoints) {
    const Time computing = Time::us(150 + 3 * static_cast<std::int64_t>(point.bytes) / 1000);
    const double alone = time_in_mpi(point.kind, point.bytes, Time(), 0);
    const double beside = time_in_mpi(point.kind, point.bytes, computing, point.questions);
    const std::string asks = point.questions > 0 ? fmt::format(", {} questions", point.questions) : "";
    const std::string_view what = point.kind == kSend ? "message" : to_string(point.kind);
    rows.push_back(
        {fmt::format("hidden of {} of {} within a node{}", what, size_text(point.bytes), asks), "%",
         point.hidden, std::max(0.0, 100 * (1 - beside / alone)), kHeldOut,
         "measured: Open MPI 4.1.4, vader; median of 7 runs on a busy machine, apart by tens of per cent"});
  }
}

/// osu_allreduce 7.4 on 4 nodes with 128 ranks each over HDR100: HCOLL of HPC-X 2.17.1 without SHARP, May
/// 2024 [ucc-hcoll]. The processors are unpublished, and HCOLL's algorithms are inferred from UCC's.
void add_hcoll(ValidationRows& rows) {
  constexpr double kPublished[] = {7.70, 11.73, 152.94, 1519.43};
  Job job{512, 128};
  job.settings.set("collectives", {0, "hcoll"});
  for (std::size_t i = 0; i < std::size(kSizes); ++i)
    rows.push_back({fmt::format("allreduce of {} on 4 x 128 ranks, HCOLL", size_text(kSizes[i])), "us",
                    kPublished[i], mean_time(job, OperationKind::kAllreduce, kSizes[i]), kHeldOut,
                    "published [ucc-hcoll]; by `hcoll`, whose algorithms are inferred from [ucc]"});
}

/// Figures from threads of the makers of UCC and Open MPI. Where a thread names no NIC, transport, or
/// processor, the row has the nearest preset.
void add_threads(ValidationRows& rows) {
  using enum OperationKind;
  using Figures = std::initializer_list<std::pair<std::size_t, double>>;
  constexpr std::size_t kMi = kKi * kKi;
  const auto add = [&](OperationKind kind, Job job, std::string_view algorithm, Figures us,
                       std::string_view where, std::string_view source) {
    if (kind != kAllgather) job.settings.set("nic", {0, "200g"});
    if (kind != kAllgather) job.settings.set("transport", {0, "ucx"});
    job.settings.set(to_string(kind), {0, std::string(algorithm)});
    for (const auto& [bytes, published] : us) {
      const std::size_t blocks = kind == kReduceScatterv ? static_cast<std::size_t>(job.ranks) : 1;
      rows.push_back({fmt::format("{} of {} on {}", to_string(kind), size_text(bytes), where), "us",
                      published, mean_time(job, kind, bytes * blocks), kHeldOut,
                      fmt::format("published {}", source)});
    }
  };
  constexpr std::string_view kUcc =
      "[ucc-reduce-scatter]; the NIC is not published, a size is taken as a block";
  add(kReduceScatter, {8, 1}, "recursive_halving",
      {{8, 5.56}, {64, 5.34}, {kKi, 8.14}, {16 * kKi, 26.32}, {128 * kKi, 130.79}}, "8 nodes, UCC's knomial",
      kUcc);
  add(kReduceScatterv, {8, 1}, "ring",
      {{8, 14.15}, {64, 14.36}, {kKi, 19.8}, {16 * kKi, 38.85}, {128 * kKi, 171.54}}, "8 nodes, UCC's ring",
      kUcc);
  add(kAllgather, {44, 22}, "auto", {{8, 11.39}, {kKi, 94.52}, {64 * kKi, 5103.28}, {kMi, 90598.81}},
      "2 x 22 ranks, Omni-Path", "[ompi-han]; by psm2, whose messages within a node the model does not have");
  add(kAllreduce, {128, 32}, "auto", {{kMi, 3710.72}, {8 * kMi, 32010.7}, {64 * kMi, 314291.89}},
      "4 x 32 ranks, Open MPI", "[ucc-ring]; the machine is not published");
}

/// An access and its flush, in us, as in osu_put_latency and the like. The target waits in MPI meanwhile.
double access_time(const Job& job, Access kind, std::size_t bytes) {
  World world = world_of(job);
  Time end;
  (void)world.run([&](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) {
      const std::size_t back = kind == Access::kRead || kind == Access::kAtomic ? bytes : 0;
      RankRequest request =
          rank.access(rank.world_communicator(), 1, kind, kind != Access::kRead ? bytes : 0, back);
      (void)co_await rank.wait(request);
      end = rank.clock();
      (void)co_await rank.send(1, 0);
    } else {
      (void)co_await rank.receive(0, 0);
    }
  });
  return end.seconds() * 1e6;
}

/// OSU 5.8 between two nodes of Google's cloud, over TCP. The release of Open MPI is unpublished [gke-osu].
void add_accesses(ValidationRows& rows) {
  struct Machine {
    std::string_view name;
    double latency, bandwidth;  // fitted, in ns and Gb/s
    double us[2][6];            // of 8 bytes and of 1 MiB, in the order of kTests; 0: unpublished
  };
  constexpr std::string_view kTests[] = {"message",    "put",           "get",
                                         "accumulate", "fetch and add", "compare and swap"};
  using enum Access;
  constexpr Access kKinds[] = {kNone, kWrite, kRead, kCombine, kAtomic, kAtomic};
  constexpr Machine kMachines[] = {
      {"c3 tier 1", 14676, 36.6, {{15.18, 31.01, 70.47, 31.05, 69.61, 71.21}, {277.2, 328.2, 290.6, 718.9}}},
      {"c3", 18676, 40.5, {{19.18, 38.99, 72.92, 38.85, 78.63}, {265.0, 304.07, 252.72, 705.49}}},
      {"c2d", 30476, 10.1, {{30.98, 88.01, 94.31, 87.77, 96.47, 102.02}, {932.29, 997.25, 947.12, 1411.97}}}};
  for (const auto& [name, latency, bandwidth, us] : kMachines) {
    Job job{2, 1};
    job.settings.set("latency", {latency, {}});
    job.settings.set("bandwidth", {bandwidth, {}});
    for (const bool is_long : {false, true}) {
      for (std::size_t test = 0; test < std::size(kTests) && us[is_long][test] > 0; ++test) {
        const std::size_t bytes = is_long ? kKi * kKi : 8;
        const double known = us[is_long][test];
        const bool is_fitted = kKinds[test] == kNone;
        const double ours = is_fitted ? message_time(job, bytes) : access_time(job, kKinds[test], bytes);
        std::string_view why = is_met(known, ours) ? "" : "; over TCP accesses are messages";
        if (is_long && kKinds[test] == kCombine) why = "; sums of single bytes";
        if (is_fitted) why = is_long ? "; `bandwidth`" : "; `latency`";
        rows.push_back({fmt::format("{} of {}, {}", kTests[test], size_text(bytes), name), "us", known, ours,
                        is_fitted, fmt::format("published [gke-osu]{}", why)});
      }
    }
  }
}

}  // namespace

PublishedAllgatherv published_allgatherv(std::size_t bytes, bool nonblocking) {
  Job job{128, 32};
  job.settings.set("nic", {0, "bf2"});
  job.settings.set("transport", {0, "ucx"});
  job.settings.set("processor", {0, "sc23"});
  return {mean_time(job, OperationKind::kAllgatherv, bytes, nonblocking),
          !nonblocking && bytes > std::size_t{128} << 10};
}

ValidationRows validation() {
  ValidationRows rows;
  add_messages(rows);
  add_allgatherv(rows);
  add_nodes(rows);
  add_hcoll(rows);
  add_threads(rows);
  mark_operations(rows);
  add_overlap(rows);
  add_accesses(rows);
  return rows;
}

}  // namespace offramp::host
