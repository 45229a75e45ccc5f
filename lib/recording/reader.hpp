// Reads recordings: what is in a file, and the events of each rank one after the other. Files are not
// trusted: everything is bounded and checked, and an error says where.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/recording/event.hpp"
#include "offramp/kernel/result.hpp"

namespace offramp::recording {

/// What a recording says of itself.
struct Description {
  int version = 0;
  int ranks = 0;
  std::vector<std::pair<std::string, std::string>> facts;  // "program", "arguments", "date", ...
};

/// The events of one rank, in program order. Memory is bounded whatever the length.
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
  /// Questions that found nothing before the event that next() gave, and since the one before.
  [[nodiscard]] virtual std::uint64_t polls() const = 0;
  /// The name of Event::call.
  [[nodiscard]] virtual std::string_view call(std::uint16_t number) const = 0;
  /// The recording ends here because it was cut (a crash, a limit), not because the program ended.
  [[nodiscard]] virtual bool cut() const = 0;
  [[nodiscard]] virtual const std::string& error() const = 0;
};

/// A recording, all ranks. Readers share nothing but the bytes, which must stay where they are.
class Recording {
 public:
  /// From one file, or, where a run has not come to its end, from the files of its ranks beside it.
  static Result<Recording> open(const std::string& path);
  /// From the parts that Recorder::finish() gave, in rank order.
  static Result<Recording> from_parts(Description description, std::vector<std::string> parts);

  Recording(Recording&&) noexcept;
  Recording& operator=(Recording&&) noexcept;
  ~Recording();

  [[nodiscard]] const Description& description() const;
  /// rank: below description().ranks.
  [[nodiscard]] std::unique_ptr<Reader> read(int rank) const;
  /// Size of one rank's part in bytes.
  [[nodiscard]] std::uint64_t bytes(int rank) const;
  /// Writes the one file of all ranks. Empty, or what went wrong.
  [[nodiscard]] std::string write(const std::string& path) const;

 private:
  struct Impl;
  explicit Recording(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace offramp::recording
