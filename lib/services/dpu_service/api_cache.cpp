// The C interface of the endpoint cache over Engine and EndpointCache: checks and narrows arguments. An
// unknown group or rank gives the documented "no" value.
#include <numeric>

#include "lib/services/dpu_service/cache_service.hpp"
#include "lib/services/dpu_service/engine.hpp"

using namespace offramp::dpu;

namespace {

bool is_group(std::int64_t id) {
  return id >= 0 && id <= 0xffffffffLL;
}

/// -1 for values that the cache cannot contain.
int narrow(std::int64_t value) {
  return value >= 0 && value <= kMostGroupSize ? static_cast<int>(value) : -1;
}

GroupUid uid_of(std::int64_t id) {
  return static_cast<GroupUid>(id);
}

std::uint32_t incarnation_of(const rank_info_t& rank) {
  return rank.group_seq_num == 0 ? 1 : rank.group_seq_num;
}

std::optional<GroupDescription> description_of(const rank_info_t& rank, const std::int32_t* world_ranks) {
  if (!is_group(rank.group_id) || rank.group_size < 1 || rank.group_size > kMostGroupSize ||
      rank.group_rank < 0 || rank.group_rank >= rank.group_size)
    return std::nullopt;
  GroupDescription group;
  group.uid = uid_of(rank.group_id);
  group.incarnation = incarnation_of(rank);
  group.world_ranks.resize(static_cast<std::size_t>(rank.group_size));
  if (world_ranks == nullptr) {
    std::iota(group.world_ranks.begin(), group.world_ranks.end(), 0);
  } else {
    std::copy_n(world_ranks, group.world_ranks.size(), group.world_ranks.begin());
  }
  return group;
}

size_t fill(const std::vector<int>& from, int64_t* to, size_t max) {
  for (std::size_t i = 0; to != nullptr && i < from.size() && i < max; ++i) to[i] = from[i];
  return from.size();
}

EndpointCache* cache_of(offloading_engine_t* engine, int64_t group_id) {
  return engine != nullptr && is_group(group_id) ? &engine_of(engine).cache() : nullptr;
}

/// The peer to query about the cache. Null if no peer would answer.
offload_ep* resolve_peer(execution_context_t* econtext, offload_ep_t* ep) {
  if (econtext == nullptr || econtext->type == CONTEXT_SELF) return nullptr;
  const bool answers = econtext->type == CONTEXT_CLIENT || econtext->scope_id == SCOPE_INTER_SERVICE_PROCS;
  if (ep == nullptr && econtext->type == CONTEXT_CLIENT) ep = context_of(econtext).peer(0);
  return answers && ep != nullptr && ep->context == econtext ? ep : nullptr;
}

bool is_populated(offloading_engine_t* engine, int64_t group_id) {
  const EndpointCache* const cache = cache_of(engine, group_id);
  return cache != nullptr && cache->populated(uid_of(group_id));
}

}  // namespace

uint32_t offload_group_uid(uint32_t communicator, const int32_t* world_ranks, size_t n) {
  return group_uid(communicator, std::span(world_ranks, n));
}

void local_rank_connect_default_callback(connected_peer_data_t* peer) {
  const auto group = description_of(*peer->rank_info, nullptr);
  Context& context = context_of(peer->econtext);
  offload_ep* const ep = context.peer(peer->peer_id);
  if (group && ep != nullptr && context.owner().on_dpu)
    context.owner().add_rank(*ep, *group, static_cast<int>(peer->rank_info->group_rank));
}

dpu_offload_status_t send_add_group_rank_request(execution_context_t* econtext, const rank_info_t* rank,
                                                 const int32_t* world_ranks) {
  if (econtext == nullptr || rank == nullptr || econtext->type != CONTEXT_CLIENT) return DO_ERROR;
  const auto group = description_of(*rank, world_ranks);
  if (!group) return context_of(econtext).owner().fail("the group, or the rank in it, does not exist");
  Writer writer;
  put_group(writer, *group);
  writer.put(static_cast<std::int32_t>(rank->group_rank));
  Context& context = context_of(econtext);
  return context.notify(context.peer(0), kAddRank, writer.release());
}

dpu_offload_status_t send_revoke_group_rank_request(execution_context_t* econtext, const rank_info_t* rank) {
  if (econtext == nullptr || rank == nullptr || econtext->type != CONTEXT_CLIENT || !is_group(rank->group_id))
    return DO_ERROR;
  Context& context = context_of(econtext);
  const RevokeMessage message{uid_of(rank->group_id), incarnation_of(*rank), narrow(rank->group_rank)};
  return context.notify(context.peer(0), kRevokeRank, encode_message(message));
}

dpu_offload_status_t send_cache_request(execution_context_t* econtext, offload_ep_t* ep, int64_t group_id) {
  offload_ep* const to = resolve_peer(econtext, ep);
  if (to == nullptr || !is_group(group_id)) return DO_ERROR;
  return context_of(econtext).notify(to, kCacheRequest, Writer().put(uid_of(group_id)).release());
}

dpu_offload_status_t send_cache_entry_request(execution_context_t* econtext, offload_ep_t* ep,
                                              int64_t group_id, int64_t rank) {
  offload_ep* const to = resolve_peer(econtext, ep);
  if (to == nullptr || !is_group(group_id) || narrow(rank) < 0) return DO_ERROR;
  const Bytes message = Writer().put(uid_of(group_id)).put(static_cast<std::int32_t>(rank)).release();
  return context_of(econtext).notify(to, kEntryRequest, message);
}

dpu_offload_status_t get_remote_sp_ep_by_id(offloading_engine_t* engine, uint64_t global_id,
                                            offload_ep_t** ep, execution_context_t** econtext) {
  if (engine == nullptr || ep == nullptr || econtext == nullptr) return DO_ERROR;
  uint64_t dest_id = 0;
  if (engine->service_procs != nullptr ||
      (engine->client != nullptr &&
       engine->client->client->server_global_id == static_cast<int64_t>(global_id)))
    return get_sp_ep_by_id(engine, global_id, ep, econtext, &dest_id);
  *ep = nullptr;
  *econtext = nullptr;
  Context* context = nullptr;
  const dpu_offload_status_t status = engine_of(engine).reach(global_id, context);
  if (status != DO_SUCCESS) return status;
  *econtext = context;
  *ep = context->peer(0);
  return DO_SUCCESS;
}

dpu_offload_status_t revoke_group_cache(offloading_engine_t* engine, int64_t group_id) {
  EndpointCache* const cache = cache_of(engine, group_id);
  if (cache == nullptr) return DO_ERROR;
  return cache->forget(uid_of(group_id)) ? DO_SUCCESS : DO_NOT_APPLICABLE;
}

bool group_cache_populated(offloading_engine_t* engine, int64_t group_id) {
  return is_populated(engine, group_id);
}

bool is_in_cache(offloading_engine_t* engine, int64_t group_id, int64_t rank) {
  const EndpointCache* const cache = cache_of(engine, group_id);
  return cache != nullptr && cache->process_of(uid_of(group_id), narrow(rank)) >= 0;
}

dpu_offload_status_t get_sp_id_by_group_rank(offloading_engine_t* engine, int64_t group_id, int64_t rank,
                                             int64_t* global_id) {
  const EndpointCache* const cache = cache_of(engine, group_id);
  if (cache == nullptr || global_id == nullptr) return DO_ERROR;
  *global_id = cache->process_of(uid_of(group_id), narrow(rank));
  return *global_id >= 0 ? DO_SUCCESS : DO_NOT_APPLICABLE;
}

dpu_offload_status_t get_sp_ep_by_id(offloading_engine_t* engine, uint64_t global_id, offload_ep_t** ep,
                                     execution_context_t** econtext, uint64_t* dest_id) {
  if (engine == nullptr || ep == nullptr || econtext == nullptr || dest_id == nullptr) return DO_ERROR;
  if (engine->service_procs != nullptr) {
    if (global_id >= engine->num_service_procs) return DO_ERROR;
    const remote_service_proc_info_t& process = engine->service_procs[global_id];
    *ep = process.ep;
    *econtext = process.econtext;
    *dest_id = process.dest_id;
    return process.ep != nullptr || global_id == engine->global_id ? DO_SUCCESS : DO_NOT_APPLICABLE;
  }
  *ep = nullptr;
  *econtext = engine->client;
  if (engine->client == nullptr || engine->client->client->bs_phase != BOOTSTRAP_DONE ||
      engine->client->client->server_global_id != static_cast<int64_t>(global_id))
    return DO_NOT_APPLICABLE;
  *ep = offload_server_ep(engine->client);
  *dest_id = engine->client->client->server_id;
  return DO_SUCCESS;
}

bool on_same_sp(offloading_engine_t* engine, int64_t group_id, int64_t a, int64_t b) {
  const EndpointCache* const cache = cache_of(engine, group_id);
  return cache != nullptr && cache->on_same_process(uid_of(group_id), narrow(a), narrow(b));
}

bool on_same_host(offloading_engine_t* engine, int64_t group_id, int64_t a, int64_t b) {
  const EndpointCache* const cache = cache_of(engine, group_id);
  return cache != nullptr && cache->on_same_node(uid_of(group_id), narrow(a), narrow(b));
}

int64_t get_group_rank_host(offloading_engine_t* engine, int64_t group_id, int64_t rank) {
  const EndpointCache* const cache = cache_of(engine, group_id);
  return cache == nullptr ? -1 : cache->node_of(uid_of(group_id), narrow(rank));
}

size_t get_all_hosts_by_group(offloading_engine_t* engine, int64_t group_id, int64_t* hosts, size_t max) {
  if (!is_populated(engine, group_id)) return 0;
  return fill(engine_of(engine).cache().nodes_of_group(uid_of(group_id)), hosts, max);
}

size_t get_all_sps_by_group(offloading_engine_t* engine, int64_t group_id, int64_t* global_ids, size_t max) {
  if (!is_populated(engine, group_id)) return 0;
  return fill(engine_of(engine).cache().processes_of_group(uid_of(group_id)), global_ids, max);
}

size_t get_all_ranks_by_group_sp_gid(offloading_engine_t* engine, int64_t group_id, uint64_t global_id,
                                     int64_t* ranks, size_t max) {
  if (!is_populated(engine, group_id) || global_id > kMostGroupSize) return 0;
  return fill(engine_of(engine).cache().ranks_of_process(uid_of(group_id), static_cast<int>(global_id)),
              ranks, max);
}

size_t get_group_ranks_on_host(offloading_engine_t* engine, int64_t group_id, int64_t host, int64_t* ranks,
                               size_t max) {
  if (!is_populated(engine, group_id) || narrow(host) < 0) return 0;
  return fill(engine_of(engine).cache().ranks_on_node(uid_of(group_id), narrow(host)), ranks, max);
}
