// A cluster: many ranks in one process over the memory fabric, for tests of the data of a run. For tests of
// times, programs run in a world: see tests/timed_cluster.hpp.
//
// Each rank has an engine of its own, as under mpirun, and runs a program: a coroutine that communicates
// through its ClusterRank. A function of ClusterRank calls the engine exactly as the MPI function of that
// name does.
#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lib/run/engine/collective.hpp"
#include "lib/run/engine/engine.hpp"
#include "lib/run/fabric/memory_fabric.hpp"
#include "tests/element_reducer.hpp"

namespace offramp {

class Cluster;

struct ClusterOptions {
  std::uint64_t shuffle_seed = 0;  // not 0: messages and ranks get their turns in an order drawn from it
  std::size_t eager_limit = 8192;  // of the memory fabric
  FaultRates faults;               // of the modelled wires
  MachineLayout machine = {};      // which ranks share a node
  std::vector<int> members = {};   // of the communicator of collectives, in its order; empty: as in the world
};

/// The element type and size of a collective without reduction.
struct Elements {
  ElementType type = ElementType::kByte;
  std::size_t size = 1;
};

/// A send, a receive or a collective in progress. Must be waited for (or, if it is a receive, cancelled and
/// waited for).
class ClusterRequest {
 public:
  virtual ~ClusterRequest() = default;
  [[nodiscard]] virtual bool done() const = 0;

 protected:
  friend class ClusterRank;
  virtual Received observe() = 0;
  virtual bool cancel() { return false; }
};
using ClusterRequestPointer = std::unique_ptr<ClusterRequest>;

/// A program's interface to its rank. Buffers live until the operation that uses them is complete.
class ClusterRank {
 public:
  ClusterRank(Cluster& cluster, int rank) : cluster_(cluster), rank_(rank) {}
  ClusterRank(const ClusterRank&) = delete;
  ClusterRank& operator=(const ClusterRank&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const;
  [[nodiscard]] Engine& engine();
  /// The contexts of MPI_COMM_WORLD: of its messages, and of its collectives.
  [[nodiscard]] Context& world();
  [[nodiscard]] Context& collective_world();

  Task<Outcome> send(int to, Bytes data, int tag = 0, ElementType element = ElementType::kByte);
  Task<Outcome> ssend(int to, Bytes data, int tag = 0, ElementType element = ElementType::kByte);
  Task<Received> receive(int from, MutableBytes into, int tag = kAnyTag);
  /// As MPI_Sendrecv: the receive is posted first.
  Task<Received> sendrecv(int to, Bytes data, int from, MutableBytes into, int tag = 0);

  ClusterRequestPointer isend(int to, Bytes data, int tag = 0, ElementType element = ElementType::kByte);
  ClusterRequestPointer issend(int to, Bytes data, int tag = 0, ElementType element = ElementType::kByte);
  ClusterRequestPointer irecv(int from, MutableBytes into, int tag = kAnyTag);
  Task<Received> wait(ClusterRequestPointer& request);
  /// As MPI_Waitall: observed in the order of the list.
  Task<Outcome> wait_all(std::vector<ClusterRequestPointer>& requests);
  /// Cancels a receive; returns false if it is matched already.
  bool cancel(ClusterRequest& request) { return request.cancel(); }

  /// For kBcast, buffers.receive is the buffer; see CollectiveBuffers. reducer may be null if nothing is
  /// reduced.
  ClusterRequestPointer start(const Operation& operation, const CollectiveBuffers& buffers,
                              Reducer* reducer = nullptr);
  Task<Outcome> collective(Operation operation, CollectiveBuffers buffers, Reducer* reducer = nullptr);

  Task<Outcome> bcast(MutableBytes buffer, int root, Elements elements = {});
  /// into is used at the root only; if it is data, the operation is in place.
  Task<Outcome> reduce(Bytes data, MutableBytes into, int root, ElementReducer& reducer);
  Task<Outcome> allreduce(Bytes data, MutableBytes into, ElementReducer& reducer);
  /// data: this rank's block.
  Task<Outcome> gather(Bytes data, MutableBytes into, int root, Elements elements = {});
  Task<Outcome> allgather(Bytes data, MutableBytes into, Elements elements = {});
  /// into: this rank's block.
  Task<Outcome> scatter(Bytes data, MutableBytes into, int root, Elements elements = {});
  Task<Outcome> reduce_scatter(Bytes data, MutableBytes into, ElementReducer& reducer);
  Task<Outcome> alltoall(Bytes data, MutableBytes into, Elements elements = {});
  Task<Outcome> barrier();

 private:
  friend class Cluster;
  class SendRequest;
  class ReceiveRequest;
  class CollectiveRequest;
  struct Completion;

  Operation operation(OperationKind kind, Elements elements, std::size_t bytes, int root) const;
  Operation reduction(OperationKind kind, const ElementReducer& reducer, std::size_t bytes, int root) const;
  void completed(const ClusterRequest& request);

  Cluster& cluster_;
  int rank_;
  Task<void> program_;
  std::coroutine_handle<> waiter_;           // the program, while it waits
  const ClusterRequest* awaited_ = nullptr;  // the request that it waits for
};

class Cluster {
 public:
  using Program = std::function<Task<void>(ClusterRank& rank)>;

  /// The host carries what the backend declines.
  Cluster(int ranks, const BackendDescription& backend, const Settings& settings,
          const ClusterOptions& options = {});
  Cluster(int ranks, const BackendDescription& backend, const ClusterOptions& options = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Runs the program on every rank until all have ended. Returns an empty text, or, if no rank can go on,
  /// what each rank waits for (the cluster cannot be used any more then).
  [[nodiscard]] std::string run(const Program& program);

  [[nodiscard]] int ranks() const { return hub_.ranks(); }
  [[nodiscard]] Engine& engine(int rank) { return *engines_[static_cast<std::size_t>(rank)]; }

 private:
  friend class ClusterRank;
  [[nodiscard]] std::unique_ptr<Lane> make_lane(const BackendDescription& backend, const Settings& settings,
                                                int rank) const;
  void start_programs();
  bool resume_ready();
  int progress();
  [[nodiscard]] std::string deadlock();

  ClusterOptions options_;
  MemoryHub hub_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<Context*> worlds_;
  std::vector<Context*> collective_worlds_;
  Program program_;
  std::vector<int> order_;  // of the ranks' turns
  std::uint64_t shuffle_;
  std::vector<std::coroutine_handle<>> ready_;
  std::vector<std::unique_ptr<ClusterRank>>
      handles_;  // destroyed first: their operations are in the engines' lists
};

}  // namespace offramp
