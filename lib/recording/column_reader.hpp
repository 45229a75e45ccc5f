// Where the blocks of a rank lie, and reading one column of them after the other.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/recording/format.hpp"
#include "lib/recording/source.hpp"

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
  /// blocks: stay where they are.
  ColumnReader(const RankBlocks& blocks, std::uint32_t rank, Column column)
      : blocks_(&blocks), rank_(rank), column_(column) {}

  /// Goes to the next block. False: there is none, or problem() says what is wrong.
  bool next();
  [[nodiscard]] const BlockHeader& header() const { return header_; }
  [[nodiscard]] ByteSpan payload() const { return block_.subspan(kBlockHeaderBytes); }
  /// With the header; until the next one.
  [[nodiscard]] ByteSpan block() const { return block_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// What is wrong at a position of the payload.
  void fail(std::size_t position, std::string_view what);

 private:
  [[nodiscard]] std::string damage(const BlockPlace& place) const;
  [[nodiscard]] std::string text(std::uint64_t offset, std::string_view what) const;

  const RankBlocks* blocks_;
  std::uint32_t rank_;
  Column column_;
  std::size_t next_ = 0;
  BlockHeader header_;
  ByteSpan block_;
  std::vector<std::uint8_t> buffer_;
  std::string problem_;
};

/// The entries of a column, across its blocks.
class EntryReader {
 public:
  EntryReader(const RankBlocks& blocks, std::uint32_t rank, Column column) : column_(blocks, rank, column) {}

  /// There is another entry: cursor() is at it. Else there are no more, or problem() says what is wrong.
  bool more();
  [[nodiscard]] Cursor& cursor() { return cursor_; }
  /// The entry is the first of its block.
  [[nodiscard]] bool begins_block() const { return cursor_.position() == 0; }
  [[nodiscard]] const BlockHeader& block() const { return column_.header(); }
  [[nodiscard]] const std::string& problem() const { return column_.problem(); }

 private:
  ColumnReader column_;
  Cursor cursor_;
  std::size_t entry_ = 0;
};

}  // namespace offramp::recording
