// The input of one rank's engine, as far as requests wait in it: what the shell and the FIFO hold, and the
// header cache. It belongs to the rank and outlives its calls.
//
// An engine reads its input while it waits for something (read in [zrlmpi-src]): a request that comes at
// another time stays in the FIFO, and in the shell behind it, and what finds both full is dropped. When the
// engine looks for a request, it reads up to that one. Headers of others go into the cache meanwhile, which
// is asked first.
//
// The cache of [zrlmpi-src] has a slot for each rank, because a rank has one call at a time. Here a rank may
// have several open, so the slots take headers of any rank; without a free slot a header stays in the FIFO.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "simulators/zrlmpi/protocol.hpp"

namespace offramp::zrlmpi {

class EngineInput {
 public:
  /// Whether a header that comes at `at` would be dropped, as far as is known now.
  [[nodiscard]] bool is_full(Time at) const {
    if (waiting_.size() - cached_ < kWaitingHeaders) return false;
    const auto in_front = [at](const Waiting& header) { return !header.cached && header.at <= at; };
    return std::count_if(waiting_.begin(), waiting_.end(), in_front) >= std::ptrdiff_t{kWaitingHeaders};
  }

  /// The request of a message (any number that names it) comes at `at`.
  void add(std::uint64_t message, Time at) {
    auto behind = waiting_.end();
    while (behind != waiting_.begin() && std::prev(behind)->at > at) --behind;
    waiting_.insert(behind, {message, at, false});
  }

  /// The engine looks for a request at `now`. How many headers it reads until it has it, its own included:
  /// none if that is in the cache, or was never added.
  std::int64_t take(std::uint64_t message, Time now) {
    const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                    [&](const Waiting& header) { return header.message == message; });
    if (found == waiting_.end()) return 0;
    std::int64_t read = 0;
    if (found->cached) {
      --cached_;
    } else {
      for (auto header = waiting_.begin(); header != found; ++header) {
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

  [[nodiscard]] std::size_t in_cache() const { return cached_; }

 private:
  struct Waiting {
    std::uint64_t message;
    Time at;
    bool cached;
  };
  std::vector<Waiting> waiting_;  // in the order of arrival
  std::size_t cached_ = 0;
};

}  // namespace offramp::zrlmpi
