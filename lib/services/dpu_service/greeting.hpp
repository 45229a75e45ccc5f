// The first messages of both ends of a connection, before any notification.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "lib/services/dpu_service/transport.hpp"
#include "offramp/dpu/types.h"

namespace offramp::dpu {

/// A client's greeting. Values that both ends must agree on are 0 if the client does not know them.
struct Hello {
  std::uint32_t scope = 0;
  std::int64_t global_id = -1;  // of a service process
  rank_info_t rank{};
  std::uint64_t config = 0;   // fingerprint of the configuration file
  std::uint64_t list = 0;     // fingerprint of the list of DPUs, for service processes
  std::uint64_t per_dpu = 0;  // number of service processes

  static void fields(auto& stream, auto& self) {
    stream.fields(self.scope, self.global_id, self.rank.group_id, self.rank.group_rank, self.rank.group_size,
                  self.rank.n_local_ranks, self.rank.local_rank, self.rank.group_seq_num, self.config,
                  self.list, self.per_dpu);
  }
};

/// The answer of a server that accepts the client.
struct Welcome {
  std::uint64_t server_id = 0;
  std::int64_t global_id = -1;  // of a service process
  std::uint64_t client_id = 0;
  std::uint64_t processes = 0;
  std::uint64_t per_dpu = 0;

  static void fields(auto& stream, auto& self) {
    stream.fields(self.server_id, self.global_id, self.client_id, self.processes, self.per_dpu);
  }
};
/// `nullopt` if a field has an invalid value.
std::optional<Welcome> decode_welcome(std::span<const std::byte> bytes);

inline constexpr std::size_t kMostPeers = 10'000;  // of the published service

/// Fails if a server with these values does not accept this client.
Result<void> check_agreement(const Hello& server, const Hello& client);

}  // namespace offramp::dpu
