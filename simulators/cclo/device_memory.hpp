// The memories that an engine's DMAs reach: its card's and its host's, as blocks at addresses. Thread rule:
// the owner's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <vector>

#include "offramp/model/message.hpp"

namespace offramp::cclo {

/// Where a buffer lies.
enum class Place : std::uint8_t { kDevice, kHost };

/// How a memory answers a DMA: as it should; no memory is there (a decode error); with an error of its own (a
/// slave error: a bit that its check cannot repair); not at all.
enum class Answer : std::uint8_t { kOkay, kNoMemory, kError, kSilence };

/// Whether they have a byte in common.
bool overlap(Bytes a, Bytes b);

class DeviceMemory {
 public:
  /// A new block of zeros at an address that is free: whole words, and a gap behind.
  std::uint64_t allocate(std::size_t bytes, Place place = Place::kDevice);
  /// A block at an address of the caller's choice, which no other block may overlap.
  void place_at(std::uint64_t address, std::size_t bytes, Place place = Place::kDevice);

  /// The bytes at an address. Where there is no block of that memory that holds them all: bytes that go
  /// nowhere, and to which answer() says so.
  MutableBytes at(std::uint64_t address, std::size_t bytes, Place place = Place::kDevice);
  /// A DMA of these bytes, which at() has given.
  [[nodiscard]] Answer answer(Bytes bytes) const;
  /// The same of an address.
  [[nodiscard]] Answer answer(std::uint64_t address, std::size_t bytes) const;
  /// From now on the memory answers DMAs of these bytes in this way.
  void spoil(std::uint64_t address, std::size_t bytes, Answer answer);

 private:
  struct Block {
    Place place;
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
