// A run without a live clock: the same results, bit for bit, as with one, and sends that wait for their
// receivers where the stages of the hardware say that they do.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lib/configuration/registry.hpp"
#include "lib/live_clock/live_messages.hpp"
#include "simulators/model/units.hpp"
#include "tests/cluster.hpp"
#include "tests/core/support.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;
using Values = std::vector<std::pair<std::string, std::string>>;

/// Backends, and settings under which other algorithms run.
struct Variant {
  std::string backend;
  Values values = {};
};
const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {"host"},
      {"cclo"},
      {"cclo", {{"profile", "gen2"}, {"transport", "tcp"}}},
      // Without flat reductions, which add up in the order of modelled arrival.
      {"cclo", {{"profile", "gen2"}, {"reduce_flat_ranks", "0"}, {"reduce_flat_bytes", "0"}}},
      {"zrlmpi"},
      {"zrlmpi", {{"collectives", "linear"}}},
      {"aie"},
      {"aie", {{"allreduce", "butterfly"}}},
      {"dpu"},
      {"tinsel"},
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
  // A value is a number or a choice.
  for (const auto& [key, value] : variant.values) settings.set(key, {std::atof(value.c_str()), value});
  return settings;
}

/// Sums of such numbers depend on the order in which they are added.
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

/// All that the ranks have after all collectives with this many elements, one after the other.
std::vector<Buffer> results(const Variant& variant, int ranks, std::size_t count, int root, bool timed) {
  ClusterOptions options;
  options.timed = timed;
  Cluster cluster(ranks, test::backend_named(variant.backend), settings_of(variant), options);
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

TEST(ACarrier, GivesTheResultsThatTheLiveClockHas) {
  for (const Variant& variant : variants()) {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
      // The longest stay at their senders until they are received.
      for (const std::size_t count : {1, 5, 300, 3000, 50000}) {
        if (count > 3000 && ranks != 3) continue;
        const int root = ranks / 2;
        EXPECT_EQ(results(variant, ranks, count, root, false), results(variant, ranks, count, root, true))
            << name_of(variant) << ", " << ranks << " ranks, " << count << " elements";
      }
    }
  }
}

/// No rank leaves a barrier before all have come, whoever comes last.
TEST(ACarrier, KeepsRanksTogetherInABarrier) {
  for (const Variant& variant : variants()) {
    for (const int ranks : {2, 3, 6}) {
      ClusterOptions options;
      options.timed = false;
      for (int late = 0; late < ranks; ++late) {
        Cluster cluster(ranks, test::backend_named(variant.backend), settings_of(variant), options);
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

/// Where hardware makes a send wait for its receiver, a program that relies on sends that do not wait stands
/// still with or without modelled time.
TEST(ACarrier, WaitsForReceiversAsTheStagesSay) {
  for (const Variant& variant : variants()) {
    const Settings settings = settings_of(variant);
    const std::unique_ptr<Backend> backend =
        test::backend_named(variant.backend).create({0, 4, settings, {}, nullptr, nullptr, 2});
    LiveMessages messages(*backend);
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
  ClusterOptions options;
  options.timed = false;
  for (const bool is_long : {false, true}) {
    Cluster cluster(2, test::backend_named("host"), options);
    const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
      const Buffer data(is_long ? 1 << 20 : 8);
      if (rank.rank() == 0) co_await rank.send(1, data);
    });
    EXPECT_EQ(stuck.empty(), !is_long);
  }
}

}  // namespace
}  // namespace offramp
