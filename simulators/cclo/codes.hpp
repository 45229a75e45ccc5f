// Codes of the engine: scenarios, configuration calls, return codes, hardware id, and the types and functions
// of the arithmetic unit. The generations use different numbers; each kind of code is one table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "offramp/model/backend.hpp"
#include "simulators/cclo/header.hpp"
#include "simulators/cclo/layout.hpp"

namespace offramp::cclo {

/// The calls of both generations. Their numbers differ per generation: see code_of().
enum class Scenario : std::uint8_t {
  kConfig,
  kSend,
  kReceive,
  kBcast,
  kScatter,
  kGather,
  kReduce,
  kAllgather,
  kAllreduce,
  kCombine,
  kCopy,
  kReduceScatter,
  kBarrier,
  kAlltoall,
  kExternalStream,
  kExternalReduce,
  kNop,
  kNumber
};
std::string_view to_string(Scenario scenario);
/// `nullopt` if this generation has no such call.
std::optional<std::uint32_t> code_of(Generation generation, Scenario scenario);
/// The inverse of code_of(). `nullopt` if this generation has no call with this code.
std::optional<Scenario> scenario_of(Generation generation, std::uint32_t code);

/// Sub-functions of CONFIG, as encoded in the word `function`.
enum class Gen1Config : std::uint32_t {
  kInterruptsOn = 0,
  kInterruptsOff = 1,
  kReset = 2,
  kPacketizersOn = 3,
  kTimeout = 4,
  kInitConnection = 5,
  kOpenPort = 6,
  kOpenConnections = 7,
  kUseTcp = 8,
  kUseUdp = 9,
  kProfilingOn = 10,
  kProfilingOff = 11,
  kTransactionSize = 12,
  kTransactionsInFlight = 13
};
/// Sub-functions of the second generation (read in [accl-2025]).
enum class Gen2Config : std::uint32_t {
  kReset = 0,
  kEnginesOn = 1,
  kTimeout = 2,
  kMaximumEager = 3,
  kMaximumRendezvous = 4
};
inline constexpr std::uint32_t kMaximumTransactionBytes = 0x7fffff;  // 23 bits of a DMA command
inline constexpr std::uint32_t kMaximumTransactionsInFlight = 20;
inline constexpr std::uint32_t kGen2MaximumTransferBytes = 8388544;  // whole words below 2^23

/// The reasons for which a call ends without success, for both generations. return_codes() has one row each,
/// in this order.
enum class Error : std::uint8_t {
  kNone,
  kDmaMismatch,
  kDmaInternal,
  kDmaDecode,
  kDmaSlave,
  kDmaNotOkay,
  kDmaNotEndOfPacket,
  kDmaUnexpectedBytes,
  kDmaTimeout,
  kSwitch,
  kDequeueTimeout,
  kBufferStatus,
  kReceiveTimeout,
  kBufferTagMismatch,
  kBufferIndex,
  kNotImplemented,
  kSpareBuffer,
  kOpenPort,
  kOpenConnection,
  kEagerThreshold,
  kRendezvousThreshold,
  kDmaSize,
  kArithmetic,
  kPacketizerTimeout,
  kPacketizerSequence,
  kCompression,
  kKernelTimeout,
  kKernelCount,
  kSegmenterBytes,
  kSegmenterTag,
  kNotReady,
  kNumber
};
/// The condition under which a call ends with a code, or the reason why this cannot happen.
struct Occurrence {
  bool arises = false;
  std::string_view reason;
};
/// gen1: an integer; gen2: a bit. Negative: not defined in this generation.
struct ReturnCode {
  Error error;
  std::int16_t gen1;
  std::int16_t gen2_bit;
  std::string_view name;
  Occurrence in_gen1;
  Occurrence in_gen2;
  [[nodiscard]] bool defined(Generation generation) const {
    return generation == Generation::kFirst ? gen1 >= 0 : gen2_bit >= 0;
  }
  [[nodiscard]] const Occurrence& in(Generation generation) const {
    return generation == Generation::kFirst ? in_gen1 : in_gen2;
  }
};
/// All codes, in the order of Error.
std::span<const ReturnCode> return_codes();
std::string_view to_string(Error error);
/// The value of RETVAL. Errors unknown to this generation become its "internal" DMA error.
std::uint32_t encode(Generation generation, Error error);
/// The error of a return value, the lowest bit if there are several. Unknown values are kDmaInternal.
Error decode(Generation generation, std::uint32_t value);

/// The tag that matches any tag. See RxPool::seek() for the side that may use it.
inline constexpr std::uint32_t kTagAny = 0xffffffff;

/// HWID of the second generation (read in [accl-2025]). [accl] leaves the encoding open; here, the first
/// generation uses the same one with stacks 0 and 1 only.
struct HardwareId {
  enum class Stack : std::uint8_t { kUdp, kTcp, kRdma, kReserved };
  Stack stack = Stack::kTcp;
  bool internal_dma = true;
  bool arithmetic = true;
  bool compression = false;
  bool kernel_streams = false;
  bool debug = false;
  bool external_dma = false;
  std::uint32_t commit = 0;  // first 24 bits of the source's hash
  friend bool operator==(const HardwareId&, const HardwareId&) = default;
};
/// The register HWID: stack in bits 1:0, flags in bits 2 to 7, the commit above.
std::uint32_t encode(const HardwareId& id);

/// A lane of the arithmetic unit: one function on one type. The first generation has SUM of four types, by
/// `function` ([accl] Software interface). The second has SUM and MAX of five types, by lane.
struct ArithmeticLane {
  ElementType element;
  ReduceFunction function;
  std::int8_t gen1_function;  // -1: none
  std::int8_t gen2_lane;      // tdest; -1: none
  std::uint8_t bytes;         // per element
};
/// Lanes for types of MPI programs. Half precision has no MPI type; see ArithmeticConfig.
std::span<const ArithmeticLane> arithmetic_lanes();
/// Null if this generation has no lane for the pair.
const ArithmeticLane* find_lane(Generation generation, ElementType element, ReduceFunction function);

/// An arithmetic configuration of the second generation: nine words, as the driver writes them.
struct ArithmeticConfig {
  std::string_view name;
  std::array<std::uint32_t, 9> words;
};
/// The six configurations of the table that the driver writes behind communicator 0.
std::span<const ArithmeticConfig> arithmetic_configs();

}  // namespace offramp::cclo
