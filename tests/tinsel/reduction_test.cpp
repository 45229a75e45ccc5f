// Reductions in a world against one machine with every fragment of all their messages. The ranks act alike in
// both: they receive the segments of their children one after the other, combine them, and pass them on.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "backends/tinsel/device.hpp"
#include "backends/tinsel/tinsel.hpp"
#include "simulators/world/world.hpp"
#include "tests/tinsel/flows.hpp"

namespace offramp::tinsel {
namespace {

Operation reduce_of(int ranks, std::size_t bytes) {
  Operation operation;
  operation.kind = OperationKind::kReduce;
  operation.bytes = bytes;
  operation.ranks = ranks;
  operation.element = ElementType::kFloat32;
  operation.function = ReduceFunction::kSum;
  operation.elements = bytes / 4;
  return operation;
}

class Reduction {
 public:
  Reduction(const Configuration& configuration, const Operation& operation)
      : configuration_(configuration),
        operation_(operation),
        segments_(operation.bytes / configuration.segment),
        flows_(configuration, {[](std::uint32_t, Time) {},
                               [this](std::uint32_t flow, Time, Time last) { arrived(flow, last); }}) {
    std::vector<ThreadLocation> places;
    for (int r = 0; r < operation.ranks; ++r) places.push_back(configuration.place(r));
    const TreeShape shape = shape_of(configuration, places, 0, true);
    for (int r = 0; r < operation.ranks; ++r) {
      Rank rank;
      rank.position = locate(shape, configuration.fan_in, r);
      rank.stored.resize(rank.position.children.size());
      rank.clock = configuration.copy(operation.bytes);
      ranks_.push_back(std::move(rank));
    }
  }

  Time run() {
    for (int r = 0; r < operation_.ranks; ++r) go_on(r);
    EXPECT_TRUE(flows_.run());
    return ranks_[0].clock;
  }

 private:
  struct Rank {
    Position position;
    Time clock;
    std::size_t segment = 0;
    std::size_t child = 0;
    std::vector<std::map<std::size_t, Time>> stored;  // by child and segment
    Arbiter matching;
  };
  struct Flow {
    int from;
    std::size_t segment;
  };

  void arrived(std::uint32_t flow, Time last) {
    const auto& [from, segment] = flow_[flow];
    const int to = ranks_[static_cast<std::size_t>(from)].position.parent;
    Rank& rank = ranks_[static_cast<std::size_t>(to)];
    const auto& children = rank.position.children;
    const auto child = std::find(children.begin(), children.end(), from) - children.begin();
    const Time matched = rank.matching.acquire(last, configuration_.receive_call).end;
    rank.stored[static_cast<std::size_t>(child)][segment] = matched + configuration_.wake;
    go_on(to);
  }

  /// Continues as far as the received segments allow.
  void go_on(int r) {
    Rank& rank = ranks_[static_cast<std::size_t>(r)];
    for (; rank.segment < segments_; ++rank.segment, rank.child = 0) {
      for (; rank.child < rank.stored.size(); ++rank.child) {
        const auto found = rank.stored[rank.child].find(rank.segment);
        if (found == rank.stored[rank.child].end()) return;
        const Time posted = rank.clock + configuration_.receive_call;
        const bool kept = found->second < posted;
        rank.clock =
            later(posted, found->second) + (kept ? configuration_.copy(configuration_.segment) : Time());
        rank.clock += configuration_.combine(operation_, configuration_.segment);
      }
      if (rank.position.parent < 0) continue;
      rank.clock += configuration_.send_call;
      flow_.push_back({r, rank.segment});
      flows_.send(r, rank.position.parent, configuration_.segment, later(rank.clock, flows_.now()));
    }
  }

  const Configuration& configuration_;
  const Operation operation_;
  const std::size_t segments_;
  Flows flows_;
  std::vector<Rank> ranks_;
  std::vector<Flow> flow_;
};

TEST(TinselReduction, TakesAboutAsLongAsItsFragmentsInOneMachine) {
  for (const auto& [ranks, bytes] : {std::pair{2, 64U << 10U},
                                     {5, 64U << 10U},
                                     {16, 16U << 10U},
                                     {16, 64U << 10U},
                                     {16, 256U << 10U},
                                     {32, 64U << 10U},
                                     {32, 256U << 10U}}) {
    const Settings settings = Settings::defaults(tinsel_backend().parameters);
    const Configuration configuration(settings, ranks);
    const Operation operation = reduce_of(ranks, bytes);
    const Time exact = Reduction(configuration, operation).run();
    WorldOptions options;
    options.ranks = ranks;
    World world(options, WorldBackend(tinsel_backend(), settings));
    EXPECT_EQ(world.run([&](RankHandle& rank) -> Task<void> { co_await rank.collective(operation); }), "");
    const double error = world.end().seconds() / exact.seconds() - 1;
    fmt::print("reduce of {} KiB on {} ranks: one machine {:.1f} us, world {:.1f} us, {:+.1f} %\n",
               bytes >> 10U, ranks, exact.seconds() * 1e6, world.end().seconds() * 1e6, 100 * error);
    EXPECT_LT(error, 0.05);
    EXPECT_GT(error, -0.07);
  }
}

}  // namespace
}  // namespace offramp::tinsel
