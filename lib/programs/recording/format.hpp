// The layout of recordings: a header, blocks, an index, an end mark. Described in docs/replay.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "lib/programs/recording/bytes.hpp"
#include "lib/programs/recording/reader.hpp"

namespace offramp::recording {

// The first bytes of a recording, and of the part of one rank.
inline constexpr std::string_view kFileMagic = "OFFRAMPR";
inline constexpr std::string_view kPartMagic = "OFFRAMPP";

/// The only supported version. Any change that older readers would misread increments it.
inline constexpr std::uint32_t kVersion = 6;

// Limits of the format. Readers reject larger values.
inline constexpr std::uint32_t kMostRanks = 1U << 22U;
inline constexpr std::uint32_t kMostThreads = 1U << 12U;           // of a rank, in sequence
inline constexpr std::size_t kMostSites = std::size_t{1} << 14U;   // of a rank; further sites are unknown
inline constexpr std::size_t kMostSymbols = 8192;                  // different events of a block
inline constexpr std::size_t kWindow = std::size_t{64} << 10U;     // maximum distance of a copy, in events
inline constexpr std::size_t kMostValues = std::size_t{1} << 20U;  // of one list
inline constexpr std::size_t kMostBlockValues = 3 * kMostValues;   // of all lists of a block
/// Bytes of a block's payload.
inline constexpr std::size_t kMostPayload = std::size_t{64} << 20U;
/// For an open block; the event that exceeds it is the last.
inline constexpr std::size_t kPayloadTarget = std::size_t{64} << 10U;

/// The kinds of blocks. The numbers are part of the format.
enum class Column : std::uint8_t {
  kTimes,
  kPolls,
  kMatches,
  kChoices,
  kEvents,
  kEnd,
  kIndex,
  kGaps,
  kThreads,
  kPartsIndex,
  kBlocked,
  kDurations,
  kNativeRun,
  kCount
};
/// For messages.
std::string_view to_string(Column column);
/// The number of kinds of blocks.
inline constexpr std::size_t kColumns = static_cast<std::size_t>(Column::kCount);
/// A rank's columns in the order of a file. Events come last: a cut file has all data beside its events.
inline constexpr std::array kColumnsOfRank = {Column::kThreads, Column::kGaps,      Column::kTimes,
                                              Column::kBlocked, Column::kPolls,     Column::kMatches,
                                              Column::kChoices, Column::kDurations, Column::kEvents,
                                              Column::kEnd,     Column::kNativeRun};

/// The second number of the column kEnd.
enum EndKind : std::uint64_t {
  kLimited,   // a limit ended the recording
  kComplete,  // the recording is complete
  kUntimely   // the program did not reach MPI_Finalize; length and bytes of the reason follow
};
inline constexpr std::size_t kMostCallTimes = 4 * kMostSites;  // of a rank
inline constexpr std::size_t kLongestReason = 200;             // "signal 11 (Segmentation fault)"

/// What a block says about itself. first_event is the number of the first event to which its data belongs.
struct BlockHeader {
  Column column = Column::kTimes;
  std::uint32_t rank = 0;
  std::uint32_t sequence = 0;  // within rank and column
  std::uint64_t first_event = 0;
  std::uint32_t length = 0;  // of the payload
  std::uint64_t checksum = 0;
};
inline constexpr std::size_t kBlockHeaderBytes = 40;
/// The encoded header, on the stack: signal handlers must not allocate.
using BlockHeaderImage = std::array<std::uint8_t, kBlockHeaderBytes>;

/// Encodes the header with a checksum of header and payload (in two pieces). Async-signal-safe.
BlockHeaderImage seal(const BlockHeader& header, ByteSpan payload, ByteSpan rest = {});
/// Decodes a header without checking the checksum. `nullopt` if it is not one.
std::optional<BlockHeader> decode_block_header(ByteSpan bytes);
/// bytes: header and payload.
bool checksum_fits(ByteSpan bytes);
/// The checksum of data in pieces; an empty piece ends them.
std::uint64_t checksum_of(const std::function<ByteSpan()>& next);

/// The beginning of one rank's part, in memory or in a file.
struct PartHeader {
  std::uint32_t version = kVersion;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
};
inline constexpr std::size_t kPartHeaderBytes = 32;
/// The bytes of the header, with its checksum.
std::array<std::uint8_t, kPartHeaderBytes> encode(const PartHeader& header);
/// Fails for other versions, and for a wrong checksum or rank.
Result<PartHeader> decode_part_header(ByteSpan bytes);

/// The beginning of a recording of all ranks.
inline constexpr std::size_t kFileStartBytes = 24;
/// The whole header of a recording.
std::string encode(const Description& description);
/// The size of the whole header in bytes, from its first kFileStartBytes bytes.
Result<std::size_t> file_header_bytes(ByteSpan start);
/// header: may be followed by other bytes. Fails for a wrong checksum.
Result<Description> decode_file_header(ByteSpan header);

/// Returns true for the columns that index blocks in the file or in parts beside it.
constexpr bool is_index(Column column) {
  return column == Column::kIndex || column == Column::kPartsIndex;
}

/// The last bytes of a complete recording: the offset of the index.
inline constexpr std::size_t kEndMarkBytes = 24;
/// The bytes of an end mark, with its checksum.
std::array<std::uint8_t, kEndMarkBytes> encode_end_mark(std::uint64_t index_offset);
/// The offset. `nullopt` if these are not exactly the bytes of an end mark.
std::optional<std::uint64_t> decode_end_mark(ByteSpan bytes);

}  // namespace offramp::recording
