// Shared by the tests of sharp: worlds with switches, and operations.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/host/host.hpp"
#include "backends/sharp/parameters.hpp"
#include "backends/sharp/sharp.hpp"
#include "simulators/network/make_network.hpp"
#include "simulators/world/world.hpp"

namespace offramp::sharp::test {

using Values = std::vector<std::pair<std::string, Settings::Value>>;

/// The defaults of the backend with these values.
inline Settings settings_with(const Values& values) {
  Settings settings = Settings::defaults(parameters());
  for (const auto& [name, value] : values) settings.set(name, value);
  return settings;
}

/// bytes: as in Operation::bytes. Reductions sum doubles.
inline Operation operation_of(OperationKind kind, int ranks, std::size_t bytes) {
  Operation operation;
  operation.kind = kind;
  operation.bytes = bytes;
  operation.ranks = ranks;
  if (!reduces(kind)) return operation;
  operation.element = ElementType::kFloat64;
  operation.function = ReduceFunction::kSum;
  operation.elements = (has_block_per_rank(kind) ? static_cast<std::size_t>(ranks) : 1) * bytes / 8;
  return operation;
}

/// The machine of a test.
struct Scene {
  int ranks = 4;
  int ranks_per_node = 1;
  std::string topology = "star";
  std::string placement = "order";
  Values values = {};
  std::uint64_t shuffle = 0;
  int machine_nodes = 0;  // at least
};

inline NetworkOptions network_of(const Scene& setup) {
  NetworkOptions network;
  network.topology = setup.topology;
  network.placement = setup.placement;
  network.least_nodes = setup.machine_nodes;
  return network;
}

/// The times of a run, by world rank.
struct SceneResult {
  Time end;
  std::vector<Time> clocks;
  std::vector<LinkUse> links;
};

/// Runs a program on all ranks; the host carries what the switches decline. Checks the world's invariants.
inline SceneResult play(const Scene& setup, const World::Program& program) {
  WorldOptions options;
  options.ranks = setup.ranks;
  options.machine.ranks_per_node = setup.ranks_per_node;
  options.check = true;
  options.shuffle_seed = setup.shuffle;
  const NetworkOptions network = network_of(setup);
  auto made = make_network(network, setup.ranks, options.machine);
  EXPECT_TRUE(made);
  options.network = *made;
  options.machine.switches = switches_of(network, setup.ranks, options.machine);
  WorldBackend hardware(sharp_backend(), settings_with(setup.values));
  hardware.host = &host_backend();
  World world(options, hardware);
  EXPECT_EQ(world.run(program), "");
  for (const std::string& violation : world.violations()) ADD_FAILURE() << violation;
  SceneResult result{world.end(), {}, world.links()};
  for (int rank = 0; rank < setup.ranks; ++rank) result.clocks.push_back(world.clock(rank));
  return result;
}

/// The program of one collective per rank.
inline Task<void> call(RankHandle& rank, Operation operation) {
  EXPECT_EQ(co_await rank.collective(operation), Outcome::kOk);
}

/// One call of an operation on all ranks.
inline Time time_of(const Scene& setup, OperationKind kind, std::size_t bytes) {
  const Operation operation = operation_of(kind, setup.ranks, bytes);
  return play(setup, [=](RankHandle& rank) { return call(rank, operation); }).end;
}

}  // namespace offramp::sharp::test
