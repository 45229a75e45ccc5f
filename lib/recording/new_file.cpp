#include "lib/recording/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>  // NOLINT: mkostemp is not in cstdlib
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace offramp::recording {

NewFile::NewFile(std::string path)
    : path_(std::move(path)), aside_(path_ + ".XXXXXX"), file_(mkostemp(aside_.data(), O_CLOEXEC)) {
  if (file_ >= 0) return;
  fail();
  aside_.clear();
}

NewFile::~NewFile() {
  if (file_ >= 0) close(file_);
  if (!aside_.empty()) unlink(aside_.c_str());
}

void NewFile::fail() {
  if (problem_.empty()) problem_ = fmt::format("cannot write {}: {}", path_, std::strerror(errno));
}

void NewFile::write(std::string_view bytes) {
  while (problem_.empty() && !bytes.empty()) {
    const ssize_t n = ::write(file_, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      fail();
    }
  }
}

/// Some file systems say only when it is closed that the disk is full.
std::string NewFile::finish() {
  const int file = std::exchange(file_, -1);
  if (file >= 0 && close(file) != 0 && errno != EINTR) fail();
  if (problem_.empty()) {
    if (rename(aside_.c_str(), path_.c_str()) == 0) {
      aside_.clear();
    } else {
      fail();
    }
  }
  return problem_;
}

}  // namespace offramp::recording
