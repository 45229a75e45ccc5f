// Where the blocks of a rank lie, and reading one column of them after the other.
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

struct BlockPlace {
  std::uint64_t offset = 0;
  std::size_t size = 0;  // with its header
};

struct RankBlocks {
  std::shared_ptr<const Source> source;
  std::array<std::vector<BlockPlace>, kColumns> columns;

  [[nodiscard]] const std::vector<BlockPlace>& of(Column column) const {
    return columns[static_cast<std::size_t>(column)];
  }
};

/// Blocks of one column, checked: their checksums, and that none is missing.
class ColumnReader {
 public:
  /// blocks: stay where they are. error: gets the first thing that is wrong, with any column that shares it;
  /// then there is nothing more to read.
  ColumnReader(const RankBlocks& blocks, std::uint32_t rank, Column column, std::string& error)
      : blocks_(&blocks), rank_(rank), column_(column), error_(&error) {}

  /// Goes to the next block. False: there is none, or an error.
  bool next();
  [[nodiscard]] const BlockHeader& header() const { return header_; }
  [[nodiscard]] ByteSpan payload() const { return block_.subspan(kBlockHeaderBytes); }
  /// With the header; until the next one.
  [[nodiscard]] ByteSpan block() const { return block_; }
  [[nodiscard]] bool failed() const { return !error_->empty(); }
  /// What is wrong at a position of the payload.
  void fail(std::size_t position, std::string_view what);

 private:
  [[nodiscard]] Result<void> check(const BlockPlace& place) const;
  [[nodiscard]] std::string text(std::uint64_t offset, std::string_view what) const;

  const RankBlocks* blocks_;
  std::uint32_t rank_;
  Column column_;
  std::size_t next_ = 0;
  BlockHeader header_;
  ByteSpan block_;
  std::vector<std::uint8_t> buffer_;
  std::string* error_;
};

/// The entries of a column, across its blocks.
class EntryReader {
 public:
  EntryReader(const RankBlocks& blocks, std::uint32_t rank, Column column, std::string& error)
      : column_(blocks, rank, column, error) {}

  /// There is another entry: cursor() is at it. Else there are no more, or there is an error: what was wrong
  /// with the last entry, too.
  bool more();
  [[nodiscard]] Cursor& cursor() { return cursor_; }
  /// The entry is the first of its block.
  [[nodiscard]] bool begins_block() const { return cursor_.position() == 0; }
  [[nodiscard]] const BlockHeader& block() const { return column_.header(); }

 private:
  ColumnReader column_;
  Cursor cursor_;
  std::size_t entry_ = 0;
};

}  // namespace offramp::recording
