// Division of a message into datagrams.
#pragma once

#include <cstdint>

#include "simulators/zrlmpi/spec.hpp"

namespace offramp::zrlmpi {

/// One header per message (strict format): a first datagram with the header, then continuations without, and
/// the last one with the remaining bytes.
struct MessageCut {
  std::uint64_t datagrams = 1;
  std::uint32_t last_bytes = 0;  // UDP payload of the last datagram, which may be the first one
};
MessageCut cut_message(const MpeSpec& spec, std::uint64_t bytes);

/// The number of fragments if every datagram has header and extension block.
std::uint64_t fragment_count(std::uint64_t bytes);
/// Payload bytes of one fragment.
std::uint32_t fragment_bytes(std::uint64_t message_bytes, std::uint64_t index);

}  // namespace offramp::zrlmpi
