// Modelled time depends on the programs alone: not on the order in which messages happen to arrive, not on
// how the fabric carries them, and not on what else is modelled in the same run.
#include <gtest/gtest.h>

#include <random>

#include "tests/cluster.hpp"
#include "tests/core/support.hpp"

namespace offramp {
namespace {

using test::Buffer;
using test::pattern;

/// A mixture of everything, drawn from a seed that is the same on all ranks.
Task<void> mixture(ClusterRank& rank, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&random](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Int32Sum sum;
  AffineComposition composition;
  const auto ranks = static_cast<std::uint32_t>(rank.size());
  for (int step = 0; step < 60; ++step) {
    const std::uint32_t kind = draw(12);
    const int root = static_cast<int>(draw(ranks));
    const auto shift = static_cast<int>(1 + draw(ranks));
    const std::size_t sizes[] = {0, 8, 504, 8192, 40000, 65536, 65544, 200000};
    const std::size_t bytes = sizes[draw(8)];
    const bool in_place = draw(2) == 0;
    const int to = (rank.rank() + shift) % rank.size();
    const int from = (rank.rank() + rank.size() * 2 - shift) % rank.size();
    const std::size_t whole = bytes * ranks;
    Buffer own = pattern(whole, seed + static_cast<std::uint32_t>(rank.rank()));
    Buffer other(whole);
    const auto data = Bytes(in_place ? own : other);
    ElementReducer& reducer = step % 2 == 0 ? static_cast<ElementReducer&>(sum) : composition;
    if (draw(3) == 0) rank.compute(Time::ns(std::int64_t{draw(5000)} * (rank.rank() + 1)));
    switch (kind) {
      case 0:
        co_await rank.sendrecv(to, Bytes(other).first(bytes), from, MutableBytes(own).first(bytes), 1);
        break;
      case 1: {
        std::vector<ClusterRequestPointer> requests;
        for (int i = 0; i < 4; ++i) requests.push_back(rank.irecv(from, MutableBytes(own).first(bytes), i));
        for (int i = 3; i >= 0; --i)
          requests.push_back(i % 2 == 0 ? rank.isend(to, Bytes(other).first(bytes), i)
                                        : rank.issend(to, Bytes(other).first(bytes), i));
        co_await rank.wait_all(requests);
        break;
      }
      case 2: {  // a collective and messages at the same time
        ClusterRequestPointer receive = rank.irecv(from, MutableBytes(other).first(bytes), 9);
        Operation operation;
        operation.kind = OperationKind::kBcast;
        operation.bytes = bytes;
        operation.ranks = rank.size();
        operation.root = root;
        const MutableBytes buffer = MutableBytes(own).first(bytes);
        ClusterRequestPointer collective = rank.start(operation, {buffer, buffer, bytes});
        co_await rank.send(to, Bytes(other).first(bytes), 9);
        co_await rank.wait(receive);
        co_await rank.wait(collective);
        break;
      }
      case 3:
        co_await rank.bcast(MutableBytes(own).first(bytes), root);
        break;
      case 4:
        co_await rank.reduce(data.first(bytes), MutableBytes(own).first(bytes), root, reducer);
        break;
      case 5: {
        const std::size_t place = in_place ? bytes * static_cast<std::size_t>(root) : 0;
        co_await rank.gather(data.subspan(place, bytes), own, root);
        break;
      }
      case 6:
        co_await rank.allreduce(data.first(bytes), MutableBytes(own).first(bytes), reducer);
        break;
      case 7:
        co_await rank.scatter(own, MutableBytes(other).first(bytes), root);
        break;
      case 8:
        co_await rank.allgather(data.subspan(bytes * static_cast<std::size_t>(rank.rank()), bytes), own);
        break;
      case 9:
        co_await rank.reduce_scatter(data, own, reducer);
        break;
      case 10:
        co_await rank.alltoall(data, own);
        break;
      default:
        co_await rank.barrier();
    }
  }
}

Cluster::Program program(std::uint32_t seed) {
  return [seed](ClusterRank& rank) { return mixture(rank, seed); };
}

std::vector<Time> clocks_of(int ranks, const std::vector<ClusterLane>& lanes, const ClusterOptions& options,
                            std::uint32_t seed, std::size_t lane = 0) {
  Cluster cluster(ranks, lanes, options);
  EXPECT_EQ(cluster.run(program(seed)), "");
  for (int rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(cluster.engine(rank).lane(0).counters.arrival_order_dependences(), 0U);
  return cluster.clocks(lane);
}

ClusterLane lane_of(std::string_view name) {
  return ClusterLane(test::backend_named(name));
}

/// A host that differs from the default in everything.
ClusterLane slow_host() {
  ClusterLane lane = lane_of("host");
  lane.settings.set("latency", {7777, {}});
  lane.settings.set("overhead", {333, {}});
  lane.settings.set("gap", {91, {}});
  lane.settings.set("bandwidth", {13, {}});
  lane.settings.set("eager_limit", {1000, {}});
  return lane;
}

class ModelledTime : public testing::TestWithParam<const BackendDescription*> {};

TEST_P(ModelledTime, IsTheSameInEveryOrderOfDelivery) {
  for (const int ranks : {2, 5}) {
    const std::vector<Time> expected = clocks_of(ranks, {ClusterLane(*GetParam())}, {}, 1);
    EXPECT_GT(expected[0], Time());
    for (std::uint64_t shuffle = 1; shuffle <= 20; ++shuffle) {
      ClusterOptions options;
      options.shuffle_seed = shuffle * 0x9e3779b97f4a7c15U;
      EXPECT_EQ(clocks_of(ranks, {ClusterLane(*GetParam())}, options, 1), expected) << shuffle;
    }
  }
}

TEST_P(ModelledTime, DoesNotDependOnHowTheFabricCarriesTheBytes) {
  const std::vector<Time> expected = clocks_of(4, {ClusterLane(*GetParam())}, {}, 2);
  for (const std::size_t limit : {std::size_t{0}, std::size_t{500}, std::size_t{100000}, SIZE_MAX}) {
    ClusterOptions options;
    options.eager_limit = limit;
    EXPECT_EQ(clocks_of(4, {ClusterLane(*GetParam())}, options, 2), expected) << limit;
  }
}

TEST_P(ModelledTime, OfALaneThatWatchesIsThatOfARunOfItsOwn) {
  for (const int ranks : {2, 4, 5}) {
    const std::uint32_t seed = 10 + static_cast<std::uint32_t>(ranks);
    const std::vector<Time> own = clocks_of(ranks, {ClusterLane(*GetParam())}, {}, seed);
    const std::vector<Time> slow = clocks_of(ranks, {slow_host()}, {}, seed);
    const std::vector<ClusterLane> both = {slow_host(), ClusterLane(*GetParam()), slow_host()};
    EXPECT_EQ(clocks_of(ranks, both, {}, seed, 0), slow);
    EXPECT_EQ(clocks_of(ranks, both, {}, seed, 1), own);
    EXPECT_EQ(clocks_of(ranks, both, {}, seed, 2), slow);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, ModelledTime,
                         testing::ValuesIn(built_in_backends().begin(), built_in_backends().end()),
                         [](const auto& each) { return std::string(each.param->name); });

TEST(ALaneThatWatches, MovesNoPayload) {
  test::Mailroom room(2);
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::unique_ptr<Collective>> running;
  std::vector<Buffer> buffers(2, pattern(1000, 3));
  for (int rank = 0; rank < 2; ++rank) {
    engines.push_back(std::make_unique<Engine>(room.at(rank), test::host_lanes(rank, 2, 3)));
    Context& context = engines.back()->open_context(kCollectiveContext, rank, std::vector{0, 1});
    running.push_back(std::make_unique<Collective>(*engines.back(), context));
    Operation operation;
    operation.kind = OperationKind::kBcast;
    operation.bytes = 1000;
    Buffer& buffer = buffers[static_cast<std::size_t>(rank)];
    running.back()->start(operation, {buffer, buffer, 1000}, nullptr);
  }
  ASSERT_EQ(room.letters.size(), 3U);
  std::size_t payload = 0;
  for (std::size_t i = 0; i < room.letters.size(); ++i) {
    payload += room.letters[i]->payload.size();
    test::Mailroom::deliver(*room.letters[i], *engines[1]);
  }
  EXPECT_EQ(payload, 1000U);
  EXPECT_TRUE(running[1]->done());
  EXPECT_EQ(engines[1]->malformed(), 0U);
  running[1]->observe();
  EXPECT_EQ(engines[1]->lane(0).clock, engines[1]->lane(1).clock);
}

TEST(ALaneThatWatches, DoesNotFailTheProgramsCollective) {
  struct Failing {
    static std::unique_ptr<Backend> create(const BackendContext&) {
      class FailingBackend final : public IssueOrderBackend {
        using IssueOrderBackend::depart;
        using IssueOrderBackend::receive;
        [[nodiscard]] Verdict supports(const Operation& operation) const override {
          return Verdict::accept(operation, kRegularOperations);
        }
        Departure depart(const Transfer&, Time issued, Units&) override {
          return {issued, issued, false, {}};
        }
        Stamp match(const Transfer&, const Stamp& departure, Time) override { return departure; }
        Time receive(const Transfer&, const Stamp&, Time posted, Units&) override { return posted; }
        Time complete_send(const Transfer&, const Stamp& reply, Units&) override { return reply.last; }
        [[nodiscard]] std::size_t units() const override { return 0; }
        [[nodiscard]] Time post_receive_cost() const override { return {}; }
        Task<Outcome> collective(const Operation&, Team&, CollectiveBuffers) override {
          co_return Outcome::kFault;
        }
        [[nodiscard]] WireCounters wire() const override { return {}; }
      };
      return std::make_unique<FailingBackend>();
    }
  };
  const BackendDescription failing{
      BackendDescription::kAbi, "failing", "every collective fails", {}, Failing::create};
  for (const bool watches : {true, false}) {
    std::vector<ClusterLane> lanes = {lane_of("host"), ClusterLane(failing)};
    if (!watches) std::swap(lanes[0], lanes[1]);
    Cluster cluster(2, lanes);
    EXPECT_EQ(cluster.run([&](ClusterRank& rank) -> Task<void> {
      EXPECT_EQ(co_await rank.barrier(), watches ? Outcome::kOk : Outcome::kFault);
    }),
              "");
  }
}

}  // namespace
}  // namespace offramp
