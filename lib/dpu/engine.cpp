#include "lib/dpu/engine.hpp"

#include <arpa/inet.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "lib/dpu/bytes.hpp"
#include "lib/dpu/cache_service.hpp"

using offramp::dpu::Context;
using offramp::dpu::Engine;
using offramp::dpu::SendState;

bool offload_ep::send(const offramp::dpu::NotificationHeader& header, std::span<const std::byte> payload,
                      std::uint64_t event) {
  immediate = offramp::dpu::encode(header);
  under_way.insert(event);
  const SendState state = link == nullptr ? SendState::kFailed : link->send(immediate, payload, event);
  if (state == SendState::kPending) return false;
  under_way.erase(event);
  if (state == SendState::kFailed) {
    if (link != nullptr) context->breaking(*this);
    context->events.system.failed(event);
  }
  return state == SendState::kDone;
}

namespace offramp::dpu {
namespace {

constexpr std::size_t kMostPeers = 10'000;  // of the published service
constexpr int kConnectLimit = 30'000;       // ms
constexpr int kDefaultPort = 11111;         // read in code

void progress_context(execution_context_t* context) {
  offload_engine_progress(context->engine);
}

NotificationHeader identity_of(daemon_type_t type, execution_context_scope_t scope, std::uint64_t id) {
  NotificationHeader identity;
  identity.id = id;
  identity.scope = static_cast<Scope>(scope);
  identity.sender = static_cast<Role>(type);
  return identity;
}

/// What a client says of itself.
Bytes hello_of(const rank_info_t& rank, execution_context_scope_t scope, std::int64_t global_id) {
  return Writer()
      .put(static_cast<std::uint32_t>(scope))
      .put(global_id)
      .put(rank.group_id)
      .put(rank.group_rank)
      .put(rank.group_size)
      .put(rank.n_local_ranks)
      .put(rank.local_rank)
      .put(rank.group_seq_num)
      .take();
}

bool read_rank(Reader& reader, rank_info_t& rank) {
  rank.group_id = reader.get<std::int64_t>();
  rank.group_rank = reader.get<std::int64_t>();
  rank.group_size = reader.get<std::int64_t>();
  rank.n_local_ranks = reader.get<std::uint64_t>();
  rank.local_rank = reader.get<std::int64_t>();
  rank.group_seq_num = reader.get<std::uint32_t>();
  return reader.finished();
}

}  // namespace

Context::Context(Engine& owner, daemon_type_t kind, execution_context_scope_t scope, std::uint64_t id)
    : execution_context{}, events(*this, identity_of(kind, scope, id)) {
  type = kind;
  scope_id = scope;
  engine = &owner;
  event_channels = &events;
  progress = progress_context;
  rank.group_id = rank.group_rank = -1;
  as_client.server_global_id = -1;
  if (kind == CONTEXT_SERVER) {
    server = &as_server;
  } else {
    client = &as_client;
  }
}

Engine& Context::owner() const {
  return engine_of(engine);
}

offload_ep& Context::add_peer(Link* link) {
  offload_ep& peer = peers.emplace_back();
  peer.context = this;
  peer.link = link;
  link->user = &peer;
  return peer;
}

offload_ep* Context::peer(std::uint64_t id) const {
  const std::size_t place = type == CONTEXT_SERVER ? id : 0;
  return place < peers.size() ? const_cast<offload_ep*>(&peers[place]) : nullptr;
}

dpu_offload_status_t Context::notify(offload_ep* to, std::uint64_t kind, std::span<const std::byte> payload) {
  EventInfo info;
  info.payload_bytes = payload.size();
  Event* event = events.system.get(info);
  if (event == nullptr) return DO_ERROR;
  std::copy(payload.begin(), payload.end(), event->payload().begin());
  if (events.system.emit(event, kind, to->way()) != EventResult::kError) return DO_SUCCESS;
  events.system.give_back(event);
  return DO_ERROR;
}

void Context::breaking(offload_ep& peer) {
  if (type == CONTEXT_CLIENT) {
    if (as_client.bs_phase != BOOTSTRAP_DONE) return;  // not connected yet
    as_client.status = DO_PEER_LOST;
    owner().fail("the server is lost");
  }
  peer.status = DO_PEER_LOST;
}

void Context::close() {
  closed = true;
  as_client.bs_phase = DISCONNECTED;
  for (offload_ep& each : peers) {
    if (each.link == nullptr) continue;
    each.link->close();
    each.status = DO_NOT_APPLICABLE;
    each.link = nullptr;
  }
}

Engine::Engine(const offload_engine_info_t& info) : offloading_engine{}, cache_(Placement{}, 0, 1) {
  on_dpu = info.on_dpu;
  if (info.fabric != nullptr) fabric_ = info.fabric->shared;
  self_econtext = &add_context(CONTEXT_SELF, SCOPE_SELF, 0);
}

Engine::~Engine() {
  if (transport_) transport_->drain(*this, Clock::now() + std::chrono::seconds(2));
  transport_.reset();  // before the buffers that it may read
  for (Context& context : contexts_) context.events.system.clear();
}

void Engine::progress() {
  if (progressing_) return;
  progressing_ = true;
  if (transport_) transport_->progress(*this);
  for (Context& context : contexts_) context.events.system.progress();
  progressing_ = false;
}

bool Engine::open_transport(const init_params_t& params) {
  if (transport_) {
    if (params.worker == nullptr || params.worker == worker_) return true;
    fail("the engine has another UCX worker already");
    return false;
  }
  if (fabric_) {
    transport_ = make_memory_connections(*fabric_);
    return true;
  }
  worker_ = params.worker;
  transport_ = make_ucx_connections(params.worker, params.ucp_context, error_);
  return transport_ != nullptr;
}

bool Engine::address_of(const init_params_t& params, bool server_side, Address& address) {
  const conn_params_t* const given = params.conn_params;
  const char* host = given != nullptr ? given->addr_str : nullptr;
  const char* text = given != nullptr ? given->port_str : nullptr;
  int port = given != nullptr ? given->port : -1;
  if (host == nullptr && !(given != nullptr && server_side)) host = secure_getenv("DPU_OFFLOAD_SERVER_ADDR");
  if (text == nullptr && port < 0) text = secure_getenv("DPU_OFFLOAD_SERVER_PORT");
  if (text != nullptr) {
    const char* const end = text + std::strlen(text);
    const auto [stop, bad] = std::from_chars(text, end, port);
    if (bad != std::errc() || stop != end) port = 65536;
  } else if (port < 0) {
    port = kDefaultPort;
  }
  if (port > 65535 || (port == 0 && !server_side)) {
    fail("the port is not in 1 .. 65535");
    return false;
  }
  in_addr digits{};
  if (host == nullptr ? !server_side : inet_pton(AF_INET, host, &digits) != 1) {
    std::string reason = "no address: neither parameters nor DPU_OFFLOAD_SERVER_ADDR";
    if (host != nullptr) reason.assign(host, strnlen(host, 60)).append(" is not an IPv4 address");
    fail(std::move(reason));
    return false;
  }
  address = {host == nullptr ? "" : host, static_cast<std::uint16_t>(port)};
  return true;
}

Context& Engine::add_context(daemon_type_t type, execution_context_scope_t scope, std::uint64_t id) {
  Context& context = contexts_.emplace_back(*this, type, scope, id);
  register_cache_handlers(context);
  for (const Default& each : defaults_)
    event_channel_register(&context.events, each.type, each.cb, each.info);
  return context;
}

Context* Engine::connect(const init_params_t& params) {
  Address address;
  if (!address_of(params, false, address) || !open_transport(params)) return nullptr;
  rank_info_t rank{};
  rank.group_id = rank.group_rank = -1;
  if (params.proc_info != nullptr) rank = *params.proc_info;
  const int limit = params.connect_timeout_ms > 0 ? params.connect_timeout_ms : kConnectLimit;
  Link* const link = transport_->connect(
      address, hello_of(rank, params.scope_id, on_dpu ? static_cast<std::int64_t>(global_id) : -1),
      Clock::now() + std::chrono::milliseconds(limit));
  if (link == nullptr) {
    fail("too many connections");
    return nullptr;
  }
  Context& context = add_context(CONTEXT_CLIENT, params.scope_id, ++numbers_);
  context.rank = rank;
  context.connected = params.connected_cb;
  context.add_peer(link).rank = rank;
  return &context;
}

Context* Engine::serve(const init_params_t& params) {
  Address address;
  if (!address_of(params, true, address) || !open_transport(params)) return nullptr;
  std::uint16_t port = address.port;
  const int listener = transport_->listen(address, port, error_);
  if (listener == 0) return nullptr;
  const std::uint64_t id = params.id_set ? params.id : num_service_procs;
  Context& context = add_context(CONTEXT_SERVER, params.scope_id, ++numbers_);
  context.listener = listener;
  context.connected = params.connected_cb;
  context.as_server.id = id;
  context.as_server.port = port;
  return &context;
}

void Engine::end(Context& context) {
  if (context.listener != 0) transport_->unlisten(context.listener);
  context.listener = 0;
  context.close();
  if (client == &context) client = nullptr;
  check_done();
}

void Engine::become_service_process(std::uint64_t id, std::size_t all, std::size_t per_dpu) {
  on_dpu = true;
  global_id = id;
  num_service_procs = all;
  per_dpu_ = per_dpu;
  processes_.resize(all);
  for (std::size_t i = 0; i < all; ++i)
    processes_[i] = {i, i % per_dpu, static_cast<int>(i / per_dpu), nullptr, nullptr, 0};
  processes_[id].econtext = self_econtext;
  service_procs = processes_.data();
}

int Engine::host_of(std::uint64_t process) const {
  return static_cast<int>(process / per_dpu_);
}

dpu_offload_status_t Engine::add_default(std::uint64_t type, notification_cb cb, notification_info_t* info) {
  for (const Default& each : defaults_) {
    if (each.type == type) return fail("type " + std::to_string(type) + " has a default handler");
  }
  const auto status = event_channel_register(self_econtext->event_channels, type, cb, info);
  if (status == DO_SUCCESS) defaults_.push_back({type, cb, info});
  return status;
}

// --- What the transport tells ---

std::optional<Bytes> Engine::accepted(int listener, Link& link, std::span<const std::byte> hello) {
  Reader reader(hello);
  const auto scope = reader.get<std::uint32_t>();
  const auto sender = reader.get<std::int64_t>();
  rank_info_t rank{};
  if (!read_rank(reader, rank)) return std::nullopt;
  for (Context& context : contexts_) {
    if (context.listener != listener || context.closed) continue;
    const bool process = context.scope_id == SCOPE_INTER_SERVICE_PROCS;
    const bool known = sender >= 0 && static_cast<std::uint64_t>(sender) < global_id &&
                       processes_[static_cast<std::size_t>(sender)].ep == nullptr;
    if (scope != static_cast<std::uint32_t>(context.scope_id) || (process && !known) ||
        context.peers.size() >= kMostPeers)
      return std::nullopt;
    offload_ep& peer = context.add_peer(&link);
    peer.client_id = context.peers.size() - 1;
    peer.server_id = context.as_server.id;
    peer.rank = rank;
    peer.global_id = process ? sender : -1;
    ++context.as_server.num_connected_clients;
    context.as_server.done = false;
    connected(context, peer, peer.client_id);
    return Writer()
        .put(context.as_server.id)
        .put(on_dpu ? static_cast<std::int64_t>(global_id) : std::int64_t{-1})
        .put(peer.client_id)
        .put(static_cast<std::uint64_t>(num_service_procs))
        .put(static_cast<std::uint64_t>(per_dpu_))
        .take();
  }
  return std::nullopt;
}

void Engine::opened(Link& link, std::span<const std::byte> welcome) {
  auto& peer = *static_cast<offload_ep*>(link.user);
  Context& context = *peer.context;
  Reader reader(welcome);
  offload_client_t& own = context.as_client;
  own.server_id = reader.get<std::uint64_t>();
  own.server_global_id = reader.get<std::int64_t>();
  own.id = reader.get<std::uint64_t>();
  const auto all = reader.get<std::uint64_t>();
  const auto per_dpu = reader.get<std::uint64_t>();
  const bool process = context.scope_id == SCOPE_INTER_SERVICE_PROCS;
  if (!reader.finished() || all > kMostPeers || per_dpu == 0 || per_dpu > kMostPeers ||
      (process && own.server_global_id != peer.global_id)) {
    fail("the server's welcome is none");
    context.close();
    own.status = DO_ERROR;
    return;
  }
  peer.client_id = own.id;
  peer.server_id = own.server_id;
  peer.global_id = own.server_global_id;
  if (!on_dpu) num_service_procs = all;
  own.bs_phase = BOOTSTRAP_DONE;
  connected(context, peer, own.server_id);
}

void Engine::connected(Context& context, offload_ep& peer, std::uint64_t peer_id) {
  if (context.scope_id == SCOPE_INTER_SERVICE_PROCS) meet_process(context, peer);
  connected_peer_data_t data{&context, peer_id, &peer.rank};
  if (context.connected != nullptr) context.connected(&data);
}

void Engine::meet_process(Context& context, offload_ep& peer) {
  remote_service_proc_info_t& process = processes_[static_cast<std::size_t>(peer.global_id)];
  process.ep = &peer;
  process.econtext = &context;
  process.dest_id = context.type == CONTEXT_SERVER ? peer.client_id : peer.server_id;
  ++num_connected_service_procs;
  for (const OwnEntry& entry : own_entries_) context.notify(&peer, kCacheEntries, entry.message);
}

void Engine::arrived(Link& link, std::span<const std::byte> bytes, std::span<const std::byte> payload) {
  auto& peer = *static_cast<offload_ep*>(link.user);
  Context& context = *peer.context;
  auto header = decode(bytes);
  // Who sends is known from the connection, whatever the bytes say.
  if (!header || header->client_id != peer.client_id || header->server_id != peer.server_id) return;
  if (!context.closed) (void)context.events.system.receive(*header, payload);
}

void Engine::sent(Link& link, std::uint64_t token, bool ok) {
  auto& peer = *static_cast<offload_ep*>(link.user);
  if (peer.under_way.erase(token) == 0) return;
  if (ok) {
    peer.context->events.system.sent(token);
  } else {
    peer.context->events.system.failed(token);
  }
}

void Engine::closed(Link& link, bool goodbye) {
  auto& peer = *static_cast<offload_ep*>(link.user);
  Context& context = *peer.context;
  peer.link = nullptr;
  peer.status = goodbye ? DO_NOT_APPLICABLE : DO_PEER_LOST;
  if (context.type == CONTEXT_SERVER) {
    --context.as_server.num_connected_clients;
    if (!goodbye) ++context.as_server.num_lost_clients;
    context.as_server.done = context.as_server.num_connected_clients == 0;
  } else {
    const bool was_open = context.as_client.bs_phase == BOOTSTRAP_DONE;
    context.as_client.bs_phase = DISCONNECTED;
    context.as_client.status = goodbye ? DO_SUCCESS : was_open ? DO_PEER_LOST : DO_ERROR;
    if (!goodbye) fail(was_open ? "the server is lost" : "no server answered in time");
  }
  if (peer.global_id >= 0 && context.scope_id == SCOPE_INTER_SERVICE_PROCS &&
      processes_[static_cast<std::size_t>(peer.global_id)].ep == &peer) {
    processes_[static_cast<std::size_t>(peer.global_id)].ep = nullptr;
    --num_connected_service_procs;
  }
  check_done();
}

void Engine::check_done() {
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
