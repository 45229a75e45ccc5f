// The 8 KB IO space of the CCL offload engine: registers, RX buffer descriptors, and communicators, as tables
// of fields. Encoder, printer, documentation, and tests use these tables.
//
// Layouts: kSeed follows the text of [accl]. kDump matches the hardware of its register dump (exchange memory
// at 0x1000). kGen2 is the second generation (read in [accl-2025]), with the call block in a separate kernel
// and the exchange memory at 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace offramp::cclo {

/// Selects one of the three layouts.
enum class Profile : std::uint8_t { kSeed, kDump, kGen2 };
/// First: the engine of [accl] and of 2021. Second: the engine of [accl-2025].
enum class Generation : std::uint8_t { kFirst, kSecond };

inline constexpr std::uint32_t kIoSpaceBytes = 8192;  // [accl] Kernel Interfaces
inline constexpr std::uint32_t kCallBlockBytes = 0x80;

/// One 32-bit register.
struct Register {
  std::uint32_t offset;
  std::string_view name;       // first generation
  std::string_view gen2_name;  // if different
  std::string_view description;
};

/// The words of a call, as the host writes them. The value is the position in the stream of 15 words from the
/// call block to the control processor. Offsets are in kCallRegisters.
enum class Argument : std::uint8_t {
  kScenario,
  kCount,
  kCommunicator,
  kRootSourceDestination,
  kFunction,
  kTag,
  kType0,
  kType1,
  kType2,
  kAddress0Low,
  kAddress0High,
  kAddress1Low,
  kAddress1High,
  kAddress2Low,
  kAddress2High,
  kNumber
};
inline constexpr std::size_t kArguments = static_cast<std::size_t>(Argument::kNumber);

/// AP_CTRL, GIE, IER, ISR, then the arguments in the order of Argument.
/// [accl] Kernel Parameters; a reserved word follows every argument. The text prints the halves of buf1 in
/// both orders; all code has the low half first.
inline constexpr std::array<Register, 4 + kArguments> kCallRegisters = {{
    {0x00, "AP_CTRL", "", "b0 start, b1 done, b2 idle, b3 ready"},
    {0x04, "GIE", "", "global interrupt enable"},
    {0x08, "IER", "", "interrupt enable"},
    {0x0c, "ISR", "", "interrupt status"},
    {0x10, "call_type", "", "scenario: what to do"},
    {0x18, "byte_count", "count", "bytes; elements in the second generation"},
    {0x20, "comm_addr", "", "byte offset of the communicator"},
    {0x28, "root_src_dst", "", "root, or the peer"},
    {0x30, "function", "", "reduction, or sub-function of a configuration call"},
    {0x38, "tag", "", "0xffffffff: any"},
    {0x40, "buf0_type", "datapath_cfg", "ignored; second generation: arithmetic configuration"},
    {0x48, "buf1_type", "compression_flags", "ignored; second generation: OP0 1, OP1 2, RES 4, ETH 8"},
    {0x50, "buf2_type", "stream_host_flags", "ignored; second generation: streams 7:0, host memory 15:8"},
    {0x58, "buf0_ptr_addrl", "addra_l", "source (receive: destination)"},
    {0x5c, "buf0_ptr_addrh", "addra_h", ""},
    {0x64, "buf1_ptr_addrl", "addrb_l", "destination; second operand"},
    {0x68, "buf1_ptr_addrh", "addrb_h", ""},
    {0x70, "buf2_ptr_addrl", "addrc_l", "second generation: result"},
    {0x74, "buf2_ptr_addrh", "addrc_h", ""},
}};
/// The word at 0x50 of the second generation: which operands are kernel streams, and which are in host memory
/// instead of device memory (read in [accl-2025]).
struct OperandFlag {
  std::uint32_t bit;
  std::string_view name;
};
inline constexpr std::uint32_t kOperand0Stream = 0x0001;
inline constexpr std::uint32_t kResultStream = 0x0002;
inline constexpr std::uint32_t kOperand0Host = 0x0100;
inline constexpr std::uint32_t kOperand1Host = 0x0200;
inline constexpr std::uint32_t kResultHost = 0x0400;
inline constexpr std::array<OperandFlag, 5> kOperandFlags = {{{kOperand0Stream, "OP0 stream"},
                                                              {kResultStream, "RES stream"},
                                                              {kOperand0Host, "OP0 host"},
                                                              {kOperand1Host, "OP1 host"},
                                                              {kResultHost, "RES host"}}};

/// The byte offset of a call's word in the call block.
constexpr std::uint32_t offset_of(Argument argument) {
  return kCallRegisters[4 + static_cast<std::size_t>(argument)].offset;
}
inline constexpr std::uint32_t kApCtrl = 0x00;

/// AP_CTRL (ap_ctrl_hs; read in [accl-2025]).
inline constexpr std::uint32_t kApStart = 1U << 0;
inline constexpr std::uint32_t kApDone = 1U << 1;  // cleared by reading
inline constexpr std::uint32_t kApIdle = 1U << 2;
inline constexpr std::uint32_t kApReady = 1U << 3;

/// Fields of an RX buffer descriptor, in a different order per generation.
enum class DescriptorField : std::uint8_t {
  kAddressLow,
  kAddressHigh,
  kMaximumLength,
  kDmaTag,
  kStatus,
  kRxTag,
  kRxLength,
  kRxSource,
  kSequence,
  kNumber
};
/// The life cycle of an RX buffer: see RxPool.
enum class BufferStatus : std::uint32_t { kIdle = 0, kEnqueued = 1, kReserved = 2, kError = 4 };

/// Fields of one rank in a communicator. Size and local rank precede the ranks.
enum class RankField : std::uint8_t {
  kIp,
  kPort,
  kInboundSequence,
  kOutboundSequence,
  kSession,
  kMaximumSegment,
  kNumber
};
inline constexpr std::uint32_t kCommunicatorHeadWords = 2;
inline constexpr std::uint32_t kNoSession = 0xffffffff;

/// One 32-bit word of a record, and its documentation.
template <typename Field>
struct WordOf {
  Field field;
  std::string_view name;
  std::string_view description;
};

/// Byte offsets of fields within records, by generation. A table, because the firmware needs them constantly.
template <typename Field>
using FieldOffsets =
    std::array<std::array<std::optional<std::uint32_t>, static_cast<std::size_t>(Field::kNumber)>, 2>;
extern const FieldOffsets<DescriptorField> kDescriptorOffsets;
extern const FieldOffsets<RankField> kRankOffsets;

/// The layout of an IO space: offsets in bytes, sizes in 32-bit words.
struct Layout {
  Profile profile;
  Generation generation;
  std::string_view name;
  std::uint32_t exchange_base;   // first byte of the exchange memory
  std::uint32_t tables_end;      // end of the space for descriptors and communicators
  std::uint32_t table_words;     // before the descriptors
  std::uint32_t reserved_words;  // after the first communicator: arithmetic configurations
  std::uint32_t hardware_id;     // offsets
  std::uint32_t return_value;
  std::span<const WordOf<DescriptorField>> descriptor;
  std::span<const WordOf<RankField>> rank;
  std::span<const Register> registers;  // outside the tables
  std::uint32_t original_tables_end;    // in hardware; see resized()

  /// The offset of a register behind the tables. offset: in the original layout.
  [[nodiscard]] std::uint32_t behind_tables(std::uint32_t offset) const {
    return tables_end + offset - original_tables_end;
  }
  [[nodiscard]] std::uint32_t descriptor_words() const {
    return static_cast<std::uint32_t>(descriptor.size());
  }
  [[nodiscard]] std::uint32_t rank_words() const { return static_cast<std::uint32_t>(rank.size()); }
  /// The byte offset of a descriptor in the IO space.
  [[nodiscard]] std::uint32_t descriptor_offset(std::uint32_t i) const {
    return exchange_base + 4 * (table_words + i * descriptor_words());
  }
  /// The offset of communicator 0, behind `buffers` descriptors.
  [[nodiscard]] std::uint32_t communicators_offset(std::uint32_t buffers) const {
    return descriptor_offset(buffers);
  }
  /// The length of a communicator with this many ranks.
  [[nodiscard]] std::uint64_t communicator_words(std::uint64_t ranks) const {
    return kCommunicatorHeadWords + ranks * rank_words();
  }
  /// Words left for communicators. 0 if the descriptors do not fit.
  [[nodiscard]] std::uint64_t free_words(std::uint64_t buffers) const;
  /// The number of descriptors that fit next to one communicator.
  [[nodiscard]] std::uint32_t most_buffers(std::uint64_t ranks) const;

  /// Byte offset of a field in its record. `nullopt` if this generation lacks the field.
  [[nodiscard]] std::optional<std::uint32_t> offset(DescriptorField field) const {
    return kDescriptorOffsets[static_cast<std::size_t>(generation)][static_cast<std::size_t>(field)];
  }
  [[nodiscard]] std::optional<std::uint32_t> offset(RankField field) const {
    return kRankOffsets[static_cast<std::size_t>(generation)][static_cast<std::size_t>(field)];
  }
};

/// The returned layout is a constant and lives until the process ends.
const Layout& layout_of(Profile profile);

/// The layout with an exchange memory of `bytes`, for what-if studies. HWID and RETVAL still follow it.
/// bytes: of the exchange memory; rounded down to whole words.
Layout resized(const Layout& layout, std::uint32_t bytes);

/// A readable list of all registers and records.
/// buffers: the number of RX buffers, after which the communicators begin.
std::string print_layout(const Layout& layout, std::uint32_t buffers);

// --- the second generation's exchange memory (read in [accl-2025]) ---
inline constexpr std::uint32_t kGen2BufferLength = 0x0004;
inline constexpr std::uint32_t kGatherMaximumFanIn = 0x1fc4;
inline constexpr std::uint32_t kGatherMaximumBytes = 0x1fc8;
inline constexpr std::uint32_t kBcastMaximumRanks = 0x1fcc;
inline constexpr std::uint32_t kReduceMaximumRanks = 0x1fd0;
inline constexpr std::uint32_t kReduceMaximumBytes = 0x1fd4;
inline constexpr std::uint32_t kPerformanceCounter = 0x1ff0;
inline constexpr std::uint32_t kConfigured = 0x1ff4;

}  // namespace offramp::cclo
