// Bounds the memory of a receiver for payloads without a receive.
//
// Each rank grants every other one a window, in bytes of payload. The sender reserves window for a payload,
// and the receiver restores it later. A payload that exceeds the window is deferred: it stays at the sender
// until its message is received. Envelopes are always sent, since the receiver may wait for any of them. No
// call waits for a window, so windows cause no deadlock. Modelled time does not depend on them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace offramp {

/// Both sides of one rank: what it has reserved at others, and what it owes them.
class PayloadWindow {
 public:
  /// Payloads up to this size, in bytes, are not counted: UCX itself needs 2 KiB for each deferred one.
  static constexpr std::size_t kUncounted = 2048;
  /// Bytes for all peers together. Each peer gets kLeast at least.
  static constexpr std::size_t kTotal = std::size_t{32} << 20;
  static constexpr std::size_t kLeast = std::size_t{256} << 10;

  /// All ranks compute the same window from the number of ranks: it is never sent.
  explicit PayloadWindow(int ranks)
      : ranks_(static_cast<std::size_t>(ranks)),
        size_(std::max(kLeast, kTotal / std::max<std::size_t>(1, ranks_))) {}

  /// The window of one peer in bytes, equal on all ranks.
  [[nodiscard]] std::size_t size() const { return size_; }
  void resize(std::size_t bytes) { size_ = bytes; }

  /// Sender: reserves window for a payload. Returns false if too little is left.
  bool reserve(int destination, std::size_t bytes) {
    std::size_t& reserved = at(reserved_, destination);
    if (reserved + bytes > size_) return false;
    reserved += bytes;
    return true;
  }
  /// Sender: adds window that the destination has restored. Returns false if that is more than was reserved.
  bool restore(int destination, std::size_t bytes) {
    std::size_t& reserved = at(reserved_, destination);
    if (bytes > reserved) return false;
    reserved -= bytes;
    return true;
  }

  /// Receiver: counts a payload that has left this rank. Returns true when half of the window is due.
  bool release(int source, std::size_t bytes) {
    std::size_t& owed = at(owed_, source);
    // True once only, until collect_due(): one notice restores half of the window or more.
    const bool was_due = owed * 2 >= size_;
    owed += bytes;
    return !was_due && owed * 2 >= size_;
  }
  /// Receiver: returns the bytes to restore to the source, and resets their count.
  std::size_t collect_due(int source) { return std::exchange(at(owed_, source), 0); }

 private:
  std::size_t& at(std::vector<std::size_t>& of, int rank) const {
    if (of.empty()) of.resize(ranks_);  // most ranks of a forecast carry no payload
    return of[static_cast<std::size_t>(rank)];
  }

  std::size_t ranks_;
  std::size_t size_;
  std::vector<std::size_t> reserved_;
  std::vector<std::size_t> owed_;
};

}  // namespace offramp
