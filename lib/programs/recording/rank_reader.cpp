// Columns beside the events are sparse: each entry contains the number of events, wildcards, or choices that
// it skips. RankReader counts these, and reads a column when the count is reached.
#include "lib/programs/recording/rank_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lib/base/printable.hpp"
#include "lib/programs/recording/time_code.hpp"

namespace offramp::recording {
namespace {

/// An upper bound of the events of a rank: one per microsecond for 19 hours. A few bytes could claim more,
/// because repetitions are stored once.
constexpr std::uint64_t kMostEvents = std::uint64_t{1} << 36U;

// Adds a difference to the last value, within 32 bits.
std::int32_t add(Cursor& cursor, std::int32_t last) {
  const auto sum =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(std::int64_t{last}) + unzigzag(cursor.number()));
  if (sum >= INT32_MIN && sum <= INT32_MAX) return static_cast<std::int32_t>(sum);
  cursor.fail("a rank or a tag is out of range");
  return 0;
}

}  // namespace

template <std::size_t Values>
void SparseColumn<Values>::read() {
  if (!entries_.advance()) {
    event_ = kNever;
    return;
  }
  Cursor& cursor = entries_.cursor();
  // Numbers are relative within a block and absolute at its beginning.
  const std::uint64_t last = entries_.begins_block() ? entries_.block().first_event + 1 : event_;
  const std::uint64_t event = last + cursor.number();
  for (std::uint64_t& value : values_) value = cursor.number(most_, "a value is out of range");
  if (event < last || (begun_ && event <= event_)) cursor.fail("its entries are not in order");
  begun_ = true;
  event_ = cursor.problem() == nullptr ? event : kNever;
  if (cursor.problem() != nullptr) entries_.advance();  // reports the position
}

RankReader::RankReader(std::shared_ptr<const RankBlocks> blocks, std::uint32_t rank)
    : blocks_(std::move(blocks)),
      rank_(rank),
      events_(*blocks_, rank, Column::kEvents, error_),
      computing_(*blocks_, rank, Column::kTimes, kMostTimeCode, error_),
      blocked_(*blocks_, rank, Column::kBlocked, kMostTimeCode, error_),
      durations_(*blocks_, rank, Column::kDurations, kMostTimeCode, error_),
      poll_counts_(*blocks_, rank, Column::kPolls, UINT64_MAX, error_),
      gap_times_(*blocks_, rank, Column::kGaps, kMostTimeCode, error_),
      threads_(*blocks_, rank, Column::kThreads, kMostThreads, error_),
      matches_(*blocks_, rank, Column::kMatches, error_),
      choices_(*blocks_, rank, Column::kChoices, error_) {
  read_end();
}

void RankReader::read_end() {
  // At most one entry is expected; another reader would be kept open for it.
  EntryReader end(*blocks_, rank_, Column::kEnd, error_);
  if (end.advance()) {
    Cursor& cursor = end.cursor();
    const std::uint64_t events = cursor.number();
    const std::uint64_t kind = cursor.number(kUntimely, "the reason of its end is not known");
    if (kind == kComplete) cut_.clear();
    if (kind == kUntimely)
      cut_ = printable(text_of(cursor.bytes(cursor.number(kLongestReason, "its reason is too long"))));
    // Beyond a limit, the number of events is that of the recorded ones only.
    if (kind != kLimited) end_ = events;
    // Reports a problem of this entry.
    end.advance();
    if (end_ && events > kMostEvents && error_.empty())
      error_ = fmt::format("{}: rank {} claims {} events, which exceeds the maximum ({})",
                           blocks_->source->name(), rank_, events, kMostEvents);
  }
}

const Event* RankReader::next_event() {
  const Event* event = reader_.next();
  while (event == nullptr) {
    if (reader_.problem() != nullptr) events_.fail(reader_.position(), reader_.problem());
    if (!events_.next()) return nullptr;
    // Blocks are numbered without gaps: otherwise data beside events would belong to wrong ones.
    if (events_.header().first_event != count_) {
      events_.fail(
          0, fmt::format("it begins with event {} instead of {}", events_.header().first_event, count_));
      return nullptr;
    }
    reader_.begin(events_.payload());
    event = reader_.next();
  }
  return event;
}

bool RankReader::next(Event& event) {
  polls_ = 0;
  gaps_ = {};
  choice_.clear();
  wildcard_ = false;
  if (!error_.empty()) return false;
  if (end_ == count_ && !cut_.empty()) return false;  // data beyond is incomplete
  const Event* next = next_event();
  if (next != nullptr && count_ >= end_.value_or(kMostEvents)) {
    error_ = fmt::format("{}: rank {} has more events than its end states, which is {}",
                         blocks_->source->name(), rank_, end_.value_or(kMostEvents));
    return false;
  }
  if (next == nullptr) {
    if (error_.empty() && end_ && *end_ != count_ && cut_.empty())
      error_ = fmt::format("{}: rank {} has {} events, but its end states {}", blocks_->source->name(), rank_,
                           count_, *end_);
    return false;
  }
  ++count_;
  // Columns beside events count events from 1.
  times_ = {time_of_code(computing_.at(count_)[0]), time_of_code(blocked_.at(count_)[0]),
            time_of_code(durations_.at(count_)[0])};
  polls_ = poll_counts_.at(count_)[0];
  const auto [brief, longer] = gap_times_.at(count_);
  gaps_ = {time_of_code(brief), time_of_code(longer)};
  // 0 means the same thread as before.
  if (const std::uint64_t other = threads_.at(count_)[0]; other > 0)
    thread_ = static_cast<std::uint32_t>(other - 1);
  wildcard_ = is_wildcard(*next);
  if (wildcard_) ++wildcards_;
  if (is_choice(*next)) read_choice(std::max<std::uint64_t>(1, list(next->list).size()));
  if (!error_.empty()) return false;
  event = *next;
  return true;
}

std::span<const std::uint64_t> RankReader::list(std::uint32_t number) const {
  return reader_.list(number);
}

/// most: the number of positions.
void RankReader::read_choice(std::uint64_t most) {
  Cursor& cursor = choices_.cursor();
  if (!choices_to_skip_) {
    if (!choices_.advance()) return;
    const std::uint64_t head = cursor.number();
    choice_size_ = head >> 1U;
    choices_to_skip_ = (head & 1U) != 0 ? cursor.number() : 0;
  }
  // The wait has no choice: it never completed.
  if (*choices_to_skip_ > 0) {
    --*choices_to_skip_;
    return;
  }
  choices_to_skip_.reset();
  // Each position takes a byte at least.
  if (choice_size_ > cursor.left()) cursor.fail("a choice is longer than its block");
  for (std::uint64_t i = 0; i < choice_size_ && cursor.problem() == nullptr; ++i)
    choice_.push_back(static_cast<std::uint32_t>(
        cursor.number(most - 1, "a choice is not one of the requests that were waited for")));
  if (cursor.problem() != nullptr) choices_.advance();  // reports the position
}

std::optional<std::pair<std::uint64_t, Match>> RankReader::next_match() {
  if (!matches_.advance()) return std::nullopt;
  // Differences begin anew in each block, as all blocks can be decoded alone.
  if (matches_.begins_block()) {
    matched_ = 0;
    match_ = {};
  }
  Cursor& cursor = matches_.cursor();
  // Entries are in the order of matching, not of the receives.
  matched_ += unzigzag(cursor.number()) + 1;
  match_.source = add(cursor, match_.source);
  match_.tag = add(cursor, match_.tag);
  if (cursor.problem() == nullptr) return std::pair{matched_, match_};
  matches_.advance();  // reports the position
  return std::nullopt;
}

// Matches are only read when asked for; not all users need them.
std::optional<Match> RankReader::match() {
  if (!wildcard_) return std::nullopt;
  // Entries of earlier wildcards are not needed any more.
  early_.erase(early_.begin(), early_.lower_bound(wildcards_));
  if (const auto found = early_.find(wildcards_); found != early_.end()) return found->second;
  while (const auto entry = next_match()) {
    if (entry->first >= wildcards_) early_.emplace(*entry);
    if (entry->first == wildcards_) return entry->second;
  }
  return std::nullopt;
}

}  // namespace offramp::recording
