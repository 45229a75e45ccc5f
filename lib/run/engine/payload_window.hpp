// Bounds what messages that nobody receives yet may take of their receiver's memory.
//
// Every rank lets every other one have a window of payload bytes at it. A sender counts what it has sent and
// what was given back since; a payload that does not fit any more stays in the sender's own memory until its
// message is received. Envelopes are never held back: any of them may be the one that the receiver waits for.
// Nobody ever waits for a window, so it can cause no deadlock, and modelled time knows nothing of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace offramp {

class PayloadWindow {
 public:
  /// Payloads up to here are not counted: UCX keeps 2 KiB for each that stays at its sender.
  static constexpr std::size_t kUncounted = 2048;
  /// For all peers together, unless their number makes kLeast for each more.
  static constexpr std::size_t kTotal = std::size_t{32} << 20;
  static constexpr std::size_t kLeast = std::size_t{256} << 10;

  explicit PayloadWindow(int ranks)
      : ranks_(static_cast<std::size_t>(ranks)),
        size_(std::max(kLeast, kTotal / std::max<std::size_t>(1, ranks_))) {}

  /// Of one peer, in bytes. The same on all ranks.
  [[nodiscard]] std::size_t size() const { return size_; }
  void resize(std::size_t bytes) { size_ = bytes; }

  /// Sender: whether the payload may go along with its message; then it is counted.
  bool reserve(int destination, std::size_t bytes) {
    std::size_t& reserved = at(reserved_, destination);
    if (reserved + bytes > size_) return false;
    reserved += bytes;
    return true;
  }
  /// Sender: the destination has given back so much. False: more than it had.
  bool restore(int destination, std::size_t bytes) {
    std::size_t& reserved = at(reserved_, destination);
    if (bytes > reserved) return false;
    reserved -= bytes;
    return true;
  }

  /// Receiver: a counted payload has left this rank's memory. True when it is time to give back.
  bool release(int source, std::size_t bytes) {
    std::size_t& owed = at(owed_, source);
    const bool was_due = owed * 2 >= size_;
    owed += bytes;
    return !was_due && owed * 2 >= size_;
  }
  /// Receiver: what to give back to the source now.
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
