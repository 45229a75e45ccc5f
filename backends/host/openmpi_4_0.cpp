// The selection of Open MPI up to release 4.0: the fixed decisions of its component "tuned" before the new
// measurements for 4.1 (ompi/mca/coll/tuned/coll_tuned_decision_fixed.c of branches v3.1.x and v4.0.x). A
// decision includes the segment size of a tree.
#include "backends/host/collectives.hpp"
#include "backends/host/pieces.hpp"

namespace offramp::host {
namespace {

// Lines in the plane of ranks and bytes that separate the trees' algorithms.
struct Line {
  double per_byte;
  double ranks;
  [[nodiscard]] double at(std::size_t bytes) const { return per_byte * static_cast<double>(bytes) + ranks; }
};

Decision choose_bcast(int ranks, std::size_t bytes) {
  constexpr Line kPieces128 = {1.6134e-6, 2.1102};
  constexpr Line kPieces64 = {2.3679e-6, 1.1787};
  constexpr Line kPieces16 = {3.2118e-6, 8.7936};
  if (bytes < 2048) return {"binomial"};
  if (bytes < 370728) return {"split_binary_tree", kKi};
  if (ranks < kPieces128.at(bytes)) return {"pipeline", 128 * kKi};
  if (ranks < 13) return {"split_binary_tree", 8 * kKi};
  if (ranks < kPieces64.at(bytes)) return {"pipeline", 64 * kKi};
  return {"pipeline", (ranks < kPieces16.at(bytes) ? 16 : 8) * kKi};
}

Decision choose_reduce(const Operation& operation, std::size_t bytes, std::size_t elements) {
  constexpr double kKibi = 1024;
  constexpr Line kBinomial = {0.6016 / kKibi, 1.3496};
  constexpr Line kPipeline = {0.0410 / kKibi, 9.7128};
  constexpr Line kBinary = {0.0422 / kKibi, 1.1614};
  constexpr Line kLongPieces = {0.0033 / kKibi, 1.6761};
  const int ranks = operation.ranks;
  if (!operation.commutative) return {ranks < 12 && bytes < 2048 ? "linear" : "in-order_binary"};
  if (ranks < 8 && bytes < 512) return {"linear"};
  if (bytes < 2048 || (ranks < 8 && bytes < 20480) || elements <= 1) return {"binomial"};
  if (ranks > kBinomial.at(bytes)) return {"binomial", kKi};
  if (ranks > kPipeline.at(bytes)) return {"pipeline", kKi};
  if (ranks > kBinary.at(bytes)) return {"binary", 32 * kKi};
  return {"pipeline", (ranks > kLongPieces.at(bytes) ? 32 : 64) * kKi};
}

Decision choose_allreduce(const Operation& operation, std::size_t bytes, std::size_t elements) {
  constexpr std::size_t kPiece = kKi * kKi;
  const auto ranks = static_cast<std::size_t>(operation.ranks);
  if (bytes < 10000) return {"recursive_doubling"};
  if (!operation.commutative || elements <= ranks) return {"nonoverlapping"};
  return ranks * kPiece >= bytes ? Decision{"ring"} : Decision{"segmented_ring", kPiece};
}

Decision choose_alltoall(int ranks, std::size_t block) {
  if (ranks == 2) return {"two_proc"};
  if (block < 200 && ranks > 12) return {"modified_bruck"};
  return {block < 3000 ? "linear" : "pairwise"};
}

Decision choose_gather(int ranks, std::size_t block) {
  if (block > 6000) return {"linear_sync"};
  return {ranks > 60 || (ranks > 10 && block < 1024) ? "binomial" : "basic_linear"};
}

/// total: size of all ranks' parts.
Decision choose_reduce_scatterv(const Operation& operation, std::size_t total) {
  constexpr Line kHalving = {0.0012, 8};
  const bool is_power_of_two = Positions(operation.ranks).count() == operation.ranks;
  if (!operation.commutative) return {"non-overlapping"};
  const bool halves =
      total <= 12 * kKi || (total <= 256 * kKi && is_power_of_two) || operation.ranks >= kHalving.at(total);
  return {halves ? "recursive_halving" : "ring"};
}

}  // namespace

Decision decide_as_openmpi_4_0(const Operation& operation, std::size_t bytes, std::size_t elements, Nodes) {
  using enum OperationKind;
  const int ranks = operation.ranks;
  const bool is_short = bytes * static_cast<std::size_t>(ranks) < 50000;  // all blocks together
  const bool is_power_of_two = Positions(ranks).count() == ranks;
  const std::string_view around = ranks % 2 == 0 ? "neighbor" : "ring";
  switch (operation.kind) {
    case kBcast:
      return choose_bcast(ranks, bytes);
    case kReduce:
      return choose_reduce(operation, bytes, elements);
    case kAllreduce:
      return choose_allreduce(operation, bytes, elements);
    case kGather:
      return choose_gather(ranks, bytes);
    case kScatter:
      return {ranks > 10 && bytes < 300 ? "binomial" : "basic_linear"};
    case kAllgather:
      if (ranks == 2) return {"two_proc"};
      return {!is_short ? around : is_power_of_two ? "recursive_doubling" : "bruck"};
    case kAllgatherv:
      if (ranks == 2) return {"two_proc"};
      return {is_short ? "bruck" : around};
    case kReduceScatter:
      return {"basic_linear"};
    case kReduceScatterv:
      return choose_reduce_scatterv(operation, bytes);
    case kAlltoall:
      return choose_alltoall(ranks, bytes);
    case kAlltoallv:
      return {"pairwise"};
    case kBarrier:
      if (ranks == 2) return {"two_proc"};
      return {is_power_of_two ? "recursive_doubling" : "bruck"};
    case kScan:
    case kExscan:
      return {"linear"};
    case kSend:
    case kGatherv:
    case kScatterv:
    case kCount:
      break;  // one algorithm, or none
  }
  return {};
}

}  // namespace offramp::host
