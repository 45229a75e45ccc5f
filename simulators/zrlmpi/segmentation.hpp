// How a message is cut into datagrams.
#pragma once

#include <cstdint>

#include "simulators/zrlmpi/spec.hpp"

namespace offramp::zrlmpi {

/// One header per message (strict format): a first datagram with the header, headerless continuations, the
/// last one as long as what is left.
struct MessageCut {
  std::uint64_t datagrams = 1;
  std::uint32_t last_bytes = 0;  // UDP payload of the last one (the first one if there is only one)
};
MessageCut cut_message(const MpeSpec& spec, std::uint64_t bytes);

/// Header and extension block in every datagram.
std::uint64_t fragment_count(std::uint64_t bytes);
/// Payload bytes of one fragment.
std::uint32_t fragment_bytes(std::uint64_t message_bytes, std::uint64_t index);

}  // namespace offramp::zrlmpi
