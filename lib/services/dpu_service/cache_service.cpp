// The wire messages of the cache, types 41 to 46, and an engine's reactions to them. EndpointCache decides;
// its actions become notifications here. A handler that both replays deferred adds and announces a revoke
// must announce the revoke first: peers must not receive an entry of the next incarnation before the end of
// this one. Cache requests are in cache_requests.cpp.
#include "lib/services/dpu_service/cache_service.hpp"

#include "lib/services/dpu_service/engine.hpp"

namespace offramp::dpu {

void put_entry(Writer& writer, int rank, const CacheEntry& entry) {
  writer.put(rank).put(entry.world_rank).put(entry.process).put(entry.node);
}

Bytes one_entry(const GroupDescription& group, int rank, const CacheEntry& entry) {
  Writer writer;
  put_group(writer, group);
  writer.put(std::uint32_t{1});
  put_entry(writer, rank, entry);
  return writer.release();
}

void put_group(Writer& writer, const GroupDescription& group) {
  writer.put(group.uid).put(group.incarnation).put(static_cast<std::uint32_t>(group.world_ranks.size()));
  for (const int rank : group.world_ranks) writer.put(rank);
}

std::optional<GroupDescription> get_group(Reader& reader) {
  GroupDescription group;
  group.uid = reader.get<std::uint32_t>();
  group.incarnation = reader.get<std::uint32_t>();
  const auto size = reader.get<std::uint32_t>();
  if (!reader.is_valid() || group.incarnation == 0 || size == 0 || size > kMostGroupSize) return std::nullopt;
  Reader table(reader.get(std::size_t{size} * 4));
  if (!reader.is_valid()) return std::nullopt;
  for (std::uint32_t i = 0; i < size; ++i) {
    group.world_ranks.push_back(table.get<std::int32_t>());
    if (group.world_ranks.back() < 0) return std::nullopt;
  }
  return group;
}

void ServiceEngine::register_cache_handlers(Context& context) {
  EventSystem& system = context.events.system;
  const bool from_rank = context.type == CONTEXT_SERVER && context.scope_id == SCOPE_HOST_DPU;
  const bool asks = from_rank || context.scope_id == SCOPE_INTER_SERVICE_PROCS;
  const auto on = [&system](std::uint64_t type, auto take) {
    system.register_handler(type, [take](EventSystem&, const NotificationHeader& header,
                                         std::span<const std::byte> data) { take(header, data); });
  };
  // A client's only peer is its server.
  if (asks) {
    on(kCacheRequest, [this, &context](const NotificationHeader& header, auto data) {
      if (offload_ep* const peer = context.peer(header.client_id)) on_cache_request(context, *peer, data);
    });
    on(kEntryRequest, [this, &context](const NotificationHeader& header, auto data) {
      if (offload_ep* const peer = context.peer(header.client_id)) on_entry_request(context, *peer, data);
    });
  }
  if (from_rank) {
    on(kAddRank, [this, &context](const NotificationHeader& header, auto data) {
      if (offload_ep* const peer = context.peer(header.client_id)) on_add(*peer, data);
    });
    on(kRevokeRank, [this](const NotificationHeader&, auto data) { on_revoke(data); });
    on(kStartOperation, [this, &context](const NotificationHeader& header, auto data) {
      if (offload_ep* const peer = context.peer(header.client_id)) operations_.start(context, *peer, data);
    });
    on(kAddKey, [&context](const NotificationHeader& header, auto data) {
      if (offload_ep* const peer = context.peer(header.client_id)) on_key(*peer, data);
    });
    on(kRevokeKey, [&context](const NotificationHeader& header, auto data) {
      if (offload_ep* const peer = context.peer(header.client_id))
        peer->keys.erase(Reader(data).get<std::uint64_t>());
    });
    return;
  }
  on(kEndOperation, [this](const NotificationHeader&, auto data) { operations_.ended(data); });
  on(kCacheEntries, [this](const NotificationHeader&, auto data) { on_entries(data); });
  on(kRevokeProcess, [this](const NotificationHeader&, auto data) { on_revoked(data); });
  on(kProcessData, [this](const NotificationHeader&, auto data) { on_process_data(data); });
}

void ServiceEngine::on_key(offload_ep& peer, std::span<const std::byte> data) {
  constexpr std::size_t kMostKeys = 65'536;
  Reader reader(data);
  const auto key_id = reader.get<std::uint64_t>();
  LentKey key;
  key.address = reader.get<std::uint64_t>();
  key.length = reader.get<std::uint64_t>();
  const auto bytes = reader.rest();
  if (!reader.is_valid() || bytes.size() > XGVMI_MAX_KEY) return;
  if (peer.keys.size() >= kMostKeys && !peer.keys.contains(key_id)) return;
  key.key.assign(bytes.begin(), bytes.end());
  peer.keys[key_id] = std::move(key);
}

void ServiceEngine::add_rank(offload_ep& peer, const GroupDescription& group, int rank) {
  const int process = static_cast<int>(global_id);
  const CacheEntry entry{group.world_ranks[static_cast<std::size_t>(rank)], process, host_of(global_id)};
  const CacheActions actions = cache_.add_entry(group, rank, entry);
  if (actions.refused) return;
  ++peer.groups[group.uid];
  own_entries_.push_back({group.uid, group.incarnation, one_entry(group, rank, entry)});
  notify_processes(kCacheEntries, own_entries_.back().message);
  answer_requests(group.uid);
  push_if_populated(group.uid, actions);
}

void ServiceEngine::on_add(offload_ep& peer, std::span<const std::byte> data) {
  Reader reader(data);
  const auto group = get_group(reader);
  if (!group) return;
  const auto rank = reader.get<std::int32_t>();
  if (reader.finished() && rank >= 0 && static_cast<std::size_t>(rank) < group->world_ranks.size())
    add_rank(peer, *group, rank);
}

void ServiceEngine::on_entries(std::span<const std::byte> data) {
  Reader reader(data);
  const auto group = get_group(reader);
  if (!group) return;
  const auto count = reader.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && reader.is_valid(); ++i) {
    const auto rank = reader.get<std::int32_t>();
    CacheEntry entry;
    entry.world_rank = reader.get<std::int32_t>();
    entry.process = reader.get<std::int32_t>();
    entry.node = reader.get<std::int32_t>();
    if (!reader.is_valid() || entry.process < 0 || entry.node < 0) return;
    if (num_service_procs != 0 && static_cast<std::size_t>(entry.process) >= num_service_procs) return;
    push_if_populated(group->uid, cache_.add_entry(*group, rank, entry));
  }
  answer_requests(group->uid);
}

/// When all ranks are known, sends the whole table to the local ones.
void ServiceEngine::push_if_populated(GroupUid uid, const CacheActions& actions) {
  if (!on_dpu || !actions.populated) return;
  const GroupDescription& group = *cache_.description(uid);
  Writer writer;
  put_group(writer, group);
  writer.put(static_cast<std::uint32_t>(group.world_ranks.size()));
  for (std::size_t i = 0; i < group.world_ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    put_entry(writer, rank, *cache_.entry(uid, rank));
  }
  notify_ranks(uid, kProcessData, process_data());
  notify_ranks(uid, kCacheEntries, writer.release());
}

void ServiceEngine::on_revoke(std::span<const std::byte> data) {
  // Announced before any replayed adds: the other processes must revoke first too.
  const auto message = decode_message<RevokeMessage>(data);
  if (!message || cache_.incarnation(message->uid) != message->incarnation) return;
  const CacheEntry* const entry = cache_.entry(message->uid, message->rank);
  if (entry == nullptr || entry->process != static_cast<int>(global_id)) return;
  notify_processes(kRevokeProcess, data);
  revoke(data);
}

void ServiceEngine::on_revoked(std::span<const std::byte> data) {
  if (on_dpu) {
    revoke(data);
  } else if (const auto message = decode_message<RevokeMessage>(data);
             message && cache_.incarnation(message->uid) == message->incarnation) {
    cache_.forget(message->uid);
  }
}

bool ServiceEngine::revoke(std::span<const std::byte> bytes) {
  const auto message = decode_message<RevokeMessage>(bytes);
  if (!message) return false;
  const CacheActions actions = cache_.revoke_entry(message->uid, message->incarnation, message->rank);
  if (!actions.revoked) return !actions.refused;
  std::erase_if(own_entries_, [&message](const OwnEntry& entry) {
    return entry.uid == message->uid && entry.incarnation == message->incarnation;
  });
  notify_ranks(message->uid, kRevokeProcess, bytes);
  for (Context& context : contexts_) {
    for (offload_ep& peer : context.peers) {
      if (const auto found = peer.groups.find(message->uid);
          found != peer.groups.end() && --found->second == 0)
        peer.groups.erase(found);
    }
  }
  push_if_populated(message->uid, actions);
  return true;
}

void ServiceEngine::notify_processes(std::uint64_t type, std::span<const std::byte> message) {
  for (const remote_service_proc_info_t& process : processes_) {
    if (process.ep != nullptr) context_of(process.econtext).notify(process.ep, type, message);
  }
}

void ServiceEngine::notify_ranks(GroupUid uid, std::uint64_t type, std::span<const std::byte> message) {
  for (Context& context : contexts_) {
    if (context.type != CONTEXT_SERVER || context.scope_id != SCOPE_HOST_DPU) continue;
    for (offload_ep& peer : context.peers) {
      if (peer.link != nullptr && peer.groups.contains(uid)) context.notify(&peer, type, message);
    }
  }
}

}  // namespace offramp::dpu
