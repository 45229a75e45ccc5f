// The operations that a model is asked about: MPI's messages and collectives, without MPI's types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace offramp {

enum class OperationKind : std::uint8_t {
  kSend,
  kBcast,
  kReduce,
  kGather,
  kAllreduce,
  kScatter,
  kAllgather,
  kReduceScatter,
  kAlltoall,
  kBarrier,
  kScan,
  kExscan,
  // With blocks of different sizes (MPI_Gatherv and so on).
  kGatherv,
  kScatterv,
  kAllgatherv,
  kReduceScatterv,
  kAlltoallv,
  kCount
};
std::string_view to_string(OperationKind kind);

/// Kinds of operation. The numbers of the kinds mean nothing: ask a set, or one of the predicates below.
class OperationSet {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): a list of kinds is a set
  constexpr OperationSet(std::initializer_list<OperationKind> kinds) {
    for (const OperationKind kind : kinds) bits_ |= bit(kind);
  }
  [[nodiscard]] constexpr bool contains(OperationKind kind) const { return (bits_ & bit(kind)) != 0; }
  friend constexpr OperationSet operator|(OperationSet a, OperationSet b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  static constexpr std::uint64_t bit(OperationKind kind) {
    const auto index = static_cast<unsigned>(kind);
    return index < 64 ? std::uint64_t{1} << index : 0;  // no set holds kinds beyond
  }
  std::uint64_t bits_ = 0;
};

/// Collectives whose ranks exchange blocks of one size with each other.
inline constexpr OperationSet kBlockCollectives = {OperationKind::kGather, OperationKind::kScatter,
                                                   OperationKind::kAllgather, OperationKind::kReduceScatter,
                                                   OperationKind::kAlltoall};
/// Their variants with a size per block.
inline constexpr OperationSet kVectorCollectives = {
    OperationKind::kGatherv, OperationKind::kScatterv, OperationKind::kAllgatherv,
    OperationKind::kReduceScatterv, OperationKind::kAlltoallv};
/// Messages, and the collectives without prefix reductions and without the vector variants.
inline constexpr OperationSet kRegularOperations =
    kBlockCollectives | OperationSet{OperationKind::kSend, OperationKind::kBcast, OperationKind::kReduce,
                                     OperationKind::kAllreduce, OperationKind::kBarrier};
inline constexpr OperationSet kPrefixReductions = {OperationKind::kScan, OperationKind::kExscan};

constexpr bool has_block_per_rank(OperationKind kind) {
  return kBlockCollectives.contains(kind);
}
constexpr bool has_blocks_of_different_sizes(OperationKind kind) {
  return kVectorCollectives.contains(kind);
}
constexpr bool reduces(OperationKind kind) {
  return (kPrefixReductions | OperationSet{OperationKind::kReduce, OperationKind::kAllreduce,
                                           OperationKind::kReduceScatter, OperationKind::kReduceScatterv})
      .contains(kind);
}
/// One rank differs from the others: of a message in a forecast, the sender.
constexpr bool has_root(OperationKind kind) {
  return OperationSet{OperationKind::kSend,    OperationKind::kBcast,   OperationKind::kReduce,
                      OperationKind::kGather,  OperationKind::kScatter, OperationKind::kGatherv,
                      OperationKind::kScatterv}
      .contains(kind);
}

/// The class of an MPI datatype's elements. kMixed: a derived type of several, or one that has no class here.
enum class ElementType : std::uint8_t {
  kByte,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat32,
  kFloat64,
  kFloatExtended,
  kComplex,
  kLogical,
  kPair,
  kMixed
};
std::string_view to_string(ElementType type);

constexpr bool is_integer(ElementType type) {
  switch (type) {
    case ElementType::kInt8:
    case ElementType::kInt16:
    case ElementType::kInt32:
    case ElementType::kInt64:
    case ElementType::kUint8:
    case ElementType::kUint16:
    case ElementType::kUint32:
    case ElementType::kUint64:
      return true;
    default:
      return false;
  }
}
constexpr bool is_floating_point(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat64 ||
         type == ElementType::kFloatExtended;
}

enum class ReduceFunction : std::uint8_t {
  kNone,
  kSum,
  kProduct,
  kMaximum,
  kMinimum,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kBitAnd,
  kBitOr,
  kBitXor,
  kMaximumLocation,
  kMinimumLocation,
  kReplace,
  kUser
};
std::string_view to_string(ReduceFunction function);

constexpr bool is_logical(ReduceFunction function) {
  return function == ReduceFunction::kLogicalAnd || function == ReduceFunction::kLogicalOr ||
         function == ReduceFunction::kLogicalXor;
}
constexpr bool is_bitwise(ReduceFunction function) {
  return function == ReduceFunction::kBitAnd || function == ReduceFunction::kBitOr ||
         function == ReduceFunction::kBitXor;
}

/// What supports() may look at: only what all ranks of a collective know alike.
/// bytes: kSend, kBcast, kReduce, kAllreduce, kScan, kExscan: the message; the others: one rank's block; 0
/// where blocks differ. elements: of a reduction, as many as the bytes hold. ranks: of the communicator; a
/// send has 2.
struct Operation {
  OperationKind kind = OperationKind::kSend;
  ElementType element = ElementType::kByte;
  ReduceFunction function = ReduceFunction::kNone;
  bool commutative = true;
  std::size_t bytes = 0;
  std::size_t elements = 0;
  int ranks = 2;
  int root = 0;
  int tag = 0;               // point-to-point only
  bool nonblocking = false;  // of a collective: the program goes on beside it (MPI_Iallreduce and so on)

  bool operator==(const Operation&) const = default;
};

}  // namespace offramp
