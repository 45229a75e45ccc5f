// The IO space as bytes, as seen by the host and the control processor. Accesses are 32 bits wide and
// aligned. Elsewhere, reads return 0 and writes are dropped (a bus error). One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "simulators/cclo/layout.hpp"

namespace offramp::cclo {

/// The 15 words of a call, in the order of Argument.
using CallWords = std::array<std::uint32_t, kArguments>;

/// The IO space of one engine, with the handshake of its call block. Owns its memory.
class IoSpace {
 public:
  explicit IoSpace(const Layout& layout);

  // The host's port. Accesses are counted, because the driver pays for each.
  std::uint32_t read(std::uint32_t offset);
  void write(std::uint32_t offset, std::uint32_t value);
  /// The call block: part of this space, but a separate kernel in the second generation.
  std::uint32_t read_control(std::uint32_t offset);
  void write_control(std::uint32_t offset, std::uint32_t value);
  /// Writes all arguments of a call, with one access each.
  void write_arguments(const CallWords& words) {
    accesses_.writes += kArguments;
    for (std::size_t i = 0; i < kArguments; ++i)
      call_block_[offset_of(static_cast<Argument>(i)) / 4] = words[i];
  }
  /// Accesses of the host since the engine exists.
  struct Accesses {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
  };
  [[nodiscard]] const Accesses& accesses() const { return accesses_; }

  // The control processor's side of the call block.
  /// The started call. Returned once.
  /// `nullopt` if the host has started no call since the last pop_call().
  std::optional<CallWords> pop_call();
  /// Lets the block accept the next call while the firmware waits for a peer. (The hardware keeps a call
  /// until it is done, which could deadlock legal MPI programs.)
  void yield_call() { call_block_[0] |= kApIdle; }
  /// Sets RETVAL, then the completion word: done, ready, and idle.
  void complete(std::uint32_t return_value);
  /// Boot or soft reset: zeroes the exchange memory and writes the hardware id.
  void reset(std::uint32_t hardware_id);

  // The control processor's access to the exchange memory. Not counted.
  [[nodiscard]] std::uint32_t peek(std::uint32_t offset) const {
    return offset % 4 == 0 && offset / 4 < memory_.size() ? memory_[offset / 4] : 0;
  }
  /// All words of the memory, for searches.
  [[nodiscard]] std::span<const std::uint32_t> memory() const { return memory_; }
  /// Ignored outside of the memory, and if not aligned.
  void poke(std::uint32_t offset, std::uint32_t value) {
    if (offset % 4 == 0 && offset / 4 < memory_.size()) memory_[offset / 4] = value;
  }

  [[nodiscard]] const Layout& layout() const { return layout_; }

 private:
  [[nodiscard]] bool separate_call_block() const { return layout_.generation == Generation::kSecond; }
  std::uint32_t read_call_block(std::uint32_t offset);
  void write_call_block(std::uint32_t offset, std::uint32_t value);

  Layout layout_;
  std::vector<std::uint32_t> memory_;  // the exchange memory and everything else outside of the call block
  std::array<std::uint32_t, kCallBlockBytes / 4> call_block_{};
  Accesses accesses_;
  bool started_ = false;
};

}  // namespace offramp::cclo
