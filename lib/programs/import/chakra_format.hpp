// Chakra's execution traces: numbers of fields and of kinds, from et_def.proto. They hold from version 0.0.4
// on; later versions only add kinds of nodes, and their details.
#pragma once

#include <array>
#include <cstdint>

#include "offramp/model/operation.hpp"

namespace offramp::trace::chakra {

// GlobalMetadata
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kMetadataAttribute = 2;
// Node
inline constexpr std::uint32_t kId = 1;
inline constexpr std::uint32_t kName = 2;
inline constexpr std::uint32_t kType = 3;
inline constexpr std::uint32_t kControlDependencies = 4;
inline constexpr std::uint32_t kDataDependencies = 5;
inline constexpr std::uint32_t kStart = 6;
inline constexpr std::uint32_t kDuration = 7;
inline constexpr std::uint32_t kInputs = 8;
inline constexpr std::uint32_t kOutputs = 9;
inline constexpr std::uint32_t kAttribute = 10;
inline constexpr std::uint32_t kStorageInfo = 11;   // since 2026; before 0.0.4: an attribute
inline constexpr std::uint32_t kLastOldField = 20;  // before 0.0.4
// IOInfo
inline constexpr std::uint32_t kValues = 1;
// AttributeProto: a name, and one member of a oneof for the value.
inline constexpr std::uint32_t kAttributeName = 1;
inline constexpr std::uint32_t kInt32 = 7;
inline constexpr std::uint32_t kInt64 = 9;
inline constexpr std::uint32_t kUint32 = 11;
inline constexpr std::uint32_t kUint64 = 13;
inline constexpr std::uint32_t kSint32 = 15;
inline constexpr std::uint32_t kSint64 = 17;
inline constexpr std::uint32_t kFixed32 = 19;
inline constexpr std::uint32_t kFixed64 = 21;
inline constexpr std::uint32_t kSfixed32 = 23;
inline constexpr std::uint32_t kSfixed64 = 25;
inline constexpr std::uint32_t kBool = 27;
inline constexpr std::uint32_t kBools = 28;  // a message with the values as its first field
inline constexpr std::uint32_t kString = 29;
inline constexpr std::uint32_t kLastMember = 32;

/// The values of the format's enumeration.
enum class NodeType : std::uint8_t {
  kInvalid,
  kMetadata,
  kMemoryLoad,
  kMemoryStore,
  kCompute,
  kSend,
  kReceive,
  kCollective,
  kStorage,
  kBatch,
  kCheckpoint,
};
inline constexpr std::uint64_t kNodeTypes = 11;

/// By CollectiveCommType.
inline constexpr std::array<OperationKind, 10> kCollectives = {
    OperationKind::kAllreduce, OperationKind::kReduce,        OperationKind::kAllgather,
    OperationKind::kGather,    OperationKind::kScatter,       OperationKind::kBcast,
    OperationKind::kAlltoall,  OperationKind::kReduceScatter, OperationKind::kReduceScatter,
    OperationKind::kBarrier};

/// Returns true if comm_size is the sum of a rank's blocks. Otherwise it is one block or the whole data.
constexpr bool size_is_of_all_blocks(OperationKind operation) {
  return operation == OperationKind::kAlltoall || operation == OperationKind::kReduceScatter ||
         operation == OperationKind::kScatter;
}

}  // namespace offramp::trace::chakra
