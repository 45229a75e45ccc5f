// The 32-byte header and the extension block of a fragment, as they arrive from the wire.
#include "simulators/zrlmpi/header.hpp"
#include "tests/fuzz/support.hpp"

using namespace offramp::zrlmpi;  // NOLINT: one file

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const offramp::fuzz::Input input(data, size);
  const std::span<const std::byte> bytes = input.rest();
  for (const Format format : {Format::kStrict, Format::kExtended}) {
    Header header;
    if (decode(bytes, format, header) != HeaderError::kNone) continue;
    const HeaderImage image = encode(header);
    Header again;
    offramp::fuzz::require(decode(image, format, again) == HeaderError::kNone && again == header);
    offramp::fuzz::require(header.payload_bytes() <= std::uint64_t{header.words()} * 4);
  }
  if (const auto block = decode_fragment_block(bytes)) {
    const auto image = encode(*block);
    offramp::fuzz::require(std::equal(image.begin(), image.end(), bytes.begin()));
  }
  return 0;
}
