// The file aside has a random name in the folder of the final one (mkstemp), so that rename() replaces it
// in one step on the same file system. Its name is kept where a signal handler can read it
// (note_unfinished()), since a process that is killed should leave nothing behind. Links are followed by
// hand: what is replaced is what they lead to, not they themselves.
#include "lib/configuration/output_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "lib/configuration/names.hpp"

namespace offramp {
namespace {

namespace fs = std::filesystem;
using std::string;

constexpr std::size_t kMarkWithin = 4096;
constexpr int kMostLinks = 40;  // as the kernel has it

string folder_of(const string& path) {
  const string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// A link stays, and what it leads to is replaced, or made if it is not there yet.
string resolved(const string& path) {
  std::error_code error;
  const fs::path canonical = fs::canonical(path, error);
  if (!error) return canonical.string();
  if (fs::exists(path, error)) return path;  // /dev/stdout may lead to what has no name
  fs::path target = path;
  for (int i = 0; i < kMostLinks && fs::is_symlink(target, error); ++i) {
    const fs::path next = fs::read_symlink(target, error);
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  return target.string();
}

/// Whether there is something under the name that is no regular file.
bool is_special(const string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

mode_t mode_of(Readers readers) {
  if (readers == Readers::kOwner) return S_IRUSR | S_IWUSR;
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

int open_aside(const string& target, string& aside, Readers readers = Readers::kOwner) {
  aside = (fs::path(folder_of(target)) / ".offramp-XXXXXX").string();
  const int file = mkostemp(aside.data(), O_CLOEXEC);
  if (file < 0) return file;
  struct stat old {};
  const bool replaces = stat(target.c_str(), &old) == 0;
  (void)fchmod(file, replaces ? old.st_mode & 0777 : mode_of(readers));
  return file;
}

/// The last file aside. It stays when that has got its name: nothing else has this one.
std::array<char, PATH_MAX> unfinished_path{};

/// A signal handler sees the whole name, or none.
void note_unfinished(const string& aside) {
  if (aside.empty() || aside.size() >= unfinished_path.size()) return;
  unfinished_path.front() = '\0';
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::copy(aside.begin() + 1, aside.end(), unfinished_path.begin() + 1);
  *(unfinished_path.begin() + aside.size()) = '\0';
  std::atomic_signal_fence(std::memory_order_seq_cst);
  unfinished_path.front() = aside.front();
}

std::atomic<pid_t> loser = 0;

string reason(const string& path, int error) {
  std::error_code ignored;
  if (error == ENOENT && fs::is_directory(folder_of(path), ignored))  // as in /proc
    return fmt::format("no file can be made in {}", in_quotes(folder_of(path)));
  if (error == ENOENT || error == ENOTDIR)
    return fmt::format("there is no folder {}", in_quotes(folder_of(path)));
  if (error == EISDIR) return "it is a folder";
  return std::strerror(error);
}

string marked_contents(const string& path, std::string_view mark) {
  std::ifstream file(path, std::ios::binary);
  string contents(kMarkWithin, '\0');
  file.read(contents.data(), static_cast<std::streamsize>(contents.size()));
  contents.resize(static_cast<std::size_t>(file.gcount()));
  if (contents.find(mark) == string::npos) return {};
  contents.append(std::istreambuf_iterator<char>(file), {});
  return contents;
}

}  // namespace

string output_target(const string& path) {
  std::error_code error;
  if (is_special(path)) return {};
  const fs::path target = fs::weakly_canonical(fs::absolute(resolved(path), error), error);
  return error ? path : target.string();
}

string output_problem(const string& path) {
  const string target = resolved(path);
  struct stat status {};
  if (stat(target.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return reason(path, EISDIR);
    if (access(target.c_str(), W_OK) != 0) return reason(path, errno);
    if (!S_ISREG(status.st_mode)) return {};
  }
  string aside;
  const int file = open_aside(target, aside);
  if (file < 0) return reason(target, errno);
  close(file);
  unlink(aside.c_str());
  return {};
}

Result<OutputFile> OutputFile::create(const string& path, Readers readers) {
  const string target = resolved(path);
  string aside;
  const bool special = is_special(target);
  const int file = special ? open(target.c_str(), O_WRONLY | O_CLOEXEC) : open_aside(target, aside, readers);
  if (file < 0) return Result<OutputFile>::failure(reason(target, errno));
  return OutputFile(target, special ? string() : aside, file);
}

Result<OutputFile> OutputFile::resume(const string& path, const string& aside) {
  const string target = resolved(path);
  const int file = open((aside.empty() ? target : aside).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0 && errno == ENOENT)
    return Result<OutputFile>::failure("rank 0's file is not here; the folder has to be shared by all hosts");
  if (file < 0) return Result<OutputFile>::failure(reason(target, errno));
  return OutputFile(target, aside, file);
}

OutputFile::OutputFile(string target, string aside, int file)
    : target_(std::move(target)), aside_(std::move(aside)), file_(file) {
  note_unfinished(aside_);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : target_(std::move(other.target_)),
      aside_(std::exchange(other.aside_, {})),
      file_(std::exchange(other.file_, -1)),
      problem_(std::move(other.problem_)) {}

OutputFile::~OutputFile() {
  close_file();
  if (!aside_.empty()) unlink(aside_.c_str());
}

void OutputFile::write(std::string_view text) {
  while (problem_.empty() && !text.empty()) {
    const ssize_t n = ::write(file_, text.data(), text.size());
    if (n >= 0) {
      text.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      problem_ = reason(target_, errno);
    }
  }
}

/// Some file systems say only now that the disk is full.
void OutputFile::close_file() {
  const int file = std::exchange(file_, -1);
  if (file >= 0 && close(file) != 0 && errno != EINTR && problem_.empty()) problem_ = reason(target_, errno);
}

string OutputFile::finish() {
  close_file();
  if (problem_.empty() && !aside_.empty()) {
    if (rename(aside_.c_str(), target_.c_str()) == 0) {
      aside_.clear();
    } else {
      problem_ = reason(target_, errno);
    }
  }
  return problem_;
}

string OutputFile::leave(string& aside) {
  close_file();
  if (problem_.empty()) aside = std::exchange(aside_, {});
  return problem_;
}

void unlink_unfinished() {
  if (unfinished_path.front() != '\0') (void)unlink(unfinished_path.data());
}

string write_output(const string& path, std::string_view text, Readers readers) {
  Result<OutputFile> file = OutputFile::create(path, readers);
  if (!file) return file.error();
  file->write(text);
  return file->finish();
}

namespace {

/// In one piece: other ranks write too.
void remember_loss(const string& line) {
  loser = getpid();
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void tell_lost(std::string_view what, const string& path, const string& problem) {
  remember_loss(fmt::format("offramp: cannot write the {} to {}: {}\n", what, in_quotes(path), problem));
}

void tell_incomplete(std::string_view what, const string& why) {
  remember_loss(fmt::format("offramp: the {} is not whole: {}\n", what, why));
}

bool output_lost() {
  return loser == getpid();
}

string rewrite_output(const string& path, std::string_view mark,
                      const std::function<string(const string&)>& rewrite) {
  const string target = resolved(path);
  if (is_special(target)) return {};
  // A lock of the folder, which stays where the file is replaced. Where there are no locks, the last one
  // wins.
  const int folder = open(folder_of(target).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) (void)flock(folder, LOCK_EX);
  string problem = write_output(path, rewrite(marked_contents(target, mark)));
  if (folder >= 0) close(folder);
  return problem;
}

}  // namespace offramp
