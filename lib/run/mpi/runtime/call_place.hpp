// Where the program has called a function of the interface.
#pragma once

namespace offramp {

struct CallPlace {
  const void* site = nullptr;         // the address to which the call returns
  const void* const* slot = nullptr;  // where on the stack that stands; null: not known on this processor

  /// Of the function that this is written in, as a default argument of the one that calls it: that must be
  /// the entry point itself or a part of it that is always inlined.
  [[gnu::always_inline]] static CallPlace here(const void* site = __builtin_return_address(0),
                                               [[maybe_unused]] void* frame = __builtin_dwarf_cfa()) {
#if defined(__x86_64__)
    // The call has pushed it: it is the word below the caller's frame.
    return {site, static_cast<const void* const*>(frame) - 1};
#else
    return {site, nullptr};
#endif
  }
};

}  // namespace offramp
