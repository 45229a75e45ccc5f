// The layout of each item is documented at its encoder. The checksum of a block is XXH3 over header and
// payload, so a block in the wrong place is detected.
#include "lib/programs/recording/format.hpp"

#include <fmt/format.h>

#include <algorithm>

// Compiled into this file: a preloaded library must not load another one into the program.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace offramp::recording {
namespace {

constexpr std::string_view kEndMagic = "OFFRAMPE";
constexpr std::uint32_t kBlockMagic = 0x4b4c424f;  // "OBLK"
// Bytes. Limits what a damaged header can claim.
constexpr std::size_t kMostHeader = std::size_t{1} << 20U;

// The checksum of three pieces as if they were one. Allocates nothing.
std::uint64_t checksum(ByteSpan first, ByteSpan second, ByteSpan third = {}) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (const ByteSpan part : {first, second, third}) {
    if (!part.empty()) XXH3_64bits_update(&state, part.data(), part.size());
  }
  return XXH3_64bits_digest(&state);
}

bool begins_with(ByteSpan bytes, std::string_view magic) {
  return text_of(bytes.first(std::min(bytes.size(), magic.size()))) == magic;
}

// Both directions need another remedy.
std::string version_problem(std::uint32_t version) {
  return fmt::format("it has version {} of the format, but this Offramp reads version {}: {}", version,
                     kVersion, version < kVersion ? "record the program again" : "a newer Offramp wrote it");
}

void append(std::string& text, std::uint64_t number) {
  std::array<std::uint8_t, kMostVarintBytes> bytes;
  const std::uint8_t* end = put_varint(bytes.data(), number);
  text.append(text_of({bytes.data(), end}));
}

void append(std::string& text, std::string_view word) {
  append(text, word.size());
  text.append(word);
}

}  // namespace

std::string_view to_string(Column column) {
  // In the order of Column.
  constexpr std::array<std::string_view, static_cast<std::size_t>(Column::kCount)> kNames = {
      "times", "polls",   "matches",        "choices", "events",    "end",       "index",
      "gaps",  "threads", "index of parts", "blocked", "durations", "native run"};
  return kNames[static_cast<std::size_t>(column)];
}

// magic u32, column u8, 3 zeros, rank u32, sequence u32, first event u64, length u32, 4 zeros, checksum u64
BlockHeaderImage seal(const BlockHeader& header, ByteSpan payload, ByteSpan rest) {
  // Gaps are zeros.
  BlockHeaderImage image{};
  put_word(&image[0], kBlockMagic);
  image[4] = static_cast<std::uint8_t>(header.column);
  put_word(&image[8], header.rank);
  put_word(&image[12], header.sequence);
  put_word(&image[16], header.first_event);
  put_word(&image[24], static_cast<std::uint32_t>(payload.size() + rest.size()));
  put_word(&image[32], checksum(ByteSpan(image).first(32), payload, rest));
  return image;
}

std::optional<BlockHeader> decode_block_header(ByteSpan bytes) {
  if (bytes.size() < kBlockHeaderBytes || get_word<std::uint32_t>(&bytes[0]) != kBlockMagic ||
      bytes[4] >= static_cast<std::uint8_t>(Column::kCount))
    return std::nullopt;
  BlockHeader header;
  header.column = static_cast<Column>(bytes[4]);
  header.rank = get_word<std::uint32_t>(&bytes[8]);
  header.sequence = get_word<std::uint32_t>(&bytes[12]);
  header.first_event = get_word<std::uint64_t>(&bytes[16]);
  header.length = get_word<std::uint32_t>(&bytes[24]);
  header.checksum = get_word<std::uint64_t>(&bytes[32]);
  // Checked here, so that no caller allocates what a damaged file claims.
  if (header.length > kMostPayload) return std::nullopt;
  return header;
}

bool checksum_fits(ByteSpan bytes) {
  return bytes.size() >= kBlockHeaderBytes &&
         get_word<std::uint64_t>(&bytes[32]) == checksum(bytes.first(32), bytes.subspan(kBlockHeaderBytes));
}

std::uint64_t checksum_of(const std::function<ByteSpan()>& next) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  for (ByteSpan piece = next(); !piece.empty(); piece = next())
    XXH3_64bits_update(&state, piece.data(), piece.size());
  return XXH3_64bits_digest(&state);
}

// magic, version u32, rank u32, ranks u32, 4 zeros, checksum u64
std::array<std::uint8_t, kPartHeaderBytes> encode(const PartHeader& header) {
  std::array<std::uint8_t, kPartHeaderBytes> image{};
  std::copy(kPartMagic.begin(), kPartMagic.end(), image.begin());
  put_word(&image[8], header.version);
  put_word(&image[12], header.rank);
  put_word(&image[16], header.ranks);
  put_word(&image[24], checksum(ByteSpan(image).first(24), {}));
  return image;
}

Result<PartHeader> decode_part_header(ByteSpan bytes) {
  if (!begins_with(bytes, kPartMagic)) return failure("it is not a part of a recording");
  if (bytes.size() < kPartHeaderBytes) return failure("it ends within its header");
  PartHeader header;
  header.version = get_word<std::uint32_t>(&bytes[8]);
  header.rank = get_word<std::uint32_t>(&bytes[12]);
  header.ranks = get_word<std::uint32_t>(&bytes[16]);
  // Before the version: a damaged header must not count as another version's.
  if (get_word<std::uint64_t>(&bytes[24]) != checksum(bytes.first(24), {}))
    return failure("the checksum of its header is wrong");
  if (header.version != kVersion) return failure(version_problem(header.version));
  if (header.ranks > kMostRanks || header.rank >= header.ranks)
    return failure(fmt::format("its header names rank {} of {}", header.rank, header.ranks));
  return header;
}

// magic, version u32, length u32, checksum u64; then varints: ranks, number of facts, and for each the
// lengths and bytes of key and value
std::string encode(const Description& description) {
  std::string text;
  append(text, static_cast<std::uint64_t>(description.ranks));
  append(text, description.facts.size());
  for (const auto& [key, value] : description.facts) {
    append(text, key);
    append(text, value);
  }
  std::array<std::uint8_t, kFileStartBytes> start{};
  std::copy(kFileMagic.begin(), kFileMagic.end(), start.begin());
  put_word(&start[8], static_cast<std::uint32_t>(description.version));
  put_word(&start[12], static_cast<std::uint32_t>(text.size()));
  put_word(&start[16], checksum(ByteSpan(start).first(16), byte_span(text)));
  return std::string(text_of(start)) + text;
}

Result<std::size_t> file_header_bytes(ByteSpan start) {
  if (!begins_with(start, kFileMagic)) return failure("it is not a recording");
  if (start.size() < kFileStartBytes) return failure("it ends within its header");
  const auto version = get_word<std::uint32_t>(&start[8]);
  // Before the checksum, whose place another version may change.
  if (version != kVersion) return failure(version_problem(version));
  const auto length = get_word<std::uint32_t>(&start[12]);
  if (length > kMostHeader) return failure(fmt::format("its header claims a size of {} bytes", length));
  return kFileStartBytes + length;
}

Result<Description> decode_file_header(ByteSpan header) {
  const Result<std::size_t> size = file_header_bytes(header);
  if (!size) return failure(size.error());
  if (header.size() < *size) return failure("it ends within its header");
  header = header.first(*size);
  if (get_word<std::uint64_t>(&header[16]) != checksum(header.first(16), header.subspan(kFileStartBytes)))
    return failure("the checksum of its header is wrong");
  Cursor cursor(header.subspan(kFileStartBytes));
  Description description;
  description.version = static_cast<int>(get_word<std::uint32_t>(&header[8]));
  description.ranks = static_cast<int>(cursor.number(kMostRanks, "there are too many ranks"));
  const auto text = [&cursor] { return std::string(text_of(cursor.bytes(cursor.number()))); };
  for (std::uint64_t left = cursor.number(); left > 0 && cursor.problem() == nullptr; --left) {
    std::string key = text();
    description.facts.emplace_back(std::move(key), text());
  }
  if (cursor.problem() != nullptr) return failure(fmt::format("its header is wrong: {}", cursor.problem()));
  return description;
}

// offset u64, checksum u64, magic
std::array<std::uint8_t, kEndMarkBytes> encode_end_mark(std::uint64_t index_offset) {
  std::array<std::uint8_t, kEndMarkBytes> image{};
  put_word(&image[0], index_offset);
  put_word(&image[8], checksum(ByteSpan(image).first(8), byte_span(kEndMagic)));
  std::copy(kEndMagic.begin(), kEndMagic.end(), &image[16]);
  return image;
}

std::optional<std::uint64_t> decode_end_mark(ByteSpan bytes) {
  if (bytes.size() != kEndMarkBytes || !begins_with(bytes.subspan(16), kEndMagic) ||
      // A random text as the last bytes is no end mark.
      get_word<std::uint64_t>(&bytes[8]) != checksum(bytes.first(8), bytes.subspan(16)))
    return std::nullopt;
  return get_word<std::uint64_t>(&bytes[0]);
}

}  // namespace offramp::recording
