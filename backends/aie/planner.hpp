// Plans for operations: the graph that carries an operation, or the limit that makes the array decline it.
// Plans are computed once and kept.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "backends/aie/parameters.hpp"
#include "offramp/model/backend.hpp"

namespace offramp::aie {

inline constexpr std::size_t kBarrierBytes = 16;  // the smallest window

/// A tree with its place on the array.
struct TreePlan {
  Tree tree;
  Plan plan;
  /// By node: indices of its children, in the order in which their windows are acquired.
  std::vector<std::vector<std::size_t>> acquisition;
  bool streamed = false;  // own data is streamed from the host in windows, because it does not fit the tile
};

/// An operation's requirements on the array. Windows: the largest on an edge; smaller than the parameter if
/// larger ones do not fit.
struct ArrayRequirements {
  const TreePlan* tree = nullptr;  // to the top: reduce, gather
  std::size_t tree_window = 16;
  const TreePlan* down = nullptr;  // scatter
  std::size_t down_window = 16;
  const Plan* multicast = nullptr;  // bcast
  std::size_t multicast_window = 16;
  const Plan* butterfly = nullptr;
  std::size_t butterfly_window = 16;
  std::string_view limit;    // not empty: declined; valid as long as the planner
  std::string_view instead;  // reason against larger windows or data in tiles; likewise
};

/// Belongs to one thread. Plans stay until it is destroyed, so pointers to them stay valid.
class Planner {
 public:
  /// setup: must outlive this object.
  explicit Planner(const Setup& setup) : setup_(setup) {}

  /// Depends on kind, ranks, and bytes only. Valid until the next call for this kind: the last result is
  /// cached, since programs repeat operations and each operation is looked up twice.
  const ArrayRequirements& requirements(const Operation& operation);

 private:
  using Key = std::tuple<int, std::size_t, std::size_t, int>;
  /// Distinguishes plans of equal size.
  enum PlanKind : int { kResident, kStreamed, kForwarding, kMulticast, kButterfly };
  /// from_host: own data comes through the port, as in a packed gather.
  const TreePlan& tree_plan(int kernels, std::size_t largest, std::size_t bytes, bool streamed,
                            bool from_host);
  /// The requirements, without the cache.
  ArrayRequirements find(const Operation& operation);
  /// Reductions of `bytes` on every kernel.
  ArrayRequirements reduce(int kernels, std::size_t bytes);
  /// block: bytes of one rank. The result is at the root.
  ArrayRequirements gather(int kernels, std::size_t block);
  ArrayRequirements scatter(int kernels, std::size_t block);
  ArrayRequirements bcast(int kernels, std::size_t bytes);
  /// Reduce and broadcast, or the butterfly if it is selected and possible.
  ArrayRequirements allreduce(int kernels, std::size_t bytes);
  /// A gather and a multicast of the result.
  ArrayRequirements allgather(int kernels, std::size_t block);
  /// Reduce and scatter, or gather and scatter.
  ArrayRequirements reduce_scatter(int kernels, std::size_t block);
  /// Limited by the root's memory.
  ArrayRequirements alltoall(int kernels, std::size_t block);
  ArrayRequirements barrier(int kernels);
  /// The tree for windows of this size, or of the largest fitting half, quarter, and so on.
  ArrayRequirements shrunk_tree(int kernels, std::size_t window, std::size_t data, bool streamed,
                                bool from_host);
  /// whole_at_root: a gather; otherwise a scatter.
  ArrayRequirements blocks(int kernels, std::size_t block, bool whole_at_root);
  /// These two add a second part. They do nothing if the first one has a limit.
  void add_scatter(ArrayRequirements& required, int kernels, std::size_t block);
  void add_multicast(ArrayRequirements& required, int kernels, std::size_t bytes);
  /// These make a plan on first use. It may have failed.
  const Plan& multicast_plan(int kernels, std::size_t largest, std::size_t bytes);
  const Plan& butterfly_plan(int kernels, std::size_t largest, std::size_t bytes);
  /// Empty if the data fits the tile.
  [[nodiscard]] std::string_view resident_limit(std::size_t bytes);
  [[nodiscard]] bool fits_tile(std::size_t bytes) const;

  /// The last operation of a kind.
  struct Recent {
    int ranks = 0;  // 0: unused
    std::size_t bytes = 0;
    ArrayRequirements required;
  };

  const Setup& setup_;
  std::array<Recent, static_cast<std::size_t>(OperationKind::kCount)> recent_;
  std::map<Key, std::unique_ptr<TreePlan>> trees_;
  std::map<Key, std::unique_ptr<Plan>> graphs_;
  /// Texts of limits by size, which results refer to.
  std::map<std::size_t, std::string> limits_;
};

}  // namespace offramp::aie
