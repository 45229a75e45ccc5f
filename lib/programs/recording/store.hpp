// Stores a rank's finished blocks in a file, or in memory without a file and after a write error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/output_file.hpp"
#include "lib/programs/recording/format.hpp"

namespace offramp::recording {

/// Owns the file. Used by one thread, and by its signal handlers.
class BlockStore {
 public:
  /// Creates the file at once. path: empty for none. limit: bytes in memory.
  BlockStore(const PartHeader& header, std::string path, std::size_t limit);
  ~BlockStore() = default;
  BlockStore& operator=(BlockStore&&) = delete;

  /// Returns false if the block was not stored, or if the limit is reached with it.
  bool append(const BlockHeader& header, ByteSpan payload);
  /// Writes an open block after the finished ones, until the next append(). Needs a file. Async-signal-safe.
  void append_tail(const BlockHeader& header, ByteSpan payload, ByteSpan rest);
  /// Removes the blocks of append_tail() from the file.
  void drop_tail();
  /// True if open blocks follow the finished ones in the file.
  [[nodiscard]] bool has_tail() const { return tail_ > 0; }

  /// Returns the blocks in memory. Empty if all are in the file.
  std::string release();
  /// False without a file, and after a write error.
  [[nodiscard]] bool in_file() const { return file_.is_open(); }
  /// The size of the finished blocks in the file.
  [[nodiscard]] std::uint64_t bytes_in_file() const { return end_; }
  /// Finished blocks only.
  [[nodiscard]] std::uint64_t bytes() const { return end_ + memory_.size(); }
  /// The file that was created, also if it was closed after a write error.
  [[nodiscard]] const CreatedFile& created() const { return created_; }
  /// The first problem with the file, or empty.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  /// Without success, all blocks go to memory.
  void create_file();
  /// Writes all bytes at this offset. Async-signal-safe. Returns false with errno set.
  bool write(ByteSpan bytes, std::uint64_t offset);
  /// Keeps the first problem.
  void fail(std::string_view why);

  std::string path_;
  std::size_t limit_;
  std::string memory_;  // begins with the part's header
  /// Closed after an error.
  OpenFile file_;
  CreatedFile created_;
  std::uint64_t end_ = 0;   // end of the finished blocks in the file
  std::uint64_t tail_ = 0;  // size of the tail after them
  std::string problem_;
};

}  // namespace offramp::recording
