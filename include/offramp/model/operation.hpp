// The operations that a model is asked about: MPI's messages and collectives, without MPI's types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <optional>
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

/// Kinds of operation. The numbers of the kinds mean nothing: ask a set, the table of kinds, or a predicate.
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

/// What the ranks of a collective exchange. kNone: whole messages, or nothing. kEqual: blocks of one size,
/// one for each rank. kDifferent: blocks with a size each.
enum class Blocks : std::uint8_t { kNone, kEqual, kDifferent };

/// One row for each kind: everything that follows from the kind alone.
struct KindTraits {
  OperationKind kind = OperationKind::kCount;
  std::string_view name = "unknown";  // in settings, options and reports
  /// That ask for it, in lower case, without MPI_, the I of nonblocking forms, _init and _c.
  std::string_view mpi_functions = {};
  bool has_root = false;  // one rank differs from the others: of a message in a forecast, the sender
  bool reduces = false;
  bool is_prefix = false;  // each rank's result is of the ranks up to it
  Blocks blocks = Blocks::kNone;
};
inline constexpr std::array<KindTraits, static_cast<std::size_t>(OperationKind::kCount)> kOperationKinds = {{
    {.kind = OperationKind::kSend,
     .name = "send",
     .mpi_functions = "send bsend ssend rsend recv mrecv sendrecv sendrecv_replace",
     .has_root = true},
    {.kind = OperationKind::kBcast, .name = "bcast", .mpi_functions = "bcast", .has_root = true},
    {.kind = OperationKind::kReduce,
     .name = "reduce",
     .mpi_functions = "reduce",
     .has_root = true,
     .reduces = true},
    {.kind = OperationKind::kGather,
     .name = "gather",
     .mpi_functions = "gather",
     .has_root = true,
     .blocks = Blocks::kEqual},
    {.kind = OperationKind::kAllreduce, .name = "allreduce", .mpi_functions = "allreduce", .reduces = true},
    {.kind = OperationKind::kScatter,
     .name = "scatter",
     .mpi_functions = "scatter",
     .has_root = true,
     .blocks = Blocks::kEqual},
    {.kind = OperationKind::kAllgather,
     .name = "allgather",
     .mpi_functions = "allgather",
     .blocks = Blocks::kEqual},
    {.kind = OperationKind::kReduceScatter,
     .name = "reduce_scatter",
     .mpi_functions = "reduce_scatter reduce_scatter_block",
     .reduces = true,
     .blocks = Blocks::kEqual},
    {.kind = OperationKind::kAlltoall,
     .name = "alltoall",
     .mpi_functions = "alltoall",
     .blocks = Blocks::kEqual},
    {.kind = OperationKind::kBarrier, .name = "barrier", .mpi_functions = "barrier"},
    {.kind = OperationKind::kScan,
     .name = "scan",
     .mpi_functions = "scan",
     .reduces = true,
     .is_prefix = true},
    {.kind = OperationKind::kExscan,
     .name = "exscan",
     .mpi_functions = "exscan",
     .reduces = true,
     .is_prefix = true},
    {.kind = OperationKind::kGatherv,
     .name = "gatherv",
     .mpi_functions = "gatherv",
     .has_root = true,
     .blocks = Blocks::kDifferent},
    {.kind = OperationKind::kScatterv,
     .name = "scatterv",
     .mpi_functions = "scatterv",
     .has_root = true,
     .blocks = Blocks::kDifferent},
    {.kind = OperationKind::kAllgatherv,
     .name = "allgatherv",
     .mpi_functions = "allgatherv",
     .blocks = Blocks::kDifferent},
    // MPI_Reduce_scatter with counts that differ; which they are is known at the call.
    {.kind = OperationKind::kReduceScatterv,
     .name = "reduce_scatterv",
     .reduces = true,
     .blocks = Blocks::kDifferent},
    {.kind = OperationKind::kAlltoallv,
     .name = "alltoallv",
     .mpi_functions = "alltoallv alltoallw",
     .blocks = Blocks::kDifferent},
}};
inline constexpr KindTraits kNoKind;

/// kNoKind: it is none.
constexpr const KindTraits& traits_of(OperationKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kOperationKinds.size() ? kOperationKinds[index] : kNoKind;
}

constexpr std::string_view to_string(OperationKind kind) {
  return traits_of(kind).name;
}

/// The kinds whose row is as asked.
template <typename Asked>
constexpr OperationSet kinds_where(Asked asked) {
  OperationSet found = {};
  for (std::size_t i = 0; i < kOperationKinds.size(); ++i) {
    // A row in another's place: calling this in a constant expression does not compile.
    if (static_cast<std::size_t>(kOperationKinds[i].kind) != i) std::abort();
    if (asked(kOperationKinds[i])) found = found | OperationSet{kOperationKinds[i].kind};
  }
  return found;
}

/// Collectives whose ranks exchange blocks of one size with each other.
inline constexpr OperationSet kBlockCollectives =
    kinds_where([](const KindTraits& kind) { return kind.blocks == Blocks::kEqual; });
/// Their variants with a size per block.
inline constexpr OperationSet kVectorCollectives =
    kinds_where([](const KindTraits& kind) { return kind.blocks == Blocks::kDifferent; });
inline constexpr OperationSet kPrefixReductions =
    kinds_where([](const KindTraits& kind) { return kind.is_prefix; });
/// Messages, and the collectives without prefix reductions and without the vector variants.
inline constexpr OperationSet kRegularOperations =
    kinds_where([](const KindTraits& kind) { return kind.blocks != Blocks::kDifferent && !kind.is_prefix; });

constexpr bool has_block_per_rank(OperationKind kind) {
  return traits_of(kind).blocks == Blocks::kEqual;
}
constexpr bool has_blocks_of_different_sizes(OperationKind kind) {
  return traits_of(kind).blocks == Blocks::kDifferent;
}
constexpr bool reduces(OperationKind kind) {
  return traits_of(kind).reduces;
}
constexpr bool has_root(OperationKind kind) {
  return traits_of(kind).has_root;
}

/// What an MPI function asks for, by its name as in KindTraits. Nothing: no operation of a model.
constexpr std::optional<OperationKind> kind_of_function(std::string_view name) {
  for (const KindTraits& row : kOperationKinds) {
    std::string_view left = row.mpi_functions;
    while (!left.empty()) {
      const std::size_t end = left.find(' ');
      if (left.substr(0, end) == name) return row.kind;
      left.remove_prefix(end == std::string_view::npos ? left.size() : end + 1);
    }
  }
  return std::nullopt;
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

/// Bytes of one element; 1 for types without one size.
constexpr std::size_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::kInt16:
    case ElementType::kUint16:
      return 2;
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kUint64:
    case ElementType::kFloat64:
      return 8;
    default:
      return 1;
  }
}

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
  bool on_one_node = false;  // of a message: to another rank of the same node

  bool operator==(const Operation&) const = default;
};

}  // namespace offramp
