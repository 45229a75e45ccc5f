// Only regular files are accepted, and a file is opened without blocking, so that a FIFO is rejected instead
// of waited for. Reads use pread(), which shares no position, so threads may read concurrently. The size is
// that at opening: a file that shrinks returns fewer bytes.
#include "lib/programs/recording/source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace offramp::recording {
namespace {

std::string problem_with(const std::string& path, int error) {
  return fmt::format("cannot read {}: {}", path, std::strerror(error));
}

int open_to_read(const std::string& path) {
  // Nonblocking: opening a FIFO must not hang before it is rejected.
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

}  // namespace

Source::Source(std::string bytes, std::string name)
    : name_(std::move(name)), bytes_(std::move(bytes)), in_memory_(true), size_(bytes_.size()) {}

Result<Source> Source::open(const std::string& path) {
  Source source;
  source.name_ = path;
  source.file_ = open_to_read(path);
  struct stat status {};
  // Asks the open file, not the name: another file may have got it.
  if (source.file_ < 0 || fstat(source.file_, &status) != 0) return failure(problem_with(path, errno));
  if (!S_ISREG(status.st_mode))
    return failure(fmt::format("cannot read {}: it is {}", path,
                               S_ISDIR(status.st_mode) ? "a folder" : "not a regular file"));
  source.size_ = static_cast<std::uint64_t>(status.st_size);
  return source;
}

Result<Source> Source::look(const std::string& path) {
  Result<Source> source = open(path);
  if (source) close(std::exchange(source->file_, -1));
  return source;
}

// The old object must not close the file.
Source::Source(Source&& other) noexcept
    : name_(std::move(other.name_)),
      bytes_(std::move(other.bytes_)),
      in_memory_(other.in_memory_),
      file_(std::exchange(other.file_, -1)),
      size_(other.size_) {}

// The other object then closes this one's file.
Source& Source::operator=(Source&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(bytes_, other.bytes_);
  std::swap(in_memory_, other.in_memory_);
  std::swap(file_, other.file_);
  std::swap(size_, other.size_);
  return *this;
}

Source::~Source() {
  if (file_ >= 0) close(file_);
}

Result<ByteSpan> Source::read(std::uint64_t offset, std::size_t count,
                              std::vector<std::uint8_t>& buffer) const {
  if (offset >= size_) return ByteSpan();
  count = static_cast<std::size_t>(std::min<std::uint64_t>(count, size_ - offset));
  if (in_memory_) return byte_span(bytes_).subspan(static_cast<std::size_t>(offset), count);
  const int file = file_ >= 0 ? file_ : open_to_read(name_);
  // The buffer only grows, since most reads are alike.
  if (buffer.size() < count) buffer.resize(count);
  std::size_t done = 0;
  ssize_t n = file < 0 ? -1 : 1;
  // pread() may return less than is there, for example after a signal.
  while (done < count && n > 0) {
    n = pread(file, buffer.data() + done, count - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR)
      n = 1;
    else if (n > 0)
      done += static_cast<std::size_t>(n);
  }
  // close() may change it.
  const int error = errno;
  if (file != file_ && file >= 0) close(file);
  if (n < 0) return failure(problem_with(name_, error));
  return ByteSpan(buffer).first(done);
}

}  // namespace offramp::recording
