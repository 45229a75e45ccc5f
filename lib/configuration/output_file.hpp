// Files that the user named. The text is written aside, in the same folder, and gets the final name when it
// is complete: no half file stands there, whatever happens. What is no regular file (/dev/stdout, a pipe) is
// written to directly.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lib/configuration/registry.hpp"

namespace offramp {

/// The exit code of a command, or of a program that would have ended well, whose output could not be written.
/// sysexits.h calls it EX_IOERR.
inline constexpr int kOutputLost = 74;

/// The file that a name leads to; empty: it is no regular one. Two names of one file give the same.
std::string output_target(const std::string& path);

/// Why a file could not be written under this name; empty: it could. Leaves nothing behind.
std::string output_problem(const std::string& path);

/// Whose a new file is to read. What a run writes tells what the program did, and may hold its data.
enum class Readers { kOwner, kAsUmask };

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path, Readers readers = Readers::kOwner);
  /// Goes on with what another process has left to this one.
  static Result<OutputFile> resume(const std::string& path, const std::string& aside);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  /// Without finish() or leave() nothing remains of the file.
  ~OutputFile();

  /// After a failure nothing more is written.
  void write(std::string_view text);
  /// The file gets its name. Empty, or what went wrong in all that came before.
  std::string finish();
  /// Another process resumes it; the name that it then needs is put into aside.
  std::string leave(std::string& aside);

 private:
  OutputFile(std::string target, std::string aside, int file);
  void close_file();

  std::string target_;
  std::string aside_;  // empty: written to directly
  int file_;
  std::string problem_;
};

/// Removes the file aside that this process has begun last, if it has not got its name since. For signal
/// handlers.
void unlink_unfinished();

/// The whole of it. Empty, or why it could not be written.
std::string write_output(const std::string& path, std::string_view text, Readers readers = Readers::kOwner);

/// Replaces a file by what follows from its contents, one process after the other. A file without the mark
/// among its first bytes (4 KiB) is another's: its contents count as empty, and are not read. Nothing happens
/// with what is no regular file.
std::string rewrite_output(const std::string& path, std::string_view mark,
                           const std::function<std::string(const std::string&)>& rewrite);

/// Says on standard error that an output is lost ("report", its name, the reason), and remembers it.
void tell_lost(std::string_view what, const std::string& path, const std::string& problem);
/// The same of one of which a part is lost; what: what is not whole, and why, in words.
void tell_incomplete(std::string_view what, const std::string& why);
/// Whether this process has lost an output, or a part of one.
bool output_lost();

}  // namespace offramp
