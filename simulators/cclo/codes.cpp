// Tables of codes, one row with the numbers of both generations per item, and lookups in them. Items that a
// generation lacks are -1 or false, with a reason.
#include "simulators/cclo/codes.hpp"

#include <bit>

namespace offramp::cclo {
namespace {

struct ScenarioCode {
  Scenario scenario;
  std::int16_t gen1;  // -1: none
  std::int16_t gen2;
  std::string_view name;
};
// SEND and RECV of the first generation: [accl]; the rest: read in [accl-2021] and [accl-2025].
constexpr std::array<ScenarioCode, static_cast<std::size_t>(Scenario::kNumber)> kScenarios = {{
    {Scenario::kConfig, 0, 0, "CONFIG"},
    {Scenario::kSend, 1, 3, "SEND"},
    {Scenario::kReceive, 2, 4, "RECV"},
    {Scenario::kBcast, 3, 5, "BCAST"},
    {Scenario::kScatter, 4, 6, "SCATTER"},
    {Scenario::kGather, 5, 7, "GATHER"},
    {Scenario::kReduce, 6, 8, "REDUCE"},
    {Scenario::kAllgather, 7, 9, "ALLGATHER"},
    {Scenario::kAllreduce, 8, 10, "ALLREDUCE"},
    {Scenario::kCombine, 9, 2, "COMBINE"},
    {Scenario::kCopy, 10, 1, "COPY"},
    {Scenario::kReduceScatter, 20, 11, "REDUCE_SCATTER"},
    {Scenario::kBarrier, -1, 12, "BARRIER"},
    {Scenario::kAlltoall, -1, 13, "ALLTOALL"},
    {Scenario::kExternalStream, 15, -1, "EXT_STREAM_KRNL"},
    {Scenario::kExternalReduce, 16, -1, "EXT_REDUCE"},
    {Scenario::kNop, 255, 255, "NOP"},
}};

constexpr Occurrence arises(std::string_view reason) {
  return {true, reason};
}
constexpr Occurrence never(std::string_view reason) {
  return {false, reason};
}
constexpr Occurrence kNoCode = {};

// [accl] EXCEPTIONS (0-2); the rest: read in [accl-2021] and [accl-2025]. Where second-generation hardware
// would wait until a reset, the call here ends after the timeout, with the code of its firmware of 2021.
constexpr std::array<ReturnCode, static_cast<std::size_t>(Error::kNumber)> kReturnCodes = {{
    {Error::kNone, 0, -1, "COLLECTIVE_OP_SUCCESS", arises("the call succeeded"),
     arises("the call succeeded")},
    {Error::kDmaMismatch, 1, 0, "DMA_MISMATCH_ERROR",
     arises("an acknowledgement belongs to another command: a failed call left it behind"),
     never("the data movement processor has bit 26 for it")},
    {Error::kDmaInternal, 2, 1, "DMA_INTERNAL_ERROR",
     arises("a command of 0 bytes: the transaction size was set to 0"),
     arises("a DMA reports it (a broken unit: no command has 0 bytes)")},
    {Error::kDmaDecode, 3, 2, "DMA_DECODE_ERROR", arises("an address without memory"),
     arises("an address without memory")},
    {Error::kDmaSlave, 4, 3, "DMA_SLAVE_ERROR", arises("the memory answers with an error"),
     arises("the memory answers with an error")},
    {Error::kDmaNotOkay, 5, 4, "DMA_NOT_OKAY_ERROR", arises("CONFIG: more than 20 transactions in flight"),
     arises("together with any of bits 1 to 3")},
    {Error::kDmaNotEndOfPacket, 6, 5, "DMA_NOT_END_OF_PACKET_ERROR",
     arises("a message has more bytes than a DMA command"),
     never("this bit of an acknowledgement is not checked")},
    {Error::kDmaUnexpectedBytes, 7, 6, "DMA_NOT_EXPECTED_BTT_ERROR",
     arises("CONFIG: a transaction size above 0x7fffff; the length of a message differs from its header"),
     arises("over UDP, packets of a message were duplicated or reordered")},
    {Error::kDmaTimeout, 8, 7, "DMA_TIMEOUT_ERROR", arises("a memory or an external kernel does not answer"),
     arises("a memory does not answer (the hardware waits until a reset)")},
    {Error::kSwitch, 9, 8, "CONFIG_SWITCH_ERROR",
     arises("the stream switch does not accept its configuration (a broken unit)"),
     never("there is no switch to configure: words carry their destinations")},
    {Error::kDequeueTimeout, 10, 9, "DEQUEUE_BUFFER_TIMEOUT_ERROR",
     never("the loop that counts the polls ends with the first failed poll"),
     never("hardware serves the RX buffers and counts nothing")},
    {Error::kBufferStatus, 11, 10, "DEQUEUE_BUFFER_SPARE_BUFFER_STATUS_ERROR",
     arises(
         "a message arrives for a buffer that the host has reset, or is longer than its buffer (inferred)"),
     arises("a segment is longer than its buffer (inferred: the hardware overwrites the memory after it)")},
    {Error::kReceiveTimeout, 12, 11, "RECEIVE_TIMEOUT_ERROR",
     arises("no message with this source, length, tag, and number arrives"),
     arises("no message with this source, tag, and number arrives (the hardware waits until a reset)")},
    {Error::kBufferTagMismatch, 13, 12, "DEQUEUE_BUFFER_SPARE_BUFFER_DMATAG_MISMATCH",
     arises("the host changed the DMA tag of an enqueued buffer"),
     never("hardware serves the RX buffers and does not check it")},
    {Error::kBufferIndex, 14, 13, "DEQUEUE_BUFFER_SPARE_BUFFER_INDEX_ERROR",
     arises("the host lowered the number of RX buffers below that of an enqueued buffer"),
     never("hardware serves the RX buffers and does not check it")},
    {Error::kNotImplemented, 15, 14, "COLLECTIVE_NOT_IMPLEMENTED", never("unknown calls end with success"),
     arises("an unknown call; a collective with flags that it does not have")},
    {Error::kSpareBuffer, 16, 15, "RECEIVE_OFFCHIP_SPARE_BUFF_ID_NOT_VALID",
     never("the search for a message ends with a buffer or in the receive timeout"),
     never("the search for a message ends with a buffer only")},
    {Error::kOpenPort, 17, -1, "OPEN_PORT_NOT_SUCCEEDED", arises("CONFIG: a port without a TCP engine"),
     kNoCode},
    {Error::kOpenConnection, 18, -1, "OPEN_CON_NOT_SUCCEEDED", arises("CONFIG: connections without a port"),
     kNoCode},
    {Error::kEagerThreshold, -1, 16, "EAGER_THRESHOLD_INVALID", kNoCode,
     arises("CONFIG: longest eager message below the RX buffers' size")},
    {Error::kRendezvousThreshold, -1, 17, "RENDEZVOUS_THRESHOLD_INVALID", kNoCode,
     arises("CONFIG: longest rendezvous not above the longest eager message")},
    {Error::kDmaSize, 19, 18, "DMA_SIZE_ERROR",
     never("commands are cut to the transaction size, and a larger one is refused with code 7"),
     never("transfers are cut into commands of at most 8388544 bytes")},
    {Error::kArithmetic, 20, 19, "ARITH_ERROR",
     arises("the arithmetic unit does not become idle (a broken unit)"),
     never("the arithmetic unit reports nothing")},
    {Error::kPacketizerTimeout, 21, 20, "PACK_TIMEOUT_STS_ERROR",
     arises("packetizers off, no connection, or the peer does not acknowledge"),
     arises("packetizers off, or the peer does not acknowledge (the hardware waits until a reset)")},
    {Error::kPacketizerSequence, 22, 21, "PACK_SEQ_NUMBER_ERROR",
     arises("an acknowledgement belongs to another message: a failed SEND left it behind"),
     arises("the packetizer acknowledges another message (a broken unit)")},
    {Error::kCompression, -1, 22, "COMPRESSION_ERROR", kNoCode,
     arises("a function that the configuration does not have, or a count that its ratio does not divide "
            "(revision of 2021)")},
    {Error::kKernelTimeout, -1, 23, "KRNL_TIMEOUT_STS_ERROR", kNoCode,
     arises("a kernel does not supply the words of an operand (the hardware waits until a reset)")},
    {Error::kKernelCount, -1, 24, "KRNL_STS_COUNT_ERROR", kNoCode,
     arises("a kernel ends its stream early (inferred: the hardware goes on with the next stream)")},
    {Error::kSegmenterBytes, -1, 25, "SEGMENTER_EXPECTED_BTT_ERROR", kNoCode,
     arises("words are lost on their way to a kernel (a broken unit)")},
    {Error::kSegmenterTag, -1, 26, "DMA_TAG_MISMATCH_ERROR", kNoCode,
     arises("a DMA acknowledges another command (a broken unit; revision of 2021)")},
    {Error::kNotReady, -1, 31, "NOT_READY", kNoCode, arises("a reset answers the calls in the retry queue")},
}};

// Lanes 4 and 9 of the second generation are half precision, which has no MPI type.
constexpr std::array<ArithmeticLane, 8> kLanes = {{
    {ElementType::kFloat32, ReduceFunction::kSum, 0, 0, 4},
    {ElementType::kFloat64, ReduceFunction::kSum, 1, 1, 8},
    {ElementType::kInt32, ReduceFunction::kSum, 2, 2, 4},
    {ElementType::kInt64, ReduceFunction::kSum, 3, 3, 8},
    {ElementType::kFloat32, ReduceFunction::kMaximum, -1, 5, 4},
    {ElementType::kFloat64, ReduceFunction::kMaximum, -1, 6, 8},
    {ElementType::kInt32, ReduceFunction::kMaximum, -1, 7, 4},
    {ElementType::kInt64, ReduceFunction::kMaximum, -1, 8, 8},
}};

constexpr std::array<ArithmeticConfig, 6> kConfigs = {{
    {"f16", {2, 2, 0, 0, 0, 2, 0, 4, 9}},
    {"f32/f16", {4, 2, 0, 0, 1, 2, 1, 4, 9}},
    {"f32", {4, 4, 0, 0, 0, 2, 0, 0, 5}},
    {"f64", {8, 8, 0, 0, 0, 2, 0, 1, 6}},
    {"i32", {4, 4, 0, 0, 0, 2, 0, 2, 7}},
    {"i64", {8, 8, 0, 0, 0, 2, 0, 3, 8}},
}};

}  // namespace

std::string_view to_string(Scenario scenario) {
  return kScenarios[static_cast<std::size_t>(scenario)].name;
}

std::optional<std::uint32_t> code_of(Generation generation, Scenario scenario) {
  const ScenarioCode& row = kScenarios[static_cast<std::size_t>(scenario)];
  const std::int16_t code = generation == Generation::kFirst ? row.gen1 : row.gen2;
  if (code < 0) return std::nullopt;
  return static_cast<std::uint32_t>(code);
}

std::optional<Scenario> scenario_of(Generation generation, std::uint32_t code) {
  for (const ScenarioCode& row : kScenarios) {
    if (code_of(generation, row.scenario) == code) return row.scenario;
  }
  return std::nullopt;
}

std::span<const ReturnCode> return_codes() {
  return kReturnCodes;
}

std::string_view to_string(Error error) {
  return kReturnCodes[static_cast<std::size_t>(error)].name;
}

std::uint32_t encode(Generation generation, Error error) {
  if (error == Error::kNone) return 0;
  const ReturnCode& row = kReturnCodes[static_cast<std::size_t>(error)];
  if (generation == Generation::kFirst)
    return row.gen1 >= 0 ? static_cast<std::uint32_t>(row.gen1) : encode(generation, Error::kDmaInternal);
  return row.gen2_bit >= 0 ? 1U << row.gen2_bit : encode(generation, Error::kDmaInternal);
}

Error decode(Generation generation, std::uint32_t value) {
  if (value == 0) return Error::kNone;
  const std::int64_t wanted = generation == Generation::kFirst ? value : std::countr_zero(value);
  for (const ReturnCode& row : kReturnCodes) {
    if ((generation == Generation::kFirst ? row.gen1 : row.gen2_bit) == wanted) return row.error;
  }
  return Error::kDmaInternal;
}

std::uint32_t encode(const HardwareId& id) {
  const auto bit = [](bool set, int n) { return static_cast<std::uint32_t>(set ? 1U : 0U) << n; };
  return static_cast<std::uint32_t>(id.stack) | bit(id.internal_dma, 2) | bit(id.arithmetic, 3) |
         bit(id.compression, 4) | bit(id.kernel_streams, 5) | bit(id.debug, 6) | bit(id.external_dma, 7) |
         id.commit << 8;
}

std::span<const ArithmeticLane> arithmetic_lanes() {
  return kLanes;
}

const ArithmeticLane* find_lane(Generation generation, ElementType element, ReduceFunction function) {
  for (const ArithmeticLane& lane : kLanes) {
    const bool there = generation == Generation::kFirst ? lane.gen1_function >= 0 : lane.gen2_lane >= 0;
    if (there && lane.element == element && lane.function == function) return &lane;
  }
  return nullptr;
}

std::span<const ArithmeticConfig> arithmetic_configs() {
  return kConfigs;
}

}  // namespace offramp::cclo
