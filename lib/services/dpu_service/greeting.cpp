// A fingerprint of 0 means that this end does not know the value, so values are compared only if both ends
// have them. A rank has to be at the service process of its local rank modulo their number.
#include "lib/services/dpu_service/greeting.hpp"

#include "lib/services/dpu_service/bytes.hpp"

namespace offramp::dpu {

std::optional<Welcome> decode_welcome(std::span<const std::byte> bytes) {
  const auto welcome = decode_message<Welcome>(bytes);
  const bool is_valid =
      welcome && welcome->processes <= kMostPeers && welcome->per_dpu > 0 && welcome->per_dpu <= kMostPeers;
  return is_valid ? welcome : std::nullopt;
}

Result<void> check_agreement(const Hello& server, const Hello& client) {
  if (server.scope != client.scope) {
    return failure(server.scope == SCOPE_INTER_SERVICE_PROCS ? "only service processes connect here"
                                                             : "only ranks connect here");
  }
  const auto differ = [](std::uint64_t a, std::uint64_t b) { return a != 0 && b != 0 && a != b; };
  if (differ(server.config, client.config)) return failure("the configuration files differ");
  if (differ(server.list, client.list)) return failure("the lists of DPUs differ");
  if (server.global_id < 0) return {};
  if (differ(server.per_dpu, client.per_dpu)) {
    return failure("there are " + std::to_string(server.per_dpu) + " service processes per DPU, not " +
                   std::to_string(client.per_dpu));
  }
  if (server.scope != SCOPE_HOST_DPU || client.per_dpu == 0 || client.rank.local_rank < 0) return {};
  const auto own = static_cast<std::uint64_t>(server.global_id) % server.per_dpu;
  const auto right = static_cast<std::uint64_t>(client.rank.local_rank) % server.per_dpu;
  if (own == right) return {};
  return failure("local rank " + std::to_string(client.rank.local_rank) +
                 " belongs to the service process with local id " + std::to_string(right) + ", not " +
                 std::to_string(own));
}

}  // namespace offramp::dpu
