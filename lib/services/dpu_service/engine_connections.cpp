// An engine's reactions to connection events: greetings, refusals, arriving notifications, and ends.
#include <algorithm>

#include "lib/services/dpu_service/bytes.hpp"
#include "lib/services/dpu_service/cache_service.hpp"
#include "lib/services/dpu_service/engine.hpp"

namespace offramp::dpu {
namespace {

std::string words_of(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 200))) {
    const auto c = static_cast<char>(byte);
    text += c >= ' ' && c <= '~' ? c : '?';
  }
  return text;
}

}  // namespace

Hello ServiceEngine::hello_of(const init_params_t& params) const {
  Hello hello = agreed_;
  hello.scope = static_cast<std::uint32_t>(params.scope_id);
  hello.rank.group_id = hello.rank.group_rank = -1;
  if (params.proc_info != nullptr) hello.rank = *params.proc_info;
  if (on_dpu) return hello;
  hello.config = params.config_fingerprint;
  hello.per_dpu = params.sps_per_dpu;
  return hello;
}

Result<void> ServiceEngine::check_client(const Context& context, const Hello& hello) const {
  Hello own = agreed_;
  own.scope = static_cast<std::uint32_t>(context.scope_id);
  if (const Result<void> agreed = check_agreement(own, hello); !agreed) return agreed;
  if (context.peers.size() >= kMostPeers)
    return failure("there are " + std::to_string(kMostPeers) + " clients already");
  if (context.scope_id == SCOPE_INTER_SERVICE_PROCS) {
    const std::string name = "service process " + std::to_string(hello.global_id);
    if (hello.global_id < 0 || static_cast<std::uint64_t>(hello.global_id) >= global_id)
      return failure(name + " does not connect to service process " + std::to_string(global_id));
    if (processes_[static_cast<std::size_t>(hello.global_id)].ep != nullptr)
      return failure(name + " is connected already");
    return {};
  }
  if (!on_dpu || hello.rank.group_id < 0 || hello.rank.group_id > 0xffffffffLL) return {};
  const auto uid = static_cast<GroupUid>(hello.rank.group_id);
  const GroupDescription* const group = cache_.description(uid);
  const std::uint32_t incarnation = std::max(hello.rank.group_seq_num, 1U);
  if (group == nullptr || group->incarnation != incarnation ||
      static_cast<std::int64_t>(group->world_ranks.size()) == hello.rank.group_size)
    return {};
  return failure("group " + std::to_string(uid) + " has " + std::to_string(group->world_ranks.size()) +
                 " ranks here, not " + std::to_string(hello.rank.group_size));
}

/// The listening context. Null if it has ended.
Context* ServiceEngine::listening(int listener) {
  for (Context& context : contexts_) {
    if (context.listener == listener && !context.closed) return &context;
  }
  return nullptr;
}

Result<void> ServiceEngine::check_client(int listener, std::span<const std::byte> bytes) {
  const Context* const context = listening(listener);
  if (context == nullptr) return failure("the server has ended");
  const auto hello = decode_message<Hello>(bytes);
  const Result<void> taken = hello ? check_client(*context, *hello) : failure("the greeting cannot be read");
  if (!taken) fail("a client was refused: " + taken.error());
  return taken;
}

Bytes ServiceEngine::accepted(int listener, Link& link, std::span<const std::byte> bytes) {
  Context& context = *listening(listener);
  const Hello hello = *decode_message<Hello>(bytes);
  offload_ep& peer = context.add_peer(&link);
  peer.client_id = context.peers.size() - 1;
  peer.server_id = context.as_server.id;
  peer.rank = hello.rank;
  peer.global_id = context.scope_id == SCOPE_INTER_SERVICE_PROCS ? hello.global_id : -1;
  ++context.as_server.num_connected_clients;
  context.as_server.done = false;
  link.watch(context.stall_limit);
  connected(context, peer, peer.client_id);
  return encode_message(Welcome{context.as_server.id, agreed_.global_id, peer.client_id, num_service_procs,
                                std::max<std::uint64_t>(agreed_.per_dpu, 1)});
}

void ServiceEngine::opened(Link& link, std::span<const std::byte> bytes) {
  auto& peer = *static_cast<offload_ep*>(link.user);
  Context& context = *peer.context;
  offload_client_t& own = context.as_client;
  const auto welcome = decode_welcome(bytes);
  const bool process = context.scope_id == SCOPE_INTER_SERVICE_PROCS;
  if (!welcome || (process && welcome->global_id != peer.global_id)) {
    context.close();
    return disconnected(peer, DO_ERROR, "the server's welcome is invalid");
  }
  own.server_id = peer.server_id = welcome->server_id;
  own.server_global_id = peer.global_id = welcome->global_id;
  own.id = peer.client_id = welcome->client_id;
  if (!on_dpu) num_service_procs = welcome->processes;
  own.bs_phase = BOOTSTRAP_DONE;
  link.watch(context.stall_limit);
  connected(context, peer, own.server_id);
}

void ServiceEngine::refused(Link& link, std::span<const std::byte> why) {
  auto& peer = *static_cast<offload_ep*>(link.user);
  peer.link = nullptr;
  peer.status = DO_ERROR;
  disconnected(peer, DO_ERROR, "the server refuses: " + words_of(why));
  check_done();
}

/// Ends a client context.
void ServiceEngine::disconnected(offload_ep& peer, dpu_offload_status_t status, std::string why) {
  offload_client_t& own = peer.context->as_client;
  own.bs_phase = DISCONNECTED;
  own.status = status;
  operations_.lost(*peer.context);
  if (status == DO_SUCCESS) return;
  const bool process = peer.context->scope_id == SCOPE_INTER_SERVICE_PROCS;
  if (process) mesh_ = status;
  fail(process ? "service process " + std::to_string(peer.global_id) + ": " + why : std::move(why));
}

void ServiceEngine::connected(Context& context, offload_ep& peer, std::uint64_t peer_id) {
  if (context.scope_id == SCOPE_INTER_SERVICE_PROCS) greet_process(context, peer);
  connected_peer_data_t data{&context, peer_id, &peer.rank};
  if (context.connected != nullptr) context.connected(&data);
}

void ServiceEngine::greet_process(Context& context, offload_ep& peer) {
  remote_service_proc_info_t& process = processes_[static_cast<std::size_t>(peer.global_id)];
  process.ep = &peer;
  process.econtext = &context;
  process.dest_id = context.type == CONTEXT_SERVER ? peer.client_id : peer.server_id;
  ++num_connected_service_procs;
  for (const OwnEntry& entry : own_entries_) context.notify(&peer, kCacheEntries, entry.message);
}

void ServiceEngine::arrived(Link& link, std::span<const std::byte> bytes,
                            std::span<const std::byte> payload) {
  auto& peer = *static_cast<offload_ep*>(link.user);
  Context& context = *peer.context;
  auto header = decode(bytes);
  // The connection determines the sender; the header must match.
  if (!header || header->client_id != peer.client_id || header->server_id != peer.server_id) return;
  if (!context.closed) (void)context.events.system.receive(*header, payload);
}

void ServiceEngine::sent(Link& link, std::uint64_t token, bool ok) {
  auto& peer = *static_cast<offload_ep*>(link.user);
  if (peer.under_way.erase(token) == 0) return;
  if (ok) {
    peer.context->events.system.sent(token);
  } else {
    peer.context->events.system.failed(token);
  }
}

void ServiceEngine::closed(Link& link, Ending ending) {
  auto& peer = *static_cast<offload_ep*>(link.user);
  Context& context = *peer.context;
  const bool goodbye = ending == Ending::kGoodbye;
  peer.link = nullptr;
  peer.status = goodbye ? DO_NOT_APPLICABLE : DO_PEER_LOST;
  const std::string stalled =
      " has given no sign of life for " + std::to_string(context.stall_limit.count()) + " ms";
  if (context.type == CONTEXT_SERVER) {
    --context.as_server.num_connected_clients;
    if (!goodbye) ++context.as_server.num_lost_clients;
    context.as_server.done = context.as_server.num_connected_clients == 0;
    if (!goodbye && peer.global_id >= 0) {
      mesh_ = DO_PEER_LOST;
      fail("service process " + std::to_string(peer.global_id) +
           (ending == Ending::kStalled ? stalled : " is lost"));
    }
  } else if (goodbye) {
    disconnected(peer, DO_SUCCESS, {});
  } else if (context.as_client.bs_phase != BOOTSTRAP_DONE) {
    disconnected(peer, DO_ERROR, "no server answered in time");
  } else {
    disconnected(peer, DO_PEER_LOST,
                 ending == Ending::kStalled ? "the server" + stalled : "the server is lost");
  }
  if (peer.global_id >= 0 && context.scope_id == SCOPE_INTER_SERVICE_PROCS &&
      processes_[static_cast<std::size_t>(peer.global_id)].ep == &peer) {
    processes_[static_cast<std::size_t>(peer.global_id)].ep = nullptr;
    --num_connected_service_procs;
  }
  check_done();
}

void ServiceEngine::check_done() {
  bool any = false;
  bool all = true;
  for (const Context& context : contexts_) {
    if (context.type != CONTEXT_SERVER || context.scope_id != SCOPE_HOST_DPU) continue;
    any = true;
    all = all && (context.closed || context.as_server.done);
  }
  done = any && all;
}

}  // namespace offramp::dpu
