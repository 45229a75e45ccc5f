// A block is decoded on its own, with symbols (different events), a window of the last kWindow symbols for
// copies, and its own lists and names. Names are also numbered across blocks. A list of all ranks, which a
// communicator of the whole program has, is recognised while it is decoded and not stored (all_ranks()).
#include "lib/programs/recording/event_reader.hpp"

#include <algorithm>

#include "lib/programs/recording/all_ranks.hpp"

namespace offramp::recording {
namespace {

// Events. Short blocks need no more.
constexpr std::size_t kFirstHistory = 256;
constexpr std::size_t kFewRanks = 64;  // lists of all ranks up to this length are stored like other lists

/// The length of the next list if it consists of all ranks in order and is longer than kFewRanks; moves the
/// cursor past it. Otherwise 0, without moving the cursor.
std::size_t read_all_ranks(Cursor& cursor) {
  Cursor ahead = cursor;
  const std::uint64_t count = ahead.number(kMostOfAllRanks, "more than all ranks");
  std::uint64_t next = 0;  // index into the list, equal to the value
  while (next < count && ahead.problem() == nullptr) {
    const std::uint64_t head = ahead.number();
    const std::uint64_t group = head >> 1U;
    if (group == 0 || group > count - next) return 0;
    const bool is_run = (head & 1U) != 0;
    // All ranks in order: the first difference is 0, and all others are 1.
    for (std::uint64_t i = 0; i < (is_run ? 1 : group); ++i) {
      if (unzigzag(ahead.number()) != (next + i == 0 ? 0U : 1U)) return 0;
    }
    if (is_run && next == 0 && group > 1) return 0;  // zeros
    next += group;
  }
  if (ahead.problem() != nullptr || count <= kFewRanks) return 0;
  cursor = ahead;
  return static_cast<std::size_t>(count);
}

}  // namespace

void EventReader::begin(ByteSpan payload) {
  cursor_ = Cursor(payload);
  token_ = 0;
  deltas_ = {};
  symbols_.clear();
  position_ = copy_left_ = distance_ = 0;
  values_.clear();
  lists_.clear();
  block_names_.clear();
}

const Event* EventReader::next() {
  while (copy_left_ == 0) {
    token_ = cursor_.position();
    if (cursor_.empty()) return nullptr;
    const std::uint64_t head = cursor_.number();
    const std::uint64_t value = head >> 2U;
    const std::uint64_t before = position_;
    switch (static_cast<Token>(head & 3U)) {
      case Token::kKnown:
        if (value >= symbols_.size()) {
          cursor_.fail("it repeats an event that it does not have");
        } else {
          remember(static_cast<std::uint16_t>(symbols_.size() - 1 - value));
        }
        break;
      case Token::kCopy:
        begin_copy(value);
        break;
      case Token::kNew:
        add_event(value);
        break;
      case Token::kDefine:
        define(value);
        break;
    }
    if (cursor_.problem() != nullptr) return nullptr;
    // Definitions add no event, and reading continues.
    if (position_ != before) return &symbols_[symbol_before(1)];
  }
  --copy_left_;
  remember(symbol_before(distance_));
  return &symbols_[symbol_before(1)];
}

void EventReader::remember(std::uint16_t symbol) {
  // The size is a power of two, so that a mask replaces the remainder.
  if (position_ == history_.size() && position_ < kWindow)
    history_.resize(std::max(kFirstHistory, 2 * history_.size()));
  history_[position_++ & (history_.size() - 1)] = symbol;
}

void EventReader::begin_copy(std::uint64_t count) {
  const std::uint64_t distance = cursor_.number();
  // 0 repeats the last distance.
  if (distance != 0) distance_ = distance;
  if (count == 0) return cursor_.fail("a copy has no events");
  // Checked once for the whole copy: position_ only grows.
  if (distance_ == 0 || distance_ > std::min<std::uint64_t>(position_, kWindow))
    return cursor_.fail("a copy begins before the block or its window");
  copy_left_ = count;
}

void EventReader::add_event(std::uint64_t kind) {
  if (kind >= static_cast<std::uint64_t>(EventKind::kCount))
    return cursor_.fail("an event has a kind that does not exist");
  if (symbols_.size() == kMostSymbols) return cursor_.fail("it has too many different events");
  Event event = deltas_.get(cursor_, static_cast<EventKind>(kind));
  if (cursor_.problem() != nullptr) return;
  if (event.list > lists_.size() || event.second_list > lists_.size())
    return cursor_.fail("an event has a list that was not defined");
  // Sites count from 1.
  if (event.call >= block_names_.size() || event.site > block_names_.size())
    return cursor_.fail("an event has a name that was not defined");
  // From the block's numbers to those of the whole rank.
  event.call = block_names_[event.call];
  if (event.site != 0) event.site = block_names_[event.site - 1] + std::uint32_t{1};
  symbols_.push_back(event);
  remember(static_cast<std::uint16_t>(symbols_.size() - 1));
}

void EventReader::define(std::uint64_t what) {
  if (what == static_cast<std::uint64_t>(Definition::kList)) return add_list();
  if (what == static_cast<std::uint64_t>(Definition::kName)) return add_name();
  cursor_.fail("it has a definition of an unknown kind");
}

void EventReader::add_list() {
  if (const std::size_t count = read_all_ranks(cursor_); count > 0)
    return lists_.push_back({List::kAllRanks, count});
  const std::size_t begin = values_.size();
  get_list(cursor_, values_);
  if (values_.size() > kMostBlockValues) cursor_.fail("its lists are too long");
  lists_.push_back({begin, values_.size() - begin});
}

void EventReader::add_name() {
  const std::string_view name = text_of(cursor_.bytes(cursor_.number()));
  if (cursor_.problem() != nullptr) return;
  auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    if (names_.size() > UINT16_MAX) return cursor_.fail("the recording has too many names");
    names_.emplace_back(name);
    found = numbers_.emplace(names_.back(), static_cast<std::uint16_t>(names_.size() - 1)).first;
  }
  block_names_.push_back(found->second);
}

std::span<const std::uint64_t> EventReader::list(std::uint32_t number) const {
  if (number == 0 || number > lists_.size()) return {};
  const List& list = lists_[number - 1];
  if (list.begin == List::kAllRanks) return all_ranks(list.count);
  return {values_.data() + list.begin, list.count};
}

std::string_view EventReader::name(std::uint32_t number) const {
  return number < names_.size() ? std::string_view(names_[number]) : std::string_view();
}

}  // namespace offramp::recording
