// Records one rank's calls, in memory or into a file beside it. Used by one thread at a time, which says so
// where there are several; the calls on the path of messages allocate nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/recording/event.hpp"
#include "lib/programs/recording/event_writer.hpp"
#include "lib/programs/recording/store.hpp"

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
  /// The names in options.calls stay where they are.
  explicit Recorder(const RecorderOptions& options);
  /// With the memory and the names of one that has finished: for many ranks one after the other, where to ask
  /// for memory takes longer than to record. Only finish() was, and nothing else is, done with that one.
  Recorder(const RecorderOptions& options, Recorder&& finished);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Takes an event, and returns the number of the request that it begins (whatever if it begins none).
  [[gnu::always_inline]] std::uint32_t add(const Event& event) {
    if (beside_) [[unlikely]]
      note_beside();
    const EventWriter::Entry* entry = writer_.take(event);
    if (entry == nullptr) [[unlikely]] {
      // A copy, so that the event itself need not be in memory.
      const Event other = event;
      entry = add_other(other);
    }
    ++events_;
    wildcards_ += entry->wildcard;
    choices_ += entry->choice;
    return requests_ += entry->begins;
  }
  /// How many requests were begun so far: the newest has this number, and distance 1.
  [[nodiscard]] std::uint32_t requests() const { return requests_; }
  /// For Event::extra and lists of requests.
  [[nodiscard]] std::uint64_t distance(std::uint32_t request) const { return requests_ - request + 1; }

  /// A list for the next event, and for no other: the numbers begin anew with each block. 0: empty.
  std::uint32_t list(std::span<const std::uint64_t> values);

  /// For Event::site: a place in the program that was not named before. Its number stays.
  std::uint32_t site(std::string_view name) { return writer_.site(name); }

  /// A receive, claim or probe with MPI_ANY_SOURCE or MPI_ANY_TAG is counted when it is added: the first has
  /// number 1. What the newest one took, or an earlier one.
  [[nodiscard]] std::uint32_t wildcards() const { return wildcards_; }
  void matched(std::uint32_t wildcard, Match match);
  /// The positions in the list of the wait that was added last (kAny, kSome).
  void chosen(std::span<const std::uint32_t> positions);
  /// What follows is another thread's; the first one is 0. Each has questions and CPU time of its own; those
  /// beyond kMostThreads count as one.
  void switch_to(std::uint32_t thread);
  /// A question that found nothing.
  void polled(std::uint16_t /*call*/) {
    ++since_.polls;
    beside_ = true;
  }
  /// CPU time of the program before the next event. Small times are added up until they matter.
  void computed(std::uint64_t nanoseconds) {
    since_.time.add(nanoseconds);
    beside_ = beside_ || since_.time.matters();
  }
  /// CPU time between questions that found nothing: not in computed().
  void asked_between(const Gaps& gaps) {
    since_.brief_gaps.add(gaps.brief);
    since_.longer_gaps.add(gaps.longer);
  }

  /// Writes what there is to the file, as before a crash. Async-signal-safe if the file is open.
  void flush();
  /// Ends the recording, and returns the blocks that are in memory, or nothing where all are in the file: see
  /// Part. Where the file could not be written to its end, they follow what is in it.
  std::string finish();
  /// There is a file with the beginning of the recording at least.
  [[nodiscard]] bool has_written() const { return store_.bytes_in_file() > 0; }
  /// Nothing of the program is missing.
  [[nodiscard]] bool complete() const { return !ended_; }
  /// What went wrong with the file, or empty.
  [[nodiscard]] const std::string& problem() const { return store_.problem(); }
  /// Of the whole recording so far.
  [[nodiscard]] std::uint64_t events() const { return ended_ ? last_event_ : events_; }
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  Recorder(const RecorderOptions& options, EventWriter&& writer);

  /// Of times that are written in two bytes: what they lack is part of the next one.
  class Sum {
   public:
    void add(std::uint64_t nanoseconds) { time_ += nanoseconds; }
    [[nodiscard]] bool matters() const { return time_ >= kLeastTime; }
    /// Its time code. What that lacks stays.
    std::uint64_t take();

   private:
    static constexpr std::uint64_t kLeastTime = 1000;  // nanoseconds
    std::uint64_t time_ = 0;                           // since the last entry
    std::uint64_t remainder_ = 0;                      // what the last entry could not hold
  };
  /// What a thread did since its last event.
  struct Since {
    Sum time;
    Sum brief_gaps;
    Sum longer_gaps;
    std::uint64_t polls = 0;
  };
  struct Beside {
    Payload payload;
    std::uint32_t sequence = 0;
    std::uint64_t first_event = 0;
    std::uint64_t last = 0;  // number of the event, or of the wildcard, that the last entry is for
    Match match;             // of the last entry
  };

  const EventWriter::Entry* add_other(const Event& event);
  void note_beside();
  /// Begins a block if there is none open.
  Beside& open(Column column);
  /// The same, and says which event the entry is for.
  Beside& open_before_event(Column column);
  /// What was put is whole.
  void commit(Column column);
  Beside& beside(Column column) { return columns_[static_cast<std::size_t>(column)]; }
  [[nodiscard]] BlockHeader header(Column column) const;
  /// events: so many are recorded.
  void close_events(std::uint64_t events);
  void close(Column column);
  void close_all(std::uint64_t events);
  /// The recording ends here, whatever else the program does.
  void end(std::uint64_t events);

  EventWriter writer_;
  bool beside_ = false;  // something has to be written before the next event
  bool ended_ = false;
  std::uint32_t requests_ = 0;
  std::uint32_t wildcards_ = 0;
  std::uint64_t choices_ = 0;
  std::uint64_t events_ = 0;
  Since since_;                // of this thread
  std::vector<Since> others_;  // by thread, where there are several
  std::uint32_t thread_ = 0;
  std::uint32_t noted_thread_ = 0;  // of the last event
  std::uint64_t noted_choices_ = 0;
  std::uint64_t last_event_ = 0;  // where the recording ended
  std::uint32_t rank_;
  bool has_file_;
  bool finished_ = false;
  BlockStore store_;
  std::array<Beside, kColumns> columns_;  // that of the events: its block's number and first event
  EventWriter::Entry unwritten_;          // the last event after the end
};

}  // namespace offramp::recording
