// Event queue: pending events in the order of modelled time. For devices and worlds that act on shared state,
// where the order of events affects the result.
//
// The order is total: by time, then by rank, then by insertion among events of the same time and rank. It is
// independent of the machine and of the order in which different ranks insert.
//
// Far events are in the unsorted buckets of a ladder of ever finer rungs (Tang, Goh and Thng, "Ladder queue",
// ACM TOMACS 2005). The earliest bucket is sorted; events that are pushed into its time range go to a heap. A
// push costs the same for any number of events, a pop the logarithm of the number of near events. Many events
// at one time degrade it to a heap at worst. A bucket has several events, so that data of the next ones can
// be prefetched. A queue with few events is one sorted array.
//
// A plain value, used by its owner's thread. Allocates only when the number of events exceeds its previous
// maximum.
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

/// Event is copied, and should be a few words. Times are not negative and below 2^62 ps.
template <typename Event>
class EventQueue {
 public:
  /// Ranks are below 2^24. A queue accepts up to 2^40 events between two calls of clear().
  static constexpr std::uint32_t kMaximumRank = (std::uint32_t{1} << 24) - 1;

  /// An event and its place in the total order.
  struct Entry {
    Time at;
    std::uint64_t order = 0;  // rank and number
    Event event{};

    /// The rank that push() got.
    [[nodiscard]] std::uint32_t rank() const { return static_cast<std::uint32_t>(order >> kNumberBits); }
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.at != b.at ? a.at < b.at : a.order < b.order;
    }
  };

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Adds an event behind all earlier ones of its time and rank.
  void push(Time at, std::uint32_t rank, const Event& event) {
    assert(rank <= kMaximumRank && at >= Time());
    insert({at, std::uint64_t{rank} << kNumberBits | number_++, event});
  }

  /// Pushes with a caller-defined order (below 2^40) among the events of one time and rank. A queue uses
  /// either this overload or the other one.
  void push(Time at, std::uint32_t rank, std::uint64_t order, const Event& event) {
    assert(rank <= kMaximumRank && at >= Time() && order >> kNumberBits == 0);
    insert({at, std::uint64_t{rank} << kNumberBits | order, event});
  }

  /// The earliest event, or nullptr. Valid until the next push or pop.
  [[nodiscard]] const Entry* next() {
    if (sorted_.empty() && heap_.empty() && !refill()) return nullptr;
    return is_in_heap() ? &heap_.front() : &sorted_.back();
  }

  /// An upcoming event for prefetching, valid after next(): `before` others, and possibly some pushed since,
  /// precede it. Returns nullptr if it is unknown.
  [[nodiscard]] const Entry* upcoming(std::size_t before) const {
    return before < sorted_.size() ? &sorted_[sorted_.size() - 1 - before] : nullptr;
  }

  /// Removes and returns the earliest event. The queue must not be empty.
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

  /// Removes all events and keeps the memory.
  void clear() {
    sorted_.clear();
    heap_.clear();
    blocks_.clear();
    next_.clear();
    unused_ = kNone;
    rungs_in_use_ = 0;
    far_ = {};
    few_ = kFew;
    size_ = 0;
    number_ = 0;
  }

 private:
  static constexpr unsigned kNumberBits = 40;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  // kSmall: buckets up to this size are sorted as they are. kPerBucket: target size of a rung's buckets.
  // kFew: queues up to this size are one sorted array, and again once they have half of it.
  static constexpr std::size_t kFew = 32;
  static constexpr std::size_t kSmall = 128;
  static constexpr std::size_t kPerBucket = 48;
  /// Bound the memory of a rung, and the depth of the ladder.
  static constexpr std::size_t kMaximumBuckets = std::size_t{1} << 16;
  static constexpr std::size_t kMaximumRungs = 8;

  static constexpr std::size_t kBlock = 8;  // events per block

  /// Unsorted events in blocks; all but the first block are full.
  struct List {
    std::uint32_t head = kNone;
    std::uint32_t count = 0;
  };
  /// Buckets of equal width over a range of time. Each finer rung covers one bucket of the rung above it.
  struct Rung {
    std::int64_t start = 0;    // time of bucket 0
    std::int64_t width = 1;    // of a bucket, in ps
    std::size_t buckets = 0;   // buckets in use
    std::size_t current = 0;   // first bucket that is not drained yet
    std::vector<List> bucket;  // keeps its memory

    [[nodiscard]] std::int64_t current_start() const {
      return start + static_cast<std::int64_t>(current) * width;
    }
  };
  /// Events beyond all rungs, from time `from` on.
  struct Far {
    List list;
    std::int64_t from = 0;
    std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
    std::int64_t latest = 0;
  };

  static bool later_first(const Entry& a, const Entry& b) { return b < a; }

  /// Puts an event where its time belongs: far, into a bucket, or into the heap.
  void insert(const Entry& entry) {
    if (size_ < few_ && sorted_.size() == size_) return insert_sorted(entry);
    if (few_ == kFew) unsort();
    ++size_;
    const std::int64_t at = entry.at.count();
    if (at >= far_.from) {
      far_.earliest = std::min(far_.earliest, at);
      far_.latest = std::max(far_.latest, at);
      add(far_.list, entry);
      return;
    }
    // Rungs go from coarse and late to fine and early. The first one that has not drained past `at` has the
    // event's bucket; if all have, the event belongs to the heap.
    for (std::size_t i = 0; i < rungs_in_use_; ++i) {
      if (at < rungs_[i].current_start()) continue;
      add(bucket_of(rungs_[i], at), entry);
      return;
    }
    push_near(entry);
  }

  /// Requires that all events are in the array, so that the rungs are empty.
  void insert_sorted(const Entry& entry) {
    ++size_;
    few_ = kFew;
    rungs_in_use_ = 0;
    std::size_t place = sorted_.size();
    sorted_.push_back(entry);
    for (; place > 0 && sorted_[place - 1] < entry; --place) sorted_[place] = sorted_[place - 1];
    sorted_[place] = entry;
  }
  /// Moves the events of the array to the ladder, since more than a few follow.
  void unsort() {
    few_ = kFew / 2;
    far_ = {};
    for (const Entry& entry : sorted_) add(far_.list, entry);
    far_.earliest = sorted_.back().at.count();
    far_.latest = sorted_.front().at.count();
    sorted_.clear();
  }

  void push_near(const Entry& entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), later_first);
  }

  /// True if the earliest event is in the heap rather than in the sorted bucket.
  [[nodiscard]] bool is_in_heap() const {
    return !heap_.empty() && (sorted_.empty() || heap_.front() < sorted_.back());
  }

  static List& bucket_of(Rung& rung, std::int64_t at) {
    return rung.bucket[static_cast<std::size_t>((at - rung.start) / rung.width)];
  }

  /// Appends an event. Allocates a block for every kBlock events only.
  void add(List& list, const Entry& entry) {
    const std::size_t place = list.count++ % kBlock;
    if (place == 0) list.head = acquire_block(list.head);
    blocks_[list.head][place] = entry;
  }

  /// Returns a free block, linked to `next`.
  std::uint32_t acquire_block(std::uint32_t next) {
    if (unused_ == kNone) {
      blocks_.emplace_back();
      next_.push_back(next);
      return static_cast<std::uint32_t>(blocks_.size() - 1);
    }
    const std::uint32_t block = std::exchange(unused_, next_[unused_]);
    next_[block] = next;
    return block;
  }

  /// Calls take(entry) for each event of a detached list, and frees its blocks.
  void pop_all(const List& list, auto visit) {
    std::size_t full = (list.count + kBlock - 1) % kBlock + 1;  // of the first block
    for (std::uint32_t block = list.head; block != kNone; full = kBlock) {
      const std::array<Entry, kBlock> entries = blocks_[block];  // visit() may need more blocks
      const std::uint32_t next = next_[block];
      if (next != kNone) fetch_line(&blocks_[next]);
      next_[block] = std::exchange(unused_, block);
      for (std::size_t i = 0; i < full; ++i) visit(entries[i]);
      block = next;
    }
  }

  /// Sorts the earliest bucket. Returns false if the queue has no events.
  bool refill() {
    while (true) {
      if (rungs_in_use_ == 0) {
        if (far_.list.count == 0) return false;
        // The far events become the first rung, or are sorted at once if they are few. Later pushes beyond
        // their last time are far again.
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
      // A bucket of width 1 has events of one time only, which no finer rung could divide.
      if (list.count <= kSmall || rung.width == 1 || rungs_in_use_ == kMaximumRungs) return drain(list);
      spread(list, begin, begin + rung.width);
    }
  }

  /// Distributes the events of a list, all in [begin, end), over a new rung. Returns the end of the rung.
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
    pop_all(list, [&](const Entry& entry) { add(bucket_of(rung, entry.at.count()), entry); });
    return begin + static_cast<std::int64_t>(rung.buckets) * rung.width;
  }

  /// Moves a bucket to `sorted_`, which is empty. Always returns true.
  bool drain(const List& list) {
    pop_all(list, [&](const Entry& entry) { sorted_.push_back(entry); });
    std::sort(sorted_.begin(), sorted_.end(), later_first);
    return true;
  }

  std::vector<Entry> sorted_;  // the earliest bucket, or all of few events; latest event first
  std::vector<Entry> heap_;    // events earlier than all other buckets
  std::vector<std::array<Entry, kBlock>> blocks_;
  std::vector<std::uint32_t> next_;  // by block: the next block of its list, or of the free list
  std::uint32_t unused_ = kNone;
  std::array<Rung, kMaximumRungs> rungs_;
  std::size_t rungs_in_use_ = 0;
  Far far_;
  std::size_t few_ = kFew;  // fewer events are one sorted array
  std::size_t size_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace offramp
