// Resolves the path component by component with openat(O_NOFOLLOW). Every link is checked for its owner
// before it is followed, and the checked folder is the one that is written to. The kernel's
// protected_symlinks does not suffice: it guards open(), but an output is renamed.
#include "lib/base/output_place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "lib/base/printable.hpp"

namespace offramp {
namespace {

using std::string;

constexpr int kMostLinks = 40;  // the kernel's limit

string joined(const string& folder, const string& name) {
  return folder.empty() ? name : folder.back() == '/' ? folder + name : folder + "/" + name;
}

/// Resolves one path. Single use.
class PlaceFinder {
 public:
  PlaceFinder(const string& path, Naming naming) : asked_(path), naming_(naming) {}

  Result<OutputPlace> find() {
    OutputPlace place;
    push(asked_);
    if (const int error = enter(asked_.starts_with('/') ? "/" : "."); error != 0) return fail(error);
    // The path is "/".
    if (parts_.empty()) return fail(EISDIR);
    for (;;) {
      const string part = std::move(parts_.back());
      parts_.pop_back();
      struct stat status {};
      if (fstatat(folder_.get(), part.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
        // Only the last component may be missing.
        if (errno != ENOENT || !parts_.empty()) return fail(errno);
      } else if (S_ISLNK(status.st_mode) && !(parts_.empty() && naming_ == Naming::kDerived)) {
        if (parts_.empty() && is_on_proc()) return of_descriptor(part);
        if (const Result<void> done = follow(part, status); !done) return failure(done.error());
        if (parts_.empty()) return fail(EISDIR);
        continue;
      } else {
        place.status = status;
        // A link of a derived name counts as free, because it is replaced.
        place.exists = !S_ISLNK(status.st_mode);
      }
      if (parts_.empty() && part != "." && part != "..") {
        place.folder = std::move(folder_);
        place.folder_path = path_;
        place.name = part;
        return place;
      }
      place.exists = false;
      if (const int error = descend(part); error != 0) return fail(error);
      if (parts_.empty()) return fail(EISDIR);
    }
  }

 private:
  [[nodiscard]] Failure fail(int error) const { return failure(output_reason(asked_, error)); }

  /// Pushes the components of a path, in reverse order. A trailing slash means a folder.
  void push(const string& path) {
    std::vector<string> parts;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      if (end > begin) parts.push_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
    if (path.ends_with('/') && !parts.empty()) parts.emplace_back(".");
    parts_.insert(parts_.end(), parts.rbegin(), parts.rend());
  }

  // Starts at a folder. Returns 0 or errno.
  int enter(const char* root) {
    folder_ = OpenFile(open(root, O_PATH | O_DIRECTORY | O_CLOEXEC));
    path_ = *root == '/' ? root : "";
    return folder_.is_open() ? 0 : errno;
  }

  // The descriptor holds the folder that was checked, even if it is renamed meanwhile.
  int descend(const string& part) {
    OpenFile next(openat(folder_.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.is_open()) return errno;
    folder_ = std::move(next);
    if (part != ".") path_ = joined(path_, part);
    return 0;
  }

  /// dev/stdout leads there.
  [[nodiscard]] bool is_on_proc() const {
    struct statfs system {};
    return fstatfs(folder_.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
  }

  /// A link on /proc may refer to an object without a name. Accepts only descriptors of this process.
  Result<OutputPlace> of_descriptor(const string& part) {
    struct stat folder {};
    struct stat own {};
    int number = -1;
    const char* const end = part.data() + part.size();
    const auto parsed = std::from_chars(part.data(), end, number);
    // Other processes' descriptors are in folders with other numbers.
    const bool is_own = fstat(folder_.get(), &folder) == 0 && stat("/proc/self/fd", &own) == 0 &&
                        folder.st_ino == own.st_ino && folder.st_dev == own.st_dev;
    if (!is_own || parsed.ec != std::errc() || parsed.ptr != end)
      return failure("it is in /proc, but is not a file descriptor of this process");
    OutputPlace place;
    place.name = asked_;
    place.own_descriptor = number;
    place.exists = fstat(number, &place.status) == 0;
    if (!place.exists) return failure(std::strerror(errno));
    return place;
  }

  Result<void> follow(const string& part, const struct stat& link) {
    struct stat folder {};
    if (fstat(folder_.get(), &folder) != 0) return failure(std::strerror(errno));
    // The owner of a folder can place any file there anyway. Root trusts no other user.
    const bool is_folder_owners = link.st_uid == folder.st_uid && geteuid() != 0;
    if (link.st_uid != geteuid() && link.st_uid != 0 && !is_folder_owners)
      return failure(fmt::format("{} is a symbolic link of another user, which is not followed",
                                 in_quotes(joined(path_, part))));
    if (++links_ > kMostLinks) return failure(std::strerror(ELOOP));
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlinkat(folder_.get(), part.c_str(), target.data(), target.size());
    if (length < 0) return failure(std::strerror(errno));
    const string next(target.data(), static_cast<std::size_t>(length));
    push(next);
    if (!next.starts_with('/')) return {};
    const int error = enter("/");
    return error == 0 ? Result<void>() : failure(std::strerror(error));
  }

  const string& asked_;
  Naming naming_;
  std::vector<string> parts_;  // remaining components, the next one last
  OpenFile folder_;
  string path_;  // path of `folder_`
  int links_ = 0;
};

}  // namespace

string OutputPlace::path_of(const string& other) const {
  return joined(folder_path, other);
}

Result<OutputPlace> find_place(const string& path, Naming naming) {
  return PlaceFinder(path, naming).find();
}

string name_aside() {
  std::uint64_t number = 0;
  // The fallback is not random: O_EXCL then fails, and the caller retries.
  if (getrandom(&number, sizeof number, 0) != sizeof number)
    number = reinterpret_cast<std::uintptr_t>(&number);
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuv";
  string name = ".offramp-";
  // Five bits a letter: 60 bits in all.
  for (int i = 0; i < 12; ++i, number >>= 5U) name += kDigits[number & 31U];
  return name;
}

string output_reason(const string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    string folder = std::filesystem::path(path).parent_path().string();
    if (folder.empty()) folder = ".";
    std::error_code ignored;
    if (error == ENOENT && std::filesystem::is_directory(folder, ignored))  // as in /proc
      return fmt::format("no file can be made in {}", in_quotes(folder));
    return fmt::format("there is no folder {}", in_quotes(folder));
  }
  if (error == EISDIR) return "it is a folder";
  return std::strerror(error);
}

}  // namespace offramp
