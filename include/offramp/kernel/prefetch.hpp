// Prefetching of memory into the caches, behind one switch.
#pragma once

#include <cstddef>

namespace offramp {

/// False disables all prefetching, to measure its benefit.
inline constexpr bool kPrefetches = true;

/// Prefetches one cache line, within a function that does other work, too. Any address is allowed.
[[gnu::always_inline]] inline void fetch_line(const void* memory) {
  if constexpr (kPrefetches) __builtin_prefetch(memory);
}

/// Prefetches a range of memory. The compiler considers a function that only prefetches to be without effect
/// and removes its calls; the empty asm statement prevents that. The test suite `speed` counts executed
/// instructions. Any address is allowed.
inline void fetch_ahead(const void* memory, std::size_t bytes) {
  if constexpr (kPrefetches) {
    asm volatile("");
    const auto* const first = static_cast<const char*>(memory);
    for (std::size_t line = 0; line < bytes; line += 64) __builtin_prefetch(first + line);
  }
}

}  // namespace offramp
