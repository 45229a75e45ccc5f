// The requests that wait in the input of one rank's engine (shell, FIFO, and header cache). It belongs to the
// rank and outlives its calls.
//
// An engine reads its input only while it waits for something (read in [zrlmpi-src]). A request that arrives
// at another time stays in the FIFO or in the shell behind it; if both are full, it is dropped. To find a
// request, the engine first checks the cache and then reads up to that request. It puts the headers in
// between into the cache.
//
// The cache of [zrlmpi-src] has one slot per rank, because a rank has one call at a time. Here a rank may
// have several open calls, so any slot can contain a header of any rank. If all slots are in use, a header
// stays in the FIFO.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "simulators/zrlmpi/protocol.hpp"

namespace offramp::zrlmpi {

/// The input of one engine. Used by the thread of the world.
class EngineInput {
 public:
  /// Returns whether a header that arrives at `at` would be dropped, according to the requests added so far.
  [[nodiscard]] bool is_full(Time at) const {
    // The cheap test first: most inputs are far from full.
    if (waiting_.size() - cached_ < kWaitingHeaders) return false;
    const auto in_front = [at](const Waiting& header) { return !header.cached && header.at <= at; };
    return std::count_if(waiting_.begin(), waiting_.end(), in_front) >= std::ptrdiff_t{kWaitingHeaders};
  }

  /// The request of a message arrives at `at`. message: a unique number.
  void add(std::uint64_t message, Time at) {
    auto behind = waiting_.end();
    // Requests usually arrive in order, so this search from the end is short.
    while (behind != waiting_.begin() && std::prev(behind)->at > at) --behind;
    waiting_.insert(behind, {message, at, false});
  }

  /// The engine needs a request at `now`. Returns the number of headers that it reads, including that one. 0
  /// if the request is in the cache or was never added.
  std::int64_t headers_to_read(std::uint64_t message, Time now) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const Waiting& header) { return header.message == message; });
    if (found == waiting_.end()) return 0;
    std::int64_t read = 0;
    if (found->cached) {
      --cached_;
    } else {
      for (auto header = waiting_.begin(); header != found; ++header) {
        // Headers that are cached already, or have not arrived, are not read.
        if (header->cached || header->at > now) continue;
        ++read;
        header->cached = cached_ < kCacheSlots;
        cached_ += header->cached ? 1 : 0;
      }
      ++read;
    }
    waiting_.erase(found);
    return read;
  }

  /// The number of headers in the cache. The others are in the FIFO or the shell.
  [[nodiscard]] std::size_t in_cache() const { return cached_; }

 private:
  /// A request that the engine has not used yet.
  struct Waiting {
    std::uint64_t message;
    Time at;
    bool cached;
  };
  std::vector<Waiting> waiting_;  // in order of arrival
  std::size_t cached_ = 0;
};

}  // namespace offramp::zrlmpi
