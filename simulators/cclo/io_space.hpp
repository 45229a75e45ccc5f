// The IO space as bytes: what the host and the control processor see through their ports.
//
// Accesses are 32 bits wide and aligned; a read elsewhere gives 0 and a write elsewhere is dropped, as the
// bus answers them with an error. Not thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "simulators/cclo/layout.hpp"

namespace offramp::cclo {

/// The 15 words of a call, in the order of Argument.
using CallWords = std::array<std::uint32_t, kArguments>;

class IoSpace {
 public:
  explicit IoSpace(const Layout& layout);

  // The host's port. Counted: the driver pays for each access.
  std::uint32_t read(std::uint32_t offset);
  void write(std::uint32_t offset, std::uint32_t value);
  /// The call block: in the same space, but for the second generation, where it is a kernel of its own.
  std::uint32_t read_control(std::uint32_t offset);
  void write_control(std::uint32_t offset, std::uint32_t value);
  /// All arguments of a call: as many accesses as there are.
  void write_arguments(const CallWords& words) {
    accesses_.writes += kArguments;
    for (std::size_t i = 0; i < kArguments; ++i)
      call_block_[offset_of(static_cast<Argument>(i)) / 4] = words[i];
  }
  struct Accesses {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
  };
  [[nodiscard]] const Accesses& accesses() const { return accesses_; }

  // The call block's other side: the control processor.
  /// The call that was started, once.
  std::optional<CallWords> take_call();
  /// The firmware waits for a peer and lets the block take the next call meanwhile. (The hardware keeps the
  /// call until it is done; a legal MPI program could then block for ever.)
  void yield_call() { call_block_[0] |= kApIdle; }
  /// RETVAL first, then the completion word: done, ready and idle.
  void complete(std::uint32_t return_value);
  /// Boot or soft reset: the exchange memory is zeroed and the hardware id written again.
  void reset(std::uint32_t hardware_id);

  // The exchange memory as the control processor sees it: no access of the host is counted.
  [[nodiscard]] std::uint32_t peek(std::uint32_t offset) const {
    return offset % 4 == 0 && offset / 4 < memory_.size() ? memory_[offset / 4] : 0;
  }
  void poke(std::uint32_t offset, std::uint32_t value) {
    if (offset % 4 == 0 && offset / 4 < memory_.size()) memory_[offset / 4] = value;
  }

  [[nodiscard]] const Layout& layout() const { return layout_; }

 private:
  [[nodiscard]] bool separate_call_block() const { return layout_.generation == Generation::kSecond; }
  std::uint32_t read_call_block(std::uint32_t offset);
  void write_call_block(std::uint32_t offset, std::uint32_t value);

  Layout layout_;
  std::vector<std::uint32_t> memory_;  // the exchange memory, and all that is no call block
  std::array<std::uint32_t, kCallBlockBytes / 4> call_block_{};
  Accesses accesses_;
  bool started_ = false;
};

}  // namespace offramp::cclo
