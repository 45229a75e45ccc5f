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
      case OperationKind::kGatherv:
        for (int step = 0; step < size_; ++step)
          block(relative(step), request_.root, request_.block(relative(step)));
        break;
      case OperationKind::kScatter:
      case OperationKind::kScatterv:
        for (int step = 0; step < size_; ++step)
          block(request_.root, relative(step), request_.block(relative(step)));
        break;
      case OperationKind::kAllgather:
      case OperationKind::kAllgatherv:
        plan_.once_per_node = spec_.host_delivers;
        all_pairs([this](int from, int to) {
          if (!spec_.host_delivers || node(from) != node(to)) block(from, to, request_.block(from));
        });
        break;
      case OperationKind::kAlltoall:
      case OperationKind::kAlltoallv:
        all_pairs([this](int from, int to) { block(from, to, request_.block(from, to)); });
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
  /// Where blocks differ, both ends know from their counts that there is nothing to move.
  void block(int from, int to, std::int64_t bytes) {
    if (bytes > 0 || request_.sizes.empty()) pull(from, to, bytes);
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
  template <typename Offer>
  void all_pairs(Offer offer) {
    for (int from = 0; from < size_; ++from) {
      for (int step = 1; step <= size_; ++step) offer(from, (from + step) % size_);
    }
  }

  /// Sliding window: every slice has an owner, which pulls it from all, its own host first.
  void reduction() {
    if (request_.kind == OperationKind::kReduceScatter || request_.kind == OperationKind::kReduceScatterv) {
      for (int i = 0; i < size_; ++i) {
        if (request_.block(i) > 0 || request_.sizes.empty()) add_slice(i, request_.block(i));
      }
      return;
    }
    const auto slices = std::clamp<std::int64_t>((request_.bytes + spec_.slice - 1) / spec_.slice, 1, size_);
    std::int64_t taken = 0;
    for (int i = 0; i < static_cast<int>(slices); ++i) {
      const std::int64_t end = request_.bytes * (i + 1) / slices;
      add_slice(relative(i), end - taken);
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
