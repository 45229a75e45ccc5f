// Blocking collectives of the program, kept for its next call with the same arguments: programs repeat few
// calls, and building one takes a quarter of the instructions of a small collective.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include "lib/run/mpi/marshal/collective_call.hpp"

namespace offramp {

/// Used by one thread at a time.
class KeptCalls {
 public:
  /// An array may have other contents in the next call, so calls with such an argument are not kept.
  template <typename... Arguments>
  static constexpr bool kCanKeep = ((!std::is_pointer_v<Arguments> ||
                                     std::is_void_v<std::remove_pointer_t<Arguments>> ||
                                     std::is_same_v<Arguments, MPI_Comm> ||
                                     std::is_same_v<Arguments, MPI_Datatype> ||
                                     std::is_same_v<Arguments, MPI_Op>)&&...);

  /// One kept call. Different calls share slots: the key shows which one is kept.
  struct Slot {
    std::unique_ptr<CollectiveCall> call;
    bool is_in_use = false;              // a thread is in the call
    std::array<std::uint64_t, 9> key{};  // a label, and the arguments

    /// label: identifies the function, and so the types of the arguments. Not 0.
    [[nodiscard]] bool has(std::uint64_t label, auto... arguments) const {
      std::size_t i = 1;
      return key[0] == label && ((key[i++] == word_of(arguments)) && ...);
    }
    /// Keeps another call. Returns false, and leaves it, if that is not possible.
    bool replace(std::unique_ptr<CollectiveCall>& built, std::uint64_t label, auto... arguments) {
      // Another thread uses the call that is kept here, so this one is not kept.
      if (is_in_use || built == nullptr || !built->is_repeatable()) return false;
      call = std::move(built);
      key = {label, word_of(arguments)...};
      return true;
    }
  };
  /// The place of a call with these arguments, where another call may be.
  Slot& slot(std::uint64_t label, auto... arguments) {
    const std::uint64_t sum = (label + ... + word_of(arguments));
    return slots_[(sum * 0x9e3779b97f4a7c15) >> 48U & (kSlots - 1)];
  }

 private:
  template <typename T>
  static std::uint64_t word_of(T argument) {
    if constexpr (std::is_pointer_v<T>) {
      return reinterpret_cast<std::uintptr_t>(argument);
    } else {
      return static_cast<std::uint64_t>(argument);
    }
  }

  static constexpr std::size_t kSlots = 16;  // a power of two
  std::array<Slot, kSlots> slots_;
};

}  // namespace offramp
