// The driver: its memorised times against the network itself, and calls and collectives as programs see them.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "backends/tinsel/device.hpp"
#include "backends/tinsel/tinsel.hpp"
#include "simulators/world/world.hpp"
#include "tests/cluster.hpp"
#include "tests/engine/support.hpp"
#include "tests/message_stages.hpp"
#include "tests/timed_cluster.hpp"
#include "tests/tinsel/support.hpp"

namespace offramp::tinsel {
namespace {

using test::Buffer;
using test::pattern;
using Values = std::vector<std::pair<std::string, Settings::Value>>;

Settings settings_with(const Values& values) {
  Settings settings = Settings::defaults(tinsel_backend().parameters);
  for (const auto& [name, value] : values) settings.set(name, value);
  return settings;
}

struct Driver {
  explicit Driver(const Values& values = {}, const FaultRates& faults = {}, int ranks = 8)
      : settings(settings_with(values)),
        configuration(settings, ranks),
        backend(staged(tinsel_backend().create({0, ranks, settings, faults, nullptr}))) {}
  StagedBackend* operator->() const { return backend.get(); }

  Settings settings;
  Configuration configuration;
  std::unique_ptr<StagedBackend> backend;
  ManyUnits sender;
  ManyUnits receiver;
};

Transfer message(std::size_t bytes, bool synchronous = false, int to = 1) {
  Transfer transfer;
  transfer.destination = to;
  transfer.bytes = bytes;
  transfer.synchronous = synchronous;
  return transfer;
}

TEST(TinselBackend, RemembersTheTimeOfTheWholeNetwork) {
  std::mt19937 random(2);
  for (const int ranks : {100, 3000, 49152}) {
    const Settings settings = settings_with({});
    const Configuration configuration(settings, ranks);
    Device device(configuration, {});
    for (int i = 0; i < 150; ++i) {
      const int from = static_cast<int>(random() % static_cast<unsigned>(ranks));
      const int to = static_cast<int>(random() % static_cast<unsigned>(ranks));
      if (from == to) continue;
      const std::uint64_t bytes = i % 10 == 0 ? 30000 : random() % 300;
      const Trip quick = device.unicast(from, to, bytes, 0);
      const Trip whole = device.whole_unicast(configuration.place(from), configuration.place(to), bytes, 0);
      EXPECT_EQ(quick.first, whole.first) << from << " " << to;
      EXPECT_EQ(quick.last, whole.last) << from << " " << to;
      EXPECT_EQ(quick.sent, whole.sent) << from << " " << to;
    }
  }
}

TEST(TinselBackend, EagerMessagesTakeTheTimeOfTheNetwork) {
  for (const Time issued : {Time(), Time::ns(12345), Time::ms(77)}) {
    for (const std::size_t bytes : {0U, 8U, 44U, 1000U, 65536U}) {
      Driver driver;  // with all credits
      Device device(driver.configuration, {});
      const Configuration& c = driver.configuration;
      ManyUnits a;
      ManyUnits b;
      const Departure departure = driver->depart(message(bytes), issued, a);
      const Trip trip = device.unicast(0, 1, bytes, 0);
      const Time begin = issued + c.send_call;
      EXPECT_FALSE(departure.handshake);
      EXPECT_EQ(departure.host_free, begin);  // other threads of the tile do the rest
      EXPECT_EQ(departure.complete, begin + trip.sent);
      EXPECT_EQ(departure.passage.first, begin + trip.first);
      EXPECT_EQ(driver->receive(message(bytes), departure.passage, issued, b),
                begin + trip.last + c.wake + c.receive_call);
    }
  }
}

TEST(TinselBackend, ARankWithOneThreadSendsByItself) {
  Driver driver({{"placement", {0, "dense"}}});
  const Departure departure = driver->depart(message(1000), {}, driver.sender);
  EXPECT_EQ(departure.host_free, departure.complete);
}

TEST(TinselBackend, LongAndSynchronousMessagesWaitForTheirReceive) {
  Driver driver;
  EXPECT_FALSE(driver->depart(message(65536), {}, driver.sender).handshake);
  for (const Transfer& transfer : {message(65537), message(8, true)}) {
    const Departure departure = driver->depart(transfer, {}, driver.sender);
    ASSERT_TRUE(departure.handshake);
    const Time late = Time::ms(20);
    const Passage reply = driver->match(transfer, departure.passage, late);
    EXPECT_FALSE(reply.failed);
    EXPECT_GT(reply.leaves, late);
    EXPECT_GT(driver->receive(transfer, departure.passage, late, driver.receiver), reply.complete);
  }
}

TEST(TinselBackend, AnEarlyMessageIsCopiedFromMemory) {
  Driver driver;
  const Departure departure = driver->depart(message(4096), {}, driver.sender);
  ManyUnits on_time;
  ManyUnits late;
  const Time posted = departure.passage.last + Time::us(10);
  const Configuration& c = driver.configuration;
  EXPECT_EQ(driver->receive(message(4096), departure.passage, {}, on_time),
            departure.passage.last + c.wake + c.receive_call);
  EXPECT_EQ(driver->receive(message(4096), departure.passage, posted, late), posted + c.copy(4096));
  // A receive that is slightly late saves nothing.
  ManyUnits nearly;
  EXPECT_EQ(driver->receive(message(4096), departure.passage, departure.passage.last + Time::us(1), nearly),
            departure.passage.last + c.wake + c.receive_call + c.copy(4096));
}

TEST(TinselBackend, SmallMessagesCostLittleWallTime) {
  Driver driver;
  const auto round = [&] {
    const Departure departure = driver->depart(message(8), {}, driver.sender);
    return driver->receive(message(8), departure.passage, {}, driver.receiver);
  };
  static_cast<void>(round());
  constexpr int kRounds = 100000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) static_cast<void>(round());
  const double each =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / kRounds;
  RecordProperty("nanoseconds", std::to_string(each * 1e9));
  EXPECT_LT(each,
            20e-6);  // about 0.1 us; far above it, so that a busy machine or a sanitizer does not matter
}

TEST(TinselBackend, FaultsCostOnlyTime) {
  Driver clean({}, {}, 100);
  Driver hurt({}, {4, 0.02, 0.01, 0.01}, 100);
  int slower = 0;
  for (std::uint32_t number = 0; number < 60; ++number) {
    Transfer transfer = message(3000, false, 90);
    transfer.number = number;
    ManyUnits a;
    ManyUnits b;
    const Departure good = clean->depart(transfer, {}, a);
    const Departure bad = hurt->depart(transfer, {}, b);
    EXPECT_FALSE(bad.passage.failed);
    EXPECT_GE(bad.passage.last, good.passage.last);
    slower += bad.passage.last > good.passage.last ? 1 : 0;
  }
  EXPECT_GT(slower, 0);
  EXPECT_GT(hurt->wire().retransmissions, 0U);
}

TEST(TinselBackend, DeclinesWithFigures) {
  Operation operation;
  operation.bytes = 128U << 20U;
  EXPECT_TRUE(Driver()->supports(operation).yes());
  ++operation.bytes;
  EXPECT_EQ(Driver()->supports(operation).reason,
            "the data exceeds a rank's 128 MiB of memory with this placement");
  EXPECT_EQ(Driver({{"placement", {0, "dense"}}})->supports(operation).reason,
            "the data exceeds a rank's 2 MiB of memory with this placement");
  operation.bytes = 8;
  EXPECT_TRUE(Driver({}, {}, 49152)->supports(operation).yes());
  EXPECT_EQ(Driver({}, {}, 49153)->supports(operation).reason,
            "48 boards hold 49152 ranks with this placement, but the program has 49153");
  EXPECT_FALSE(
      Driver({{"mesh", {0, "3x2"}}, {"placement", {0, "spread"}}}, {}, 97)->supports(operation).yes());
  Operation gather;
  gather.kind = OperationKind::kGather;
  gather.bytes = ~std::size_t{0} / 2;
  EXPECT_FALSE(Driver()->supports(gather).yes());
}

TEST(TinselPlacement, EveryRankHasAThreadOfItsOwn) {
  for (const int ranks : {1, 96, 768, 769, 1537, 3072, 3073, 40000, 49151, 49152}) {
    const Layout layout = roomiest(ranks);
    const auto mesh = smallest_mesh(ranks, layout);
    ASSERT_TRUE(mesh);
    std::set<ThreadLocation> places;
    for (int r = 0; r < ranks; ++r) {
      const ThreadLocation place = place_of(r, layout, *mesh);
      EXPECT_LT(place.board, mesh->boards());
      EXPECT_TRUE(places.insert(place).second);
    }
  }
  EXPECT_FALSE(smallest_mesh(49153, layout_of(Policy::kDense)));
}

TEST(TinselPlacement, MoreRanksNeverGetFewerBoards) {
  int before = 0;
  for (int ranks = 1; ranks <= 49152; ranks += ranks < 5000 ? 1 : 97) {
    const int boards = smallest_mesh(ranks, roomiest(ranks))->boards();
    EXPECT_GE(boards, before) << ranks;
    before = boards;
  }
  // And no operation gets faster, or much slower, with one rank more.
  for (const int ranks : {768, 1536, 3072}) {
    for (const OperationKind kind :
         {OperationKind::kBarrier, OperationKind::kBcast, OperationKind::kAllreduce}) {
      const auto end = [kind](int all) {
        Operation operation;
        operation.kind = kind;
        operation.bytes = operation.kind == OperationKind::kBarrier ? 0 : 64;
        operation.ranks = all;
        operation.element = ElementType::kFloat32;
        operation.elements = operation.bytes / 4;
        operation.function = ReduceFunction::kSum;
        WorldOptions options;
        options.ranks = all;
        World world(options, WorldBackend(tinsel_backend()));
        EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> { co_await rank.collective(operation); }),
                  "");
        return world.end().seconds() * 1e6;
      };
      std::printf("%s on %d and %d ranks: %.2f and %.2f us\n", std::string(to_string(kind)).c_str(), ranks,
                  ranks + 1, end(ranks), end(ranks + 1));
      EXPECT_NEAR(end(ranks + 1) / end(ranks), 1, 0.15) << to_string(kind) << ranks;
    }
  }
}

TEST(TinselTree, EveryRankHasOneParentAndAllLeadToTheRoot) {
  for (const int ranks : {1, 2, 7, 16, 17, 96, 500}) {
    const Configuration configuration(settings_with({}), ranks);
    std::vector<ThreadLocation> places;
    for (int r = 0; r < ranks; ++r) places.push_back(configuration.place(r));
    for (const int root : {0, ranks / 2, ranks - 1}) {
      for (const bool any_order : {true, false}) {
        std::vector<int> parents(static_cast<std::size_t>(ranks), -1);
        const int top = any_order ? root : 0;
        const TreeShape shape = shape_of(configuration, places, top, any_order);
        for (int r = 0; r < ranks; ++r) {
          for (const int child : locate(shape, configuration.fan_in, r).children) {
            EXPECT_EQ(parents[static_cast<std::size_t>(child)], -1);
            parents[static_cast<std::size_t>(child)] = r;
          }
        }
        for (int r = 0; r < ranks; ++r) {
          EXPECT_EQ(locate(shape, configuration.fan_in, r).parent, parents[static_cast<std::size_t>(r)]);
          EXPECT_EQ(parents[static_cast<std::size_t>(r)] < 0, r == top);
        }
      }
    }
  }
}

TEST(TinselDevice, KeysLiveAsLongAsTheirCommunicator) {
  class OnlyPlaces final : public Team {
   public:
    OnlyPlaces() : Team(0, 40, false) {}
    [[nodiscard]] int world_rank(int rank) const override { return 39 - rank; }
    [[nodiscard]] std::uint64_t context() const override { return 5; }
    MutableBytes scratch(std::size_t) override { return {}; }

   protected:
    void combine_elements(Bytes, MutableBytes) override {}
    Handle start_send(int, Bytes, const Stamp*) override { return nullptr; }
    Handle start_receive(int, MutableBytes, bool) override { return nullptr; }
    bool ready(Handle) override { return true; }
    void wait(Handle, std::coroutine_handle<>) override {}
    Outcome finish(Handle) override { return Outcome::kOk; }
    Arrival finish_token(Handle) override { return {}; }
  } team;
  const Configuration configuration(settings_with({}), 40);
  Device device(configuration, {});
  const auto used = [&] {
    std::uint32_t beats = 0;
    for (int b = 0; b < configuration.machine.mesh.boards(); ++b)
      beats += device.machine().tables(b).used(0) + device.machine().tables(b).used(1);
    return beats;
  };
  Communicator& communicator = device.communicator(team);
  EXPECT_EQ(communicator.places[0], configuration.place(39));
  EXPECT_FALSE(communicator.is_world);  // in another order
  Time first;
  static_cast<void>(device.plan(communicator, 0, first));
  EXPECT_GT(first, Time());
  EXPECT_GT(used(), 0U);
  Time second;
  static_cast<void>(device.plan(communicator, 0, second));
  EXPECT_EQ(second, Time());
  device.forget(5);
  EXPECT_EQ(used(), 0U);
}

// --- programs ---

void expect_collectives_are_right(int ranks, const Values& values) {
  Cluster cluster(ranks, tinsel_backend(), settings_with(values));
  Buffer blocks;
  for (int r = 0; r < ranks; ++r) {
    const Buffer block = pattern(24, static_cast<std::uint32_t>(r));
    blocks.insert(blocks.end(), block.begin(), block.end());
  }
  const std::string stuck = cluster.run([&](ClusterRank& rank) -> Task<void> {
    const Buffer mine = pattern(24, static_cast<std::uint32_t>(rank.rank()));
    Int32Sum sum;
    const std::vector<std::int32_t> ones(2000, rank.rank() + 1);
    const std::int32_t expected = ranks * (ranks + 1) / 2;
    for (int root = 0; root < ranks; root += 1 + ranks / 5) {
      Buffer buffer = rank.rank() == root ? mine : Buffer(24);
      EXPECT_EQ(co_await rank.bcast(buffer, root), Outcome::kOk);
      EXPECT_EQ(buffer, pattern(24, static_cast<std::uint32_t>(root)));
      Buffer all(rank.rank() == root ? blocks.size() : 0);
      EXPECT_EQ(co_await rank.gather(mine, all, root), Outcome::kOk);
      if (rank.rank() == root) {
        EXPECT_EQ(all, blocks);
      }
      Buffer part(24);
      const Buffer nothing;
      const Bytes parts = rank.rank() == root ? Bytes(blocks) : Bytes(nothing);
      EXPECT_EQ(co_await rank.scatter(parts, part, root), Outcome::kOk);
      EXPECT_EQ(part, mine);
      std::vector<std::int32_t> total(rank.rank() == root ? 2000 : 0);
      EXPECT_EQ(co_await rank.reduce(std::as_bytes(std::span(ones)), std::as_writable_bytes(std::span(total)),
                                     root, sum),
                Outcome::kOk);
      for (const std::int32_t value : total) EXPECT_EQ(value, expected);
    }
    std::vector<std::int32_t> total(2000);
    EXPECT_EQ(co_await rank.allreduce(std::as_bytes(std::span(ones)),
                                      std::as_writable_bytes(std::span(total)), sum),
              Outcome::kOk);
    for (const std::int32_t value : total) EXPECT_EQ(value, expected);
    Buffer all(blocks.size());
    EXPECT_EQ(co_await rank.allgather(mine, all), Outcome::kOk);
    EXPECT_EQ(all, blocks);
    EXPECT_EQ(co_await rank.barrier(), Outcome::kOk);
    std::vector<std::int32_t> many(static_cast<std::size_t>(ranks) * 3, rank.rank());
    std::vector<std::int32_t> few(3);
    EXPECT_EQ(co_await rank.reduce_scatter(std::as_bytes(std::span(many)),
                                           std::as_writable_bytes(std::span(few)), sum),
              Outcome::kOk);
    EXPECT_EQ(few[2], ranks * (ranks - 1) / 2);
    std::vector<std::int32_t> got(many.size());
    EXPECT_EQ(co_await rank.alltoall(std::as_bytes(std::span(many)), std::as_writable_bytes(std::span(got))),
              Outcome::kOk);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], static_cast<std::int32_t>(i / 3));
  });
  EXPECT_EQ(stuck, "");
  EXPECT_EQ(cluster.engine(0).lane().counters.calls[0].declined, 0U);
}

TEST(TinselCollectives, AreRightForEveryNumberOfRanks) {
  for (int ranks = 1; ranks <= 9; ++ranks) expect_collectives_are_right(ranks, {});
  expect_collectives_are_right(40, {});
}

TEST(TinselCollectives, AreRightUnderEveryPolicy) {
  for (const std::string placement : {"per_core", "dense"})
    expect_collectives_are_right(21, {{"placement", {0, placement}}});
  for (const std::string multicast : {"mailbox", "software"})
    expect_collectives_are_right(21, {{"multicast", {0, multicast}}});
  expect_collectives_are_right(
      21, {{"tree_order", {0, "x_first"}}, {"barrier", {0, "tree"}}, {"fan_in", {1, {}}}});
}

/// Clocks after a program, for any order of simultaneous events.
std::vector<Time> clocks_of(int ranks, const Values& values, std::uint64_t shuffle,
                            const TimedCluster::Program& program) {
  WorldOptions options;
  options.shuffle_seed = shuffle;
  TimedCluster cluster(ranks, tinsel_backend(), settings_with(values), options);
  EXPECT_EQ(cluster.run(program), "");
  return cluster.clocks();
}

TEST(TinselCollectives, TakeTheSameTimeInEveryOrderOfEvents) {
  const auto program = [](TimedRank& rank) -> Task<void> {
    Buffer buffer(5000);
    for (int root = 0; root < rank.size(); root += 7) co_await rank.bcast(buffer, root);
    Int32Sum sum;
    std::vector<std::int32_t> in(3000, 1);
    std::vector<std::int32_t> out(3000);
    co_await rank.allreduce(std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(out)), sum);
    co_await rank.barrier();
  };
  const std::vector<Time> expected = clocks_of(20, {}, 0, program);
  for (const std::uint64_t seed : {1U, 2U, 3U}) EXPECT_EQ(clocks_of(20, {}, seed, program), expected);
}

TEST(TinselBarrier, IsIdleDetectionWithoutMessagesInFlight) {
  const Values values = {{"barrier", {0, "idle"}}};
  const Configuration configuration(settings_with(values), 6);
  const Time idle = detect_idle(configuration.machine, configuration.idle).barrier;
  const auto quiet = [](TimedRank& rank) -> Task<void> { co_await rank.barrier(); };
  for (const Time clock : clocks_of(6, values, 0, quiet)) EXPECT_EQ(clock, idle);
  // Even where the tree that announces it to the model would take longer.
  const Configuration many(settings_with(values), 96);
  const Time rounds = detect_idle(many.machine, many.idle).barrier;
  for (const Time clock : clocks_of(96, values, 0, quiet)) EXPECT_EQ(clock, rounds);
  // The default uses it unless a tree of so few ranks is faster.
  for (const Time clock : clocks_of(6, {}, 0, quiet)) EXPECT_LT(clock, idle);
  for (const Time clock : clocks_of(kMostInTree, {}, 0, quiet)) EXPECT_LT(clock, idle);
  for (const Time clock : clocks_of(kMostInTree + 1, {}, 0, quiet)) EXPECT_EQ(clock, idle);
  // A message crosses the barrier: the hardware would wait for ever, so a tree is used.
  const auto crossing = [](TimedRank& rank) -> Task<void> {
    Buffer data(8);
    RankRequest request;
    if (rank.rank() == 2) request = rank.isend(4, data);
    co_await rank.barrier();
    if (rank.rank() == 2) co_await rank.wait(request);
    if (rank.rank() == 4) co_await rank.receive(2, data);
  };
  const std::vector<Time> clocks = clocks_of(6, values, 0, crossing);
  for (const int r : {0, 1, 3, 5}) EXPECT_NE(clocks[static_cast<std::size_t>(r)], idle);
}

TEST(TinselMulticast, TheHardwareFeaturePays) {
  const auto program = [](TimedRank& rank) -> Task<void> {
    Buffer buffer(64);
    for (int i = 0; i < 2; ++i) co_await rank.bcast(buffer, 0);
  };
  const auto last = [&](const std::string& kind) {
    Time latest;
    for (const Time clock : clocks_of(300, {{"multicast", {0, kind}}}, 0, program))
      latest = later(latest, clock);
    return latest;
  };
  EXPECT_LT(last("hardware"), last("software"));
}

}  // namespace
}  // namespace offramp::tinsel
