// Plans for operations: which graph carries an operation, or the limit that keeps it off the array. A plan is
// made once and kept.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "backends/aie/setup.hpp"
#include "offramp/model/backend.hpp"

namespace offramp::aie {

inline constexpr std::size_t kBarrierBytes = 16;  // the smallest window

struct TreePlan {
  Tree tree;
  Plan plan;
  /// By node: the places among its children in the order in which their windows are acquired.
  std::vector<std::vector<std::size_t>> acquisition;
  bool streamed = false;  // own data comes from the host window by window: it does not fit into the tile
};

/// What an operation needs of the array. Windows: the largest on an edge; less than the parameter where more
/// does not fit.
struct Need {
  const TreePlan* tree = nullptr;  // to the top: reduce, gather
  std::size_t tree_window = 16;
  const TreePlan* down = nullptr;  // scatter
  std::size_t down_window = 16;
  const Plan* multicast = nullptr;  // bcast
  std::size_t multicast_window = 16;
  const Plan* butterfly = nullptr;
  std::size_t butterfly_window = 16;
  std::string_view limit;    // not empty: declined; lives as long as the planner
  std::string_view instead;  // of larger windows, or of data in the tiles: why not; the same
};

class Planner {
 public:
  explicit Planner(const Setup& setup) : setup_(setup) {}

  /// Depends on kind, ranks and bytes only. Valid until the next question about the kind: a program repeats
  /// its operations, and each is asked about twice.
  const Need& need(const Operation& operation);

 private:
  using Key = std::tuple<int, std::size_t, std::size_t, int>;
  enum Kind : int { kResident, kStreamed, kForwarding, kMulticast, kButterfly };
  const TreePlan& tree_plan(int kernels, std::size_t largest, std::size_t bytes, bool streamed,
                            bool from_host);
  Need find(const Operation& operation);
  /// Reductions of `bytes` on every kernel.
  Need reduce(int kernels, std::size_t bytes);
  Need gather(int kernels, std::size_t block);
  Need scatter(int kernels, std::size_t block);
  Need bcast(int kernels, std::size_t bytes);
  /// Reduce and broadcast, or the butterfly where that is asked for and possible.
  Need allreduce(int kernels, std::size_t bytes);
  Need allgather(int kernels, std::size_t block);
  /// Reduce and scatter, gather and scatter.
  Need reduce_scatter(int kernels, std::size_t block);
  Need alltoall(int kernels, std::size_t block);
  Need barrier(int kernels);
  /// The tree for windows of this size, or of a half, a quarter and so on.
  Need shrunk_tree(int kernels, std::size_t window, std::size_t data, bool streamed, bool from_host);
  Need blocks(int kernels, std::size_t block, bool whole_at_root);
  void add_scatter(Need& need, int kernels, std::size_t block);
  void add_multicast(Need& need, int kernels, std::size_t bytes);
  const Plan& multicast_plan(int kernels, std::size_t largest, std::size_t bytes);
  const Plan& butterfly_plan(int kernels, std::size_t largest, std::size_t bytes);
  [[nodiscard]] std::string_view resident_limit(std::size_t bytes);
  [[nodiscard]] bool fits_tile(std::size_t bytes) const;

  struct Recent {
    int ranks = 0;  // none
    std::size_t bytes = 0;
    Need need;
  };

  const Setup& setup_;
  std::array<Recent, static_cast<std::size_t>(OperationKind::kCount)> recent_;
  std::map<Key, std::unique_ptr<TreePlan>> trees_;
  std::map<Key, std::unique_ptr<Plan>> graphs_;
  std::map<std::size_t, std::string> limits_;
};

}  // namespace offramp::aie
