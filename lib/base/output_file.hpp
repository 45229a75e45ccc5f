// Files that the user named. Every output of the library and of the commands is opened here, in one way:
//
// - The text is written to a new file in the same folder (O_EXCL, O_NOFOLLOW, random name), which replaces
//   the target when it is complete. A crash or a full disk leaves the old file as it was.
// - A link is followed if this user, root, or the owner of the link's folder made it, and never otherwise.
// - A character device (/dev/null), and a descriptor of this process (/dev/stdout), are written in place.
//   FIFOs, sockets, and block devices are refused.
// - A new file is readable by its owner only, unless Readers says otherwise. A file that this user already
//   owns keeps its mode; the mode of another user's file is never adopted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "offramp/kernel/result.hpp"

namespace offramp {

/// The exit code of a command, or of a program that would have ended well, whose output could not be written.
/// sysexits.h calls it EX_IOERR.
inline constexpr int kOutputLost = 74;

/// What an output may be written to.
enum class Destination : std::uint8_t {
  kStream,   // a regular file, a character device, or a descriptor of this process
  kRegular,  // a regular file only: the output is read again, or other files lie beside it
};

/// The file that a name leads to. Empty if it is not a regular file. Two names of one file give the same
/// path.
std::string output_target(const std::string& path);

/// Whether an output of this name is written in place. Outputs that have a file for each rank or backend then
/// go to the one device, because "/dev/null.0" would be a new file among the devices.
bool is_stream(const std::string& path);

/// A failure if no file can be written under this name. Leaves nothing behind.
Result<void> check_output(const std::string& path, Destination destination = Destination::kStream);

/// Who may read a new file. An output of a run shows what the program did, and may contain its data.
enum class Readers : std::uint8_t { kOwner, kAsUmask };

/// A descriptor that is closed at the end.
class OpenFile {
 public:
  OpenFile() = default;
  explicit OpenFile(int file) : file_(file) {}
  OpenFile(OpenFile&& other) noexcept : file_(other.release()) {}
  OpenFile& operator=(OpenFile&& other) noexcept;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  [[nodiscard]] int get() const { return file_; }
  [[nodiscard]] bool is_open() const { return file_ >= 0; }
  /// The caller closes the descriptor.
  int release();

 private:
  int file_ = -1;
};

/// An output that gets its name when it is complete.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path, Readers readers = Readers::kOwner);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Removes the file unless finish() succeeded.
  ~OutputFile();

  /// After a failure nothing more is written.
  void write(std::string_view text);
  /// The file gets its name. Fails with the first problem since create().
  Result<void> finish();

 private:
  OutputFile(OpenFile folder, std::string target, std::string aside, OpenFile file);
  void close_file();

  OpenFile folder_;
  std::string target_;  // path, for messages and for rename()
  std::string aside_;   // path of the unfinished file; empty if the target is written in place
  OpenFile file_;
  std::string problem_;
};

/// Opens an output that has its name from the beginning, because a crash has to leave it behind: the part of
/// a recording, the record of faults. It is created as OutputFile creates one, and renamed at once.
/// appends: each write goes to the end of the file (O_APPEND).
Result<OpenFile> open_named_output(const std::string& path, bool appends = false);

/// Opens the output that another process of this run has created by open_named_output(path, true), or
/// creates it if this host has none. Refuses a file that is not a regular file of this user.
Result<OpenFile> join_named_output(const std::string& path);

/// As write() and pwrite(), but a file that grows beyond the limit of its size (ulimit -f) is an error,
/// EFBIG, and not the end of the process by SIGXFSZ. Async-signal-safe.
ssize_t write_or_fail(int file, const void* data, std::size_t bytes);
ssize_t pwrite_or_fail(int file, const void* data, std::size_t bytes, off_t offset);

/// Removes the unfinished file that this process created last, if it has not got its name since. For signal
/// handlers.
void unlink_unfinished();

/// Writes a whole output.
Result<void> write_output(const std::string& path, std::string_view text, Readers readers = Readers::kOwner);

/// What was done, with "cannot write PATH: " in front of a failure's text.
Result<void> cannot_write(const std::string& path, const Result<void>& done);

/// Says on standard error that an output is lost ("report", its name, the reason), and remembers it.
void tell_lost(std::string_view what, const std::string& path, const std::string& problem);
/// As tell_lost(), for an output of which a part is lost; what: what is not whole, and why, in words.
void tell_incomplete(std::string_view what, const std::string& why);
/// Whether this process has lost an output, or a part of one.
bool output_lost();

}  // namespace offramp
