// The ranks and sizes of small collectives: who contributes what, and who reads it.
#pragma once

#include <cstddef>

#include "offramp/model/operation.hpp"

namespace offramp::hop {

/// The root alone contributes, or the root alone reads.
inline constexpr OperationSet kFromRoot = {OperationKind::kBcast, OperationKind::kScatter};
inline constexpr OperationSet kToRoot = {OperationKind::kReduce, OperationKind::kGather};
/// Each contribution has one block for every rank.
inline constexpr OperationSet kBlocksForEach = {OperationKind::kScatter, OperationKind::kAlltoall,
                                                OperationKind::kReduceScatter};

/// True for the collectives that slots can carry: their blocks have one size.
constexpr bool has_slots(OperationKind kind) {
  return kind != OperationKind::kSend && !has_blocks_of_different_sizes(kind);
}

/// Bytes that a contributing rank writes into its slot.
inline std::size_t contributed_bytes(const Operation& operation) {
  const bool for_each = kBlocksForEach.contains(operation.kind);
  return operation.bytes * (for_each ? static_cast<std::size_t>(operation.ranks) : 1);
}

/// True if another rank reads this rank's contribution. In a prefix reduction, no one reads the last rank's.
inline bool contributes(const Operation& operation, int rank) {
  if (kFromRoot.contains(operation.kind)) return rank == operation.root;
  if (kToRoot.contains(operation.kind)) return rank != operation.root;
  return !traits_of(operation.kind).is_prefix || rank < operation.ranks - 1;
}

/// A range of ranks whose contributions a rank reads; `end` is exclusive.
struct Sources {
  int first = 0;
  int end = 0;
};
/// The contributions that a rank reads. The range may include its own, which is not read from a slot.
inline Sources read_by(const Operation& operation, int rank) {
  if (kFromRoot.contains(operation.kind))
    return rank == operation.root ? Sources() : Sources{operation.root, operation.root + 1};
  if (kToRoot.contains(operation.kind) && rank != operation.root) return {};
  if (traits_of(operation.kind).is_prefix) return {0, rank};
  return {0, operation.ranks};
}

inline bool reads_others(const Operation& operation, int rank) {
  const Sources sources = read_by(operation, rank);
  return sources.first < sources.end;
}

/// True if each rank waits for all others.
constexpr bool is_mutual(OperationKind kind) {
  return !has_root(kind) && !traits_of(kind).is_prefix;
}

}  // namespace offramp::hop
