// Reading the control word clears `done` and `ready`, so a completion is seen once. A start is ignored unless
// the block is idle. In the first generation the call block is at the beginning of the IO space, in the
// second it has its own port (read_control()).
#include "simulators/cclo/io_space.hpp"

#include <algorithm>

namespace offramp::cclo {

IoSpace::IoSpace(const Layout& layout)
    : layout_(layout), memory_(std::max(kIoSpaceBytes, layout.return_value + 4) / 4) {
  call_block_[0] = kApIdle;
}

std::uint32_t IoSpace::read_call_block(std::uint32_t offset) {
  const std::uint32_t value = call_block_[offset / 4];
  if (offset == kApCtrl) call_block_[0] &= ~(kApDone | kApReady);
  return value;
}

void IoSpace::write_call_block(std::uint32_t offset, std::uint32_t value) {
  if (offset != kApCtrl) {
    call_block_[offset / 4] = value;
    return;
  }
  // Ignoring a start of a busy block protects the arguments of the call that runs.
  if ((value & kApStart) == 0 || (call_block_[0] & kApIdle) == 0) return;  // one call at a time
  call_block_[0] = kApStart;
  started_ = true;
}

std::uint32_t IoSpace::read(std::uint32_t offset) {
  ++accesses_.reads;
  if (offset % 4 != 0) return 0;
  if (!separate_call_block() && offset < kCallBlockBytes) return read_call_block(offset);
  return peek(offset);
}

void IoSpace::write(std::uint32_t offset, std::uint32_t value) {
  ++accesses_.writes;
  if (offset % 4 != 0) return;
  if (!separate_call_block() && offset < kCallBlockBytes) return write_call_block(offset, value);
  poke(offset, value);
}

std::uint32_t IoSpace::read_control(std::uint32_t offset) {
  ++accesses_.reads;
  return offset % 4 == 0 && offset < kCallBlockBytes ? read_call_block(offset) : 0;
}

void IoSpace::write_control(std::uint32_t offset, std::uint32_t value) {
  ++accesses_.writes;
  if (offset % 4 == 0 && offset < kCallBlockBytes) write_call_block(offset, value);
}

std::optional<CallWords> IoSpace::pop_call() {
  if (!started_) return std::nullopt;
  started_ = false;
  CallWords words{};
  for (std::size_t i = 0; i < kArguments; ++i)
    words[i] = call_block_[offset_of(static_cast<Argument>(i)) / 4];
  return words;
}

void IoSpace::complete(std::uint32_t return_value) {
  poke(layout_.return_value, return_value);
  // RETVAL is written first: a host that sees `done` may read it at once.
  call_block_[0] = kApDone | kApIdle | kApReady;
}

void IoSpace::reset(std::uint32_t hardware_id) {
  std::fill(memory_.begin() + layout_.exchange_base / 4, memory_.end(), 0U);
  poke(layout_.hardware_id, hardware_id);
}

}  // namespace offramp::cclo
