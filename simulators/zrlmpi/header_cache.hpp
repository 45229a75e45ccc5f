// The header cache: one slot per source rank for a header that arrived while another was expected. The newest
// header wins. Its reason: "BSP programs have at most one pending header per peer" (read in [zrlmpi-src]).
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "simulators/zrlmpi/header.hpp"

namespace offramp::zrlmpi {

class HeaderCache {
 public:
  /// Requires a header that decode() has accepted, so that the source is in range.
  void put(const Header& header) { slots_.at(header.source()) = header; }

  /// Removes and returns the header of this source if its type and call match.
  std::optional<Header> pop(int source, PacketType type, MpiCall call) {
    std::optional<Header>& slot = slots_.at(static_cast<std::size_t>(source));
    if (!slot || slot->type() != type || slot->call() != call) return std::nullopt;
    return std::exchange(slot, std::nullopt);
  }

  /// Removes the header of a peer after a call, since the next call could mistake it for its own.
  void drop(int source) { slots_.at(static_cast<std::size_t>(source)).reset(); }

 private:
  std::array<std::optional<Header>, kCacheSlots> slots_;
};

}  // namespace offramp::zrlmpi
