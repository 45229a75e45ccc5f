// A block is checked before it is decoded: length, checksum, rank, column, and position in its sequence.
// Errors name rank, column, block, and byte. The error is shared by all columns of a rank, so the first one
// ends them all.
#include "lib/programs/recording/column_reader.hpp"

#include <fmt/format.h>

namespace offramp::recording {

std::string ColumnReader::text(std::uint64_t offset, std::string_view what) const {
  return fmt::format("{}: rank {}, {}, block {}, byte {}: {}", blocks_->source->name(), rank_,
                     to_string(column_), next_ - 1, offset, what);
}

void ColumnReader::fail(std::size_t position, std::string_view what) {
  const BlockPlace& place = blocks_->blocks_of(column_)[next_ - 1];
  if (!failed()) *error_ = text(place.offset + kBlockHeaderBytes + position, what);
}

Result<void> ColumnReader::check(const BlockPlace& place) const {
  // A file may have been truncated since it was opened.
  if (block_.size() < place.size) return failure("the file ends within the block");
  if (header_.length + kBlockHeaderBytes != place.size || !checksum_fits(block_))
    return failure("its checksum is wrong");
  if (header_.rank != rank_ || header_.column != column_)
    return failure(fmt::format("found a block of rank {}, {}", header_.rank, to_string(header_.column)));
  if (header_.sequence != next_ - 1) return failure(fmt::format("found block {} instead", header_.sequence));
  return {};
}

bool ColumnReader::next() {
  if (failed() || next_ == blocks_->blocks_of(column_).size()) return false;
  const BlockPlace& place = blocks_->blocks_of(column_)[next_++];
  const Result<ByteSpan> block = blocks_->source->read(place.offset, place.size, buffer_);
  if (!block) return *error_ = block.error(), false;
  block_ = *block;
  // An invalid header fails in check(), with a message.
  header_ = decode_block_header(block_).value_or(BlockHeader{});
  if (const Result<void> whole = check(place); !whole) *error_ = text(place.offset, whole.error());
  return !failed();
}

bool EntryReader::advance() {
  // The problem belongs to the entry that was just read.
  if (cursor_.problem() != nullptr) column_.fail(entry_, cursor_.problem());
  // Blocks without entries are skipped.
  while (!column_.failed() && cursor_.empty()) {
    if (!column_.next()) return false;
    cursor_ = Cursor(column_.payload());
  }
  entry_ = cursor_.position();
  return !column_.failed();
}

}  // namespace offramp::recording
