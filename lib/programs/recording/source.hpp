// The bytes of a recording or of a part, in memory or in a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/programs/recording/bytes.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::recording {

/// Owns the bytes or the open file. Moved, but not copied; the old object must not be read.
class Source {
 public:
  /// name: for messages.
  Source(std::string bytes, std::string name);
  /// A file that stays open, because another one may get its name.
  static Result<Source> open(const std::string& path);
  /// A file that is opened for each read, for more files than a process can have open.
  static Result<Source> look(const std::string& path);
  /// Takes the file over.
  Source(Source&& other) noexcept;
  Source& operator=(Source&& other) noexcept;
  ~Source();

  [[nodiscard]] const std::string& name() const { return name_; }
  /// In bytes, when it was opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The bytes are in the source or the buffer; fewer than `count` at the end. Threads may read concurrently.
  [[nodiscard]] Result<ByteSpan> read(std::uint64_t offset, std::size_t count,
                                      std::vector<std::uint8_t>& buffer) const;
  /// As read(), but returns no bytes on failure.
  [[nodiscard]] ByteSpan try_to_read(std::uint64_t offset, std::size_t count,
                                     std::vector<std::uint8_t>& buffer) const {
    const Result<ByteSpan> bytes = read(offset, count, buffer);
    return bytes ? *bytes : ByteSpan();
  }

 private:
  Source() = default;

  std::string name_;
  std::string bytes_;
  /// An empty text in memory is a source too.
  bool in_memory_ = false;
  // 1: in memory, or opened for each read.
  int file_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace offramp::recording
