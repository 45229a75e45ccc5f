// Barrier. All messages are empty, and no algorithm needs memory.
//
// The algorithms follow coll_base_barrier.c of [openmpi] (ompi/mca/coll/base), functions
// ompi_coll_base_barrier_intra_*, but without synchronous sends. Each entry lists the name in the catalogue,
// the function, and a description.
//
//   linear              basic_linear: all ranks report to rank 0, which releases them one by one.
//   double_ring         doublering: a token goes twice around the circle; its second arrival means that all
//                       ranks have come.
//   recursive_doubling  recursivedoubling: log2(p) exchanges; ranks beyond the largest power of two report to
//                       a lower rank, which releases them.
//   bruck               bruck: the dissemination barrier, log2(p) rounds for any number of ranks. D. Hensgen,
//                       R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization", International
//                       Journal of Parallel Programming 17 (1988), doi:10.1007/BF01379320.
//   two_proc            two_procs: two ranks report to each other, which is the first round of bruck.
//   tree                tree: up a binomial tree and down again.
//   han                 in han.cpp.
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

/// All ranks report to rank 0, which releases them.
Task<Outcome> barrier_linear(AlgorithmCall call) {
  Team& team = call.team;
  Outcome outcome = Outcome::kOk;
  if (call.rank() != 0) {
    note(outcome, co_await team.send(0, {}));
    note(outcome, co_await team.receive(0, {}));
    co_return outcome;
  }
  std::vector<Team::Pending> reports;
  for (int rank = 1; rank < call.size(); ++rank) reports.push_back(team.receive(rank, {}));
  for (const Team::Pending& one : reports) note(outcome, co_await one);
  for (int rank = 1; rank < call.size(); ++rank) note(outcome, co_await team.send(rank, {}));
  co_return outcome;
}

/// A token goes twice around the circle.
Task<Outcome> barrier_double_ring(AlgorithmCall call) {
  Team& team = call.team;
  const int right = wrap(call.rank() + 1, call.size());
  const int left = wrap(call.rank() - 1, call.size());
  Outcome outcome = Outcome::kOk;
  for (int round = 0; call.size() > 1 && round < 2; ++round) {
    if (call.rank() > 0) note(outcome, co_await team.receive(left, {}));
    note(outcome, co_await team.send(right, {}));
    if (call.rank() == 0) note(outcome, co_await team.receive(left, {}));
  }
  co_return outcome;
}

Task<Outcome> barrier_recursive_doubling(AlgorithmCall call) {
  // Ranks beyond the largest power of two report to a lower rank, which releases them.
  Team& team = call.team;
  const int rank = call.rank();
  const int count = Positions(call.size()).count();
  Outcome outcome = Outcome::kOk;
  if (rank >= count) co_return co_await exchange(team, rank - count, {}, rank - count, {});
  const bool reported_to = rank + count < call.size();
  if (reported_to) note(outcome, co_await team.receive(rank + count, {}));
  for (int mask = 1; mask < count; mask *= 2)
    note(outcome, co_await exchange(team, rank ^ mask, {}, rank ^ mask, {}));
  if (reported_to) note(outcome, co_await team.send(rank + count, {}));
  co_return outcome;
}

/// The dissemination barrier.
Task<Outcome> barrier_bruck(AlgorithmCall call) {
  const int size = call.size();
  Outcome outcome = Outcome::kOk;
  for (int distance = 1; distance < size; distance *= 2)
    note(outcome, co_await exchange(call.team, wrap(call.rank() + distance, size), {},
                                    wrap(call.rank() - distance, size), {}));
  co_return outcome;
}

/// Up a binomial tree and down again.
Task<Outcome> up_and_down(AlgorithmCall call) {
  Team& team = call.team;
  const Tree tree = Tree::binomial_in_order(call.rank(), call.size(), 0);
  Outcome outcome = Outcome::kOk;
  for (const int child : tree.children) note(outcome, co_await team.receive(child, {}));
  if (!tree.is_top()) {
    note(outcome, co_await team.send(tree.parent, {}));
    note(outcome, co_await team.receive(tree.parent, {}));
  }
  for (auto child = tree.children.rbegin(); child != tree.children.rend(); ++child)
    note(outcome, co_await team.send(*child, {}));
  co_return outcome;
}

// "two_proc", where two ranks report to each other at once, is the first round of "bruck".
constexpr Algorithm kBarrierAlgorithms[] = {
    {"linear", barrier_linear},
    {"double_ring", barrier_double_ring},
    {"recursive_doubling", barrier_recursive_doubling},
    {"bruck", barrier_bruck},
    {"two_proc", barrier_bruck},
    {"tree", up_and_down},
    {"han", barrier_han, kByOpenMpi, false, Ranks::kAny, Elements::kAny, Nodes::kSeveral},
};

}  // namespace

constinit const std::span<const Algorithm> kBarrierCatalogue = kBarrierAlgorithms;

}  // namespace offramp::host
