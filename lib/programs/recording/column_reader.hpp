// The places of a rank's blocks, and a reader for one column of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/recording/format.hpp"
#include "lib/programs/recording/source.hpp"

namespace offramp::recording {

/// A block's place in the file, in bytes.
struct BlockPlace {
  std::uint64_t offset = 0;
  std::size_t size = 0;  // with its header
};

/// All blocks of one rank, by column and in order. Immutable, and shared by the rank's readers.
struct RankBlocks {
  std::shared_ptr<const Source> source;
  std::array<std::vector<BlockPlace>, kColumns> columns;

  /// In the order of their sequence numbers.
  [[nodiscard]] const std::vector<BlockPlace>& blocks_of(Column column) const {
    return columns[static_cast<std::size_t>(column)];
  }
};

/// Reads the blocks of one column and checks their checksums and sequence.
class ColumnReader {
 public:
  /// blocks: must outlive this object. error: receives the first error. Columns that share it stop then.
  ColumnReader(const RankBlocks& blocks, std::uint32_t rank, Column column, std::string& error)
      : blocks_(&blocks), rank_(rank), column_(column), error_(&error) {}

  /// Goes to the next block. Returns false at the end or on an error.
  bool next();
  /// The current block's. Valid after next() returned true.
  [[nodiscard]] const BlockHeader& header() const { return header_; }
  /// Valid until next(). Only call it after next() returned true.
  [[nodiscard]] ByteSpan payload() const { return block_.subspan(kBlockHeaderBytes); }
  /// With the header. Valid until next().
  [[nodiscard]] ByteSpan block() const { return block_; }
  /// An error of any column that shares it.
  [[nodiscard]] bool failed() const { return !error_->empty(); }
  /// Reports a problem at a position of the payload.
  void fail(std::size_t position, std::string_view what);

 private:
  /// Fails if the block is not the one that the index announces.
  [[nodiscard]] Result<void> check(const BlockPlace& place) const;
  /// The message for a problem at an offset of the file.
  [[nodiscard]] std::string text(std::uint64_t offset, std::string_view what) const;

  const RankBlocks* blocks_;
  std::uint32_t rank_;
  Column column_;
  /// The number of blocks that have been begun.
  std::size_t next_ = 0;
  BlockHeader header_;
  ByteSpan block_;
  /// Holds the block if the source does not map its file.
  std::vector<std::uint8_t> buffer_;
  std::string* error_;
};

/// The entries of a column, across its blocks.
class EntryReader {
 public:
  /// As ColumnReader: blocks and error must outlive this object.
  EntryReader(const RankBlocks& blocks, std::uint32_t rank, Column column, std::string& error)
      : column_(blocks, rank, column, error) {}

  /// Returns true if there is another entry, with cursor() at its beginning. Returns false at the end or on
  /// an error, including errors of the previous entry.
  bool advance();
  /// At the current entry. Reading beyond its block is a problem of the cursor.
  [[nodiscard]] Cursor& cursor() { return cursor_; }
  /// Returns true if the entry is the first of its block.
  [[nodiscard]] bool begins_block() const { return cursor_.position() == 0; }
  /// The header of the block that contains the entry.
  [[nodiscard]] const BlockHeader& block() const { return column_.header(); }

 private:
  ColumnReader column_;
  Cursor cursor_;
  /// Position of the current entry, for messages.
  std::size_t entry_ = 0;
};

}  // namespace offramp::recording
