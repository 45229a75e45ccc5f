// The path of the unfinished file is stored where a signal handler can read it (NotedName), so that a killed
// process leaves no file behind.
#include "lib/base/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "lib/base/output_place.hpp"
#include "lib/base/printable.hpp"

namespace offramp {
namespace {

using std::string;

constexpr int kMostAttempts = 16;  // to find an unused name

/// Finds the target of an output and checks that it is writable in principle.
Result<OutputPlace> place_of(const string& path, Destination destination, Naming naming) {
  Result<OutputPlace> place = find_place(path, naming);
  if (!place || place->is_regular()) return place;
  const mode_t mode = place->status.st_mode;
  if (S_ISDIR(mode)) return failure(output_reason(path, EISDIR));
  if (destination == Destination::kRegular) return failure("it is not a regular file");
  if (place->own_descriptor >= 0 || S_ISCHR(mode)) return place;
  return failure(fmt::format("it is a {}; name a regular file or /dev/stdout", S_ISFIFO(mode) ? "FIFO"
                                                                               : S_ISBLK(mode)
                                                                                   ? "block device"
                                                                                   : "socket"));
}

// The mode of a new file. umask() can only be read by setting it, so this is not thread-safe.
mode_t mode_of(Readers readers) {
  if (readers == Readers::kOwner) return S_IRUSR | S_IWUSR;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/// Creates a file under a random name, returned in `name`, in the target's folder.
OpenFile open_aside(const OutputPlace& place, string& name, Readers readers, int flags = 0) {
  OpenFile file;
  for (int i = 0; i < kMostAttempts && !file.is_open(); ++i) {
    // A new name for each attempt.
    name = name_aside();
    file = OpenFile(openat(place.folder.get(), name.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | flags, S_IRUSR | S_IWUSR));
    if (!file.is_open() && errno != EEXIST) return file;
  }
  if (!file.is_open()) return file;
  const bool keeps_mode = place.exists && place.status.st_uid == geteuid();
  const mode_t mode = keeps_mode ? place.status.st_mode & 0777 : mode_of(readers);
  if (mode != (S_IRUSR | S_IWUSR)) (void)fchmod(file.get(), mode);
  return file;
}

// Devices and descriptors are not replaced, so they need no second name.
OpenFile open_in_place(const OutputPlace& place) {
  if (place.own_descriptor >= 0) return OpenFile(fcntl(place.own_descriptor, F_DUPFD_CLOEXEC, 0));
  // Non-blocking: opening a serial line may wait for its other end.
  OpenFile file(openat(place.folder.get(), place.name.c_str(),
                       O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (file.is_open() && (fstat(file.get(), &status) != 0 || !S_ISCHR(status.st_mode))) {
    errno = EBUSY;  // replaced since it was examined
    return {};
  }
  // Writes should wait, as for any other output.
  if (file.is_open()) (void)fcntl(file.get(), F_SETFL, fcntl(file.get(), F_GETFL) & ~O_NONBLOCK);
  return file;
}

/// A path that a signal handler may unlink. The handler sees either the whole path or none.
class NotedName {
 public:
  void note(const string& path) {
    if (path.empty() || path.size() >= path_.size()) return;
    forget();
    // The first byte comes last: until then the handler sees an empty path.
    std::copy(path.begin() + 1, path.end(), path_.begin() + 1);
    path_[path.size()] = '\0';
    std::atomic_signal_fence(std::memory_order_seq_cst);
    path_.front() = path.front();
  }
  void forget() {
    path_.front() = '\0';
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  void remove() {
    if (path_.front() != '\0') (void)unlink(path_.data());
  }

 private:
  std::array<char, PATH_MAX> path_{};
};

/// Remains noted after the rename: no other file has this random name.
NotedName unfinished_file;

// The process that has lost an output. A forked child starts without a loss.
std::atomic<pid_t> loser = 0;

/// Blocks SIGXFSZ in this thread during its lifetime, and finally discards the signal of a failed write.
class WithoutSizeSignal {
 public:
  WithoutSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    sigemptyset(&pending);
    (void)sigpending(&pending);
    // A signal that was pending before belongs to the program, and stays.
    was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~WithoutSizeSignal() {
    const int error = errno;
    const timespec at_once{};
    if (error == EFBIG && !was_pending_) (void)sigtimedwait(&signal_, nullptr, &at_once);
    (void)pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  WithoutSizeSignal& operator=(WithoutSizeSignal&&) = delete;

 private:
  sigset_t signal_;
  sigset_t before_;
  bool was_pending_ = false;
};

/// Opens a regular file of this user; otherwise sets errno.
OpenFile open_own(const OutputPlace& place, int flags) {
  OpenFile file(openat(place.folder.get(), place.name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open()) return file;
  if (fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid()) return file;
  errno = EPERM;
  return {};
}

}  // namespace

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

OpenFile::~OpenFile() {
  if (file_ >= 0) close(file_);
}

int OpenFile::release() {
  return std::exchange(file_, -1);
}

ssize_t write_or_fail(int file, const void* data, std::size_t bytes) {
  const WithoutSizeSignal guard;
  return ::write(file, data, bytes);
}

ssize_t pwrite_or_fail(int file, const void* data, std::size_t bytes, off_t offset) {
  const WithoutSizeSignal guard;
  return ::pwrite(file, data, bytes, offset);
}

string output_target(const string& path, Naming naming) {
  const Result<OutputPlace> place = find_place(path, naming);
  // Writing it fails later, with the reason.
  if (!place) return path;
  if (!place->is_regular()) return {};
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(
      place->folder_path.empty() ? std::filesystem::path(".") : std::filesystem::path(place->folder_path),
      error);
  return error ? place->path() : (folder / place->name).string();
}

bool is_stream(const string& path) {
  const Result<OutputPlace> place = find_place(path);
  return place && !place->is_regular() && !S_ISDIR(place->status.st_mode);
}

namespace {

/// Returns true for an existing file that can be read and begins with these bytes.
bool begins_with(const OutputPlace& place, std::string_view magic) {
  const OpenFile file(
      openat(place.folder.get(), place.name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  string begin(magic.size(), '\0');
  return file.is_open() &&
         read(file.get(), begin.data(), begin.size()) == static_cast<ssize_t>(begin.size()) && begin == magic;
}

}  // namespace

Result<void> check_output(const string& path, Destination destination, Naming naming) {
  const Result<OutputPlace> place = place_of(path, destination, naming);
  if (!place) return failure(place.error());
  if (place->own_descriptor >= 0) {
    const bool writes = (fcntl(place->own_descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY;
    return writes ? Result<void>() : failure(output_reason(path, EBADF));
  }
  if (place->exists && faccessat(place->folder.get(), place->name.c_str(), W_OK, AT_EACCESS) != 0)
    return failure(output_reason(path, errno));
  if (!place->is_regular()) return {};
  // A mistyped command line must not destroy the program that it starts.
  if (begins_with(*place,
                  "\x7f"
                  "ELF"))
    return failure("it is a program or a library; name another file");
  string aside;
  // The only reliable test of a folder is to create a file in it.
  const OpenFile file = open_aside(*place, aside, Readers::kOwner);
  if (!file.is_open()) return failure(output_reason(path, errno));
  (void)unlinkat(place->folder.get(), aside.c_str(), 0);
  return {};
}

CreatedFile created_file(const string& path, const OpenFile& file) {
  struct stat status {};
  const bool is_file = fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? CreatedFile{path, status.st_dev, status.st_ino} : CreatedFile();
}

void remove_output(const CreatedFile& file) {
  if (file.inode == 0) return;
  // Links are not followed: the file itself was created here.
  const Result<OutputPlace> place = find_place(file.path, Naming::kDerived);
  if (place && place->exists && place->status.st_dev == file.device && place->status.st_ino == file.inode)
    (void)unlinkat(place->folder.get(), place->name.c_str(), 0);
}

Result<OutputFile> OutputFile::create(const string& path, Naming naming, Readers readers) {
  Result<OutputPlace> place = place_of(path, Destination::kStream, naming);
  if (!place) return failure(place.error());
  string aside;
  OpenFile file = place->is_regular() ? open_aside(*place, aside, readers) : open_in_place(*place);
  if (!file.is_open()) return failure(output_reason(path, errno));
  return OutputFile(std::move(place->folder), place->path(), std::move(aside), std::move(file));
}

OutputFile::OutputFile(OpenFile folder, string target, string aside, OpenFile file)
    : folder_(std::move(folder)),
      target_(std::move(target)),
      aside_(std::move(aside)),
      file_(std::move(file)),
      created_(created_file(target_, file_)) {
  if (!aside_.empty()) unfinished_file.note((std::filesystem::path(target_).parent_path() / aside_).string());
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      target_(std::move(other.target_)),
      aside_(std::exchange(other.aside_, {})),
      file_(std::move(other.file_)),
      created_(std::move(other.created_)),
      problem_(std::move(other.problem_)) {}

OutputFile::~OutputFile() {
  close_file();
  if (!aside_.empty()) (void)unlinkat(folder_.get(), aside_.c_str(), 0);
}

void OutputFile::write(std::string_view text) {
  while (problem_.empty() && !text.empty()) {
    const ssize_t n = write_or_fail(file_.get(), text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      problem_ = output_reason(target_, errno);
    }
  }
}

/// Closing can fail, too: some file systems report a full disk only then.
void OutputFile::close_file() {
  const int file = file_.release();
  if (file >= 0 && close(file) != 0 && errno != EINTR && problem_.empty())
    problem_ = output_reason(target_, errno);
}

Result<void> OutputFile::finish() {
  close_file();
  if (problem_.empty() && !aside_.empty()) {
    const string name = std::filesystem::path(target_).filename().string();
    if (renameat(folder_.get(), aside_.c_str(), folder_.get(), name.c_str()) == 0) {
      aside_.clear();
    } else {
      problem_ = output_reason(target_, errno);
    }
  }
  return problem_.empty() ? Result<void>() : failure(problem_);
}

Result<OpenFile> open_named_output(const string& path, Naming naming, bool appends) {
  const Result<OutputPlace> place = place_of(path, Destination::kStream, naming);
  if (!place) return failure(place.error());
  if (!place->is_regular()) {
    OpenFile file = open_in_place(*place);
    if (!file.is_open()) return failure(output_reason(path, errno));
    return file;
  }
  // Renamed before the first write, so that a crash leaves what was written.
  string aside;
  OpenFile file = open_aside(*place, aside, Readers::kOwner, appends ? O_APPEND : 0);
  if (!file.is_open()) return failure(output_reason(path, errno));
  const int folder = place->folder.get();
  if (renameat(folder, aside.c_str(), folder, place->name.c_str()) == 0) return file;
  const int error = errno;
  (void)unlinkat(folder, aside.c_str(), 0);
  return failure(output_reason(path, error));
}

Result<OpenFile> join_named_output(const string& path) {
  // Each attempt resolves the path again, since another rank may just have created it.
  for (int i = 0; i < kMostAttempts; ++i) {
    const Result<OutputPlace> place = place_of(path, Destination::kStream, Naming::kTyped);
    if (!place) return failure(place.error());
    if (!place->is_regular()) return open_named_output(path, Naming::kTyped);
    OpenFile file = open_own(*place, O_WRONLY | O_APPEND);
    if (!file.is_open() && errno == EPERM) return failure("the file belongs to another user");
    // Several ranks may create it concurrently.
    if (!file.is_open() && errno == ENOENT)
      file = OpenFile(openat(place->folder.get(), place->name.c_str(),
                             O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             S_IRUSR | S_IWUSR));
    if (file.is_open()) return file;
    if (errno != EEXIST) return failure(output_reason(path, errno));
  }
  return failure(output_reason(path, EEXIST));
}

void unlink_unfinished() {
  unfinished_file.remove();
}

Result<void> write_output(const string& path, std::string_view text, Naming naming, Readers readers) {
  Result<OutputFile> file = OutputFile::create(path, naming, readers);
  if (!file) return failure(file.error());
  file->write(text);
  return file->finish();
}

namespace {

/// One write() call, because other ranks write as well.
void remember_loss(const string& line) {
  loser = getpid();
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

Result<void> cannot_write(const string& path, const Result<void>& done) {
  return done ? done : failure(fmt::format("{}{}: {}", kCannotWrite, printable(path), done.error()));
}

void report_lost(std::string_view what, const string& path, const string& problem) {
  remember_loss(fmt::format("offramp: cannot write the {} to {}: {}\n", what, in_quotes(path), problem));
}

void report_incomplete(std::string_view what, const string& why) {
  remember_loss(fmt::format("offramp: the {} is incomplete: {}\n", what, why));
}

bool output_lost() {
  return loser == getpid();
}

}  // namespace offramp
