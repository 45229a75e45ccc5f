// Where the finished blocks of one rank are: in memory, or beyond a limit in a file. Once that cannot be
// written any more, what follows is in memory again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/programs/recording/format.hpp"

namespace offramp::recording {

class BlockStore {
 public:
  /// path: of the file; empty: there is none. In memory the blocks stay below limit bytes, unless there is no
  /// file.
  BlockStore(const PartHeader& header, std::string path, std::size_t limit);
  ~BlockStore();
  BlockStore(const BlockStore&) = delete;
  BlockStore& operator=(const BlockStore&) = delete;

  /// From now on everything goes to the file, what is in memory too. False: see problem().
  bool move_to_file();
  /// False: this block is not kept, or the limit is reached with it.
  bool append(const BlockHeader& header, ByteSpan payload);
  /// Blocks of what is not finished, until the next append(). Async-signal-safe if the file is open.
  void append_tail(const BlockHeader& header, ByteSpan payload, ByteSpan rest);
  void drop_tail();
  [[nodiscard]] bool has_tail() const { return tail_ > 0; }

  /// What is in memory: nothing where all is in the file.
  std::string take();
  [[nodiscard]] bool in_file() const { return file_ >= 0; }
  /// Of the finished blocks in the file.
  [[nodiscard]] std::uint64_t bytes_in_file() const { return end_; }
  [[nodiscard]] std::uint64_t bytes() const { return end_ + memory_.size(); }
  /// What went wrong with the file, or empty.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  bool write(ByteSpan bytes, std::uint64_t offset);
  bool fail(std::string_view why);

  std::string path_;
  std::size_t limit_;
  std::string memory_;  // from the part's header on
  int file_ = -1;
  std::uint64_t end_ = 0;   // of the finished blocks in the file
  std::uint64_t tail_ = 0;  // bytes behind it
  std::string problem_;
};

}  // namespace offramp::recording
