// Figures of the service come from programs in a world that imitate a benchmark: overlap_of() times an
// operation alone, then with an equal amount of computing. Figures of a part of the card (latencies, DMA
// engine) come from that part of the model.
#include "backends/host/validation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/dpu/dpu.hpp"
#include "simulators/dpu/platform.hpp"
#include "simulators/world/benchmarks.hpp"

namespace offramp::dpu {
namespace {

// Settings of the backend, and how the job is placed.
struct Job {
  Values values;
  int ranks_per_node = 1;
};

constexpr int kRanks = 128;  // of the measured runs: 4 nodes with 32 ranks

Time end_of(int ranks, const Job& job, const World::Program& program) {
  WorldOptions options;
  options.ranks = ranks;
  options.machine.ranks_per_node = job.ranks_per_node;
  World world(options, WorldBackend(dpu_backend(), settings_with(dpu_backend().parameters, job.values)));
  const std::string error = world.run(program);
  // A run that does not finish shows as 0.
  return error.empty() ? world.end() : Time();
}

/// The result of an overlap benchmark as in OSU: the program computes for the duration of the operation
/// alone.
struct Overlap {
  Time pure;
  Time posted;
  Time wait;
  [[nodiscard]] double percent() const {
    return std::max(0.0, 100.0 * (1.0 - (posted + wait).seconds() / pure.seconds()));
  }
};

Overlap overlap_of(int ranks, const Job& job, OperationKind kind, std::size_t bytes) {
  Operation operation{.kind = kind, .bytes = bytes, .ranks = ranks};
  Overlap seen;
  const auto run = [&](Time compute) {
    return end_of(ranks, job, [&, compute](RankHandle& rank) -> Task<void> {
      RankRequest request = rank.start(rank.world_communicator(), operation);
      seen.posted = later(seen.posted, rank.clock());
      rank.compute(compute);
      const Time begin = rank.clock();
      (void)co_await rank.wait(request);
      seen.wait = later(seen.wait, rank.clock() - begin);
    });
  };
  seen.pure = run({});
  seen.posted = seen.wait = {};
  (void)run(seen.pure);
  return seen;
}

// Published figures of one size.
struct Row {
  std::size_t bytes;
  double blocking;  // us
  double overlap;   // per cent
  double wait;      // us
};
// Allgatherv and iallgatherv, OSU 5.8, September 2023 [sc23-logs].
constexpr Row kBlueField2[] = {
    {256, 1835.8, 95.0, 81},     {512, 1772.4, 94.4, 89},     {1024, 1771.1, 93.8, 99},
    {2048, 1778.5, 92.6, 119},   {4096, 1779.5, 89.7, 167},   {8192, 1786.3, 83.3, 273},
    {16384, 1784.6, 41.5, 1032}, {32768, 1806.1, 12.3, 1539}, {65536, 2953.6, 0, 2948},
    {131072, 6005.7, 1.6, 5768}, {262144, 12201, 2.8, 11577}, {524288, 24846, 3.3, 23489},
    {1048576, 51377, 1.7, 49631}};
constexpr Row kBlueField3[] = {
    {256, 1038.7, 88.4, 112},    {512, 1080.2, 88.1, 120},    {1024, 1079.3, 87.2, 128},
    {2048, 1086.5, 85.3, 147},   {4096, 1084.9, 80.7, 193},   {8192, 1100.8, 70.6, 297},
    {16384, 1138.4, 9.7, 1029},  {32768, 1535.9, 0, 1537},    {65536, 3008.8, 0, 2942},
    {131072, 6005.1, 1.6, 5764}, {262144, 12194, 2.8, 11574}, {524288, 24785, 3.2, 23508},
    {1048576, 51548, 1.1, 49960}};
// Bytes. Up to here, the time hardly depends on the size.
constexpr std::size_t kPlateauEnds = 16384;

Job measured(const char* card) {
  return {{{"card", {0, card}}, {"service_processes", {4, {}}}}, 32};
}

void add_allgather(const AddRow& add, const char* card, std::span<const Row> rows) {
  const bool second = std::string_view(card) == "bf2";
  for (const Row& row : rows) {
    const Overlap ours = overlap_of(kRanks, measured(card), OperationKind::kAllgather, row.bytes);
    const auto name = [&](const char* what) {
      return fmt::format("allgatherv, {}, {} B: {}", card, row.bytes, what);
    };
    // Smaller blocks are limited by the cores, larger ones by copies between hosts.
    const bool plateau = row.bytes <= kPlateauEnds;
    const char* const held_out =
        "published [sc23-logs]; held out: `pair` and `import` of bf3, times the cores' ratio";
    add({name("time"), "us", row.blocking, in_microseconds(ours.pure), second != plateau,
         !plateau ? (second ? "published [sc23-logs]; fitted: copies between hosts"
                            : "published [sc23-logs]; held out: copies between hosts, fitted to bf2")
         : second ? held_out
                  : "published [sc23-logs]; fitted: `pair`, `import`",
         "", true});
    // A percentage of 0 has no relative error.
    add({name("overlap"), "%", row.overlap, ours.percent(), second, "published [sc23-logs]",
         row.overlap > 0 ? "" : "0"});
    add({name("wait"), "us", row.wait, in_microseconds(ours.wait), second,
         second ? "published [sc23-logs]; fitted: copies between hosts"
                : "published [sc23-logs]; held out; small ones: its hosts are slower than those of bf2"});
  }
}

void add_plateaus(const AddRow& add) {
  const auto pure = [](const char* card, std::size_t bytes) {
    return in_microseconds(overlap_of(kRanks, measured(card), OperationKind::kAllgather, bytes).pure);
  };
  const double ratio = pure("bf2", 1024) / pure("bf3", 1024);
  add({"iallgatherv alone, bf2 over bf3, 1024 B", "", 1787.3 / 1096.6, ratio, kFitted,
       "published [sc23-logs]; fitted: the cores' ratio", "", true});
  add({"allgatherv, bf2 over bf3, 1024 B", "", 1771.1 / 1079.3, ratio, kHeldOut,
       "published [sc23-logs]; held out", "", true});
  // Duration without offload on the host, us: blocking and nonblocking.
  const struct {
    const char* card;
    const char* how;
    std::size_t bytes;
    double host;
    const char* bound;
  } hosts[] = {{"bf2", "blocking", 16384, 973.7, "above 973.7"},
               {"bf2", "blocking", 32768, 2276.6, "below 2276.6"},
               {"bf3", "blocking", 16384, 980.6, "above 980.6"},
               {"bf3", "blocking", 32768, 2273.2, "below 2273.2"},
               {"bf2", "nonblocking", 4096, 1359.5, "above 1359.5"},
               {"bf2", "nonblocking", 8192, 2331.8, "below 2331.8"},
               {"bf3", "nonblocking", 2048, 707.0, "above 707"},
               {"bf3", "nonblocking", 4096, 1359.5, "below 1359.5"}};
  for (const auto& host : hosts)
    add({fmt::format("compared with the measured host, {}, {}, {} B", host.card, host.how, host.bytes), "us",
         0, pure(host.card, host.bytes), kHeldOut, "published [sc23-logs]: where the offload begins to win",
         host.bound});
}

/// Durations with offload divided by those of the model's host, on the nodes and in the benchmark of the
/// host's table; below 1 the offload is faster. Both have a link of 100 Gb/s: the rate is not published, but
/// the host's nonblocking times imply 84 to 92.
void add_against_host(const AddRow& add) {
  const struct {
    const char* card;
    bool nonblocking;
    std::size_t bytes;
    double offload;
    double host;
  } rows[] = {{"bf2", false, 16384, 1784.6, 973.7},  {"bf2", false, 32768, 1806.1, 2276.6},
              {"bf2", false, 1048576, 51377, 53655}, {"bf3", false, 16384, 1138.4, 980.6},
              {"bf3", false, 32768, 1535.9, 2273.2}, {"bf3", false, 1048576, 51548, 53379},
              {"bf2", true, 2048, 1787.3, 707.0},    {"bf2", true, 8192, 1803.9, 2331.8},
              {"bf2", true, 65536, 2937.4, 17477},   {"bf3", true, 2048, 1096.6, 707.0},
              {"bf3", true, 4096, 1096.4, 1359.5},   {"bf3", true, 65536, 3014.0, 17477}};
  for (const auto& row : rows) {
    Job job = measured(row.card);
    job.values.emplace_back("link", Settings::Value{100, {}});
    const Time ours = overlap_of(kRanks, job, OperationKind::kAllgather, row.bytes).pure;
    const host::PublishedAllgatherv host = host::published_allgatherv(row.bytes, row.nonblocking);
    add({fmt::format("{} with offload over without, {}, {} B", row.nonblocking ? "iallgatherv" : "allgatherv",
                     row.card, row.bytes),
         "", row.offload / row.host, in_microseconds(ours) / host.us, host.is_fitted,
         row.nonblocking ? "published [sc23-logs]; held out; against the model's host, by libnbc's schedule"
         : host.is_fitted
             ? "published [sc23-logs]; against the model's host; fitted: its memory, `processor = sc23`"
             : "published [sc23-logs]; held out; against the model's host",
         "", true});
  }
}

/// Time until a nonblocking allgather returns. Unpublished figures follow from the published overlap and
/// wait: OSU's overlap is the rest of the operation's time alone after initiation and wait.
void add_initiation(const AddRow& add) {
  const struct {
    const char* card;
    std::size_t bytes;
    double published;
    bool fitted;
  } rows[] = {{"bf2", 256, 9.9, kFitted},     {"bf2", 1024, 11.8, kHeldOut},  {"bf2", 4096, 17.5, kHeldOut},
              {"bf2", 8192, 28, kFitted},     {"bf2", 16384, 20.7, kHeldOut}, {"bf2", 131072, 142, kHeldOut},
              {"bf2", 1048576, 912, kFitted}, {"bf3", 256, 10.0, kHeldOut},   {"bf3", 1024, 12.4, kHeldOut},
              {"bf3", 4096, 18.6, kHeldOut},  {"bf3", 8192, 28.9, kHeldOut},  {"bf3", 16384, 20.6, kHeldOut},
              {"bf3", 131072, 143, kHeldOut}};
  for (const auto& row : rows) {
    const bool is_held_out = std::string_view(row.card) == "bf2" && (row.fitted || row.bytes == 131072);
    add({fmt::format("initiation of an iallgatherv, {}, {} B", row.card, row.bytes), "us", row.published,
         in_microseconds(overlap_of(kRanks, measured(row.card), OperationKind::kAllgather, row.bytes).posted),
         row.fitted,
         row.fitted    ? "published [sc23-logs]; fitted: `post_per_rank`, `own_copy`, `shared_own_copy`"
         : is_held_out ? "published [sc23-logs]; held out"
                       : "published [sc23-logs]: the remainder of its overlap and its wait; held out"});
  }
}

/// Time per message from one rank to another, whose receives are posted.
double stream(std::size_t bytes) {
  // The difference of two lengths excludes the start.
  constexpr int kMore = 200;
  const auto run = [bytes](int messages) {
    // The eager limit is unpublished: 16 KiB pass through the DPU's memory there.
    const Job job = {{{"card", {0, "bf3"}}, {"eager_limit", {65536, {}}}}};
    return end_of(2, job, [=](RankHandle& rank) -> Task<void> {
      std::vector<RankRequest> requests;
      requests.reserve(static_cast<std::size_t>(messages));
      for (int i = 0; i < messages; ++i)
        requests.push_back(rank.rank() == 0 ? rank.isend(1, bytes) : rank.irecv(0, bytes));
      (void)co_await rank.wait_all(requests);
    });
  };
  return (run(2 * kMore) - run(kMore)).seconds() / kMore;
}

void add_messages(const AddRow& add) {
  add({"messages of 8 B, bf3", "M/s", 2.1, 1e-6 / stream(8), kHeldOut,
       "published [sc25-odos]; held out: two of the five steps of `pair`"});
  const auto bandwidth = [](std::size_t bytes) { return static_cast<double>(bytes) / stream(bytes) / 1e9; };
  add({"bandwidth of messages of 1 KiB, bf3", "GB/s", 2.0, bandwidth(1024), kHeldOut,
       "published [sc25-odos]; held out: the same, and a copy"});
  add({"bandwidth of messages of 16 KiB, bf3", "GB/s", 17.3, bandwidth(16384), kFitted,
       "published [sc25-odos]; fitted: `arm_copy`, beside `pair`, with `eager_limit = 64KiB`"});
  add({"bandwidth of messages of 4 MiB, bf3", "GB/s", 22.6, bandwidth(4 << 20), kHeldOut,
       "published [sc25-odos], to memory of the DPU; the model fills the link, as the next row does"});
  add({"bandwidth of reads, bf3", "GB/s", 24.6, bandwidth(4 << 20), kHeldOut,
       "published [sc25-odos]: MPI_Get"});
}

/// 4 nodes with one rank each, and another service [sc25-odos].
void add_alltoall(const AddRow& add) {
  const std::pair<std::size_t, double> rows[] = {{2, 43},        {64, 43},       {4096, 47.5},
                                                 {16384, 54.6},  {65536, 69.7},  {262144, 121},
                                                 {1048576, 292}, {4194304, 1030}};
  const Job job = {{{"card", {0, "bf3"}}, {"link", {100, {}}}}};
  for (const auto& [bytes, published] : rows) {
    const Overlap ours = overlap_of(4, job, OperationKind::kAlltoall, bytes);
    add({fmt::format("ialltoall of another service, {} B", bytes), "us", published,
         in_microseconds(ours.pure), kFitted,
         bytes < (1 << 20)
             ? "published [sc25-odos]; fitted: `import`, `pair`; the service forwards calls, at a cost that "
               "grows with their bytes"
             : "published [sc25-odos]; fitted: link = 100, as its largest messages show",
         "", true});
    add({fmt::format("its overlap, {} B", bytes), "%", 0, ours.percent(), kHeldOut, "published [sc25-odos]",
         "92 to 99"});
  }
  Job shipped = job;
  // The link is the last value.
  shipped.values.pop_back();
  for (const auto& [bytes, published] : rows) {
    if (bytes < (1 << 20)) continue;
    add({fmt::format("the same with the link of bf3, {} B", bytes), "us", published,
         in_microseconds(overlap_of(4, shipped, OperationKind::kAlltoall, bytes).pure), kHeldOut,
         "published [sc25-odos]; held out; its largest messages show a link of half that rate", "", true});
  }
}

/// WRITEs of the DPU's DMA engine to host memory.
void add_dma(const AddRow& add) {
  const CardSpec card = bluefield2();
  const std::pair<std::int64_t, double> rows[] = {{16, 10.19},  {64, 10.19},   {256, 10.19}, {1024, 9.02},
                                                  {4096, 3.71}, {16384, 0.94}, {65536, 0.23}};
  for (const auto& [bytes, published] : rows)
    add({fmt::format("WRITEs of {} B by the DMA engine, bf2", bytes), "M/s", published,
         1e-6 / later(card.dma_request, card.dma_write.bytes(bytes)).seconds(), kFitted,
         bytes == 1024 ? "published [smartnic-bench]; below both limits, `dma_request` and `dma_write`, "
                         "in the range between them"
                       : "published [smartnic-bench]; `dma_request`, `dma_write`"});
}

void add_latencies(const AddRow& add) {
  const CardSpec card;
  const Time emit = Time::ns(300);
  add({"host to service process and back", "us", 0,
       in_microseconds(emit + card.pcie_latency * 2 + card.step() * 2 + card.poll), kHeldOut,
       "published [exp00], crude; held out; assumed latencies, which give 8 % less than the low end",
       "4 to 10"});
  add({"READ of 1 KiB within a machine", "us", 4,
       in_microseconds(card.step() + card.local_latency * 2 + card.pcie_latency * 2), kHeldOut,
       "published [exp00], whole microseconds; assumed latencies"});
}

}  // namespace

ValidationRows validation() {
  return rows_by({[](const AddRow& add) { add_allgather(add, "bf2", kBlueField2); },
                  [](const AddRow& add) { add_allgather(add, "bf3", kBlueField3); }, add_plateaus,
                  add_against_host, add_initiation, add_messages, add_alltoall, add_dma, add_latencies});
}

}  // namespace offramp::dpu
