// What both ends of a connection say of themselves before the first notification.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "lib/services/dpu_service/transport.hpp"
#include "offramp/dpu/types.h"

namespace offramp::dpu {

/// A client's. What both ends have to agree on is 0 where a client does not know it.
struct Hello {
  std::uint32_t scope = 0;
  std::int64_t global_id = -1;  // of a service process
  rank_info_t rank{};
  std::uint64_t config = 0;   // fingerprint of the configuration file
  std::uint64_t list = 0;     // of the list of DPUs: service processes
  std::uint64_t per_dpu = 0;  // service processes
};
Bytes encode(const Hello& hello);
std::optional<Hello> decode_hello(std::span<const std::byte> bytes);

/// A server's, which takes the client.
struct Welcome {
  std::uint64_t server_id = 0;
  std::int64_t global_id = -1;  // of a service process
  std::uint64_t client_id = 0;
  std::uint64_t processes = 0;
  std::uint64_t per_dpu = 0;
};
Bytes encode(const Welcome& welcome);
/// Nothing: a field with a value that cannot be right.
std::optional<Welcome> decode_welcome(std::span<const std::byte> bytes);

inline constexpr std::size_t kMostPeers = 10'000;  // of the published service

/// Fails if a server with these values does not accept a client with those.
Result<void> check_agreement(const Hello& server, const Hello& client);

}  // namespace offramp::dpu
