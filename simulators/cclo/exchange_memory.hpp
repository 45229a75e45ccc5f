// Structures of the control processor in the exchange memory: communicators and the pool of RX buffers. Views
// without own state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "simulators/cclo/codes.hpp"
#include "simulators/cclo/io_space.hpp"

namespace offramp::cclo {

/// A view of a communicator at an address in the exchange memory.
class Communicator {
 public:
  /// The space must outlive the view.
  Communicator(IoSpace& space, std::uint32_t address) : space_(space), address_(address) {}

  [[nodiscard]] std::uint32_t size() const { return space_.peek(address_); }
  [[nodiscard]] std::uint32_t local_rank() const { return space_.peek(address_ + 4); }
  /// 0 if this generation lacks the field or the rank is outside of the communicator.
  [[nodiscard]] std::uint32_t get(std::uint32_t rank, RankField field) const;
  /// Ignored if this generation lacks the field or the rank is outside of the communicator.
  void set(std::uint32_t rank, RankField field, std::uint32_t value);

  /// Counts a message to a rank and returns its number. Numbers begin with 1 (second generation: 0).
  std::uint32_t next_outbound(std::uint32_t rank);
  /// The number that the next message from a rank must have.
  [[nodiscard]] std::uint32_t expected_inbound(std::uint32_t rank) const;
  /// Counts a message that has been received from a rank.
  void count_inbound(std::uint32_t rank);

 private:
  [[nodiscard]] bool second() const { return space_.layout().generation == Generation::kSecond; }
  /// Increments a rank's field. Returns its value before, 0 if get() does.
  std::uint32_t count(std::uint32_t rank, RankField field);
  /// The offset of a rank's field.
  [[nodiscard]] std::optional<std::uint32_t> place(std::uint32_t rank, RankField field) const;

  IoSpace& space_;
  std::uint32_t address_;
};

/// The header of a message in an RX buffer.
struct RxMessage {
  std::uint32_t length = 0;
  std::uint32_t tag = kTagAny;
  std::uint32_t source = 0;
  std::uint32_t sequence = 0;
};

/// The pool. A buffer cycles through IDLE, ENQUEUED (write command posted), RESERVED (contains a message) or
/// ERROR, and IDLE. It is not overwritten before its message is consumed.
class RxPool {
 public:
  /// The space must outlive this object.
  explicit RxPool(IoSpace& space)
      : space_(space),
        most_(space.layout().most_buffers(0)),
        descriptor_bytes_(4 * space.layout().descriptor_words()),
        first_status_(space.layout().descriptor_offset(0) +
                      space.layout().offset(DescriptorField::kStatus).value_or(0)) {}

  /// The number that the host wrote, limited to what the memory has room for.
  [[nodiscard]] std::uint32_t buffers() const {
    return std::min(space_.peek(space_.layout().exchange_base), most_);
  }
  [[nodiscard]] BufferStatus status(std::uint32_t i) const {
    return static_cast<BufferStatus>(i < most_ ? space_.peek(first_status_ + i * descriptor_bytes_) : 0);
  }
  /// Posts write commands for the lowest IDLE descriptors, at most 16 in flight. Returns their number.
  std::uint32_t enqueue();
  /// Stores a message in the lowest ENQUEUED buffer, whose status becomes ERROR if the message is too long.
  /// `nullopt` if no buffer is enqueued; the message then stays in the protocol engine.
  std::optional<std::uint32_t> fill(const RxMessage& message);
  /// Finds the buffer with the source's message of this number and a matching tag. In the first generation,
  /// the receiver may use the wildcard; in the second, the message.
  [[nodiscard]] std::optional<std::uint32_t> seek(std::uint32_t source, std::uint32_t tag,
                                                  std::uint32_t sequence) const;
  /// The header in buffer i. Fields are 0 if i lies behind the last descriptor that fits.
  [[nodiscard]] RxMessage message(std::uint32_t i) const;
  /// The longest message that buffer i can store, in bytes.
  [[nodiscard]] std::uint32_t capacity(std::uint32_t i) const;
  /// Frees a buffer whose message has been copied.
  void release(std::uint32_t i) { set(i, DescriptorField::kStatus, 0); }

  static constexpr std::uint32_t kMostEnqueued = 16;  // DMA tags

 protected:
  /// Writes a message's fields and the status of a descriptor, which may lie beyond buffers().
  /// The accessors are protected for a card that stores messages itself (tests/cclo/card).
  void store(std::uint32_t i, const RxMessage& message, BufferStatus status);
  [[nodiscard]] std::uint32_t get(std::uint32_t i, DescriptorField field) const {
    const auto offset = space_.layout().offset(field);
    return offset && i < most_ ? space_.peek(space_.layout().descriptor_offset(i) + *offset) : 0;
  }
  void set(std::uint32_t i, DescriptorField field, std::uint32_t value) {
    const auto offset = space_.layout().offset(field);
    if (offset && i < most_) space_.poke(space_.layout().descriptor_offset(i) + *offset, value);
  }

 private:
  IoSpace& space_;
  std::uint32_t most_;
  // For status(), since the firmware searches all descriptors for every message.
  std::uint32_t descriptor_bytes_;
  std::uint32_t first_status_;
};

}  // namespace offramp::cclo
