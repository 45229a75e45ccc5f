// The tables of the three layouts in order of address, and values computed from them: field offsets (at
// compile time), the space for communicators, and the printed map. Registers that move when the exchange
// memory is resized (resized()) are accessed through behind_tables().
#include "simulators/cclo/layout.hpp"

#include <cstdio>

namespace offramp::cclo {
namespace {

using D = DescriptorField;
constexpr std::array<WordOf<D>, 9> kDescriptor = {{
    {D::kAddressLow, "addrl", "of the buffer in device memory"},
    {D::kAddressHigh, "addrh", ""},
    {D::kMaximumLength, "max_len", "bytes"},
    {D::kDmaTag, "dma_tag", "of the write command in flight"},
    {D::kStatus, "status", "0 IDLE, 1 ENQUEUED, 2 RESERVED, 4 ERROR"},
    {D::kRxTag, "rx_tag", "of the message in it"},
    {D::kRxLength, "rx_len", "bytes"},
    {D::kRxSource, "rx_src", "rank"},
    {D::kSequence, "sequence_number", "of its source"},
}};
constexpr std::array<WordOf<D>, 7> kGen2Descriptor = {{
    {D::kStatus, "status", "0 IDLE, 1 ENQUEUED, 2 RESERVED, 4 ERROR"},
    {D::kAddressLow, "addrl", "of the buffer in device memory"},
    {D::kAddressHigh, "addrh", ""},
    {D::kRxTag, "rx_tag", "of the message in it"},
    {D::kRxLength, "rx_len", "bytes"},
    {D::kRxSource, "rx_src", "rank"},
    {D::kSequence, "sequence_number", "of its source"},
}};

using R = RankField;
constexpr std::array<WordOf<R>, 6> kRank = {{
    {R::kIp, "ip", "10.10.10.1 is 0x0a0a0a01"},
    {R::kPort, "port", "TCP port; with UDP the index of the rank"},
    {R::kInboundSequence, "inbound_seq", "of the last message from this rank"},
    {R::kOutboundSequence, "outbound_seq", "of the last message to this rank"},
    {R::kSession, "session", "of the TCP connection; 0xffffffff: none"},
    {R::kMaximumSegment, "max_segment_size", "bytes"},
}};

constexpr std::span<const WordOf<R>> kGen1Rank = std::span(kRank).first(5);

constexpr std::array<Register, 2> kSeedRegisters = {{
    {0x0ff8, "HWID", "", "which hardware this is"},
    {0x0ffc, "RETVAL", "", "return code of the last call"},
}};
constexpr std::array<Register, 3> kDumpRegisters = {{
    {0x1ff4, "TIMER", "", "scratch of the firmware's timer"},
    {0x1ff8, "HWID", "", "which hardware this is"},
    {0x1ffc, "RETVAL", "", "return code of the last call"},
}};
constexpr std::array<Register, 12> kGen2Registers = {{
    {kGatherMaximumFanIn, "GATHER_FLAT_MAX_FANIN", "", "peers announced to at once"},
    {kGatherMaximumBytes, "GATHER_FLAT_MAX_COUNT", "", "bytes up to which the fan-in is not limited"},
    {kBcastMaximumRanks, "BCAST_FLAT_MAX_RANKS", "", "more ranks: binomial tree"},
    {kReduceMaximumRanks, "REDUCE_FLAT_MAX_RANKS", "", "more ranks and more bytes: binomial tree"},
    {kReduceMaximumBytes, "REDUCE_FLAT_MAX_COUNT", "", "bytes"},
    {0x1fd8, "TMP1", "", "scratch buffer, 64-bit address"},
    {0x1fe0, "TMP2", "", "scratch buffer, 64-bit address"},
    {0x1fe8, "TMP3", "", "scratch buffer, 64-bit address"},
    {kPerformanceCounter, "PERFCNT", "", "cycles of the last call"},
    {kConfigured, "CFGRDY", "", "1: the driver has configured the engine"},
    {0x1ff8, "HWID", "", "which hardware this is"},
    {0x1ffc, "RETVAL", "", "return code of the last call"},
}};

constexpr std::uint32_t kArithmeticWords = 6 * 9;  // six configurations of nine words

const std::array<Layout, 3> kLayouts = {{
    {Profile::kSeed, Generation::kFirst, "seed", 0x0800, 0x0ff8, 1, 0, 0x0ff8, 0x0ffc, kDescriptor, kGen1Rank,
     kSeedRegisters, 0x0ff8},
    {Profile::kDump, Generation::kFirst, "dump", 0x1000, 0x1ff4, 1, 0, 0x1ff8, 0x1ffc, kDescriptor, kGen1Rank,
     kDumpRegisters, 0x1ff4},
    {Profile::kGen2, Generation::kSecond, "gen2", 0x0000, kGatherMaximumFanIn, 2, kArithmeticWords, 0x1ff8,
     0x1ffc, kGen2Descriptor, kRank, kGen2Registers, kGatherMaximumFanIn},
}};

template <typename Field>
constexpr FieldOffsets<Field> offsets_of(std::span<const WordOf<Field>> first,
                                         std::span<const WordOf<Field>> second) {
  FieldOffsets<Field> offsets{};
  for (std::size_t i = 0; i < first.size(); ++i)
    offsets[0][static_cast<std::size_t>(first[i].field)] = static_cast<std::uint32_t>(4 * i);
  for (std::size_t i = 0; i < second.size(); ++i)
    offsets[1][static_cast<std::size_t>(second[i].field)] = static_cast<std::uint32_t>(4 * i);
  return offsets;
}

std::string line(std::uint32_t offset, std::string_view name, std::string_view description) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "0x%04x  %-24.*s %.*s\n", offset, static_cast<int>(name.size()),
                name.data(), static_cast<int>(description.size()), description.data());
  return text.data();
}

}  // namespace

constinit const FieldOffsets<DescriptorField> kDescriptorOffsets =
    offsets_of<DescriptorField>(kDescriptor, kGen2Descriptor);
constinit const FieldOffsets<RankField> kRankOffsets = offsets_of<RankField>(kGen1Rank, kRank);

std::uint64_t Layout::free_words(std::uint64_t buffers) const {
  const std::uint64_t all = (tables_end - exchange_base) / 4;
  const std::uint64_t used = table_words + reserved_words + buffers * descriptor_words();
  return used < all ? all - used : 0;
}

std::uint32_t Layout::most_buffers(std::uint64_t ranks) const {
  const std::uint64_t all = free_words(0);
  // At least one communicator of this size must fit beside the descriptors.
  const std::uint64_t communicator = communicator_words(ranks);
  if (communicator > all) return 0;
  return static_cast<std::uint32_t>((all - communicator) / descriptor_words());
}

const Layout& layout_of(Profile profile) {
  return kLayouts[static_cast<std::size_t>(profile)];
}

Layout resized(const Layout& layout, std::uint32_t bytes) {
  Layout other = layout;
  other.tables_end = layout.exchange_base + bytes / 4 * 4;
  // HWID and RETVAL follow the tables, wherever these end.
  other.hardware_id = other.behind_tables(layout.hardware_id);
  other.return_value = other.behind_tables(layout.return_value);
  return other;
}

std::string print_layout(const Layout& layout, std::uint32_t buffers) {
  const bool second = layout.generation == Generation::kSecond;
  std::string text = "Call block";
  text += second ? " (a kernel of its own)\n" : "\n";
  for (const Register& r : kCallRegisters)
    text += line(r.offset, second && !r.gen2_name.empty() ? r.gen2_name : r.name, r.description);
  if (second) {
    text += "\nBits of stream_host_flags\n";
    for (const OperandFlag& flag : kOperandFlags) text += line(flag.bit, flag.name, "");
  }
  text += "\nExchange memory: RX buffers\n";
  text += line(layout.exchange_base, "rx_buffer_count", second ? "written last" : "written first");
  if (second) text += line(kGen2BufferLength, "rx_buffer_length", "bytes");
  for (const WordOf<D>& w : layout.descriptor)
    text += line(layout.descriptor_offset(0) + *layout.offset(w.field), w.name, w.description);
  text += "  ... " + std::to_string(buffers) + " descriptors of " +
          std::to_string(4 * layout.descriptor_words()) + " bytes\n";
  const std::uint32_t communicator = layout.communicators_offset(buffers);
  text += "\nExchange memory: communicator 0\n";
  text += line(communicator, "size", "ranks") + line(communicator + 4, "local_rank", "");
  for (const WordOf<R>& w : layout.rank)
    text += line(communicator + 4 * kCommunicatorHeadWords + *layout.offset(w.field), w.name, w.description);
  text += "  ... one record of " + std::to_string(4 * layout.rank_words()) + " bytes per rank; " +
          std::to_string(layout.free_words(buffers)) + " words for communicators\n\nMiscellaneous\n";
  for (const Register& r : layout.registers)
    text += line(layout.behind_tables(r.offset), r.name, r.description);
  return text;
}

}  // namespace offramp::cclo
