// The place in the program from which a function of the interface is called.
#pragma once

namespace offramp {

/// A value: it may be copied, but the slot is valid only while the call lasts.
struct CallPlace {
  const void* site = nullptr;         // return address of the call
  const void* const* slot = nullptr;  // its stack slot; null if unknown on this processor

  /// The call of the function in which this appears as a default argument. That function must be the entry
  /// point itself or always be inlined into it.
  [[gnu::always_inline]] static CallPlace here(const void* site = __builtin_return_address(0),
                                               [[maybe_unused]] void* frame = __builtin_dwarf_cfa()) {
#if defined(__x86_64__)
    // The call pushed its return address: the word below the caller's frame.
    return {site, static_cast<const void* const*>(frame) - 1};
#else
    return {site, nullptr};
#endif
  }
};

}  // namespace offramp
