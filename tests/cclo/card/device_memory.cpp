#include "tests/cclo/card/device_memory.hpp"

#include <algorithm>
#include <functional>

namespace offramp::cclo {
namespace {

constexpr std::uint64_t kGranule = 4096;

}  // namespace

bool overlap(Bytes a, Bytes b) {
  const std::less<> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

std::uint64_t DeviceMemory::allocate(std::size_t bytes, BufferLocation place) {
  const std::uint64_t address = free_;
  free_ += (bytes / kGranule + 2) * kGranule;
  place_at(address, bytes, place);
  return address;
}

void DeviceMemory::place_at(std::uint64_t address, std::size_t bytes, BufferLocation place) {
  blocks_[address] = {place, std::vector<std::byte>(bytes)};
}

DeviceMemory::Blocks::const_iterator DeviceMemory::find(std::uint64_t address, std::size_t bytes) const {
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return blocks_.end();
  --next;
  const std::uint64_t offset = address - next->first;
  const std::size_t size = next->second.bytes.size();
  return offset <= size && bytes <= size - offset ? next : blocks_.end();
}

MutableBytes DeviceMemory::at(std::uint64_t address, std::size_t bytes, BufferLocation place) {
  const auto found = find(address, bytes);
  if (found == blocks_.end() || found->second.place != place) return nowhere_.emplace_back(bytes);
  return MutableBytes(blocks_[found->first].bytes).subspan(address - found->first, bytes);
}

Answer DeviceMemory::answer(Bytes bytes) const {
  for (const std::vector<std::byte>& none : nowhere_) {
    if (overlap(none, bytes)) return Answer::kNoMemory;
  }
  for (const Spot& spot : spoiled_) {
    if (overlap(spot.bytes, bytes)) return spot.answer;
  }
  return Answer::kOkay;
}

Answer DeviceMemory::answer(std::uint64_t address, std::size_t bytes) const {
  const auto found = find(address, bytes);
  if (found == blocks_.end()) return Answer::kNoMemory;
  return answer(Bytes(found->second.bytes).subspan(address - found->first, bytes));
}

void DeviceMemory::spoil(std::uint64_t address, std::size_t bytes, Answer answer) {
  const auto found = find(address, bytes);
  if (found == blocks_.end()) return;
  spoiled_.push_back({Bytes(found->second.bytes).subspan(address - found->first, bytes), answer});
}

}  // namespace offramp::cclo
