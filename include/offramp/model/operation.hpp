// Operations as models see them: MPI's messages and collectives, without MPI's types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string_view>

namespace offramp {

/// The kinds of operations that models distinguish. kOperationKinds has what follows from each kind.
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

/// A set of operation kinds. The numeric values of kinds have no meaning: use a set, the table of kinds, or a
/// predicate.
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
  /// The set's bit of a kind.
  static constexpr std::uint64_t bit(OperationKind kind) {
    const auto index = static_cast<unsigned>(kind);
    return index < 64 ? std::uint64_t{1} << index : 0;  // larger kinds are in no set
  }
  std::uint64_t bits_ = 0;
};

/// Data exchanged by the ranks of a collective. kNone: whole messages, or nothing. kEqual: one block per
/// rank, of one size. kDifferent: one block per rank, of individual sizes.
enum class Blocks : std::uint8_t { kNone, kEqual, kDifferent };

/// The properties of a kind in its row of kOperationKinds. KindTraits has the same as fields.
enum KindFlag : unsigned { kRooted = 1, kReducing = 2, kPrefixes = 4, kEqualBlocks = 8, kVaryingBlocks = 16 };

/// One row per kind, with everything that follows from the kind alone.
struct KindTraits {
  OperationKind kind = OperationKind::kCount;
  std::string_view name = "unknown";  // in settings, options and reports
  /// MPI functions of this kind, in lower case, without MPI_, the I of nonblocking forms, _init, and _c.
  std::string_view mpi_functions = {};
  bool has_root = false;  // one rank differs from the others; for a message in a forecast, the sender
  bool reduces = false;
  bool is_prefix = false;  // each rank's result covers the ranks up to it
  Blocks blocks = Blocks::kNone;

  constexpr KindTraits() = default;
  /// flags: a combination of KindFlag.
  constexpr KindTraits(OperationKind row, std::string_view text, std::string_view functions,
                       unsigned flags = 0)
      : kind(row), name(text), mpi_functions(functions) {
    has_root = (flags & kRooted) != 0;
    reduces = (flags & kReducing) != 0;
    is_prefix = (flags & kPrefixes) != 0;
    if ((flags & kEqualBlocks) != 0) blocks = Blocks::kEqual;
    if ((flags & kVaryingBlocks) != 0) blocks = Blocks::kDifferent;
  }
};
/// All kinds, each at the index of its value; kinds_where() checks that at compile time.
inline constexpr std::array<KindTraits, static_cast<std::size_t>(OperationKind::kCount)> kOperationKinds = {{
    {OperationKind::kSend, "send", "send bsend ssend rsend recv mrecv sendrecv sendrecv_replace", kRooted},
    {OperationKind::kBcast, "bcast", "bcast", kRooted},
    {OperationKind::kReduce, "reduce", "reduce", kRooted | kReducing},
    {OperationKind::kGather, "gather", "gather", kRooted | kEqualBlocks},
    {OperationKind::kAllreduce, "allreduce", "allreduce", kReducing},
    {OperationKind::kScatter, "scatter", "scatter", kRooted | kEqualBlocks},
    {OperationKind::kAllgather, "allgather", "allgather", kEqualBlocks},
    {OperationKind::kReduceScatter, "reduce_scatter", "reduce_scatter reduce_scatter_block",
     kReducing | kEqualBlocks},
    {OperationKind::kAlltoall, "alltoall", "alltoall", kEqualBlocks},
    {OperationKind::kBarrier, "barrier", "barrier"},
    {OperationKind::kScan, "scan", "scan", kReducing | kPrefixes},
    {OperationKind::kExscan, "exscan", "exscan", kReducing | kPrefixes},
    {OperationKind::kGatherv, "gatherv", "gatherv", kRooted | kVaryingBlocks},
    {OperationKind::kScatterv, "scatterv", "scatterv", kRooted | kVaryingBlocks},
    {OperationKind::kAllgatherv, "allgatherv", "allgatherv", kVaryingBlocks},
    // MPI_Reduce_scatter with different counts, which are known only at the call.
    {OperationKind::kReduceScatterv, "reduce_scatterv", "", kReducing | kVaryingBlocks},
    {OperationKind::kAlltoallv, "alltoallv", "alltoallv alltoallw", kVaryingBlocks},
}};
inline constexpr KindTraits kNoKind;

/// The row of a kind; kNoKind if it has none.
constexpr const KindTraits& traits_of(OperationKind kind) {
  const auto index = static_cast<std::size_t>(kind);
  return index < kOperationKinds.size() ? kOperationKinds[index] : kNoKind;
}

/// The name in settings, options, and reports.
constexpr std::string_view to_string(OperationKind kind) {
  return traits_of(kind).name;
}

/// The set of all kinds whose row satisfies the predicate.
constexpr OperationSet kinds_where(auto asked) {
  OperationSet found = {};
  for (std::size_t i = 0; i < kOperationKinds.size(); ++i) {
    // A row at the wrong index: evaluation as a constant expression does not compile.
    if (static_cast<std::size_t>(kOperationKinds[i].kind) != i) std::abort();
    if (asked(kOperationKinds[i])) found = found | OperationSet{kOperationKinds[i].kind};
  }
  return found;
}

/// Collectives with blocks of different sizes.
inline constexpr OperationSet kVectorCollectives =
    kinds_where([](const KindTraits& kind) { return kind.blocks == Blocks::kDifferent; });
/// MPI_Scan and MPI_Exscan, whose results differ from rank to rank.
inline constexpr OperationSet kPrefixReductions =
    kinds_where([](const KindTraits& kind) { return kind.is_prefix; });
/// Messages and collectives, without prefix reductions and vector variants.
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

/// The kind of an MPI function, whose name is written as in KindTraits. nullopt if no model has such an
/// operation.
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

/// How a rank accesses the memory of another one, whose program takes no part (MPI_Put and the like).
enum class Access : std::uint8_t {
  kNone,     // a message
  kWrite,    // its NIC writes
  kRead,     // its NIC reads
  kAtomic,   // the other NIC changes up to 8 bytes and returns their old value
  kCombine,  // the other processor combines the data with its own, and may return the old values
  kCount
};
constexpr std::string_view to_string(Access access) {
  constexpr std::array<std::string_view, 6> kNames = {"none",   "write",   "read",
                                                      "atomic", "combine", "unknown"};
  return kNames[access < Access::kCount ? static_cast<std::size_t>(access) : kNames.size() - 1];
}

/// The class of an MPI datatype's elements. kMixed: a derived type of several classes, or a type without a
/// class here.
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
/// The names in reports, as in "int32". Literals.
std::string_view to_string(ElementType type);

/// Bytes of one element; 1 for types without a fixed size.
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

/// True for signed and unsigned integers. kByte, kLogical, and kPair have no arithmetic and are excluded.
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
/// True for real types. kComplex has two parts and is excluded.
constexpr bool is_floating_point(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat64 ||
         type == ElementType::kFloatExtended;
}

/// The function of an MPI_Op. kNone: the operation does not reduce. kReplace: MPI_REPLACE. kUser: a function
/// of the program, which no hardware executes.
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

/// The groups of functions that hardware usually supports together.
constexpr bool is_logical(ReduceFunction function) {
  return function == ReduceFunction::kLogicalAnd || function == ReduceFunction::kLogicalOr ||
         function == ReduceFunction::kLogicalXor;
}
constexpr bool is_bitwise(ReduceFunction function) {
  return function == ReduceFunction::kBitAnd || function == ReduceFunction::kBitOr ||
         function == ReduceFunction::kBitXor;
}

/// The arguments of supports(): only values that all ranks of a collective agree on.
/// - bytes: the message for kSend, kBcast, kReduce, kAllreduce, kScan, kExscan; else one rank's block; 0
///   where blocks differ.
/// - elements: of a reduction, number of elements in `bytes`.
/// - ranks: size of the communicator; 2 for a send.
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
  bool nonblocking = false;  // of a collective: the program continues meanwhile (MPI_Iallreduce and so on)
  bool on_one_node = false;  // of a message: both ranks are on one node
  Access access = Access::kNone;

  bool operator==(const Operation&) const = default;
};

}  // namespace offramp
