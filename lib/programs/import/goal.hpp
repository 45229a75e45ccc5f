// GOAL, the schedules of LogGOPSim and ATLAHS, as text and binary: per rank a graph of messages and
// computing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/import/program.hpp"

namespace offramp::trace {

/// A collective, which some generators of ATLAHS leave whole. Each member of a group has an operation with
/// the same instance.
struct GoalCollective {
  std::size_t kind = 0;    // index in kGoalCollectives
  std::uint64_t size = 0;  // of all blocks, in bytes
  std::uint32_t group = 0;
  std::uint32_t instance = 0;
  std::optional<std::uint32_t> root;  // a rank of the program
};
/// A row of the table below.
struct GoalCollectiveName {
  std::string_view name;
  OperationKind operation;
};
/// In the order of their types in the binary form.
inline constexpr GoalCollectiveName kGoalCollectives[] = {{"bcast", OperationKind::kBcast},
                                                          {"reduce", OperationKind::kReduce},
                                                          {"allreduce", OperationKind::kAllreduce},
                                                          {"reduce_scatter", OperationKind::kReduceScatter},
                                                          {"allgather", OperationKind::kAllgather}};

/// The members of each group: the ranks with a collective of it, ascending.
using GoalGroups = std::map<std::uint32_t, std::vector<std::uint64_t>>;
/// Adds a rank to a group. Ranks come in ascending order, and may come several times in a row.
void add_member(GoalGroups& groups, std::uint32_t group, std::size_t rank);

/// The collectives of one rank. A group of all ranks is the world, others are communicators.
class GoalCommunicators {
 public:
  /// groups: must outlive this object, and must be complete. ranks: of the program.
  GoalCommunicators(const GoalGroups& groups, std::size_t ranks) : groups_(groups), ranks_(ranks) {}
  /// The collective as an event on its communicator. Fails if its root is not in its group.
  Result<recording::Event> event(const GoalCollective& collective);
  /// The graph, with its communicators and with its collectives in the order of their instances.
  Graph complete(Graph graph);

 private:
  const GoalGroups& groups_;
  std::size_t ranks_;
  std::vector<Graph::Communicator> made_;
  std::map<std::uint32_t, std::uint32_t> numbers_;  // by group
};

/// The common part of both forms. several: uses several cpus or nics.
Program goal_program(const std::string& name, int ranks, bool several,
                     std::function<Result<Graph>(int rank)> graph);

// The binary form: packed, little-endian; from LogGOPSim's Goal.hpp.
// The first number of the file.
inline constexpr std::uint64_t kGoalMagic = 4223;
/// LogGOPSim's --save-mem overwrites the file.
inline constexpr std::uint64_t kGoalUsedUp = 2342;
/// Sizes of the form, in bytes.
inline constexpr std::size_t kGoalHeader = 14;
inline constexpr std::size_t kGoalRankEntry = 16;
/// The offsets in the table of ranks are relative to this byte of the file.
inline constexpr std::size_t kGoalBase = 8;
/// The size of one operation, in bytes.
inline constexpr std::size_t kGoalNode = 39;
/// A receive from any rank, or with any tag.
inline constexpr std::uint32_t kGoalAny = 0xffffffff;
// A collective's node has the instance as tag, and as peer the group with the root (or 0xffff) above it.
inline constexpr std::uint8_t kGoalFirstCollective = 10;
inline constexpr std::uint32_t kGoalNoRoot = 0xffff;

}  // namespace offramp::trace
