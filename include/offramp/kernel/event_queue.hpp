// Event queue: what is to happen, in the order of modelled time. For devices and worlds that act on shared
// state, where the order in which things happen decides.
//
// The order is total: by time, then by rank, then by the order of insertion among events of the same time and
// rank. It never depends on the machine, and not on the order in which different ranks insert.
//
// Far events lie unsorted in buckets of a ladder of ever finer rungs (Tang, Goh and Thng, "Ladder queue",
// ACM TOMACS 2005); near ones in a small heap. A push costs the same whatever the number of events, a pop the
// logarithm of how many events are near. Many events at one time degrade it to a heap, never to less.
//
// A plain value; thread rule: its owner's. Allocates nothing once it has held as many events as it ever
// holds.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

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
    if (near_.empty() && !refill()) return nullptr;
    return &near_.front();
  }

  /// After a call of next(), the earliest event and others that come before all the rest, in no order: for
  /// prefetching.
  [[nodiscard]] const std::vector<Entry>& soon() const { return near_; }

  /// Takes the earliest event out. Not from an empty queue.
  Entry pop() {
    const bool any = next() != nullptr;
    assert(any);
    static_cast<void>(any);
    std::pop_heap(near_.begin(), near_.end(), later_first);
    const Entry entry = near_.back();
    near_.pop_back();
    --size_;
    return entry;
  }

  /// Forgets all events and keeps the memory.
  void clear() {
    near_.clear();
    nodes_.clear();
    unused_ = kNone;
    rungs_in_use_ = 0;
    far_ = {};
    size_ = 0;
    number_ = 0;
  }

 private:
  static constexpr unsigned kNumberBits = 40;
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  // A bucket of so many goes to the heap as it is. A rung has at most so many buckets.
  static constexpr std::size_t kSmall = 48;
  static constexpr std::size_t kMaximumBuckets = std::size_t{1} << 16;
  static constexpr std::size_t kMaximumRungs = 8;

  struct Node {
    Entry entry;
    std::uint32_t next = kNone;
  };
  /// Unsorted events.
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
      link(far_.list, take_node(entry));
      return;
    }
    for (std::size_t i = 0; i < rungs_in_use_; ++i) {
      if (at < rungs_[i].current_start()) continue;
      link(bucket_of(rungs_[i], at), take_node(entry));
      return;
    }
    push_near(entry);
  }

  void push_near(const Entry& entry) {
    near_.push_back(entry);
    std::push_heap(near_.begin(), near_.end(), later_first);
  }

  static List& bucket_of(Rung& rung, std::int64_t at) {
    return rung.bucket[static_cast<std::size_t>((at - rung.start) / rung.width)];
  }

  std::uint32_t take_node(const Entry& entry) {
    if (unused_ == kNone) {
      nodes_.push_back({entry, kNone});
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = std::exchange(unused_, nodes_[unused_].next);
    nodes_[node].entry = entry;
    return node;
  }

  void link(List& list, std::uint32_t node) {
    nodes_[node].next = std::exchange(list.head, node);
    ++list.count;
  }

  /// Brings the earliest bucket into the empty heap. False: there are no events.
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
  std::int64_t spread(List list, std::int64_t begin, std::int64_t end) {
    const std::int64_t span = end - begin;
    const auto wanted = static_cast<std::int64_t>(std::min<std::size_t>(list.count, kMaximumBuckets));
    Rung& rung = rungs_[rungs_in_use_++];
    rung.start = begin;
    rung.width = (span + wanted - 1) / wanted;
    rung.buckets = static_cast<std::size_t>((span + rung.width - 1) / rung.width);
    rung.current = 0;
    rung.bucket.assign(rung.buckets, {});
    while (list.head != kNone) {
      const std::uint32_t node = std::exchange(list.head, nodes_[list.head].next);
      link(bucket_of(rung, nodes_[node].entry.at.count()), node);
    }
    return begin + static_cast<std::int64_t>(rung.buckets) * rung.width;
  }

  bool drain(List list) {
    while (list.head != kNone) {
      const std::uint32_t node = std::exchange(list.head, nodes_[list.head].next);
      near_.push_back(nodes_[node].entry);
      nodes_[node].next = std::exchange(unused_, node);
    }
    std::make_heap(near_.begin(), near_.end(), later_first);
    return true;
  }

  std::vector<Entry> near_;  // a heap
  std::vector<Node> nodes_;
  std::uint32_t unused_ = kNone;
  std::array<Rung, kMaximumRungs> rungs_;
  std::size_t rungs_in_use_ = 0;
  Far far_;
  std::size_t size_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace offramp
