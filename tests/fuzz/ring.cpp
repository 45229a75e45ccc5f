// The shared memory of a ring as another rank may have written it.
#include <memory>

#include "lib/run/fabric/shared_ring.hpp"
#include "tests/fuzz/support.hpp"

using namespace offramp;  // NOLINT: one file

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kBytes = 1024;
  constexpr int kMost = 200;  // a ring can contain a loop
  // Exactly the size of a ring, so that the sanitizer finds reads beyond it.
  const auto words = std::make_unique<std::uint64_t[]>(kBytes / sizeof(std::uint64_t));
  std::memcpy(words.get(), data, std::min(size, kBytes));
  std::uint64_t consumed = 0;
  RingReader reader({reinterpret_cast<std::byte*>(words.get()), kBytes, &consumed});
  std::size_t sum = 0;
  for (int i = 0; i < kMost; ++i) {
    RingReader::RingMessage message;
    if (reader.look(message) != RingReader::State::kMessage) break;
    fuzz::require(message.header.size() <= Fabric::kMaxHeader && message.payload.size() < kBytes);
    for (const std::byte b : message.header) sum += std::to_integer<std::size_t>(b);
    for (const std::byte b : message.payload) sum += std::to_integer<std::size_t>(b);
    reader.done(message);
  }
  fuzz::require(sum <= kMost * (Fabric::kMaxHeader + kBytes) * 255);
  return 0;
}
