// In the strict format a message is one stream of words with the header in front, cut into full datagrams.
// Fragments of the extended format all have the same payload except the last, so index and size follow from
// the offset.
#include "simulators/zrlmpi/segmentation.hpp"

namespace offramp::zrlmpi {

MessageCut cut_message(const MpeSpec& spec, std::uint64_t bytes) {
  const std::uint64_t stream = kHeaderBytes + spec.padded(bytes);
  MessageCut cut;
  cut.datagrams = (stream + kDatagramBytes - 1) / kDatagramBytes;
  cut.last_bytes = static_cast<std::uint32_t>(stream - (cut.datagrams - 1) * kDatagramBytes);
  return cut;
}

std::uint64_t fragment_count(std::uint64_t bytes) {
  return bytes == 0 ? 1 : (bytes + kFragmentBytes - 1) / kFragmentBytes;
}

std::uint32_t fragment_bytes(std::uint64_t message_bytes, std::uint64_t index) {
  const std::uint64_t offset = index * kFragmentBytes;
  if (offset >= message_bytes) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(kFragmentBytes, message_bytes - offset));
}

}  // namespace offramp::zrlmpi
