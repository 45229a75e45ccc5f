#include "lib/programs/recording/store.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "lib/base/output_file.hpp"

namespace offramp::recording {

BlockStore::BlockStore(const PartHeader& header, std::string path, std::size_t limit)
    : path_(std::move(path)), limit_(limit), memory_(text_of(encode(header))) {}

BlockStore::~BlockStore() {
  if (file_ >= 0) close(file_);
}

bool BlockStore::fail(std::string_view why) {
  if (problem_.empty()) problem_ = cannot_write(path_, std::string(why));
  return false;
}

bool BlockStore::write(ByteSpan bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite_or_fail(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

bool BlockStore::move_to_file() {
  if (in_file()) return true;
  if (!problem_.empty()) return false;  // once is enough
  Result<OpenFile> file = open_named_output(path_);
  if (!file) return fail(file.error());
  file_ = file->release();
  if (!write(byte_span(memory_), 0)) {
    fail(std::strerror(errno));
    struct stat status {};
    if (fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) unlink(path_.c_str());
    close(std::exchange(file_, -1));  // the blocks stay in memory
    return false;
  }
  end_ = memory_.size();
  std::string().swap(memory_);
  return true;
}

bool BlockStore::append(const BlockHeader& header, ByteSpan payload) {
  const BlockHeaderImage image = seal(header, payload);
  const std::size_t size = image.size() + payload.size();
  if (!in_file()) {
    const bool fits = memory_.size() + size <= limit_;
    if (fits || path_.empty() || !move_to_file()) {
      memory_.append(text_of(image)).append(text_of(payload));
      return fits;
    }
  }
  const std::uint64_t begin = end_;
  for (;;) {
    drop_tail();
    if (!write(image, begin) || !write(payload, begin + image.size())) break;
    end_ = begin + size;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (tail_ == 0) return true;
    end_ = begin;  // a signal handler has flushed meanwhile, and may have written over this block
  }
  fail(std::strerror(errno));
  (void)!ftruncate(file_, static_cast<off_t>(begin));
  close(std::exchange(file_, -1));  // what follows stays in memory
  return append(header, payload);
}

void BlockStore::append_tail(const BlockHeader& header, ByteSpan payload, ByteSpan rest) {
  const BlockHeaderImage image = seal(header, payload, rest);
  for (const ByteSpan part : {ByteSpan(image), payload, rest}) {
    if (!write(part, end_ + tail_)) return;
    tail_ += part.size();
  }
}

void BlockStore::drop_tail() {
  if (std::exchange(tail_, 0) > 0) (void)!ftruncate(file_, static_cast<off_t>(end_));
}

std::string BlockStore::take() {
  return std::move(memory_);
}

}  // namespace offramp::recording
