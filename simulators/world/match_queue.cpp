// A list in order of arrival, plus a hash table of chains by context and source once there are more than kFew
// entries. Both are searched from the oldest entry on, so the match is the same with and without the table. A
// message searches the chain of its source and the chain of wildcard receives; the older candidate wins. A
// wildcard receive searches the list.
#include "simulators/world/match_queue.hpp"

#include <utility>

namespace offramp::world {

void MatchQueue::push(Matchable& entry) {
  entry.order = entered_++;
  entry.queued = true;
  entry.next = nullptr;
  entry.previous = tail_;
  (tail_ != nullptr ? tail_->next : head_) = &entry;
  tail_ = &entry;
  ++size_;
  if (index_ == nullptr && size_ <= kFew) return;
  if (index_ == nullptr || size_ > 2 * index_->size()) return rebuild();
  link(entry);
}

void MatchQueue::remove(Matchable& entry) {
  entry.queued = false;
  (entry.previous != nullptr ? entry.previous->next : head_) = entry.next;
  (entry.next != nullptr ? entry.next->previous : tail_) = entry.previous;
  if (--size_ == 0) index_.reset();
  if (index_ == nullptr) return;
  // A match is the first one of its chain that fits, so few entries precede it.
  Chain& same = chain(entry.key.context, entry.key.source);
  Matchable* before = nullptr;
  for (Matchable* at = same.head; at != &entry; at = at->alike) before = at;
  (before != nullptr ? before->alike : same.head) = std::exchange(entry.alike, nullptr);
  if (same.tail == &entry) same.tail = before;
}

void MatchQueue::link(Matchable& entry) {
  Chain& same = chain(entry.key.context, entry.key.source);
  entry.alike = nullptr;
  (same.tail != nullptr ? same.tail->alike : same.head) = &entry;
  same.tail = &entry;
}

void MatchQueue::rebuild() {
  std::size_t chains = 2 * kFew;
  while (chains < 2 * size_) chains *= 2;
  index_ = std::make_unique<std::vector<Chain>>(chains);
  for (Matchable* entry = head_; entry != nullptr; entry = entry->next) link(*entry);
}

Matchable* MatchQueue::find_message(const MatchKey& receive) const {
  if (index_ == nullptr || receive.source < 0) {
    for (Matchable* entry = head_; entry != nullptr; entry = entry->next) {
      if (receive.accepts(entry->key)) return entry;
    }
    return nullptr;
  }
  Matchable* entry = chain(receive.context, receive.source).head;
  while (entry != nullptr && !receive.accepts(entry->key)) entry = entry->alike;
  return entry;
}

Matchable* MatchQueue::find_receive(const MatchKey& message) const {
  if (index_ == nullptr) {
    for (Matchable* entry = head_; entry != nullptr; entry = entry->next) {
      if (entry->key.accepts(message)) return entry;
    }
    return nullptr;
  }
  const auto first = [&](int source) {
    Matchable* entry = chain(message.context, source).head;
    while (entry != nullptr && (entry->key.source != source || !entry->key.accepts(message)))
      entry = entry->alike;
    return entry;
  };
  Matchable* const named = first(message.source);
  Matchable* const any = first(-1);
  if (named == nullptr || any == nullptr) return named != nullptr ? named : any;
  return static_cast<std::int32_t>(named->order - any->order) < 0 ? named : any;
}

}  // namespace offramp::world
