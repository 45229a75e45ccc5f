// OSU repeats a measurement many times, because of noise. A world is free of noise unless configured, so two
// windows or four calls suffice. Two calls of warm-up remain, because the first may set up state.
#include "simulators/world/benchmarks.hpp"

#include <fmt/format.h>

namespace offramp {

ValidationRows rows_by(std::initializer_list<void (*)(const AddRow& add)> parts) {
  ValidationRows rows;
  const AddRow add = [&rows](ValidationRow row) { rows.push_back(std::move(row)); };
  for (const auto& part : parts) part(add);
  return rows;
}

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kKi = 1024;
  if (bytes >= kKi * kKi) return fmt::format("{} MiB", bytes / kKi / kKi);
  return bytes >= kKi ? fmt::format("{} KiB", bytes / kKi) : fmt::format("{} B", bytes);
}

Settings settings_with(std::span<const Parameter> table, const Values& values) {
  Settings settings = Settings::defaults(table);
  for (const auto& [name, value] : values) settings.set(name, value);
  return settings;
}

Time half_round_trip(World& world, std::size_t bytes) {
  const int pairs = world.ranks() / 2;
  Time sum;
  for (int rank = 0; rank < pairs; ++rank) sum = sum - world.clock(rank);
  (void)world.run([bytes, pairs](RankHandle& rank) -> Task<void> {
    const bool is_first = rank.rank() < pairs;
    const int peer = is_first ? rank.rank() + pairs : rank.rank() - pairs;
    if (is_first) (void)co_await rank.send(peer, bytes);
    (void)co_await rank.receive(peer, bytes);
    if (!is_first) (void)co_await rank.send(peer, bytes);
  });
  for (int rank = 0; rank < pairs; ++rank) sum += world.clock(rank);
  return Time::ps(sum.count() / pairs / 2);
}

Time message_in_window(World& world, std::size_t bytes, bool both_ways) {
  constexpr int kWindow = 64;
  constexpr std::size_t kAnswer = 4;
  constexpr int kTurns = 2;
  const int pairs = world.ranks() / 2;
  const Time begin = world.clock(0);
  (void)world.run([=](RankHandle& rank) -> Task<void> {
    const bool is_first = rank.rank() < pairs;
    const int peer = is_first ? rank.rank() + pairs : rank.rank() - pairs;
    for (int turn = 0; turn < kTurns; ++turn) {
      std::vector<RankRequest> requests;
      for (int i = 0; i < kWindow; ++i) {
        if (!is_first || both_ways) requests.push_back(rank.irecv(peer, bytes));
      }
      for (int i = 0; i < kWindow; ++i) {
        if (is_first || both_ways) requests.push_back(rank.isend(peer, bytes));
      }
      (void)co_await rank.wait_all(requests);
      if (is_first) (void)co_await rank.receive(peer, kAnswer);
      if (!is_first) (void)co_await rank.send(peer, kAnswer);
    }
  });
  Time end;
  for (int rank = 0; rank < pairs; ++rank) end = later(end, world.clock(rank));
  return Time::ps((end - begin).count() / (std::int64_t{kTurns} * kWindow * pairs * (both_ways ? 2 : 1)));
}

Time mean_of_calls(World& world, std::span<const int> members, const Operation& operation,
                   const std::function<CollectiveSizes(int rank)>& sizes) {
  constexpr int kFirst = 2;  // warm-up, not measured
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
