// The header cache: one slot per source rank for a header that came while another was expected. The newest
// wins. "BSP programs have at most one pending header per peer" is its reason for a single slot
// (read in [zrlmpi-src]).
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "simulators/zrlmpi/header.hpp"

namespace offramp::zrlmpi {

class HeaderCache {
 public:
  /// Only headers that decode() accepted, so the source is in range.
  void put(const Header& header) { slots_.at(header.source()) = header; }

  /// The header of this source, if it is of this type and call; it leaves the cache.
  std::optional<Header> take(int source, PacketType type, Call call) {
    std::optional<Header>& slot = slots_.at(static_cast<std::size_t>(source));
    if (!slot || slot->type() != type || slot->call() != call) return std::nullopt;
    return std::exchange(slot, std::nullopt);
  }

  /// A completed call leaves nothing of its peer behind: a stale header would be taken for a part of the next
  /// call.
  void drop(int source) { slots_.at(static_cast<std::size_t>(source)).reset(); }

 private:
  std::array<std::optional<Header>, kCacheSlots> slots_;
};

}  // namespace offramp::zrlmpi
