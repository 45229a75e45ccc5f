// Translates a request into pulls and slices: which rank READs whose bytes. The algorithms of the service
// processes, for any number of ranks P. All pulls run at once, limited by the READs per process
// (collective.cpp).
//
//   bcast                  all ranks pull from the root (read in [ucc-dpu]), or along a binomial tree.
//   gather(v), scatter(v)  the root pulls all blocks, or all pull theirs from the root.
//   allgather(v)           each block goes to all ranks, offered to rank + 1, rank + 2, ... (read in
//                          [ucc-offload]). If hosts deliver within nodes, only blocks of other nodes, once
//                          per node.
//   alltoall(v)            as allgather(v), with one block per pair.
//   reduce, allreduce      sliding window (allreduce: read in [ucc-dpu]; reduce: inferred). The vector is cut
//                          into one slice of at least 16 bytes per participating service process. The owner
//                          pulls its slice from all ranks into DPU memory, combines it on Arm cores in order
//                          of arrival, and writes the result to the root or to all. Commutative operations
//                          only.
//   reduce_scatter(v)      as reduce, with the ranks' blocks as slices.
//
// barrier.cpp implements barriers without a plan. Collectives in which every rank needs every other one's
// block do not list their pulls: pull n is the block of rank n / P for the rank n % P + 1 behind it
// (Plan::all_pairs), which collective.cpp decodes. If only the sources know the sizes, add_source() adds a
// rank's pulls when it arrives.
#include "simulators/dpu/plan.hpp"

#include <algorithm>
#include <set>

namespace offramp::dpu {
namespace {

// The largest element that service processes reduce.
constexpr std::int64_t kLeastSlice = 16;

int add_pull(Plan& plan, const PlannedPull& planned) {
  plan.pulls.push_back(planned);
  const int number = static_cast<int>(plan.pulls.size()) - 1;
  plan.ranks[static_cast<std::size_t>(planned.from)].outgoing.push_back(number);
  return number;
}

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
      case OperationKind::kGatherv:
      case OperationKind::kScatterv:
      case OperationKind::kAlltoallv:
        if (!request_.sizes.empty()) from_sources();
        break;
      case OperationKind::kAllgather:
      case OperationKind::kAllgatherv:
        plan_.once_per_node = spec_.host_delivers;
        all_pairs([this](int from, int to) {
          // If sizes differ, both ends know from their counts that an empty block needs no transfer.
          const bool moves = request_.block(from) > 0 || request_.sizes.empty();
          return moves && (!spec_.host_delivers || node_[index(from)] != node_[index(to)]);
        });
        break;
      case OperationKind::kAlltoall:
        all_pairs([](int, int) { return true; });
        break;
      case OperationKind::kReduce:
      case OperationKind::kAllreduce:
      case OperationKind::kReduceScatter:
      case OperationKind::kReduceScatterv:
        reduction();
        break;
      case OperationKind::kSend:
      case OperationKind::kBarrier:
      case OperationKind::kScan:
      case OperationKind::kExscan:
      case OperationKind::kCount:
        break;  // no plan: barriers have their own code, others are declined
    }
    return std::move(plan_);
  }

 private:
  [[nodiscard]] PlannedRank& rank(int i) { return plan_.ranks[static_cast<std::size_t>(i)]; }
  [[nodiscard]] int relative(int step) const { return (request_.root + step) % size_; }
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  void pull(int from, int to, std::int64_t bytes) {
    add_pull(plan_, {.from = from, .to = to, .bytes = bytes});
    ++rank(to).receives;
  }
  /// Adds the pulls of all sources.
  void from_sources() {
    const std::span<const std::int64_t> sizes = request_.sizes;
    const auto ranks = static_cast<std::size_t>(size_);
    if (request_.kind == OperationKind::kScatterv) return add_source(request_, request_.root, sizes, plan_);
    const std::size_t each = request_.kind == OperationKind::kGatherv ? 1 : ranks;
    for (int from = 0; from < size_; ++from)
      add_source(request_, from, sizes.subspan(static_cast<std::size_t>(from) * each, each), plan_);
  }

  /// Plans a broadcast from the root to all (read in [ucc-dpu]), or along a binomial tree.
  void bcast() {
    for (int step = 1; step < size_; ++step) {
      rank(relative(step)).has_data = false;
      // In a binomial tree, the parent of n is n without its lowest set bit.
      const int parent = spec_.tree ? step & (step - 1) : 0;
      pull(relative(parent), relative(step), request_.bytes);
    }
  }

  /// Each rank offers its block to rank + 1, rank + 2, ... (read in [ucc-offload]), to itself last. moves:
  /// whether service processes must transfer a pair's block.
  void all_pairs(auto moves) {
    plan_.all_pairs = true;
    const Placement placement = placement_of(spec_);
    for (const Member& member : request_.members) node_.push_back(placement.node(member.world_rank));
    for (int from = 0; from < size_; ++from) {
      std::vector<int>& outgoing = rank(from).outgoing;
      outgoing.reserve(request_.members.size());
      for (int step = 0; step < size_; ++step) {
        const int to = (from + 1 + step) % size_;
        if (!moves(from, to)) continue;
        outgoing.push_back(from * size_ + step);
        ++rank(to).receives;
      }
    }
  }

  /// Sliding window: the owner of each slice pulls it from all ranks, from its own host first.
  void reduction() {
    if (request_.kind == OperationKind::kReduceScatter || request_.kind == OperationKind::kReduceScatterv) {
      for (int i = 0; i < size_; ++i) {
        if (request_.block(i) > 0 || request_.sizes.empty()) add_slice(i, request_.block(i));
      }
      return;
    }
    const std::vector<int> owners = owners_of_slices();
    const auto slices =
        std::clamp<std::int64_t>(request_.bytes / kLeastSlice, 1, static_cast<std::int64_t>(owners.size()));
    std::int64_t taken = 0;
    for (std::int64_t i = 0; i < slices; ++i) {
      // Rounding the ends, not the lengths, makes the slices cover the vector.
      const std::int64_t end = request_.bytes * (i + 1) / slices;
      add_slice(owners[static_cast<std::size_t>(i)], end - taken);
      taken = end;
    }
  }

  /// One rank of each participating service process, starting with the root.
  [[nodiscard]] std::vector<int> owners_of_slices() const {
    const Placement placement = placement_of(spec_);
    std::vector<int> owners;
    std::set<int> processes;
    for (int step = 0; step < size_; ++step) {
      const int rank = relative(step);
      const Member& member = request_.members[static_cast<std::size_t>(rank)];
      if (processes.insert(placement.global_id(member.world_rank)).second) owners.push_back(rank);
    }
    return owners;
  }

  void add_slice(int owner, std::int64_t bytes) {
    const int slice = static_cast<int>(plan_.slices.size());
    const int first = static_cast<int>(plan_.results.size());
    for (int step = 0; step < size_; ++step)
      add_pull(plan_, {.from = (owner + step) % size_, .to = owner, .bytes = bytes, .slice = slice});
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
  std::vector<int> node_;  // by rank
  Plan plan_;
};

}  // namespace

void add_source(const CollectiveRequest& request, int rank, std::span<const std::int64_t> sizes, Plan& plan) {
  const int ranks = static_cast<int>(request.members.size());
  const auto offer = [&](int to, std::int64_t bytes) {
    // A pair without bytes needs no transfer.
    if (bytes == 0) return;
    add_pull(plan, {.from = rank, .to = to, .bytes = bytes});
    ++plan.ranks[static_cast<std::size_t>(to)].receives;
  };
  if (request.kind == OperationKind::kGatherv) return offer(request.root, sizes.front());
  if (request.kind == OperationKind::kScatterv && rank != request.root) return;
  // A scatter's root begins with itself; others begin with rank + 1 and end with themselves.
  const int first = request.kind == OperationKind::kScatterv ? 0 : 1;
  for (int step = 0; step < ranks; ++step) {
    const int to = (rank + first + step) % ranks;
    offer(to, sizes[static_cast<std::size_t>(to)]);
  }
}

Plan make_plan(const PlatformSpec& spec, const CollectiveRequest& request) {
  return Planner(spec, request).make();
}

}  // namespace offramp::dpu
