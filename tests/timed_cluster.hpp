// Programs for tests of times, written as for a Cluster and run in a world: buffers only give sizes.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/registry/registry.hpp"
#include "simulators/world/world.hpp"
#include "tests/element_reducer.hpp"

namespace offramp {

/// A program's interface to its rank: see ClusterRank.
class TimedRank {
 public:
  explicit TimedRank(RankHandle& handle) : handle_(handle) {}

  [[nodiscard]] int rank() const { return handle_.rank(); }
  [[nodiscard]] int size() const { return handle_.size(); }
  [[nodiscard]] Time clock() const { return handle_.clock(); }
  void compute(Time duration) { handle_.compute(duration); }

  // The functions have the parameters of ClusterRank. A world has no data, so only sizes are used.
  Task<Outcome> send(int to, Bytes data, int tag = 0, ElementType element = ElementType::kByte) {
    return handle_.send(to, data.size(), tag, element);
  }
  Task<Outcome> ssend(int to, Bytes data, int tag = 0, ElementType element = ElementType::kByte) {
    return handle_.ssend(to, data.size(), tag, element);
  }
  Task<Received> receive(int from, MutableBytes into, int tag = kAnyTag) {
    return handle_.receive(from, into.size(), tag);
  }
  Task<Received> sendrecv(int to, Bytes data, int from, MutableBytes into, int tag = 0) {
    return handle_.sendrecv(to, data.size(), from, into.size(), tag);
  }
  RankRequest isend(int to, Bytes data, int tag = 0, ElementType element = ElementType::kByte) {
    return handle_.isend(to, data.size(), tag, element);
  }
  RankRequest issend(int to, Bytes data, int tag = 0, ElementType element = ElementType::kByte) {
    return handle_.isend(handle_.world_communicator(), to, data.size(), tag, element, Synchronous::kYes);
  }
  RankRequest irecv(int from, MutableBytes into, int tag = kAnyTag) {
    return handle_.irecv(from, into.size(), tag);
  }
  Task<Received> wait(RankRequest& request) { return handle_.wait(request); }
  Task<Outcome> wait_all(std::vector<RankRequest>& requests) { return handle_.wait_all(requests); }

  /// Begins a nonblocking collective.
  RankRequest start(const Operation& operation) {
    return handle_.start(handle_.world_communicator(), operation);
  }
  Task<Outcome> collective(const Operation& operation) { return handle_.collective(operation); }
  Task<Outcome> bcast(MutableBytes buffer, int root) {
    return of_blocks(OperationKind::kBcast, buffer.size(), root);
  }
  Task<Outcome> gather(Bytes data, MutableBytes, int root) {
    return of_blocks(OperationKind::kGather, data.size(), root);
  }
  Task<Outcome> scatter(Bytes, MutableBytes into, int root) {
    return of_blocks(OperationKind::kScatter, into.size(), root);
  }
  Task<Outcome> allgather(Bytes data, MutableBytes) {
    return of_blocks(OperationKind::kAllgather, data.size());
  }
  Task<Outcome> alltoall(Bytes data, MutableBytes) {
    return of_blocks(OperationKind::kAlltoall, data.size() / static_cast<std::size_t>(size()));
  }
  Task<Outcome> reduce(Bytes data, MutableBytes, int root, const ElementReducer& reducer) {
    return reduction(OperationKind::kReduce, data.size(), reducer, root);
  }
  Task<Outcome> allreduce(Bytes data, MutableBytes, const ElementReducer& reducer) {
    return reduction(OperationKind::kAllreduce, data.size(), reducer);
  }
  Task<Outcome> reduce_scatter(Bytes data, MutableBytes, const ElementReducer& reducer) {
    return reduction(OperationKind::kReduceScatter, data.size() / static_cast<std::size_t>(size()), reducer);
  }
  Task<Outcome> barrier() { return of_blocks(OperationKind::kBarrier, 0); }

 private:
  /// Blocks consist of bytes, unless reduction() sets other elements.
  [[nodiscard]] Operation operation(OperationKind kind, std::size_t bytes, int root) const {
    Operation operation;
    operation.kind = kind;
    operation.bytes = bytes;
    operation.elements = bytes;
    operation.ranks = size();
    operation.root = root;
    return operation;
  }
  /// bytes: as in Operation::bytes.
  Task<Outcome> of_blocks(OperationKind kind, std::size_t bytes, int root = 0) {
    return handle_.collective(operation(kind, bytes, root));
  }
  Task<Outcome> reduction(OperationKind kind, std::size_t bytes, const ElementReducer& reducer,
                          int root = 0) {
    Operation asked = operation(kind, bytes, root);
    asked.element = reducer.kind().element;
    asked.elements = bytes / reducer.kind().element_bytes;
    asked.function = reducer.kind().function;
    asked.commutative = reducer.kind().commutative;
    return handle_.collective(asked);
  }

  RankHandle& handle_;
};

/// The world of such ranks. The host carries what the backend declines.
class TimedCluster {
 public:
  using Program = std::function<Task<void>(TimedRank& rank)>;

  /// host: the defaults if not set.
  TimedCluster(int ranks, const BackendDescription& backend, const Settings& settings,
               const WorldOptions& options = {}, const std::optional<Settings>& host = {})
      : world_(with_ranks(options, ranks), hardware(backend, settings, host)) {}
  TimedCluster(int ranks, const BackendDescription& backend, const WorldOptions& options = {})
      : TimedCluster(ranks, backend, Settings::defaults(backend.parameters), options) {}

  /// As World::run().
  [[nodiscard]] std::string run(const Program& program) {
    return world_.run([&program](RankHandle& handle) -> Task<void> {
      TimedRank rank(handle);
      co_await program(rank);
    });
  }
  /// The world, also after run().
  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] Time clock(int rank) const { return world_.clock(rank); }
  [[nodiscard]] std::vector<Time> clocks() const {
    std::vector<Time> clocks;
    for (int rank = 0; rank < world_.ranks(); ++rank) clocks.push_back(clock(rank));
    return clocks;
  }
  /// The traffic of the modelled wires.
  [[nodiscard]] WireCounters wire() const { return world_.wire(); }

 private:
  static WorldOptions with_ranks(WorldOptions options, int ranks) {
    options.ranks = ranks;
    return options;
  }
  static WorldBackend hardware(const BackendDescription& backend, const Settings& settings,
                               const std::optional<Settings>& host) {
    WorldBackend hardware(backend, settings);
    hardware.host_settings = host;
    const auto all = built_in_backends();
    hardware.host =
        *std::find_if(all.begin(), all.end(), [](const auto* one) { return one->name == "host"; });
    return hardware;
  }

  World world_;
};

}  // namespace offramp
