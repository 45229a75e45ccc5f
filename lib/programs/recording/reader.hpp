// Reads recordings: what is in a file, and the events of each rank one after the other. Files are not
// trusted: everything is bounded and checked, and an error says where.
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

#include "lib/programs/recording/event.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::recording {

inline constexpr std::string_view kCut = "its recording was cut";

class Source;
enum class Column : std::uint8_t;

/// What a recording says of itself.
struct Description {
  int version = 0;
  int ranks = 0;
  std::vector<std::pair<std::string, std::string>> facts;  // "program", "arguments", "date", ...
};

/// The events of one rank, in program order; those of several threads in the order in which the rank came to
/// them. Memory is bounded whatever the length.
class Reader {
 public:
  virtual ~Reader() = default;

  /// False: there are no more. Then error() is empty, or says why and where.
  virtual bool next(Event& event) = 0;
  /// CPU time of the program before the event that next() gave, in nanoseconds.
  [[nodiscard]] virtual std::uint64_t computed() const = 0;
  /// A list of that event; valid until the next one.
  [[nodiscard]] virtual std::span<const std::uint64_t> list(std::uint32_t number) const = 0;
  /// What a wildcard took: the event that next() gave, if it is one. Nothing: it never took anything.
  [[nodiscard]] virtual std::optional<Match> match() = 0;
  /// The positions that a wait with kAny or kSome, which next() gave, came to.
  [[nodiscard]] virtual std::span<const std::uint32_t> choice() const = 0;
  /// For readers whose next events depend on it: the program has learned that a request is done, the
  /// number-th that this rank has begun, counted from 0. Where nothing is said of a wait until the next
  /// event, all that it was for is done.
  virtual void learned(std::uint64_t /*number*/) {}
  /// Questions that found nothing before the event that next() gave, and since the one before.
  [[nodiscard]] virtual std::uint64_t polls() const = 0;
  /// The CPU time between those questions, which is no part of computed().
  [[nodiscard]] virtual Gaps gaps() const { return {}; }
  /// Events may be of several threads. False: all are of one.
  [[nodiscard]] virtual bool has_threads() const { return false; }
  /// Whose the event is that next() gave. The first one that recorded anything is usually 0; any numbers may
  /// follow.
  [[nodiscard]] virtual std::uint32_t thread() const { return 0; }
  /// The name of Event::call.
  [[nodiscard]] virtual std::string_view call(std::uint16_t number) const = 0;
  /// The place that Event::site names: the object's file name and the offset of the call in it, as in
  /// "jacobi+0x12a4". Empty: it is not known.
  [[nodiscard]] virtual std::string_view site(std::uint32_t /*number*/) const { return {}; }
  /// Why the events end before the program does: "signal 11 (Segmentation fault)", or kCut if that is not
  /// known. Empty if they do not.
  [[nodiscard]] virtual std::string_view cut() const = 0;
  /// How many events there are in all, where the recording says so.
  [[nodiscard]] virtual std::optional<std::uint64_t> events() const { return std::nullopt; }
  [[nodiscard]] virtual const std::string& error() const = 0;
};

/// The recording of one rank as its recorder left it: what finish() returned, or if that is nothing, the path
/// of its file. Neither: there is none, and the rank counts as cut before its first event.
struct Part {
  std::string bytes;
  std::string path;
};

/// The name of one rank's part beside a recording.
std::string part_path(const std::string& path, int rank);

/// Tells a part's file from another one of the same name: of an earlier run, or on another host.
struct PartMark {
  std::uint64_t bytes = 0;     // of the file
  std::uint64_t checksum = 0;  // of its last bytes, 64 KiB of them at most

  friend bool operator==(const PartMark&, const PartMark&) = default;
};
/// Nothing: there is no such file, or it cannot be read.
std::optional<PartMark> mark_of_part(const std::string& path);

/// A recording, all ranks. Readers share nothing but its bytes, which stay until the last of them is gone.
class Recording {
 public:
  /// From one file, which may be an index of parts beside it; or, where a run has not come to its end, from
  /// the parts of its ranks beside it: then there is a fact "unfinished".
  static Result<Recording> open(const std::string& path);
  /// From the contents of one file. name: for messages.
  static Result<Recording> from_bytes(std::string bytes, const std::string& name);
  /// In rank order. The description's version and number of ranks follow from them.
  static Result<Recording> from_parts(Description description, std::vector<Part> parts);
  /// All of them in memory.
  static Result<Recording> from_parts(Description description, std::vector<std::string> parts);

  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

  [[nodiscard]] const Description& description() const;
  /// Where the file ends before its index, in words, or why the first part that its index names is not there;
  /// empty: it is whole. Ranks may be cut all the same.
  [[nodiscard]] const std::string& breaks_off() const;
  /// Bytes behind the end of the file's recording, which belong to something else.
  [[nodiscard]] std::uint64_t beyond() const;
  /// The parts of all ranks that have one are files beside one of that name.
  [[nodiscard]] bool is_in_parts(const std::string& path) const;
  /// XXH3 (64 bits, no seed) of the whole file, which is read for it. Nothing: it is several files, or it
  /// cannot be read.
  [[nodiscard]] std::optional<std::uint64_t> checksum() const;
  /// rank: below description().ranks.
  [[nodiscard]] std::unique_ptr<Reader> read(int rank) const;
  /// Size of one rank's part in bytes.
  [[nodiscard]] std::uint64_t bytes(int rank) const;
  /// Writes the one file of all ranks.
  [[nodiscard]] Result<void> write(const std::string& path) const;
  /// Writes an index of the parts beside it, which stay where they are: what is_in_parts(path) says.
  [[nodiscard]] Result<void> write_index(const std::string& path) const;

 private:
  struct Impl;
  explicit Recording(std::unique_ptr<Impl> impl);
  static Result<Recording> from_file(Source source);
  static Result<Recording> from_parts_beside(const std::string& path);
  using Write = std::function<void(std::string_view bytes)>;
  using WriteBlocks = std::function<Result<std::string>(const Write& write)>;
  [[nodiscard]] Result<void> write_file(const std::string& path, Column index_column,
                                        const WriteBlocks& write_blocks) const;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace offramp::recording
