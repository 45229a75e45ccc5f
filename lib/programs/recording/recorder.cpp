// Events go to the EventWriter. Data beside them (gaps, times, matches, choices) go to one column each, with
// entries for some events and the number of events skipped. A full column closes its block. flush() writes
// all open blocks as a tail after the end of the file, which the next closed block overwrites. So the part of
// a process that is killed is readable up to the last flush.
#include "lib/programs/recording/recorder.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/programs/recording/native_run.hpp"
#include "lib/programs/recording/time_code.hpp"

namespace offramp::recording {
namespace {

constexpr std::array kBeside = {Column::kThreads, Column::kGaps,    Column::kTimes,   Column::kBlocked,
                                Column::kPolls,   Column::kMatches, Column::kChoices, Column::kDurations};

std::uint64_t difference(std::int32_t value, std::int32_t last) {
  return zigzag(static_cast<std::uint64_t>(std::int64_t{value} - last));
}

}  // namespace

Recorder::Recorder(const RecorderOptions& options) : Recorder(options, EventWriter(options.calls)) {}

Recorder::Recorder(const RecorderOptions& options, Recorder&& finished)
    : Recorder(options, std::move(finished.writer_)) {}

Recorder::Recorder(const RecorderOptions& options, EventWriter&& writer)
    : writer_(std::move(writer)),
      rank_(static_cast<std::uint32_t>(options.rank)),
      store_({kVersion, rank_, static_cast<std::uint32_t>(options.ranks)}, options.file, options.limit) {}

const EventWriter::Entry* Recorder::add_other(const Event& event) {
  // Requests are still numbered after the end: the program goes on using them.
  if (ended_) {
    unwritten_ = {event, 0, begins_request(event), is_wildcard(event), is_choice(event)};
    return &unwritten_;
  }
  const EventWriter::Entry* entry = writer_.add(event);
  if (writer_.full()) close_events(events_ + 1);  // closes the block but keeps the dictionary's memory
  return entry;
}

std::uint32_t Recorder::list(std::span<const std::uint64_t> values) {
  // The format has no longer lists.
  if (values.size() > kMostValues) end(events_);
  return ended_ ? 0 : writer_.list(values);
}

Recorder::Beside& Recorder::open(Column column, std::uint64_t event) {
  Beside& beside = this->side_column(column);
  if (beside.payload.size() == 0) {
    beside.first_event = event;
    beside.match = {};
    // Matches count wildcards instead of events.
    beside.last = column == Column::kMatches ? 0 : event;
  }
  return beside;
}

Payload& Recorder::open_at_event(Column column, std::uint64_t event) {
  Beside& beside = open(column, event);
  beside.payload.put(event - std::exchange(beside.last, event));
  return beside.payload;
}

std::uint64_t Recorder::time_event() {
  lasting_.push_back({events_ - 1, std::nullopt});
  return first_lasting_ + lasting_.size() - 1;
}

void Recorder::lasted(std::uint64_t ticket, std::uint64_t nanoseconds) {
  lasting_[ticket - first_lasting_].nanoseconds = nanoseconds;
  // Threads may end their calls in another order than they began.
  for (; !lasting_.empty() && lasting_.front().nanoseconds; lasting_.pop_front(), ++first_lasting_) {
    const auto& [event, lasts] = lasting_.front();
    if (*lasts == 0 || ended_) continue;
    open_at_event(Column::kDurations, event).put(time_code(*lasts));
    commit(Column::kDurations);
  }
}

void Recorder::commit(Column column) {
  Beside& beside = this->side_column(column);
  beside.payload.commit();
  if (beside.payload.size() >= kPayloadTarget) close(column);
}

std::uint64_t Recorder::Sum::take_code() {
  const std::uint64_t time = std::exchange(time_, 0) + remainder_;
  const std::uint64_t code = time_code(time);
  // Codes round down, so this is not negative.
  remainder_ = time - time_of_code(code);
  return code;
}

void Recorder::switch_to(std::uint32_t thread) {
  thread = std::min(thread, kMostThreads - 1);
  if (thread == thread_) return;
  // Only threaded programs need it.
  others_.resize(std::max<std::size_t>(others_.size(), std::max(thread, thread_) + std::size_t{1}));
  others_[thread_] = std::exchange(since_, others_[thread]);
  thread_ = thread;
  beside_ =
      thread_ != noted_thread_ || since_.polls > 0 || since_.computing.matters() || since_.blocked.matters();
}

void Recorder::note_beside() {
  beside_ = false;
  if (ended_) return;
  if (noted_thread_ != thread_) {
    noted_thread_ = thread_;
    open_before_event(Column::kThreads).put(std::uint64_t{thread_} + 1);
    commit(Column::kThreads);
  }
  if (const std::uint64_t polls = std::exchange(since_.polls, 0); polls > 0) {
    open_before_event(Column::kPolls).put(polls);
    commit(Column::kPolls);
  }
  if (since_.computing.matters()) {
    open_before_event(Column::kTimes).put(since_.computing.take_code());
    commit(Column::kTimes);
  }
  if (since_.blocked.matters()) {
    open_before_event(Column::kBlocked).put(since_.blocked.take_code());
    commit(Column::kBlocked);
  }
  if (since_.brief_gaps.matters() || since_.longer_gaps.matters()) {
    Payload& payload = open_before_event(Column::kGaps);
    payload.put(since_.brief_gaps.take_code());
    payload.put(since_.longer_gaps.take_code());
    commit(Column::kGaps);
  }
}

void Recorder::matched(std::uint32_t wildcard, Match match) {
  if (ended_) return;
  Beside& beside = open(Column::kMatches);
  // The usual match is that of the next wildcard: difference 0.
  beside.payload.put(zigzag(wildcard - std::exchange(beside.last, wildcard) - 1));
  beside.payload.put(difference(match.source, beside.match.source));
  beside.payload.put(difference(match.tag, beside.match.tag));
  beside.match = match;
  commit(Column::kMatches);
}

void Recorder::chosen(std::span<const std::uint32_t> positions) {
  // A choice without a new wait belongs to an event that was not recorded.
  if (ended_ || noted_choices_ == choices_) return;
  const std::uint64_t skipped = choices_ - std::exchange(noted_choices_, choices_) - 1;
  Payload& payload = open(Column::kChoices).payload;
  // The lowest bit says whether a number of skipped waits follows.
  payload.put(positions.size() << 1U | static_cast<std::uint64_t>(skipped > 0));
  if (skipped > 0) payload.put(skipped);
  for (const std::uint32_t position : positions) payload.put(position);
  commit(Column::kChoices);
}

BlockHeader Recorder::header(Column column) const {
  const Beside& beside = columns_[static_cast<std::size_t>(column)];
  return {column, rank_, beside.sequence, beside.first_event, 0, 0};
}

// In both functions, a signal handler that flushes in the middle writes the block twice or not at all.
// Readers skip duplicate blocks.
void Recorder::close_events(std::uint64_t events) {
  writer_.close();
  if (writer_.payload().size() == 0) return;
  const bool flushed = store_.has_tail();
  const bool goes_on = store_.append(header(Column::kEvents), writer_.payload().bytes());
  writer_.clear();
  ++side_column(Column::kEvents).sequence;
  side_column(Column::kEvents).first_event = events;
  if (flushed) flush();  // rewrites the tail that the block has overwritten
  if (!goes_on) end(events);
}

void Recorder::close(Column column) {
  Beside& beside = this->side_column(column);
  if (beside.payload.size() == 0) return;
  const bool flushed = store_.has_tail();
  const bool goes_on = store_.append(header(column), beside.payload.bytes());
  beside.payload.clear();
  ++beside.sequence;
  if (flushed) flush();  // rewrites the tail that the block has overwritten
  if (!goes_on) end(events_);
}

void Recorder::close_all(std::uint64_t events) {
  // Data beside events comes first: a file cut in between lacks events rather than their data.
  for (const Column column : kBeside) close(column);
  close_events(events);
}

void Recorder::end(std::uint64_t events) {
  const bool all_kept = finished_ && store_.problem().empty();  // a limit reached in finish() loses nothing
  if (all_kept || std::exchange(ended_, true)) return;
  last_event_ = events;
  close_all(events);
  // Every later event then takes the path that checks for the end.
  writer_.predict_nothing();
}

void Recorder::flush(std::string_view reason) {
  if (finished_ || !store_.in_file()) return;
  // A signal handler must not change errno.
  const int error = errno;
  store_.drop_tail();
  if (!reason.empty()) {  // first, because damaged memory may stop the rest
    std::array<std::uint8_t, 3 * kMostVarintBytes> end;
    // Encoded on the stack: the heap may be damaged or locked.
    const auto head = {events(), std::uint64_t{kUntimely}, std::uint64_t{reason.size()}};
    std::uint8_t* at = end.data();
    for (const std::uint64_t number : head) at = put_varint(at, number);
    store_.append_tail({Column::kEnd, rank_, 0, events(), 0, 0}, {end.data(), at}, byte_span(reason));
  }
  for (const Column column : kBeside) {
    const ByteSpan payload = columns_[static_cast<std::size_t>(column)].payload.bytes();
    if (!payload.empty()) store_.append_tail(header(column), payload, {});
  }
  // Before the payload: if the copy is closed in between, the events are in both, not in neither.
  const EventWriter::OpenCopy copy = writer_.open_copy();
  if (const ByteSpan payload = writer_.payload().bytes(); !payload.empty())
    store_.append_tail(header(Column::kEvents), payload, ByteSpan(copy.token).first(copy.size));
  errno = error;
}

std::string Recorder::finish(const NativeRun* native) {
  if (std::exchange(finished_, true)) return {};
  close_all(events_);
  Payload payload;
  if (native != nullptr && !ended_) {
    put_native_run(payload, *native);
    payload.commit();
    store_.append({Column::kNativeRun, rank_, 0, events(), 0, 0}, payload.bytes());
    payload.clear();
  }
  payload.put(events());
  payload.put(complete() ? kComplete : kLimited);
  payload.commit();
  store_.append({Column::kEnd, rank_, 0, events(), 0, 0}, payload.bytes());
  return store_.release();
}

std::uint64_t Recorder::bytes() const {
  std::uint64_t bytes = store_.bytes() + writer_.payload().size();
  for (const Column column : kBeside) bytes += columns_[static_cast<std::size_t>(column)].payload.size();
  return bytes;
}

}  // namespace offramp::recording
