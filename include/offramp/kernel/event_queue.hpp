// Event queue: what is to happen, in the order of modelled time. For devices and worlds that act on shared
// state, where the order in which things happen decides.
//
// The order is total: by time, then by rank, then by the order of insertion among events of the same time and
// rank. It never depends on the machine, and not on the order in which different ranks insert.
//
// Far events lie unsorted in buckets of a ladder of ever finer rungs (Tang, Goh and Thng, "Ladder queue",
// ACM TOMACS 2005); the earliest bucket is sorted, and events that come into its time lie in a heap. A push
// costs the same whatever the number of events, a pop the logarithm of how many events are near. Many events
// at one time degrade it to a heap, never to less. A bucket has some events, so that what the next ones need
// can be fetched before they are due.
//
// A plain value; thread rule: its owner's. Allocates nothing once its lists have held as many events
// as they ever hold.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "offramp/kernel/prefetch.hpp"
#include "offramp/kernel/time.hpp"

namespace offramp {

/// Event: what is to happen; copied, and best a few words. Times are not negative and below 2^62 ps.
template <typename Event>
class EventQueue {
 public:
  /// Ranks are below 2^24, and a queue takes up to 2^40 events between two calls of clear().
  static constexpr std::uint32_t kMaximumRank = (std::uint32_t{1} << 24) - 1;

  struct Entry {
    Time at;
    std::uint64_t order = 0;  // rank and number
    Event event{};

    [[nodiscard]] std::uint32_t rank() const { return static_cast<std::uint32_t>(order >> kNumberBits); }
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.at != b.at ? a.at < b.at : a.order < b.order;
    }
  };

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  void push(Time at, std::uint32_t rank, const Event& event) {
    assert(rank <= kMaximumRank && at >= Time());
    insert({at, std::uint64_t{rank} << kNumberBits | number_++, event});
  }

  /// The same with an order of the caller's among the events of one time and rank: below 2^40. Not to be
  /// mixed with the other in one queue.
  void push(Time at, std::uint32_t rank, std::uint64_t order, const Event& event) {
    assert(rank <= kMaximumRank && at >= Time() && order >> kNumberBits == 0);
    insert({at, std::uint64_t{rank} << kNumberBits | order, event});
  }

  /// The earliest event, or null. Valid until the next push or pop.
  [[nodiscard]] const Entry* next() {
    if (sorted_.empty() && heap_.empty() && !refill()) return nullptr;
    return is_in_heap() ? &heap_.front() : &sorted_.back();
  }

  /// After a call of next(), one of those that come soon: behind `before` others, or few more that have been
  /// pushed since. Null: it is not known. For prefetching.
  [[nodiscard]] const Entry* soon(std::size_t before) const {
    return before < sorted_.size() ? &sorted_[sorted_.size() - 1 - before] : nullptr;
  }

  /// Takes the earliest event out. Not from an empty queue.
  Entry pop() {
    const bool any = next() != nullptr;
    assert(any);
    static_cast<void>(any);
    --size_;
    Entry entry;
    if (is_in_heap()) {
      std::pop_heap(heap_.begin(), heap_.end(), later_first);
      entry = heap_.back();
      heap_.pop_back();
    } else {
      entry = sorted_.back();
      sorted_.pop_back();
    }
    return entry;
  }

  /// Forgets all events and keeps the memory.
  void clear() {
    sorted_.clear();
    heap_.clear();
    blocks_.clear();
    next_.clear();
    unused_ = kNone;
    rungs_in_use_ = 0;
    far_ = {};
    size_ = 0;
    number_ = 0;
  }

 private:
  static constexpr unsigned kNumberBits = 40;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  // A bucket of so many is sorted as it is. A rung has buckets for so many each, and at most so many buckets.
  static constexpr std::size_t kSmall = 128;
  static constexpr std::size_t kPerBucket = 48;
  static constexpr std::size_t kMaximumBuckets = std::size_t{1} << 16;
  static constexpr std::size_t kMaximumRungs = 8;

  static constexpr std::size_t kBlock = 8;  // events that lie together

  /// Unsorted events, in blocks of which all but the first are full.
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t count = 0;
  };
  struct Rung {
    std::int64_t start = 0;    // of bucket 0
    std::int64_t width = 1;    // of a bucket, in ps
    std::size_t buckets = 0;   // in use
    std::size_t current = 0;   // the first bucket that is still here
    std::vector<List> bucket;  // keeps its memory

    [[nodiscard]] std::int64_t current_start() const {
      return start + static_cast<std::int64_t>(current) * width;
    }
  };
  /// Beyond all rungs. Events from `from` on go here.
  struct Far {
    List list;
    std::int64_t from = 0;
    std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
    std::int64_t latest = 0;
  };

  static bool later_first(const Entry& a, const Entry& b) { return b < a; }

  void insert(const Entry& entry) {
    ++size_;
    const std::int64_t at = entry.at.count();
    if (at >= far_.from) {
      far_.earliest = std::min(far_.earliest, at);
      far_.latest = std::max(far_.latest, at);
      add(far_.list, entry);
      return;
    }
    for (std::size_t i = 0; i < rungs_in_use_; ++i) {
      if (at < rungs_[i].current_start()) continue;
      add(bucket_of(rungs_[i], at), entry);
      return;
    }
    push_near(entry);
  }

  void push_near(const Entry& entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), later_first);
  }

  [[nodiscard]] bool is_in_heap() const {
    return !heap_.empty() && (sorted_.empty() || heap_.front() < sorted_.back());
  }

  static List& bucket_of(Rung& rung, std::int64_t at) {
    return rung.bucket[static_cast<std::size_t>((at - rung.start) / rung.width)];
  }

  void add(List& list, const Entry& entry) {
    const std::size_t place = list.count++ % kBlock;
    if (place == 0) list.head = take_block(list.head);
    blocks_[list.head][place] = entry;
  }

  std::uint32_t take_block(std::uint32_t next) {
    if (unused_ == kNone) {
      blocks_.emplace_back();
      next_.push_back(next);
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    }
    const std::uint32_t block = std::exchange(unused_, next_[unused_]);
    next_[block] = next;
    return block;
  }

  /// Calls take(entry) with each event of a list that is there no more.
  template <typename Take>
  void take_all(const List& list, Take take) {
    std::size_t full = (list.count + kBlock - 1) % kBlock + 1;  // of the first block
    for (std::uint32_t block = list.head; block != kNone; full = kBlock) {
      const std::array<Entry, kBlock> entries = blocks_[block];  // take() may need more blocks
      const std::uint32_t next = next_[block];
      if (next != kNone) fetch_line(&blocks_[next]);
      next_[block] = std::exchange(unused_, block);
      for (std::size_t i = 0; i < full; ++i) take(entries[i]);
      block = next;
    }
  }

  /// Sorts the earliest bucket. False: there are no events.
  bool refill() {
    while (true) {
      if (rungs_in_use_ == 0) {
        if (far_.list.count == 0) return false;
        const Far far = std::exchange(far_, {});
        far_.from = far.latest + 1;
        if (far.list.count <= kSmall) return drain(far.list);
        far_.from = spread(far.list, far.earliest, far.latest + 1);
        continue;
      }
      Rung& rung = rungs_[rungs_in_use_ - 1];
      while (rung.current < rung.buckets && rung.bucket[rung.current].count == 0) ++rung.current;
      if (rung.current == rung.buckets) {
        --rungs_in_use_;
        continue;
      }
      const std::int64_t begin = rung.current_start();
      const List list = std::exchange(rung.bucket[rung.current++], {});
      if (list.count <= kSmall || rung.width == 1 || rungs_in_use_ == kMaximumRungs) return drain(list);
      spread(list, begin, begin + rung.width);
    }
  }

  /// Makes the next rung of the events of a list, all of which are in [begin, end). Returns its end.
  std::int64_t spread(const List& list, std::int64_t begin, std::int64_t end) {
    const std::int64_t span = end - begin;
    const auto wanted =
        static_cast<std::int64_t>(std::min<std::size_t>(list.count / kPerBucket + 1, kMaximumBuckets));
    Rung& rung = rungs_[rungs_in_use_++];
    rung.start = begin;
    rung.width = (span + wanted - 1) / wanted;
    rung.buckets = static_cast<std::size_t>((span + rung.width - 1) / rung.width);
    rung.current = 0;
    rung.bucket.assign(rung.buckets, {});
    take_all(list, [&](const Entry& entry) { add(bucket_of(rung, entry.at.count()), entry); });
    return begin + static_cast<std::int64_t>(rung.buckets) * rung.width;
  }

  bool drain(const List& list) {
    take_all(list, [&](const Entry& entry) { sorted_.push_back(entry); });
    std::sort(sorted_.begin(), sorted_.end(), later_first);
    return true;
  }

  std::vector<Entry> sorted_;  // of the earliest bucket, the last one first
  std::vector<Entry> heap_;    // before all other buckets
  std::vector<std::array<Entry, kBlock>> blocks_;
  std::vector<std::uint32_t> next_;  // by block: the next one of its list, or of the unused ones
  std::uint32_t unused_ = kNone;
  std::array<Rung, kMaximumRungs> rungs_;
  std::size_t rungs_in_use_ = 0;
  Far far_;
  std::size_t size_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace offramp
