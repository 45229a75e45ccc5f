#include "backends/host/validation.hpp"

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "backends/host/host.hpp"
#include "backends/host/parameters.hpp"
#include "simulators/model/world.hpp"

namespace offramp::host {
namespace {

// Whether a parameter was chosen after the figure.
constexpr bool kHeldOut = false;
constexpr bool kFitted = true;

constexpr std::size_t kKi = 1024;

/// Ranks of a job, block by block on its nodes.
struct Job {
  int ranks;
  int ranks_per_node;
  Settings settings = Settings::defaults(parameters());
};

std::string size_of(std::size_t bytes) {
  if (bytes >= kKi * kKi) return fmt::format("{} MiB", bytes / kKi / kKi);
  return bytes >= kKi ? fmt::format("{} KiB", bytes / kKi) : fmt::format("{} B", bytes);
}

CollectiveSizes sizes_of_allgatherv(std::size_t block, int ranks) {
  CollectiveSizes sizes;
  sizes.send = block;
  sizes.receive_blocks.assign(static_cast<std::size_t>(ranks), block);
  sizes.receive = block * sizes.receive_blocks.size();
  return sizes;
}

/// As OSU's benchmarks have it: the mean over the ranks of the time that one call takes, in us. All of them
/// begin at once.
double mean_time(const Job& job, OperationKind kind, std::size_t bytes) {
  WorldOptions options;
  options.ranks = job.ranks;
  options.ranks_per_node = job.ranks_per_node;
  World world(options, WorldBackend(host_backend(), job.settings));
  Operation operation;
  operation.kind = kind;
  operation.ranks = job.ranks;
  (void)world.run([&](RankHandle& rank) -> Task<void> {
    RankRequest request = rank.start(rank.world(), operation, sizes_of_allgatherv(bytes, job.ranks));
    co_await rank.wait(request);
  });
  Time sum;
  for (int rank = 0; rank < job.ranks; ++rank) sum += world.clock(rank);
  return sum.seconds() * 1e6 / job.ranks;
}

/// What is said of a row of the allgatherv table whose figure is not met.
std::string_view reason(std::size_t bytes) {
  if (bytes <= 512) return "; by bruck. Why it is less is not known";
  if (bytes <= 8 * kKi)
    return "; by neighbor. The published curve goes on as Bruck's does up to some 4 KiB; the version of Open "
           "MPI is not published";
  if (bytes <= 128 * kKi)
    return "; the published ones take 60 to 70 us per KiB, less for smaller and larger blocks. The model's "
           "memory has one "
           "rate";
  return "; `memory_bandwidth`: 47 us per KiB";
}

/// 4 nodes of 32 ranks, cards as plain NICs, OSU 5.8, September 2023. Neither the version of Open MPI nor the
/// rate of the link is published.
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
  const Job job{128, 32};
  const auto ours = [&job](const Point& point) {
    return mean_time(job, OperationKind::kAllgatherv, point.bytes);
  };
  const auto fitted = [](const Point& point) { return point.bytes > 128 * kKi ? kFitted : kHeldOut; };
  for (const Point& point : kPoints)
    rows.push_back({fmt::format("allgatherv of {} on 4 x 32 ranks, BlueField-2", size_of(point.bytes)), "us",
                    point.bluefield2, ours(point), fitted(point),
                    fmt::format("published{}", reason(point.bytes))});
  for (const Point& point : kPoints)
    rows.push_back({fmt::format("the same of {}, BlueField-3", size_of(point.bytes)), "us", point.bluefield3,
                    ours(point), fitted(point), "published; as above"});
  for (const Point& point : kPoints)
    rows.push_back({fmt::format("iallgatherv of {}, BlueField-2", size_of(point.bytes)), "us",
                    point.nonblocking, ours(point), kHeldOut,
                    "published; libnbc's: all blocks between all ranks at once. The model takes the blocking "
                    "algorithm"});
}

}  // namespace

ValidationRows validation() {
  ValidationRows rows;
  add_allgatherv(rows);
  return rows;
}

}  // namespace offramp::host
