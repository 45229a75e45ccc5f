// The common case, an event equal to the predicted one, is inlined from the header. This file handles all
// others. Symbols, lists, and names are numbered per block, so that each block can be read alone.
//
// A hash table finds the beginning of a copy by the last three symbols (place_of_context()). It learns at
// most kLearnt positions of each copied sequence; the others can be found through the copy itself.
//
// A signal handler may read the committed payload and the open copy at any time. A copy is committed before
// it counts as closed, so that no event is missing from both.
#include "lib/programs/recording/event_writer.hpp"

#include <algorithm>

#include "offramp/kernel/random.hpp"

namespace offramp::recording {
namespace {

// Symbols. Doubled when needed, up to kMostSymbols.
constexpr std::uint32_t kFirstCapacity = 256;
constexpr std::size_t kContext = 3;  // symbols that determine where a copy may begin
// Bits of the table of contexts, which is cleared with each block.
constexpr unsigned kContextBits = 14;
/// Copies up to this length may need more bytes than their symbols one by one, so both are compared.
constexpr std::uint64_t kShortCopy = 4;
/// Runs of equal steps from this length on are identified by first value, count, and step.
constexpr std::size_t kLongRun = 64;
/// How many positions of a copy are learnt for later copies.
constexpr std::uint64_t kLearnt = 1024;

// A prediction that no event equals: its kind does not exist.
const EventWriter::Entry kNoEvent = [] {
  EventWriter::Entry entry;
  entry.event.kind = EventKind::kCount;
  return entry;
}();

// The order of words matters. The multiplier is 2^64 divided by the golden ratio.
std::uint64_t hash_of(std::span<const std::uint64_t> words) {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) hash = (hash ^ word ^ hash >> 32U) * 0x9e3779b97f4a7c15U;
  return splitmix_finaliser(hash);
}

std::uint32_t hash_of(const Event& event) {
  std::array<std::uint64_t, sizeof(Event) / 8> words;
  // Events have no padding, so equal events have equal words.
  std::memcpy(words.data(), &event, sizeof event);
  return static_cast<std::uint32_t>(hash_of(words));
}

}  // namespace

EventWriter::EventWriter(std::span<const char* const> calls)
    // Not initialised: a prediction only reads what has been written.
    : history_(std::make_unique_for_overwrite<std::uint16_t[]>(kWindow)),
      contexts_(std::size_t{1} << kContextBits),
      calls_(calls),
      written_calls_(calls.size() + 1) {
  grow_entries();
  clear();
}

// Moves what would take time to allocate. Sites are not moved: they belong to another rank.
EventWriter::EventWriter(EventWriter&& done) noexcept
    : history_(std::move(done.history_)),
      entries_(std::move(done.entries_)),
      capacity_(done.capacity_),
      table_(std::move(done.table_)),
      contexts_(std::move(done.contexts_)),
      payload_(std::move(done.payload_)),
      calls_(done.calls_),
      written_calls_(std::move(done.written_calls_)),
      lists_(std::move(done.lists_)),
      values_(std::move(done.values_)),
      list_table_(std::move(done.list_table_)) {
  clear();
}

void EventWriter::clear() {
  payload_.clear();
  position_ = distance_ = copied_ = last_distance_ = 0;
  symbols_ = 0;
  // Clears the tables without freeing them.
  std::fill(table_.begin(), table_.end(), std::uint16_t{0});
  std::fill(contexts_.begin(), contexts_.end(), 0U);
  deltas_ = {};
  std::fill(written_calls_.begin(), written_calls_.end(), std::uint16_t{0});
  std::fill(written_sites_.begin(), written_sites_.end(), std::uint16_t{0});
  names_ = 0;
  lists_.clear();
  values_.clear();
  listed_ = 0;
  std::fill(list_table_.begin(), list_table_.end(), 0U);
  predict_nothing();
}

void EventWriter::predict_nothing() {
  predicted_ = &kNoEvent;
}

bool EventWriter::full() const {
  return payload_.size() >= kPayloadTarget || symbols_ == kMostSymbols || listed_ >= kMostValues ||
         names_ >= UINT16_MAX - 1;
}

const EventWriter::Entry* EventWriter::add(const Event& event) {
  close();
  Event plain = event;
  plain.zero = 0;
  // A new symbol has the number of those before it.
  const std::uint32_t known = symbols_;
  const std::uint16_t symbol = intern(plain);
  if (symbol == known) {
    put_new(plain);
  } else {
    put_known(symbol);
  }
  payload_.commit();
  // After the commit: a handler in between has the event in the payload already.
  history_[position_++ & kMask] = symbol;
  find_distance();
  return &entries_[symbol];
}

EventWriter::OpenCopy EventWriter::open_copy() const {
  OpenCopy open;
  if (copied_ == 0) return open;
  std::uint8_t* const begin = open.token.data();
  open.size = static_cast<std::size_t>(
      // With the distance in full, since the last copy in the payload may be another.
      put_varint(put_varint(begin, token(Token::kCopy, copied_)), distance_) - begin);
  return open;
}

/// The symbol of an event. A new event gets the next one.
std::uint16_t EventWriter::intern(const Event& event) {
  if (symbols_ == capacity_) grow_entries();
  const std::uint32_t hash = hash_of(event);
  const std::size_t mask = table_.size() - 1;
  // Open addressing. The table has twice as many places as symbols, so an empty one exists.
  std::size_t place = hash & mask;
  for (; table_[place] != 0; place = (place + 1) & mask) {
    const auto symbol = static_cast<std::uint16_t>(table_[place] - 1);
    if (entries_[symbol].hash == hash && entries_[symbol].event == event) return symbol;
  }
  entries_[symbols_] = {event, hash, begins_request(event), is_wildcard(event), is_choice(event)};
  table_[place] = static_cast<std::uint16_t>(++symbols_);
  return static_cast<std::uint16_t>(symbols_ - 1);
}

void EventWriter::grow_entries() {
  const std::uint32_t capacity = std::max(kFirstCapacity, 2 * capacity_);
  auto bigger = std::make_unique_for_overwrite<Entry[]>(capacity);
  std::copy_n(entries_.get(), symbols_, bigger.get());
  predict_nothing();  // find_distance() follows
  entries_.swap(bigger);
  capacity_ = capacity;
  table_.assign(std::size_t{2} * capacity, 0);
  for (std::uint32_t symbol = 0; symbol < symbols_; ++symbol) {
    std::size_t place = entries_[symbol].hash & (table_.size() - 1);
    while (table_[place] != 0) place = (place + 1) & (table_.size() - 1);
    table_[place] = static_cast<std::uint16_t>(symbol + 1);
  }
}

void EventWriter::put_new(const Event& event) {
  Event written = event;
  // Calls without a name share the empty one.
  const std::size_t call = std::min<std::size_t>(event.call, calls_.size());
  // 0 means that the block does not define the name yet.
  std::uint16_t& name = written_calls_[call];
  if (name == 0) name = put_name(call < calls_.size() ? std::string_view(calls_[call]) : std::string_view());
  written.call = static_cast<std::uint16_t>(name - 1);
  if (event.site != 0) {
    std::uint16_t& site = written_sites_[event.site - 1];
    if (site == 0) site = put_name(sites_[event.site - 1]);
    written.site = site;
  }
  payload_.put(token(Token::kNew, static_cast<std::uint64_t>(event.kind)));
  deltas_.put(payload_, written);
}

/// Returns its number in the block, counted from 1.
std::uint16_t EventWriter::put_name(std::string_view name) {
  payload_.put(token(Token::kDefine, static_cast<std::uint64_t>(Definition::kName)));
  payload_.put(name.size());
  payload_.put(byte_span(name));
  return ++names_;
}

std::uint32_t EventWriter::site(std::string_view name) {
  if (sites_.size() == kMostSites) return 0;
  sites_.emplace_back(name);
  written_sites_.push_back(0);
  return static_cast<std::uint32_t>(sites_.size());
}

void EventWriter::put_known(std::uint16_t symbol) {
  payload_.put(token(Token::kKnown, symbols_ - 1U - symbol));
}

/// The bytes needed to write each of the last events as a known event.
std::size_t EventWriter::cost_of_known(std::uint64_t count) const {
  std::size_t bytes = 0;
  for (std::uint64_t i = count; i > 0; --i)
    bytes += varint_bytes(token(Token::kKnown, symbols_ - 1U - history_[(position_ - i) & kMask]));
  return bytes;
}

void EventWriter::close() {
  if (copied_ == 0) return;
  const std::uint64_t back = distance_ == last_distance_ ? 0 : distance_;
  const std::size_t cost = varint_bytes(token(Token::kCopy, copied_)) + varint_bytes(back);
  if (copied_ <= kShortCopy && cost_of_known(copied_) <= cost) {
    for (std::uint64_t i = copied_; i > 0; --i) put_known(history_[(position_ - i) & kMask]);
  } else {
    payload_.put(token(Token::kCopy, copied_));
    payload_.put(back);
    last_distance_ = distance_;
  }
  payload_.commit();
  // Positions beyond the distance are repetitions, whose context is in the table already.
  for (std::uint64_t i = std::min({copied_, distance_, kLearnt}); i > 0; --i) {
    const std::uint64_t position = position_ - i + 1;
    if (position >= kContext) *place_of_context(position) = static_cast<std::uint32_t>(position);
  }
  copied_ = 0;
}

std::uint32_t* EventWriter::place_of_context(std::uint64_t position) {
  std::uint64_t context = 0;
  // Symbols have 16 bits, so three of them fit.
  for (std::uint64_t i = 1; i <= kContext; ++i) context = context << 16U | history_[(position - i) & kMask];
  return &contexts_[context * 0x9e3779b97f4a7c15U >> (64U - kContextBits)];
}

/// Returns true if the symbols before both positions are the same.
bool EventWriter::same_context(std::uint64_t position) const {
  for (std::uint64_t i = 1; i <= kContext; ++i) {
    if (history_[(position - i) & kMask] != history_[(position_ - i) & kMask]) return false;
  }
  return true;
}

/// The distance to the last occurrence of these symbols, or else the previous distance: a sequence may
/// continue after one different event.
void EventWriter::find_distance() {
  distance_ = last_distance_;
  if (position_ >= kContext) {
    std::uint32_t& place = *place_of_context(position_);
    // Positions in the table have 32 bits; a wrong one fails the checks below.
    const std::uint64_t distance = static_cast<std::uint32_t>(position_) - place;
    const bool inside = distance > 0 && distance + kContext <= std::min<std::uint64_t>(position_, kWindow);
    if (inside && same_context(position_ - distance)) distance_ = distance;
    // The latest place wins: recent sequences are likelier to go on.
    place = static_cast<std::uint32_t>(position_);
  }
  if (distance_ == 0) return predict_nothing();
  predict();
}

std::uint32_t EventWriter::list(std::span<const std::uint64_t> values) {
  if (values.empty()) return 0;
  List list{values_.size(), values.size(), 0, 0, false};
  // The first difference is to 0, so the run begins with the second value.
  if (values.size() >= kLongRun && run_length(values, 1) == values.size() - 1)
    list = {values[0], values.size(), 0, values[1] - values[0], true};
  const auto is_same = [&](const List& known) {
    if (known.count != list.count || known.is_run != list.is_run) return false;
    if (list.is_run) return known.begin == list.begin && known.step == list.step;
    return std::equal(values.begin(), values.end(), values_.data() + known.begin);
  };
  // The predicted event's lists are usually right, which saves the hash.
  for (const std::uint32_t likely : {predicted_->event.list, predicted_->event.second_list}) {
    if (likely != 0 && is_same(lists_[likely - 1])) return likely;
  }
  if (2 * (lists_.size() + 1) > list_table_.size()) grow_list_table();
  const std::uint64_t hash = list.is_run
                                 ? hash_of(std::array<std::uint64_t, 3>{list.begin, list.count, list.step})
                                 : hash_of(values);
  const std::size_t mask = list_table_.size() - 1;
  std::size_t place = hash & mask;
  for (; list_table_[place] != 0; place = (place + 1) & mask) {
    const std::uint32_t known = list_table_[place];
    if (lists_[known - 1].hash == hash && is_same(lists_[known - 1])) return known;
  }
  list.hash = hash;
  lists_.push_back(list);
  listed_ += values.size();
  if (!list.is_run) values_.insert(values_.end(), values.begin(), values.end());
  payload_.put(token(Token::kDefine, static_cast<std::uint64_t>(Definition::kList)));
  put_list(payload_, values);
  // A list is complete before its event is written.
  payload_.commit();
  return list_table_[place] = static_cast<std::uint32_t>(lists_.size());
}

void EventWriter::grow_list_table() {
  list_table_.assign(std::max<std::size_t>(64, 2 * list_table_.size()), 0);
  const std::size_t mask = list_table_.size() - 1;
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    std::size_t place = lists_[i].hash & mask;
    while (list_table_[place] != 0) place = (place + 1) & mask;
    list_table_[place] = static_cast<std::uint32_t>(i + 1);
  }
}

}  // namespace offramp::recording
