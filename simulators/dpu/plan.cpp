#include "simulators/dpu/plan.hpp"

#include <algorithm>

namespace offramp::dpu {
namespace {

class Planner {
 public:
  Planner(const PlatformSpec& spec, const CollectiveRequest& request)
      : spec_(spec), request_(request), size_(static_cast<int>(request.members.size())) {
    plan_.ranks.resize(request.members.size());
  }

  Plan make() {
    switch (request_.kind) {
      case OperationKind::kBcast:
        bcast();
        break;
      case OperationKind::kGather:
        for (int step = 0; step < size_; ++step) pull(relative(step), request_.root, request_.bytes);
        break;
      case OperationKind::kScatter:
        for (int step = 0; step < size_; ++step) pull(request_.root, relative(step), request_.bytes);
        break;
      case OperationKind::kAllgather:
        plan_.once_per_node = spec_.host_delivers;
        all_pairs(spec_.host_delivers);
        break;
      case OperationKind::kAlltoall:
        all_pairs(false);
        break;
      default:
        reduction();
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] PlannedRank& rank(int i) { return plan_.ranks[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int relative(int step) const { return (request_.root + step) % size_; }
  [[nodiscard]] int node(int i) const {
    return placement_of(spec_).node(request_.members[static_cast<std::size_t>(i)].world_rank);
  }

  int add_pull(const PlannedPull& planned) {
    plan_.pulls.push_back(planned);
    const int number = static_cast<int>(plan_.pulls.size()) - 1;
    rank(planned.from).outgoing.push_back(number);
    return number;
  }
  void pull(int from, int to, std::int64_t bytes) {
    add_pull({.from = from, .to = to, .bytes = bytes});
    ++rank(to).receives;
  }

  /// From the root to all (published), or along a binomial tree.
  void bcast() {
    for (int step = 1; step < size_; ++step) {
      rank(relative(step)).has_data = false;
      const int parent = spec_.tree ? step & (step - 1) : 0;
      pull(relative(parent), relative(step), request_.bytes);
    }
  }

  /// Each rank offers its block to rank + 1, rank + 2, ... (read in code), to itself last.
  void all_pairs(bool other_nodes_only) {
    for (int from = 0; from < size_; ++from) {
      for (int step = 1; step <= size_; ++step) {
        const int to = (from + step) % size_;
        if (!other_nodes_only || node(from) != node(to)) pull(from, to, request_.bytes);
      }
    }
  }

  /// Sliding window: every slice has an owner, which pulls it from all, its own host first.
  void reduction() {
    const bool scatters = request_.kind == OperationKind::kReduceScatter;
    std::int64_t slices = size_;
    if (!scatters)
      slices = std::clamp<std::int64_t>((request_.bytes + spec_.slice - 1) / spec_.slice, 1, size_);
    std::int64_t taken = 0;
    for (int i = 0; i < static_cast<int>(slices); ++i) {
      const std::int64_t end = request_.bytes * (i + 1) / slices;
      add_slice(scatters ? i : relative(i), scatters ? request_.bytes : end - taken);
      taken = end;
    }
  }

  void add_slice(int owner, std::int64_t bytes) {
    const int slice = static_cast<int>(plan_.slices.size());
    const int first = static_cast<int>(plan_.results.size());
    for (int step = 0; step < size_; ++step)
      add_pull({.from = (owner + step) % size_, .to = owner, .bytes = bytes, .slice = slice});
    const auto result = [&](int to) {
      plan_.results.push_back({.slice = slice, .to = to});
      ++rank(to).receives;
    };
    if (request_.kind == OperationKind::kAllreduce) {
      for (int step = 0; step < size_; ++step) result((owner + step) % size_);
    } else {
      result(request_.kind == OperationKind::kReduce ? request_.root : owner);
    }
    plan_.slices.push_back({.owner = owner,
                            .bytes = bytes,
                            .contributions = size_,
                            .first_result = first,
                            .last_result = static_cast<int>(plan_.results.size())});
  }

  const PlatformSpec& spec_;
  const CollectiveRequest& request_;
  int size_;
  Plan plan_;
};

}  // namespace

Plan make_plan(const PlatformSpec& spec, const CollectiveRequest& request) {
  return Planner(spec, request).make();
}

}  // namespace offramp::dpu
