// Records one rank's calls, in memory or into a file beside it. Used by one thread at a time; the calls on
// the path of messages allocate nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lib/recording/event.hpp"

namespace offramp::recording {

struct RecorderOptions {
  int rank = 0;
  int ranks = 1;
  std::span<const char* const> calls;         // names of the functions that Event::call counts
  std::size_t limit = std::size_t{64} << 20;  // bytes in memory; what is beyond goes to the file
  std::string spill;  // path of this rank's own file; empty: beyond the limit the recording ends
  bool keep = false;  // the file is written from the beginning, block by block: a crash leaves it readable
};

class Recorder {
 public:
  explicit Recorder(const RecorderOptions& options);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Takes an event, and returns the number of the request that it begins (whatever if it begins none).
  std::uint32_t add(const Event& event);
  /// How many requests were begun so far: the newest has this number, and distance 1.
  [[nodiscard]] std::uint32_t requests() const;
  /// For Event::extra and lists of requests.
  [[nodiscard]] std::uint64_t distance(std::uint32_t request) const;

  /// A list for the next event; equal ones have one number. 0: empty.
  std::uint32_t list(std::span<const std::uint64_t> values);

  /// A receive, claim or probe with MPI_ANY_SOURCE or MPI_ANY_TAG is counted when it is added: the first has
  /// number 1. What the newest one took, or an earlier one.
  [[nodiscard]] std::uint32_t wildcards() const;
  void matched(std::uint32_t wildcard, Match match);
  /// The positions in the list of the wait that was added last (kAny, kSome).
  void chosen(std::span<const std::uint32_t> positions);
  /// A question that found nothing.
  void polled(std::uint16_t call);
  /// CPU time of the program before the next event. Small times are added up until they matter.
  void computed(std::uint64_t nanoseconds);

  /// Writes what there is to the file, as before a crash. Async-signal-safe if the file is open.
  void flush();
  /// Ends the recording, and returns the blocks that are in memory, or nothing where all are in the file.
  std::string finish();
  /// Nothing of the program is missing.
  [[nodiscard]] bool complete() const;
  /// Of the whole recording so far.
  [[nodiscard]] std::uint64_t events() const;
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace offramp::recording
