// The data of a run: results have the bits of the hardware's order of combination, and sends wait for their
// receivers where the stages of the hardware say so.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/certificate.hpp"
#include "lib/base/registry/registry.hpp"
#include "tests/cluster.hpp"
#include "tests/core/support.hpp"
#include "tests/message_stages.hpp"
#include "tests/timed_cluster.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;
using Values = std::vector<std::pair<std::string, std::string>>;

/// A backend, settings that select other algorithms, and a digest of all ranks' data after all collectives,
/// by number of ranks. The stages' own algorithms gave the same bytes, with the hardware's times.
struct Variant {
  std::string backend;
  Values values = {};
  std::vector<std::uint64_t> digests = {};
};
constexpr int kRanks[] = {1, 2, 3, 4, 5, 8};
const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {"host",
       {},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0xfcdd5c71ea9cacaa, 0x9b3882d99277d82c, 0xdc36a71316bfcaaf,
        0x279f1b10338ec124}},
      {"cclo",
       {},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0xa1f8beba4adb0fee, 0xb524003f38539e61, 0x1abd91e081642087,
        0x1a151cccf9945ce9}},
      {"cclo",
       {{"profile", "gen2"}, {"transport", "tcp"}},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0xe2365cd973f17967, 0x501b0f3fefda6fb9, 0xde700ef793656920,
        0x1d016efb16ba5726}},
      // Without flat reductions, which add in the order of modelled arrival.
      {"cclo",
       {{"profile", "gen2"}, {"reduce_flat_ranks", "0"}, {"reduce_flat_bytes", "0"}},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0x5e94cf8423d88dd4, 0x5579729b572532cf, 0x3c47e8b155f7d3b4,
        0xa8b3bd9f29bbf8af}},
      {"zrlmpi",
       {},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0xf093ffe563a8cba6, 0xf24608614f9a0d01, 0x1dea3f09b9cf3c12,
        0x0f39b925a45cc319}},
      {"zrlmpi",
       {{"collectives", "linear"}},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0x1ecfb456c80c4050, 0x6de6f31fb94c8fca, 0x98113f60465677e3,
        0x8e0efd7ed755b148}},
      {"aie",
       {},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0x5e94cf8423d88dd4, 0x5e68dd02e2be2b7d, 0xd2e7d57f4efe39b0,
        0x5efa12a937b05e99}},
      {"aie",
       {{"allreduce", "butterfly"}},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0x5e94cf8423d88dd4, 0x5e68dd02e2be2b7d, 0xd2e7d57f4efe39b0,
        0xf466505ac1de67c0}},
      {"dpu",
       {},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0x5e94cf8423d88dd4, 0x5e68dd02e2be2b7d, 0x31c46c40b50f66f2,
        0x4e864a1c0717a592}},
      {"tinsel",
       {},
       {0x6d3354c5e08b49a1, 0x52fa4cc9851d3260, 0x5828588a4990838d, 0x88fb5d6f28663396, 0x7ec50ca256ab56c3,
        0x8f7bc1323e79e119}},
  };
  return all;
}

std::string name_of(const Variant& variant) {
  std::string name = variant.backend;
  for (const auto& [key, value] : variant.values) name += " " + key + "=" + value;
  return name;
}

Settings settings_of(const Variant& variant) {
  Settings settings = Settings::defaults(test::backend_named(variant.backend).parameters);
  // Values are numbers or choices.
  for (const auto& [key, value] : variant.values) settings.set(key, {std::atof(value.c_str()), value});
  return settings;
}

/// Numbers whose sum depends on the order of addition.
Buffer uneven_numbers(std::size_t count, int rank) {
  Buffer buffer(count * sizeof(double));
  for (std::size_t i = 0; i < count; ++i) {
    const double value = (i % 3 == 0 ? 1e16 : 1.0) /
                         static_cast<double>(1 + (i * 7 + static_cast<std::size_t>(rank) * 13) % 11) *
                         ((i + static_cast<std::size_t>(rank)) % 2 == 0 ? 1 : -1);
    std::memcpy(buffer.data() + i * sizeof value, &value, sizeof value);
  }
  return buffer;
}

/// The data of all ranks after all collectives with this many elements, one after the other.
std::vector<Buffer> results(const Variant& variant, int ranks, std::size_t count, int root) {
  Cluster cluster(ranks, test::backend_named(variant.backend), settings_of(variant));
  std::vector<Buffer> all(static_cast<std::size_t>(ranks));
  const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
    Buffer& seen = all[static_cast<std::size_t>(rank.rank())];
    const auto keep = [&seen](const Buffer& got) { seen.insert(seen.end(), got.begin(), got.end()); };
    const std::size_t bytes = count * sizeof(double);
    const auto size = static_cast<std::size_t>(rank.size());
    const Buffer own = uneven_numbers(count, rank.rank());
    DoubleSum sum;
    AffineComposition compose;
    Buffer one(bytes);
    Buffer blocks(bytes * size);
    EXPECT_EQ(co_await rank.reduce(own, one, root, sum), Outcome::kOk);
    if (rank.rank() == root) keep(one);
    EXPECT_EQ(co_await rank.allreduce(own, one, sum), Outcome::kOk);
    keep(one);
    Buffer in_place = own;
    EXPECT_EQ(co_await rank.allreduce(in_place, in_place, sum), Outcome::kOk);
    keep(in_place);
    const Buffer maps = pattern(bytes, static_cast<std::uint32_t>(rank.rank()));
    EXPECT_EQ(co_await rank.reduce(maps, one, root, compose), Outcome::kOk);
    if (rank.rank() == root) keep(one);
    const Buffer many = uneven_numbers(count * size, rank.rank());
    EXPECT_EQ(co_await rank.reduce_scatter(many, one, sum), Outcome::kOk);
    keep(one);
    one = own;
    EXPECT_EQ(co_await rank.bcast(one, root), Outcome::kOk);
    keep(one);
    EXPECT_EQ(co_await rank.gather(own, blocks, root), Outcome::kOk);
    if (rank.rank() == root) keep(blocks);
    EXPECT_EQ(co_await rank.allgather(own, blocks), Outcome::kOk);
    keep(blocks);
    EXPECT_EQ(co_await rank.scatter(many, one, root), Outcome::kOk);
    keep(one);
    EXPECT_EQ(co_await rank.alltoall(many, blocks), Outcome::kOk);
    keep(blocks);
    EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
  });
  EXPECT_EQ(stuck, "");
  return all;
}

TEST(ACarrier, GivesTheHardwaresResults) {
  for (const Variant& variant : variants()) {
    std::vector<std::uint64_t> digests;
    for (const int ranks : kRanks) {
      std::uint64_t digest = 0;
      // The longest payloads stay at their senders until they are received.
      for (const std::size_t count : {1, 5, 300, 3000, 50000}) {
        if (count > 3000 && ranks != 3) continue;
        for (const Buffer& one : results(variant, ranks, count, ranks / 2))
          digest = Certificate::digest(one, digest);
      }
      digests.push_back(digest);
    }
    EXPECT_EQ(digests, variant.digests) << name_of(variant);
  }
}

/// All ranks stay in a barrier until the last one has come, for each choice of the last one.
TEST(ACarrier, KeepsRanksTogetherInABarrier) {
  for (const Variant& variant : variants()) {
    for (const int ranks : {2, 3, 6}) {
      for (int late = 0; late < ranks; ++late) {
        Cluster cluster(ranks, test::backend_named(variant.backend), settings_of(variant));
        int left = 0;
        const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
          if (rank.rank() == late) co_return;
          EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
          ++left;
        });
        EXPECT_NE(stuck, "") << name_of(variant);
        EXPECT_EQ(left, 0) << name_of(variant) << ", " << ranks << " ranks without " << late;
      }
    }
  }
}

TEST(ACarrier, WaitsForReceiversAsTheStagesSay) {
  for (const Variant& variant : variants()) {
    const Settings settings = settings_of(variant);
    const std::unique_ptr<Backend> backend =
        test::backend_named(variant.backend).create({0, 4, settings, {}, nullptr, nullptr, 2});
    MessageStages messages(*backend);
    for (const int destination : {1, 3}) {
      for (std::size_t bytes = 0; bytes <= std::size_t{4} << 20; bytes = bytes == 0 ? 1 : bytes * 2) {
        for (const std::size_t more : {0, 1}) {
          Transfer transfer;
          transfer.destination = destination;
          transfer.bytes = bytes + more;
          Units units(messages.units());
          EXPECT_EQ(backend->waits_for_receiver(transfer), messages.depart(transfer, {}, units).handshake)
              << name_of(variant) << ", " << transfer.bytes << " bytes to rank " << destination;
        }
      }
    }
  }
}

TEST(ACarrier, HoldsBackLongSendsOnly) {
  for (const bool is_long : {false, true}) {
    Cluster cluster(2, test::backend_named("host"));
    const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
      const Buffer data(is_long ? 1 << 20 : 8);
      if (rank.rank() == 0) co_await rank.send(1, data);
    });
    EXPECT_EQ(stuck.empty(), !is_long);
  }
}

/// Messages from rank 0 to rank 1, with barriers in between; returns what each rank learns about them.
template <typename Rank>
Task<void> exchange(Rank& rank, std::vector<Outcome>& seen) {
  for (std::size_t i = 0; i < 60; ++i) {
    Buffer data(i % 3 * 5000);
    Outcome outcome = Outcome::kOk;
    if (rank.rank() == 0) {
      outcome = co_await rank.send(1, data);
    } else {
      const Received received = co_await rank.receive(0, data);
      outcome = received.outcome;
    }
    seen.push_back(outcome);
    if (i % 7 == 0) (void)co_await rank.barrier();
  }
}

TEST(ACarrier, HasTheFatesOfTheWorld) {
  FaultRates faults;
  faults.seed = 5;
  faults.loss = 0.2;
  for (const Variant& variant :
       {Variant{"host", {{"retries", "0"}}, {}}, Variant{"dpu", {{"retries", "0"}}, {}},
        Variant{"cclo", {{"transport", "udp"}}, {}}}) {
    const BackendDescription& backend = test::backend_named(variant.backend);
    ClusterOptions run_options;
    run_options.faults = faults;
    Cluster run(2, backend, settings_of(variant), run_options);
    WorldOptions world_options;
    world_options.faults = faults;
    TimedCluster world(2, backend, settings_of(variant), world_options);
    std::array<std::vector<Outcome>, 2> in_run;
    std::array<std::vector<Outcome>, 2> in_world;
    const auto place = [](const auto& rank) { return static_cast<std::size_t>(rank.rank()); };
    EXPECT_EQ(run.run([&](ClusterRank& rank) { return exchange(rank, in_run[place(rank)]); }), "");
    EXPECT_EQ(world.run([&](TimedRank& rank) { return exchange(rank, in_world[place(rank)]); }), "");
    EXPECT_EQ(in_run, in_world) << name_of(variant);
    EXPECT_EQ(in_run[0], in_run[1]) << name_of(variant);
    const auto failed = std::count(in_run[0].begin(), in_run[0].end(), Outcome::kFault);
    EXPECT_TRUE(failed > 5 && failed < 55) << name_of(variant) << ": " << failed;
  }
}

}  // namespace
}  // namespace offramp
