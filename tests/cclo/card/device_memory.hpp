// The memories that an engine's DMAs can access, on its card and on its host, as blocks at addresses. Only
// for the thread of the owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "offramp/model/message.hpp"
#include "simulators/cclo/data_plane.hpp"

namespace offramp::cclo {

/// The response of a memory to a DMA: success, no memory at the address (decode error), a slave error (such
/// as an uncorrectable bit), or no response.
enum class Answer : std::uint8_t { kOkay, kNoMemory, kError, kSilence };

/// Returns whether the spans share a byte.
bool overlap(Bytes a, Bytes b);

/// The memory blocks that one engine can access.
class DeviceMemory {
 public:
  /// Allocates a zeroed block of whole pages at an unused address, followed by a gap.
  std::uint64_t allocate(std::size_t bytes, BufferLocation place = BufferLocation::kDevice);
  /// Creates a block at a given address, which must not overlap other blocks.
  void place_at(std::uint64_t address, std::size_t bytes, BufferLocation place = BufferLocation::kDevice);

  /// The bytes at an address. If no block of this memory contains them all, returns dummy bytes for which
  /// answer() reports kNoMemory.
  MutableBytes at(std::uint64_t address, std::size_t bytes, BufferLocation place = BufferLocation::kDevice);
  /// The response to a DMA of bytes that at() returned.
  [[nodiscard]] Answer answer(Bytes bytes) const;
  /// The response to a DMA of the bytes at this address.
  [[nodiscard]] Answer answer(std::uint64_t address, std::size_t bytes) const;
  /// Makes the memory respond to DMAs of these bytes with `answer` from now on.
  void spoil(std::uint64_t address, std::size_t bytes, Answer answer);

 private:
  struct Block {
    BufferLocation place;
    std::vector<std::byte> bytes;
  };
  struct Spot {
    Bytes bytes;
    Answer answer;
  };
  using Blocks = std::map<std::uint64_t, Block>;
  [[nodiscard]] Blocks::const_iterator find(std::uint64_t address, std::size_t bytes) const;

  static constexpr std::uint64_t kFirst = 0x4000'0000;
  std::uint64_t free_ = kFirst;
  Blocks blocks_;
  std::list<std::vector<std::byte>> nowhere_;
  std::vector<Spot> spoiled_;
};

}  // namespace offramp::cclo
