#include "simulators/world/benchmarks.hpp"

namespace offramp {

Time half_round_trip(World& world, std::size_t bytes) {
  const Time begin = world.clock(0);
  (void)world.run([bytes](RankHandle& rank) -> Task<void> {
    if (rank.rank() == 0) (void)co_await rank.send(1, bytes);
    (void)co_await rank.receive(1 - rank.rank(), bytes);
    if (rank.rank() == 1) (void)co_await rank.send(0, bytes);
  });
  return Time::ps((world.clock(0) - begin).count() / 2);
}

Time message_in_window(World& world, std::size_t bytes) {
  constexpr int kWindow = 64;
  constexpr std::size_t kAnswer = 4;
  constexpr int kTurns = 2;
  const Time begin = world.clock(0);
  (void)world.run([bytes](RankHandle& rank) -> Task<void> {
    for (int turn = 0; turn < kTurns; ++turn) {
      std::vector<RankRequest> requests;
      for (int i = 0; i < kWindow; ++i)
        requests.push_back(rank.rank() == 0 ? rank.isend(1, bytes) : rank.irecv(0, bytes));
      (void)co_await rank.wait_all(requests);
      if (rank.rank() == 0) (void)co_await rank.receive(1, kAnswer);
      if (rank.rank() == 1) (void)co_await rank.send(0, kAnswer);
    }
  });
  return Time::ps((world.clock(0) - begin).count() / kTurns / kWindow);
}

Time mean_of_calls(World& world, std::span<const int> members, const Operation& operation,
                   const std::function<CollectiveSizes(int rank)>& sizes) {
  constexpr int kFirst = 2;  // turns that do not count
  constexpr int kTurns = 4;
  Operation barrier;
  barrier.kind = OperationKind::kBarrier;
  barrier.ranks = operation.ranks;
  Time sum;
  (void)world.run([&](RankHandle& rank) -> Task<void> {
    const Communicator all = rank.communicator(members, 1);
    for (int turn = 0; turn < kFirst + kTurns; ++turn) {
      const Time begin = rank.clock();
      RankRequest request = rank.start(all, operation, sizes(all.rank()));
      (void)co_await rank.wait(request);
      if (turn >= kFirst) sum += rank.clock() - begin;
      RankRequest meeting = rank.start(all, barrier, {});
      (void)co_await rank.wait(meeting);
    }
  });
  return Time::ps(sum.count() / kTurns / operation.ranks);
}

}  // namespace offramp
