// Reads recordings: the description of a file, and the events of each rank in sequence. Files are untrusted:
// all values are bounded and checked, and errors name the place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/output_file.hpp"
#include "lib/programs/recording/event.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::recording {

inline constexpr std::string_view kCut = "the recording is cut off";

class Source;
enum class Column : std::uint8_t;

/// The header of a recording.
struct Description {
  int version = 0;
  int ranks = 0;
  std::vector<std::pair<std::string, std::string>> facts;  // "program", "arguments", "date", ...
};

/// The events of one rank in program order; those of several threads in the order in which the rank recorded
/// them. Memory is bounded for any length.
class Reader {
 public:
  virtual ~Reader() = default;

  /// Returns false at the end; error() is then empty, or contains reason and place.
  virtual bool next(Event& event) = 0;
  /// The times beside the last event of next().
  [[nodiscard]] virtual Times times() const = 0;
  /// A list of that event. Valid until the next one.
  [[nodiscard]] virtual std::span<const std::uint64_t> list(std::uint32_t number) const = 0;
  /// The match of the last event if it is a wildcard. `nullopt` if it never matched a message.
  [[nodiscard]] virtual std::optional<Match> match() = 0;
  /// The positions in the list that completed, if the last event is a wait with kAny or kSome.
  [[nodiscard]] virtual std::span<const std::uint32_t> choice() const = 0;
  /// For readers whose next events depend on completions: the program has seen the completion of this rank's
  /// number-th request, from 0. Without any call before the next event, a wait completes all its requests.
  virtual void on_completed(std::uint64_t /*number*/) {}
  /// Fetches ahead what that call, and the events after it, will read. See ProgramMemory for the steps.
  virtual void fetch(std::uint64_t /*number*/, unsigned /*step*/) const {}
  /// The number of failed polls between the last event and the one before.
  [[nodiscard]] virtual std::uint64_t polls() const = 0;
  /// The time between those polls, which times() does not include.
  [[nodiscard]] virtual Gaps gaps() const { return {}; }
  /// Returns true if events may belong to several threads.
  [[nodiscard]] virtual bool has_threads() const { return false; }
  /// The thread of the last event. 0 has initialised MPI and exists from the beginning, even if its first
  /// event comes later; others may have any number.
  [[nodiscard]] virtual std::uint32_t thread() const { return 0; }
  /// The name of Event::call.
  [[nodiscard]] virtual std::string_view call(std::uint16_t number) const = 0;
  /// The call site of Event::site: the object's file name and the offset of the call in it, as in
  /// "jacobi+0x12a4". Empty if it is unknown.
  [[nodiscard]] virtual std::string_view site(std::uint32_t /*number*/) const { return {}; }
  /// Why the events end before the program: "signal 11 (Segmentation fault)", or kCut if the reason is
  /// unknown. Empty if they are complete.
  [[nodiscard]] virtual std::string_view cut() const = 0;
  /// The total number of events, if the recording contains it.
  [[nodiscard]] virtual std::optional<std::uint64_t> events() const { return std::nullopt; }
  /// Names the file, the rank, and the place.
  [[nodiscard]] virtual const std::string& error() const = 0;
  /// Returns true if all its waits are for some of all open requests of the rank, which their lists contain.
  /// list() may make the list of a wait on demand, and only until the first on_completed() after that event.
  [[nodiscard]] virtual bool waits_for_open() const { return false; }
};

/// Native times of the calls of one function at one call site of a rank, in nanoseconds.
struct CallTimes {
  std::string function;
  std::string site;  // see Reader::site()
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t least = 0;
  std::uint64_t greatest = 0;
};

/// One rank's run as the recording process measured it, from MPI_Init to MPI_Finalize, in nanoseconds.
struct NativeRun {
  std::string host;
  std::uint64_t cores = 0;  // of its node
  std::uint64_t run = 0;
  std::uint64_t init = 0;  // the duration of MPI_Init, before `run`
  /// Time in which its first thread was ready and had no processor. `nullopt`: the kernel does not report it,
  /// and gaps between calls count as CPU time only.
  std::optional<std::uint64_t> ready;
  std::vector<CallTimes> calls;

  /// The time in MPI calls, of all threads.
  [[nodiscard]] std::uint64_t in_mpi() const;
};

/// The recording of one rank as its recorder left it: the bytes from finish(), or else the path of its file.
/// If both are empty, the rank counts as cut before its first event.
struct RecordingPart {
  std::string bytes;
  std::string path;
};

/// The name of one rank's part beside a recording.
std::string part_path(const std::string& path, int rank);

/// Distinguishes a part's file from one with the same name of an earlier run or on another host.
struct PartMark {
  std::uint64_t bytes = 0;     // of the file
  std::uint64_t checksum = 0;  // of its last bytes, at most 64 KiB

  friend bool operator==(const PartMark&, const PartMark&) = default;
};
/// `nullopt` if the file does not exist or cannot be read.
std::optional<PartMark> mark_of_part(const std::string& path);

/// A recording of all ranks. Readers only share its bytes, which exist as long as any of them.
class Recording {
 public:
  /// Opens a file, which may be an index of parts beside it. If a run did not finish and there is no file,
  /// reads the ranks' parts and adds the fact "unfinished".
  static Result<Recording> open(const std::string& path);
  /// From the contents of one file. name: for messages.
  static Result<Recording> from_bytes(std::string bytes, const std::string& name);
  /// From parts in rank order, which determine the description's version and number of ranks.
  static Result<Recording> from_parts(Description description, std::vector<RecordingPart> parts);
  /// From parts in memory.
  static Result<Recording> from_parts(Description description, std::vector<std::string> parts);

  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

  /// Valid as long as the recording.
  [[nodiscard]] const Description& description() const;
  /// Where the file ends before its index, or why the first missing part of the index is missing. Empty if it
  /// is complete. Ranks may still be cut.
  [[nodiscard]] const std::string& breaks_off() const;
  /// The number of bytes after the end of the recording in the file. They belong to something else.
  [[nodiscard]] std::uint64_t beyond() const;
  /// Returns true if the parts of all ranks that have one are files beside `path`.
  [[nodiscard]] bool is_in_parts(const std::string& path) const;
  /// XXH3 (64 bits, no seed) of the whole file, which is read. `nullopt` for several or unreadable files.
  [[nodiscard]] std::optional<std::uint64_t> checksum() const;
  /// rank: below description().ranks.
  [[nodiscard]] std::unique_ptr<Reader> read(int rank) const;
  /// The native times of a rank. `nullopt` if the recording has none: it was imported, or the rank did not
  /// reach MPI_Finalize. Fails if they are damaged.
  [[nodiscard]] Result<std::optional<NativeRun>> native(int rank) const;
  /// The size of one rank's part in bytes.
  [[nodiscard]] std::uint64_t bytes(int rank) const;
  /// Writes one file with all ranks.
  [[nodiscard]] Result<void> write(const std::string& path, Naming naming = Naming::kTyped) const;
  /// Writes an index of the parts, which stay beside it. Requires is_in_parts(path).
  [[nodiscard]] Result<void> write_index(const std::string& path, Naming naming = Naming::kTyped) const;

 private:
  struct Impl;
  /// A recording whose blocks have been found.
  explicit Recording(std::unique_ptr<Impl> impl);
  static Result<Recording> from_file(Source source);
  static Result<Recording> from_parts_beside(const std::string& path);
  /// Writes bytes to the new file; errors are reported when it is finished.
  using Write = std::function<void(std::string_view bytes)>;
  /// Writes all blocks and returns the index.
  using WriteBlocks = std::function<Result<std::string>(const Write& write)>;
  /// Writes under a temporary name first, see OutputFile.
  [[nodiscard]] Result<void> write_file(const std::string& path, Naming naming, Column index_column,
                                        const WriteBlocks& write_blocks) const;
  /// Shared with all readers.
  std::shared_ptr<const Impl> impl_;
};

}  // namespace offramp::recording
