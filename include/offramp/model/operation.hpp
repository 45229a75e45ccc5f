// The operations that a model is asked about: MPI's messages and collectives, without MPI's types.
#pragma once

#include <cstddef>
#include <cstdint>
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
  // With blocks of different sizes (MPI_Gatherv and so on): carried by the host's algorithms.
  kGatherv,
  kScatterv,
  kAllgatherv,
  kReduceScatterv,
  kAlltoallv,
  kCount
};
std::string_view to_string(OperationKind kind);

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
  int tag = 0;  // point-to-point only
};

/// Yes, or the hardware's reason why not. The text lives as long as the backend.
struct Verdict {
  std::string_view reason;
  [[nodiscard]] bool yes() const { return reason.empty(); }
  static Verdict decline(std::string_view why) { return {why}; }
};

}  // namespace offramp
