// What the control processor keeps in the exchange memory: communicators, and the pool of RX buffers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "simulators/cclo/codes.hpp"
#include "simulators/cclo/io_space.hpp"

namespace offramp::cclo {

/// A communicator at an address. Reads and writes go to the exchange memory's bytes.
class Communicator {
 public:
  Communicator(IoSpace& space, std::uint32_t address) : space_(space), address_(address) {}

  [[nodiscard]] std::uint32_t size() const { return space_.peek(address_); }
  [[nodiscard]] std::uint32_t local_rank() const { return space_.peek(address_ + 4); }
  /// 0 where this generation has no such field, or beyond the communicator.
  [[nodiscard]] std::uint32_t get(std::uint32_t rank, RankField field) const;
  void set(std::uint32_t rank, RankField field, std::uint32_t value);

  /// The number of the next message to a rank, which is counted: the first is 1, in the second generation 0.
  std::uint32_t next_outbound(std::uint32_t rank);
  /// The number that the next message from a rank has to have.
  [[nodiscard]] std::uint32_t expected_inbound(std::uint32_t rank) const;
  void count_inbound(std::uint32_t rank);

 private:
  [[nodiscard]] bool second() const { return space_.layout().generation == Generation::kSecond; }
  [[nodiscard]] std::optional<std::uint32_t> place(std::uint32_t rank, RankField field) const;

  IoSpace& space_;
  std::uint32_t address_;
};

/// A message in an RX buffer.
struct RxMessage {
  std::uint32_t length = 0;
  std::uint32_t tag = kTagAny;
  std::uint32_t source = 0;
  std::uint32_t sequence = 0;
};

/// The pool: IDLE -> ENQUEUED (write command posted) -> RESERVED (holds a message) or ERROR -> IDLE. Nothing
/// is overwritten before it is claimed.
class RxPool {
 public:
  explicit RxPool(IoSpace& space) : space_(space), most_(space.layout().most_buffers(0)) {}

  /// As the host wrote it, but no more than there is room for.
  [[nodiscard]] std::uint32_t buffers() const {
    return std::min(space_.peek(space_.layout().exchange_base), most_);
  }
  [[nodiscard]] BufferStatus status(std::uint32_t i) const {
    return static_cast<BufferStatus>(get(i, DescriptorField::kStatus));
  }
  /// Posts write commands for the lowest IDLE descriptors, at most 16 in flight; returns how many it posted.
  std::uint32_t enqueue();
  /// The lowest ENQUEUED buffer takes a message; longer than the buffer: it becomes ERROR. Nothing: no buffer
  /// was enqueued, so the message stays in the protocol engine.
  std::optional<std::uint32_t> fill(const RxMessage& message);
  /// The buffer with this source's message of this number and a tag that fits. The wildcard is the
  /// receiver's in the first generation and the message's in the second.
  [[nodiscard]] std::optional<std::uint32_t> seek(std::uint32_t source, std::uint32_t tag,
                                                  std::uint32_t sequence) const;
  [[nodiscard]] RxMessage message(std::uint32_t i) const;
  // What the firmware does with single descriptors, also with those behind the number of buffers.
  void post(std::uint32_t i, std::uint32_t tag);
  void store(std::uint32_t i, const RxMessage& message, BufferStatus status);
  [[nodiscard]] std::uint32_t tag(std::uint32_t i) const { return get(i, DescriptorField::kDmaTag); }
  [[nodiscard]] std::uint64_t address(std::uint32_t i) const {
    return std::uint64_t{get(i, DescriptorField::kAddressHigh)} << 32 | get(i, DescriptorField::kAddressLow);
  }
  [[nodiscard]] std::uint32_t capacity(std::uint32_t i) const;
  /// The consumer's copy is acknowledged.
  void release(std::uint32_t i) { set(i, DescriptorField::kStatus, 0); }

  static constexpr std::uint32_t kMostEnqueued = 16;  // DMA tags

 private:
  [[nodiscard]] std::uint32_t get(std::uint32_t i, DescriptorField field) const {
    const auto offset = space_.layout().offset(field);
    return offset && i < most_ ? space_.peek(space_.layout().descriptor_offset(i) + *offset) : 0;
  }
  void set(std::uint32_t i, DescriptorField field, std::uint32_t value) {
    const auto offset = space_.layout().offset(field);
    if (offset && i < most_) space_.poke(space_.layout().descriptor_offset(i) + *offset, value);
  }

  IoSpace& space_;
  std::uint32_t most_;
};

}  // namespace offramp::cclo
