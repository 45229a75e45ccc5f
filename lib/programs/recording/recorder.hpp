// Records one rank's calls, in memory or to a file. Used by one thread at a time; switch_to() names the
// thread. Functions on the path of messages do not allocate.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/programs/recording/event.hpp"
#include "lib/programs/recording/event_writer.hpp"
#include "lib/programs/recording/reader.hpp"
#include "lib/programs/recording/store.hpp"

namespace offramp::recording {

/// How a rank is recorded. calls must outlive the recorder.
struct RecorderOptions {
  int rank = 0;
  int ranks = 1;
  std::span<const char* const> calls;         // names of the functions to which Event::call refers
  std::string file;                           // this rank's part, written block by block; empty: in memory
  std::size_t limit = std::size_t{64} << 20;  // bytes in memory at which the recording ends
};

/// Owns the blocks until finish(). Errors never stop the program: they end the recording, see problem().
class Recorder {
 public:
  /// The names in options.calls must outlive the recorder.
  explicit Recorder(const RecorderOptions& options);
  /// Reuses the memory and the names of a finished recorder. For many ranks in sequence, where allocation
  /// takes longer than recording. Only finish() may have been called on `finished`, and nothing afterwards.
  Recorder(const RecorderOptions& options, Recorder&& finished);
  Recorder& operator=(Recorder&&) = delete;

  /// Adds an event and returns the number of the request that it begins; any value if it begins none.
  [[gnu::always_inline]] std::uint32_t add(const Event& event) {
    if (beside_) [[unlikely]]
      note_beside();
    const EventWriter::Entry* entry = writer_.match_prediction(event);
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
  /// The number of requests begun so far, which is the number of the newest. Its distance is 1.
  [[nodiscard]] std::uint32_t requests() const { return requests_; }
  /// For Event::extra and lists of requests.
  [[nodiscard]] std::uint64_t distance(std::uint32_t request) const { return requests_ - request + 1; }

  /// A list for the next event only: each block numbers its lists from the start. 0: empty.
  std::uint32_t list(std::span<const std::uint64_t> values);

  /// For Event::site: the number of a call site without one so far. It stays valid.
  std::uint32_t site(std::string_view name) { return writer_.site(name); }

  /// Receives, claims, and probes with MPI_ANY_SOURCE or MPI_ANY_TAG are counted when they are added; the
  /// first has number 1. matched() records the match of the newest or an earlier one.
  [[nodiscard]] std::uint32_t wildcards() const { return wildcards_; }
  /// Matches may come in any order.
  void matched(std::uint32_t wildcard, Match match);
  /// The completed positions in the list of the last wait (kAny, kSome).
  void chosen(std::span<const std::uint32_t> positions);
  /// Subsequent events belong to this thread; the first one is 0. Each thread has its own polls and CPU time.
  /// Threads beyond kMostThreads count as one.
  void switch_to(std::uint32_t thread);
  /// A failed poll.
  void polled(std::uint16_t /*call*/) {
    ++since_.polls;
    beside_ = true;
  }
  /// The time of the program before the next event: see Times. Short times are added up until they matter.
  void passed(std::uint64_t computing, std::uint64_t blocked) {
    since_.computing.add(computing);
    since_.blocked.add(blocked);
    beside_ = beside_ || since_.computing.matters() || since_.blocked.matters();
  }
  /// The newest event begins a call whose duration lasted() gives later. Returns its ticket.
  std::uint64_t time_event();
  /// nanoseconds: 0 if the event does not last.
  void lasted(std::uint64_t ticket, std::uint64_t nanoseconds);
  /// The time between failed polls, which is not passed to passed().
  void add_poll_gaps(const Gaps& gaps) {
    since_.brief_gaps.add(gaps.brief);
    since_.longer_gaps.add(gaps.longer);
  }

  /// Writes the open blocks after the finished ones, if there is a file. Async-signal-safe. reason: why the
  /// program ends here, at most kLongestReason bytes; empty if it continues.
  void flush(std::string_view reason = {});
  /// Ends the recording. native: this rank's run; null for programs that did not run. Returns the blocks in
  /// memory, or an empty text if all are in the file: see Part. If writing to the file failed, the blocks
  /// follow its contents.
  std::string finish(const NativeRun* native = nullptr);
  /// Returns true if the file contains at least the beginning of the recording.
  [[nodiscard]] bool has_written() const { return store_.bytes_in_file() > 0; }
  /// Returns true if the recording is complete so far.
  [[nodiscard]] bool complete() const { return !ended_; }
  /// The file that it wrote to.
  [[nodiscard]] const CreatedFile& created() const { return store_.created(); }
  /// The first problem with the file, or empty.
  [[nodiscard]] const std::string& problem() const { return store_.problem(); }
  /// The number of events in the whole recording so far.
  [[nodiscard]] std::uint64_t events() const { return ended_ ? last_event_ : events_; }
  /// The bytes of all blocks, in the file, in memory, and still open.
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  Recorder(const RecorderOptions& options, EventWriter&& writer);

  /// A sum of times that are written in two bytes. The rounding error is carried to the next entry.
  class Sum {
   public:
    /// Adds to the time since the last entry.
    void add(std::uint64_t nanoseconds) { time_ += nanoseconds; }
    /// True if the sum is worth an entry of its own.
    [[nodiscard]] bool matters() const { return time_ >= kLeastTime; }
    /// Returns the time code of the sum. Keeps the remainder.
    std::uint64_t take_code();

   private:
    static constexpr std::uint64_t kLeastTime = 1000;  // nanoseconds
    std::uint64_t time_ = 0;                           // since the last entry
    std::uint64_t remainder_ = 0;                      // rounding error of the last entry
  };
  /// A thread's activity since its last event.
  struct Since {
    Sum computing;
    Sum blocked;
    Sum brief_gaps;
    Sum longer_gaps;
    std::uint64_t polls = 0;
  };
  /// An event whose duration is not yet written. Durations are written in the order of events.
  struct Lasting {
    std::uint64_t event = 0;
    std::optional<std::uint64_t> nanoseconds;
  };
  /// The open block of a column beside the events.
  struct Beside {
    Payload payload;
    std::uint32_t sequence = 0;
    std::uint64_t first_event = 0;
    std::uint64_t last = 0;  // number of the event or wildcard of the last entry
    Match match;             // of the last entry
  };

  /// The unlikely path of add(): the event differs from the prediction.
  const EventWriter::Entry* add_other(const Event& event);
  /// Writes entries for the next event: thread, polls, and times that matter.
  void note_beside();
  /// Begins a block if none is open, for the next event.
  Beside& open(Column column) { return open(column, events_); }
  /// event: the number of the event to which the entry belongs.
  Beside& open(Column column, std::uint64_t event);
  /// Also writes the number of the entry's event.
  Payload& open_before_event(Column column) { return open_at_event(column, events_); }
  /// Events must come in order within a column.
  Payload& open_at_event(Column column, std::uint64_t event);
  /// Completes an entry.
  void commit(Column column);
  Beside& side_column(Column column) { return columns_[static_cast<std::size_t>(column)]; }
  /// The header of the column's open block.
  [[nodiscard]] BlockHeader header(Column column) const;
  /// events: the number recorded so far.
  void close_events(std::uint64_t events);
  /// Closes the open block, if there is one, and appends it.
  void close(Column column);
  /// Columns beside events first, so that a cut file has their data.
  void close_all(std::uint64_t events);
  /// The recording ends here, even if the program continues.
  void end(std::uint64_t events);

  EventWriter writer_;
  bool beside_ = false;  // data beside the events must be written before the next event
  bool ended_ = false;
  std::uint32_t requests_ = 0;
  std::uint32_t wildcards_ = 0;
  std::uint64_t choices_ = 0;
  std::uint64_t events_ = 0;
  Since since_;                // of this thread
  std::vector<Since> others_;  // by thread, if there are several
  std::uint32_t thread_ = 0;
  std::uint32_t noted_thread_ = 0;  // of the last event
  /// Waits with a choice up to the last entry.
  std::uint64_t noted_choices_ = 0;
  /// In the order of events. The front may still be running.
  std::deque<Lasting> lasting_;
  std::uint64_t first_lasting_ = 0;  // ticket
  std::uint64_t last_event_ = 0;     // where the recording ended
  std::uint32_t rank_;
  /// finish() was called.
  bool finished_ = false;
  BlockStore store_;
  std::array<Beside, kColumns> columns_;  // that of the events: its block's number and first event
  EventWriter::Entry unwritten_;          // the last event after the end
};

}  // namespace offramp::recording
