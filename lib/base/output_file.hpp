// Files named by the user. The library and the commands open every output here, by the same rules:
//
// - The text is written to a new file in the same folder (O_EXCL, O_NOFOLLOW, random name), which replaces
//   the target when it is complete. A crash or a full disk leaves the old file intact.
// - A link at a typed name is followed only if this user, root, or the owner of the link's folder made it.
// Root
//   follows only its own links. A link at a derived name is never followed: the file replaces the link.
// - A character device (/dev/null) or a descriptor of this process (/dev/stdout) is written in place. FIFOs,
//   sockets, and block devices are refused.
// - A new file is readable by its owner only, unless Readers says otherwise. An existing file of this user
//   keeps its mode; the mode of another user's file is never adopted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "offramp/kernel/result.hpp"

namespace offramp {

/// The exit code when an output could not be written and nothing else failed; EX_IOERR of sysexits.h.
inline constexpr int kOutputLost = 74;

/// Allowed targets of an output.
enum class Destination : std::uint8_t {
  kStream,   // a regular file, a character device, or a descriptor of this process
  kRegular,  // a regular file only: the output is read again, or has companion files
};

/// The origin of an output's name.
enum class Naming : std::uint8_t {
  kTyped,    // the user named the file; a link there is followed
  kDerived,  // the name was made from a typed one, like FILE.rank-1; a link there is replaced
};

/// The absolute path of the target file, equal for all names of one file. Empty if it is not a regular file.
std::string output_target(const std::string& path, Naming naming = Naming::kTyped);

/// True if an output of this name is written in place. Outputs with one file per rank or backend then all go
/// to that device, because "/dev/null.0" would create a file among the devices.
bool is_stream(const std::string& path);

/// Fails if this name cannot be written, or is that of a program or a library. Leaves nothing behind.
Result<void> check_output(const std::string& path, Destination destination = Destination::kStream,
                          Naming naming = Naming::kTyped);

/// Readers of a new file. An output of a run describes the program's actions, and may contain its data.
enum class Readers : std::uint8_t { kOwner, kAsUmask };

/// Owns a file descriptor and closes it on destruction.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int file) : file_(file) {}
  /// The other object owns nothing afterwards.
  OpenFile(OpenFile&& other) noexcept : file_(other.release()) {}
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();

  // 1 without a file.
  [[nodiscard]] int get() const { return file_; }
  [[nodiscard]] bool is_open() const { return file_ >= 0; }
  /// Releases ownership: the caller closes the descriptor.
  int release();

 private:
  int file_ = -1;
};

/// A file that this process has created, identified beyond its name.
struct CreatedFile {
  std::string path;
  dev_t device = 0;
  ino_t inode = 0;  // 0: none
};

/// Describes the open file of that path.
CreatedFile created_file(const std::string& path, const OpenFile& file);
/// Removes the file, unless its name refers to another file by now.
void remove_output(const CreatedFile& file);

/// An output that is renamed to its target when it is complete.
class OutputFile {
 public:
  /// Fails if the target is not allowed, or its folder cannot be written.
  static Result<OutputFile> create(const std::string& path, Naming naming = Naming::kTyped,
                                   Readers readers = Readers::kOwner);
  /// The other object must not be written or finished.
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Removes the file unless finish() succeeded.
  ~OutputFile();

  /// Appends text. Ignored after a failure.
  void write(std::string_view text);
  /// Renames the file to its target. Fails with the first problem since create().
  Result<void> finish();
  /// For removing the file later; see remove_output().
  [[nodiscard]] const CreatedFile& created() const { return created_; }

 private:
  /// aside: the name of the unfinished file in the folder.
  OutputFile(OpenFile folder, std::string target, std::string aside, OpenFile file);
  /// Notes the first problem. Calling it again has no effect.
  void close_file();

  OpenFile folder_;
  std::string target_;  // path, for messages and for rename()
  std::string aside_;   // path of the unfinished file; empty if the target is written in place
  OpenFile file_;
  CreatedFile created_;
  std::string problem_;
};

/// Opens an output under its final name from the start, because it must survive a crash: a part of a
/// recording, the record of faults. It is created as an OutputFile and renamed at once. appends: each write
/// goes to the end of the file (O_APPEND).
Result<OpenFile> open_named_output(const std::string& path, Naming naming, bool appends = false);

/// Opens the output that another process of this run has created by open_named_output(), or creates
/// it if this host has none. Refuses anything but a regular file of this user.
Result<OpenFile> join_named_output(const std::string& path);

/// As write() and pwrite(), but exceeding the file size limit (ulimit -f) fails with EFBIG instead of ending
/// the process by SIGXFSZ. Async-signal-safe.
ssize_t write_or_fail(int file, const void* data, std::size_t bytes);
ssize_t pwrite_or_fail(int file, const void* data, std::size_t bytes, off_t offset);

/// Removes this process's last unfinished file, unless it was renamed since. For signal handlers.
void unlink_unfinished();

/// Writes a whole output.
Result<void> write_output(const std::string& path, std::string_view text, Naming naming = Naming::kTyped,
                          Readers readers = Readers::kOwner);

inline constexpr std::string_view kCannotWrite = "cannot write ";
/// Prefixes a failure with "cannot write PATH: ".
Result<void> cannot_write(const std::string& path, const Result<void>& done);

/// Reports a lost output on standard error ("report", its name, the reason), and remembers it.
void report_lost(std::string_view what, const std::string& path, const std::string& problem);
/// As report_lost(), for a partially lost output. what: the incomplete output; why: the reason.
void report_incomplete(std::string_view what, const std::string& why);
/// True if this process has lost an output, or part of one.
bool output_lost();

}  // namespace offramp
