// After a write error (a full disk) finished blocks stay in the file, which is cut to the last complete one,
// and later blocks go to memory. append_tail() only writes and never allocates, as it runs in signal
// handlers; the next append() cuts the tail off again.
#include "lib/programs/recording/store.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace offramp::recording {

BlockStore::BlockStore(const PartHeader& header, std::string path, std::size_t limit)
    : path_(std::move(path)), limit_(limit), memory_(text_of(encode(header))) {
  if (!path_.empty()) create_file();
}

void BlockStore::fail(std::string_view why) {
  if (problem_.empty()) problem_ = cannot_write(path_, failure(std::string(why))).error();
}

bool BlockStore::write(ByteSpan bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite_or_fail(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

void BlockStore::create_file() {
  Result<OpenFile> file = open_named_output(path_, Naming::kDerived);
  if (!file) return fail(file.error());
  file_ = std::move(*file);
  created_ = created_file(path_, file_);
  if (!write(byte_span(memory_), 0)) {
    fail(std::strerror(errno));
    // An incomplete header would only look like damage.
    remove_output(created_);
    file_ = {};  // the blocks stay in memory
    return;
  }
  end_ = memory_.size();
  memory_.clear();
}

bool BlockStore::append(const BlockHeader& header, ByteSpan payload) {
  const BlockHeaderImage image = seal(header, payload);
  const std::size_t size = image.size() + payload.size();
  if (!in_file()) {
    // The program must not end because a recording needs memory.
    try {
      memory_.reserve(memory_.size() + size);
    } catch (const std::bad_alloc&) {
      return false;
    }
    memory_.append(text_of(image)).append(text_of(payload));
    // The block that exceeds the limit is kept.
    return memory_.size() <= limit_;
  }
  // Open blocks in the tail may be longer than what replaces them.
  drop_tail();
  if (write(image, end_) && write(payload, end_ + image.size())) {
    end_ += size;
    return true;
  }
  fail(std::strerror(errno));
  // If that fails too, readers stop at the incomplete block.
  (void)!ftruncate(file_.get(), static_cast<off_t>(end_));
  file_ = {};  // later blocks stay in memory
  return append(header, payload);
}

void BlockStore::append_tail(const BlockHeader& header, ByteSpan payload, ByteSpan rest) {
  const BlockHeaderImage image = seal(header, payload, rest);
  for (const ByteSpan part : {ByteSpan(image), payload, rest}) {
    // A handler cannot report it: the next append() finds the same problem.
    if (!write(part, end_ + tail_)) return;
    tail_ += part.size();
  }
}

void BlockStore::drop_tail() {
  if (std::exchange(tail_, 0) > 0) (void)!ftruncate(file_.get(), static_cast<off_t>(end_));
}

std::string BlockStore::release() {
  return std::move(memory_);
}

}  // namespace offramp::recording
