// A recording is opened through its index and end mark. If these are missing or damaged, its blocks are
// scanned from the start to where they break off (breaks_off). Parts that were never joined are scanned too.
// An index refers to blocks in the file or in parts beside it. Payloads are only read when events are
// requested.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <utility>

#include "lib/base/output_file.hpp"
#include "lib/programs/recording/column_reader.hpp"
#include "lib/programs/recording/native_run.hpp"
#include "lib/programs/recording/rank_reader.hpp"
#include "lib/programs/recording/reader.hpp"

namespace offramp::recording {
namespace {

using Ranks = std::map<std::uint32_t, RankBlocks>;  // those that have blocks
using Buffer = std::vector<std::uint8_t>;

std::string problem_with(const Source& source, std::string_view what) {
  return fmt::format("cannot read {}: {}", source.name(), what);
}

/// Finds consecutive blocks. Returns their end.
std::uint64_t scan(const std::shared_ptr<const Source>& source, std::uint64_t offset,
                   std::uint32_t first_rank, std::uint32_t end_rank, Ranks& ranks) {
  Buffer buffer;
  for (;;) {
    // Only headers are read; payloads are skipped.
    const auto header = decode_block_header(source->try_to_read(offset, kBlockHeaderBytes, buffer));
    if (!header || is_index(header->column)) return offset;
    const std::size_t size = kBlockHeaderBytes + header->length;
    // A block of another rank does not belong to the part.
    if (header->rank < first_rank || header->rank >= end_rank || size > source->size() - offset)
      return offset;
    RankBlocks& rank = ranks[header->rank];
    rank.source = source;
    std::vector<BlockPlace>& places = rank.columns[static_cast<std::size_t>(header->column)];
    if (header->sequence >= places.size()) places.push_back({offset, size});  // skips blocks flushed twice
    offset += size;
  }
}

/// Reads an index of consecutive blocks. Returns false if it does not fit the file.
bool read_index(const std::shared_ptr<const Source>& source, std::uint64_t begin, std::uint64_t end,
                const Description& description, Cursor cursor, Ranks& ranks) {
  const auto count = static_cast<std::uint32_t>(description.ranks);
  for (std::uint32_t rank = 0; rank < count && cursor.problem() == nullptr; ++rank) {
    for (const Column column : kColumnsOfRank) {
      // Each block takes a byte in the index at least, which bounds a false count.
      for (std::uint64_t left = cursor.number(cursor.left(), ""); left > 0; --left) {
        const std::size_t size = kBlockHeaderBytes + cursor.number(kMostPayload, "");
        // Blocks lie end to end before the index.
        if (cursor.problem() != nullptr || size > end - begin) return false;
        ranks[rank].source = source;
        ranks[rank].columns[static_cast<std::size_t>(column)].push_back({begin, size});
        begin += size;
      }
    }
  }
  return cursor.problem() == nullptr && cursor.empty() && begin == end;
}

Result<PartHeader> part_header(const Source& source) {
  Buffer buffer;
  const Result<ByteSpan> start = source.read(0, kPartHeaderBytes, buffer);
  Result<PartHeader> header = start ? decode_part_header(*start) : failure(start.error());
  return header ? header : failure(problem_with(source, header.error()));
}

/// The part of a rank beside the recording at `path`, whose index contains the place and the checksum of the
/// part's last block. Fails if the part is missing or another run has written it.
Result<Source> indexed_part(const std::string& path, std::uint32_t rank, std::uint32_t ranks,
                            const BlockPlace& last, std::uint64_t checksum) {
  Result<Source> source = Source::look(part_path(path, static_cast<int>(rank)));
  if (!source) return source;
  const Result<PartHeader> header = part_header(*source);
  if (!header) return failure(header.error());
  Buffer buffer;
  const Result<ByteSpan> bytes = source->read(last.offset, kBlockHeaderBytes, buffer);
  if (!bytes) return failure(bytes.error());
  const auto block = decode_block_header(*bytes);
  // The checksum distinguishes runs: a later run writes other blocks.
  if (header->rank != rank || header->ranks != ranks || !block || block->checksum != checksum ||
      source->size() - last.offset < last.size)
    return failure(problem_with(*source, fmt::format("it is not the part that {} refers to", path)));
  return source;
}

/// Reads an index of parts: per rank the blocks of each column as (bytes since the previous block, payload
/// length), and the checksum of the block that ends last. missing: the first missing part, with the reason.
/// Returns false if the index is damaged.
bool read_parts_index(const std::string& path, const Description& description, Cursor cursor, Ranks& ranks,
                      std::string& missing) {
  const auto count = static_cast<std::uint32_t>(description.ranks);
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62U;  // of a part
  for (std::uint32_t rank = 0; rank < count && cursor.problem() == nullptr; ++rank) {
    RankBlocks blocks;
    BlockPlace last;
    for (const Column column : kColumnsOfRank) {
      std::uint64_t end = kPartHeaderBytes;
      for (std::uint64_t left = cursor.number(cursor.left(), ""); left > 0 && cursor.problem() == nullptr;
           --left) {
        const std::uint64_t offset = end + cursor.number(kMostBytes - end, "");
        const std::size_t size = kBlockHeaderBytes + cursor.number(kMostPayload, "");
        blocks.columns[static_cast<std::size_t>(column)].push_back({offset, size});
        end = offset + size;
        if (offset >= last.offset) last = {offset, size};
        if (end >= kMostBytes) return false;
      }
    }
    if (last.size == 0) continue;  // this rank has no part
    const std::uint64_t checksum = cursor.number();
    if (cursor.problem() != nullptr) return false;
    Result<Source> source = indexed_part(path, rank, count, last, checksum);
    if (source) {
      blocks.source = std::make_shared<const Source>(std::move(*source));
      ranks[rank] = std::move(blocks);
      // Other ranks stay readable.
    } else if (missing.empty()) {
      missing = source.error();
    }
  }
  return cursor.problem() == nullptr && cursor.empty();
}

/// Finds the blocks through the index and the end mark, which are the last of `size` bytes of the file.
/// Returns false without a valid index.
bool find_by_index(const std::shared_ptr<const Source>& source, std::uint64_t begin, std::uint64_t size,
                   const Description& description, Ranks& ranks, std::string& missing) {
  if (size < begin + kBlockHeaderBytes + kEndMarkBytes) return false;
  Buffer buffer;
  const std::uint64_t end = size - kEndMarkBytes;
  const auto offset = decode_end_mark(source->try_to_read(end, kEndMarkBytes, buffer));
  if (!offset || *offset < begin || *offset > end - kBlockHeaderBytes) return false;
  const ByteSpan index = source->try_to_read(*offset, static_cast<std::size_t>(end - *offset), buffer);
  const auto header = decode_block_header(index);
  if (!header || !checksum_fits(index)) return false;
  const Cursor cursor(index.subspan(kBlockHeaderBytes));
  if (header->column == Column::kPartsIndex)
    // A file with an index of parts has no blocks of its own.
    return *offset == begin && read_parts_index(source->name(), description, cursor, ranks, missing);
  return header->column == Column::kIndex && read_index(source, begin, *offset, description, cursor, ranks);
}

/// The ranks with parts beside the recording.
std::vector<int> parts_beside(const std::string& path) {
  const std::filesystem::path file(path);
  const std::string begin = file.filename().string() + ".rank-";
  const std::string folder = file.parent_path().empty() ? "." : file.parent_path().string();
  std::vector<int> ranks;
  // A folder that cannot be read has no parts.
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin)) continue;
    int rank = -1;
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + begin.size(), end, rank);
    // Names with other letters after the number are other files.
    if (parsed.ec == std::errc() && parsed.ptr == end && rank >= 0) ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

void append_varint(std::string& text, std::uint64_t number) {
  std::array<std::uint8_t, kMostVarintBytes> bytes;
  text.append(text_of({bytes.data(), put_varint(bytes.data(), number)}));
}

}  // namespace

// Immutable once opened: readers in several threads share it.
struct Recording::Impl {
  Description description;
  Ranks ranks;
  std::shared_ptr<const Source> file;  // null: there are parts
  std::string breaks_off;
  std::uint64_t beyond = 0;

  /// Finds the blocks of a file whose header ends at `begin`, or of the parts beside it.
  void find(const std::shared_ptr<const Source>& source, std::uint64_t begin) {
    const auto count = static_cast<std::uint32_t>(description.ranks);
    if (find_by_index(source, begin, source->size(), description, ranks, breaks_off)) return;
    ranks.clear();
    breaks_off.clear();
    const std::uint64_t end = scan(source, begin, 0, count, ranks);
    Buffer buffer;
    // An index in the middle ends the recording: bytes after it belong to something else.
    const auto header = decode_block_header(source->try_to_read(end, kBlockHeaderBytes, buffer));
    const std::uint64_t whole =
        header && is_index(header->column) ? end + kBlockHeaderBytes + header->length + kEndMarkBytes : 0;
    Ranks indexed;
    if (whole > 0 && whole < source->size() &&
        find_by_index(source, begin, whole, description, indexed, breaks_off)) {
      ranks = std::move(indexed);
      beyond = source->size() - whole;
    } else {
      breaks_off = end < source->size()
                       ? fmt::format("cut off or damaged at byte {} of {}", end, source->size())
                       : fmt::format("cut off at byte {}", end);
    }
  }

  [[nodiscard]] const RankBlocks& blocks(int rank) const {
    // Ranks without blocks have a reader too, which is cut at once.
    static const RankBlocks none = {std::make_shared<const Source>("", "no recording"), {}};
    const auto found = ranks.find(static_cast<std::uint32_t>(rank));
    return found == ranks.end() ? none : found->second;
  }
  /// Fails if it is not the part of that rank.
  Result<void> add_part(std::uint32_t rank, std::uint32_t count, Source source) {
    const Result<PartHeader> header = part_header(source);
    if (!header) return failure(header.error());
    if (header->rank != rank || header->ranks != count)
      return failure(problem_with(source, fmt::format("it is the part of rank {} of {}, not of rank {} of {}",
                                                      header->rank, header->ranks, rank, count)));
    scan(std::make_shared<const Source>(std::move(source)), kPartHeaderBytes, rank, rank + 1, ranks);
    return {};
  }
};

Recording::Recording(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Recording::Recording(Recording&&) noexcept = default;
Recording& Recording::operator=(Recording&&) noexcept = default;
Recording::~Recording() = default;

std::string part_path(const std::string& path, int rank) {
  return fmt::format("{}.rank-{}", path, rank);
}

std::optional<PartMark> mark_of_part(const std::string& path) {
  const Result<Source> source = Source::look(path);
  if (!source) return std::nullopt;
  // Bytes. The last blocks differ between runs, and reading them takes little time.
  constexpr std::uint64_t kLast = std::uint64_t{64} << 10U;
  const std::uint64_t size = source->size();
  const std::uint64_t last = std::min(size, kLast);
  Buffer buffer;
  ByteSpan bytes = source->try_to_read(size - last, static_cast<std::size_t>(last), buffer);
  if (bytes.size() != last) return std::nullopt;
  return PartMark{size, checksum_of([&] { return std::exchange(bytes, ByteSpan()); })};
}

Result<Recording> Recording::open(const std::string& path) {
  Result<Source> source = Source::open(path);
  if (source) return from_file(std::move(*source));
  std::error_code error;
  // An unreadable recording is reported as such, even with parts beside it.
  if (std::filesystem::exists(path, error) || parts_beside(path).empty()) return failure(source.error());
  return from_parts_beside(path);
}

Result<Recording> Recording::from_bytes(std::string bytes, const std::string& name) {
  return from_file(Source(std::move(bytes), name));
}

Result<Recording> Recording::from_file(Source file) {
  const auto source = std::make_shared<const Source>(std::move(file));
  Buffer buffer;
  const Result<ByteSpan> start = source->read(0, kFileStartBytes, buffer);
  if (!start) return failure(start.error());
  const Result<std::size_t> size = file_header_bytes(*start);
  if (!size) return failure(problem_with(*source, size.error()));
  const Result<ByteSpan> header = source->read(0, *size, buffer);
  if (!header) return failure(header.error());
  Result<Description> description = decode_file_header(*header);
  if (!description) return failure(problem_with(*source, description.error()));
  auto impl = std::make_unique<Impl>();
  impl->description = std::move(*description);
  impl->file = source;
  impl->find(source, *size);
  return Recording(std::move(impl));
}

Result<Recording> Recording::from_parts_beside(const std::string& path) {
  const std::vector<int> found = parts_beside(path);
  auto impl = std::make_unique<Impl>();
  std::uint32_t ranks = 0;
  for (const int rank : found) {
    Result<Source> source = Source::look(part_path(path, rank));
    if (!source) return failure(source.error());
    // The first part determines the number of ranks, with which all others must agree.
    if (ranks == 0) {
      const Result<PartHeader> header = part_header(*source);
      if (!header) return failure(header.error());
      ranks = header->ranks;
    }
    const auto added = impl->add_part(static_cast<std::uint32_t>(rank), ranks, std::move(*source));
    if (!added) return failure(added.error());
  }
  impl->description.version = static_cast<int>(kVersion);
  impl->description.ranks = static_cast<int>(ranks);
  impl->description.facts.emplace_back(
      "unfinished",
      fmt::format("the run did not finish; parts of {} of {} ranks exist", found.size(), ranks));
  return Recording(std::move(impl));
}

Result<Recording> Recording::from_parts(Description description, std::vector<std::string> parts) {
  std::vector<RecordingPart> all(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) all[i].bytes = std::move(parts[i]);
  return from_parts(std::move(description), std::move(all));
}

Result<Recording> Recording::from_parts(Description description, std::vector<RecordingPart> parts) {
  auto impl = std::make_unique<Impl>();
  impl->description = std::move(description);
  impl->description.version = static_cast<int>(kVersion);
  impl->description.ranks = static_cast<int>(parts.size());
  const auto ranks = static_cast<std::uint32_t>(parts.size());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    RecordingPart& part = parts[rank];
    if (part.bytes.empty() && part.path.empty()) continue;
    Result<Source> source = part.bytes.empty()
                                ? Source::look(part.path)
                                : Source(std::move(part.bytes), fmt::format("the part of rank {}", rank));
    if (!source) return failure(source.error());
    const auto added = impl->add_part(rank, ranks, std::move(*source));
    if (!added) return failure(added.error());
  }
  return Recording(std::move(impl));
}

const Description& Recording::description() const {
  return impl_->description;
}

const std::string& Recording::breaks_off() const {
  return impl_->breaks_off;
}

std::uint64_t Recording::beyond() const {
  return impl_->beyond;
}

bool Recording::is_in_parts(const std::string& path) const {
  return !impl_->ranks.empty() && std::ranges::all_of(impl_->ranks, [&](const auto& rank) {
    return rank.second.source->name() == part_path(path, static_cast<int>(rank.first));
  });
}

std::optional<std::uint64_t> Recording::checksum() const {
  if (impl_->file == nullptr) return std::nullopt;
  for (const auto& [rank, blocks] : impl_->ranks) {
    if (blocks.source != impl_->file) return std::nullopt;
  }
  // Bytes read at once, so that memory is bounded.
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  Buffer buffer;
  std::uint64_t at = 0;
  const std::uint64_t sum = checksum_of([&] {
    const ByteSpan piece = impl_->file->try_to_read(at, kPiece, buffer);
    at += piece.size();
    return piece;
  });
  // A file that shrank meanwhile has no checksum.
  return at == impl_->file->size() ? std::optional(sum) : std::nullopt;
}

std::unique_ptr<Reader> Recording::read(int rank) const {
  // Shares ownership of the whole recording.
  return std::make_unique<RankReader>(std::shared_ptr<const RankBlocks>(impl_, &impl_->blocks(rank)),
                                      static_cast<std::uint32_t>(rank));
}

Result<std::optional<NativeRun>> Recording::native(int rank) const {
  std::string error;
  EntryReader reader(impl_->blocks(rank), static_cast<std::uint32_t>(rank), Column::kNativeRun, error);
  std::optional<NativeRun> run;
  // After an error, the value is dropped below.
  while (reader.advance()) run = get_native_run(reader.cursor());
  if (!error.empty()) return failure(error);
  return run;
}

std::uint64_t Recording::bytes(int rank) const {
  std::uint64_t bytes = 0;
  for (const auto& places : impl_->blocks(rank).columns) {
    for (const BlockPlace& place : places) bytes += place.size;
  }
  return bytes;
}

/// Writes the header, the blocks through write_blocks(), and the index that it returns.
Result<void> Recording::write_file(const std::string& path, Naming naming, Column index_column,
                                   const WriteBlocks& write_blocks) const {
  Result<OutputFile> file = OutputFile::create(path, naming);
  if (!file) return cannot_write(path, failure(file.error()));
  std::uint64_t offset = 0;
  const auto write = [&](std::string_view bytes) {
    file->write(bytes);
    offset += bytes.size();
  };
  const std::string head = encode(impl_->description);
  // Checks that what is written can be read again: facts may be too long.
  if (const auto size = file_header_bytes(byte_span(head)); !size)
    return failure(fmt::format("cannot write {}: {}", path, size.error()));
  write(head);
  const Result<std::string> index = write_blocks(write);
  if (!index) return failure(index.error());
  const std::uint64_t index_offset = offset;
  write(text_of(seal({index_column, 0, 0, 0, 0, 0}, byte_span(*index))));
  write(*index);
  write(text_of(encode_end_mark(index_offset)));
  return cannot_write(path, file->finish());
}

Result<void> Recording::write(const std::string& path, Naming naming) const {
  return write_file(path, naming, Column::kIndex, [&](const auto& write) -> Result<std::string> {
    std::string index;
    // Shared by all readers: the first problem ends the writing.
    std::string error;
    for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(impl_->description.ranks); ++rank) {
      const RankBlocks& blocks = impl_->blocks(static_cast<int>(rank));
      for (const Column column : kColumnsOfRank) {
        append_varint(index, blocks.blocks_of(column).size());
        ColumnReader reader(blocks, rank, column, error);
        while (reader.next()) {
          append_varint(index, reader.payload().size());
          write(text_of(reader.block()));
        }
        if (!error.empty()) return failure(error);
      }
    }
    return index;
  });
}

Result<void> Recording::write_index(const std::string& path, Naming naming) const {
  if (!is_in_parts(path)) return failure(fmt::format("cannot write {}: not all parts are beside it", path));
  return write_file(path, naming, Column::kPartsIndex, [&](const auto& /*write*/) -> Result<std::string> {
    std::string index;
    Buffer buffer;
    for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(impl_->description.ranks); ++rank) {
      const RankBlocks& blocks = impl_->blocks(static_cast<int>(rank));
      BlockPlace last;
      for (const Column column : kColumnsOfRank) {
        append_varint(index, blocks.blocks_of(column).size());
        std::uint64_t end = kPartHeaderBytes;
        for (const BlockPlace& place : blocks.blocks_of(column)) {
          append_varint(index, place.offset - end);
          append_varint(index, place.size - kBlockHeaderBytes);
          end = place.offset + place.size;
          if (place.offset >= last.offset) last = place;
        }
      }
      if (last.size == 0) continue;
      const Result<ByteSpan> bytes = blocks.source->read(last.offset, kBlockHeaderBytes, buffer);
      if (!bytes) return failure(bytes.error());
      const auto header = decode_block_header(*bytes);
      // The part was valid when it was opened.
      if (!header) return failure(problem_with(*blocks.source, "it has changed"));
      append_varint(index, header->checksum);
    }
    return index;
  });
}

}  // namespace offramp::recording
