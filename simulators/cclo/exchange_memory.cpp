// The generations number messages differently: the first counts before it sends and expects the next number,
// the second the other way round. Buffers are always searched from the lowest one.
#include "simulators/cclo/exchange_memory.hpp"

namespace offramp::cclo {

std::optional<std::uint32_t> Communicator::place(std::uint32_t rank, RankField field) const {
  const Layout& layout = space_.layout();
  const auto offset = layout.offset(field);
  if (!offset || rank >= size()) return std::nullopt;
  return address_ + 4 * (kCommunicatorHeadWords + rank * layout.rank_words()) + *offset;
}

std::uint32_t Communicator::get(std::uint32_t rank, RankField field) const {
  const auto at = place(rank, field);
  return at ? space_.peek(*at) : 0;
}

void Communicator::set(std::uint32_t rank, RankField field, std::uint32_t value) {
  if (const auto at = place(rank, field)) space_.poke(*at, value);
}

std::uint32_t Communicator::count(std::uint32_t rank, RankField field) {
  const auto at = place(rank, field);
  const std::uint32_t before = at ? space_.peek(*at) : 0;
  if (at) space_.poke(*at, before + 1);
  return before;
}

std::uint32_t Communicator::next_outbound(std::uint32_t rank) {
  return count(rank, RankField::kOutboundSequence) + (second() ? 0U : 1U);
}

std::uint32_t Communicator::expected_inbound(std::uint32_t rank) const {
  return get(rank, RankField::kInboundSequence) + (second() ? 0U : 1U);
}

void Communicator::count_inbound(std::uint32_t rank) {
  (void)count(rank, RankField::kInboundSequence);
}

/// The second generation has one length for all buffers.
std::uint32_t RxPool::capacity(std::uint32_t i) const {
  if (space_.layout().offset(DescriptorField::kMaximumLength)) return get(i, DescriptorField::kMaximumLength);
  return space_.peek(kGen2BufferLength);
}

std::uint32_t RxPool::enqueue() {
  const std::uint32_t count = buffers();
  std::uint32_t in_flight = 0;
  std::uint32_t idle = 0;
  std::uint32_t first_idle = 0;
  const std::span<const std::uint32_t> memory = space_.memory();
  std::size_t at = first_status_ / 4;
  // The descriptors lie within the memory, since there are at most most_ of them.
  for (std::uint32_t i = 0; i < count; ++i, at += descriptor_bytes_ / 4) {
    const auto now = static_cast<BufferStatus>(memory[at]);
    in_flight += now == BufferStatus::kEnqueued ? 1 : 0;
    if (now == BufferStatus::kIdle && idle++ == 0) first_idle = i;
  }
  std::uint32_t posted = 0;
  // A descriptor in flight keeps its DMA tag, so their number is limited by the tags.
  for (std::uint32_t i = first_idle; i < count && in_flight < kMostEnqueued && posted < idle; ++i) {
    if (status(i) != BufferStatus::kIdle) continue;
    set(i, DescriptorField::kStatus, static_cast<std::uint32_t>(BufferStatus::kEnqueued));
    set(i, DescriptorField::kDmaTag, in_flight % 16);
    ++in_flight;
    ++posted;
  }
  return posted;
}

std::optional<std::uint32_t> RxPool::fill(const RxMessage& message) {
  for (std::uint32_t i = 0; i < buffers(); ++i) {
    if (status(i) != BufferStatus::kEnqueued) continue;
    store(i, message, message.length <= capacity(i) ? BufferStatus::kReserved : BufferStatus::kError);
    return i;
  }
  return std::nullopt;
}

void RxPool::store(std::uint32_t i, const RxMessage& message, BufferStatus status) {
  set(i, DescriptorField::kRxTag, message.tag);
  set(i, DescriptorField::kRxLength, message.length);
  set(i, DescriptorField::kRxSource, message.source);
  set(i, DescriptorField::kSequence, message.sequence);
  set(i, DescriptorField::kStatus, static_cast<std::uint32_t>(status));
}

std::optional<std::uint32_t> RxPool::seek(std::uint32_t source, std::uint32_t tag,
                                          std::uint32_t sequence) const {
  const bool second = space_.layout().generation == Generation::kSecond;
  for (std::uint32_t i = 0; i < buffers(); ++i) {
    // Only RESERVED buffers have a complete message.
    if (status(i) != BufferStatus::kReserved) continue;
    const RxMessage m = message(i);
    const bool tag_fits = m.tag == tag || (second ? m.tag : tag) == kTagAny;
    if (m.source == source && m.sequence == sequence && tag_fits) return i;
  }
  return std::nullopt;
}

RxMessage RxPool::message(std::uint32_t i) const {
  return {get(i, DescriptorField::kRxLength), get(i, DescriptorField::kRxTag),
          get(i, DescriptorField::kRxSource), get(i, DescriptorField::kSequence)};
}

}  // namespace offramp::cclo
