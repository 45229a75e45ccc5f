// Fetching memory into the caches before it is used, behind one switch.
#pragma once

#include <cstddef>

namespace offramp {

/// Switches all of it off, to measure what it is worth.
inline constexpr bool kPrefetches = true;

/// Fetches the line of any address, in a function that does more than that.
[[gnu::always_inline]] inline void fetch_line(const void* memory) {
  if constexpr (kPrefetches) __builtin_prefetch(memory);
}

/// Fetches memory that is used soon, of any address. The compiler takes a function that only prefetches for
/// one without effect, and leaves out its calls; the statement without instructions forbids that. The test
/// suite `speed` counts what is executed.
inline void fetch_ahead(const void* memory, std::size_t bytes) {
  if constexpr (kPrefetches) {
    asm volatile("");
    const auto* const first = static_cast<const char*>(memory);
    for (std::size_t line = 0; line < bytes; line += 64) __builtin_prefetch(first + line);
  }
}

}  // namespace offramp
