#include "lib/services/dpu_service/greeting.hpp"

#include "lib/services/dpu_service/bytes.hpp"

namespace offramp::dpu {

Bytes encode(const Hello& hello) {
  return Writer()
      .put(hello.scope)
      .put(hello.global_id)
      .put(hello.rank.group_id)
      .put(hello.rank.group_rank)
      .put(hello.rank.group_size)
      .put(hello.rank.n_local_ranks)
      .put(hello.rank.local_rank)
      .put(hello.rank.group_seq_num)
      .put(hello.config)
      .put(hello.list)
      .put(hello.per_dpu)
      .release();
}

std::optional<Hello> decode_hello(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Hello hello;
  hello.scope = reader.get<std::uint32_t>();
  hello.global_id = reader.get<std::int64_t>();
  hello.rank.group_id = reader.get<std::int64_t>();
  hello.rank.group_rank = reader.get<std::int64_t>();
  hello.rank.group_size = reader.get<std::int64_t>();
  hello.rank.n_local_ranks = reader.get<std::uint64_t>();
  hello.rank.local_rank = reader.get<std::int64_t>();
  hello.rank.group_seq_num = reader.get<std::uint32_t>();
  hello.config = reader.get<std::uint64_t>();
  hello.list = reader.get<std::uint64_t>();
  hello.per_dpu = reader.get<std::uint64_t>();
  if (!reader.finished()) return std::nullopt;
  return hello;
}

Bytes encode(const Welcome& welcome) {
  return Writer()
      .put(welcome.server_id)
      .put(welcome.global_id)
      .put(welcome.client_id)
      .put(welcome.processes)
      .put(welcome.per_dpu)
      .release();
}

std::optional<Welcome> decode_welcome(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  Welcome welcome;
  welcome.server_id = reader.get<std::uint64_t>();
  welcome.global_id = reader.get<std::int64_t>();
  welcome.client_id = reader.get<std::uint64_t>();
  welcome.processes = reader.get<std::uint64_t>();
  welcome.per_dpu = reader.get<std::uint64_t>();
  if (!reader.finished() || welcome.processes > kMostPeers || welcome.per_dpu == 0 ||
      welcome.per_dpu > kMostPeers)
    return std::nullopt;
  return welcome;
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
