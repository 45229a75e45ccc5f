// Contexts and their peers from creation to end, and the mesh of service processes. Connection events are
// handled in engine_connections.cpp, the endpoint cache in cache_service.cpp and cache_requests.cpp. Objects
// derive from the structures of the C interface, so the program's pointers are the objects. Progress has a
// fixed order (connections, mesh, operations, events) and is not reentrant.
#include "lib/services/dpu_service/engine.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "lib/services/dpu_service/cache_service.hpp"

using offramp::dpu::Context;
using offramp::dpu::SendState;
using offramp::dpu::ServiceEngine;

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

constexpr int kConnectLimit = 30'000;  // ms
constexpr int kStallLimit = 10'000;    // ms
constexpr int kDefaultPort = 11111;    // from [dpu-service-src]

void progress_context(execution_context_t* context) {
  offload_engine_progress(context->engine);
}

NotificationHeader identity_of(daemon_type_t type, execution_context_scope_t scope, std::uint64_t id) {
  return {.id = id, .scope = static_cast<Scope>(scope), .sender = static_cast<Role>(type)};
}

std::chrono::milliseconds stall_limit_of(const init_params_t& params) {
  const int limit = params.stall_timeout_ms == 0 ? kStallLimit : params.stall_timeout_ms;
  return std::chrono::milliseconds(limit < 0 ? 0 : limit);
}

}  // namespace

std::chrono::milliseconds connect_limit(const init_params_t& params) {
  return std::chrono::milliseconds(params.connect_timeout_ms > 0 ? params.connect_timeout_ms : kConnectLimit);
}

Context::Context(ServiceEngine& owner, daemon_type_t kind, execution_context_scope_t scope, std::uint64_t id)
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

ServiceEngine& Context::owner() const {
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
  if (events.system.emit(event, kind, to->connection()) != EventResult::kError) return DO_SUCCESS;
  events.system.return_event(event);
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
  events.system.flush();  // the goodbye comes last
  closed = true;
  as_client.bs_phase = DISCONNECTED;
  for (offload_ep& each : peers) {
    if (each.link == nullptr) continue;
    each.link->close();
    each.status = DO_NOT_APPLICABLE;
    each.link = nullptr;
  }
}

ServiceEngine::ServiceEngine(const offload_engine_info_t& info)
    : offloading_engine{}, cache_(Placement{}, 0, 1) {
  on_dpu = info.on_dpu;
  if (info.fabric != nullptr) fabric_ = info.fabric->shared;
  self_econtext = &add_context(CONTEXT_SELF, SCOPE_SELF, 0);
}

ServiceEngine::~ServiceEngine() {
  for (Context& context : contexts_) context.events.system.flush();
  if (transport_) transport_->drain(*this, Clock::now() + std::chrono::seconds(2));
  transport_.reset();  // before the buffers that it may read
  for (Context& context : contexts_) context.events.system.clear();
}

void ServiceEngine::progress() {
  if (progressing_) return;
  progressing_ = true;
  if (transport_) transport_->progress(*this);
  check_mesh();
  operations_.progress();
  for (Context& context : contexts_) context.events.system.progress();
  progressing_ = false;
}

bool ServiceEngine::open_transport(const init_params_t& params) {
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
  auto connections = make_ucx_connections(params.worker, params.ucp_context);
  if (connections) transport_ = std::move(*connections);
  error_ = connections.error();
  return transport_ != nullptr;
}

bool ServiceEngine::address_of(const init_params_t& params, bool server_side, Address& address) {
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

Context& ServiceEngine::add_context(daemon_type_t type, execution_context_scope_t scope, std::uint64_t id) {
  Context& context = contexts_.emplace_back(*this, type, scope, id);
  register_cache_handlers(context);
  for (const Default& each : defaults_)
    event_channel_register(&context.events, each.type, each.cb, each.info);
  return context;
}

Context* ServiceEngine::connect(const init_params_t& params) {
  Address address;
  if (!address_of(params, false, address) || !open_transport(params)) return nullptr;
  const Hello hello = hello_of(params);
  Link* const link =
      transport_->connect(address, encode_message(hello), Clock::now() + connect_limit(params));
  if (link == nullptr) {
    fail("too many connections");
    return nullptr;
  }
  Context& context = add_context(CONTEXT_CLIENT, params.scope_id, ++numbers_);
  context.rank = hello.rank;
  context.connected = params.connected_cb;
  context.stall_limit = stall_limit_of(params);
  context.add_peer(link).rank = hello.rank;
  return &context;
}

Context* ServiceEngine::serve(const init_params_t& params) {
  Address address;
  if (!address_of(params, true, address) || !open_transport(params)) return nullptr;
  const Result<Connections::Listener> listener = transport_->listen(address);
  if (!listener) {
    error_ = listener.error();
    return nullptr;
  }
  const std::uint64_t id = params.id_set ? params.id : num_service_procs;
  Context& context = add_context(CONTEXT_SERVER, params.scope_id, ++numbers_);
  context.listener = listener->number;
  context.connected = params.connected_cb;
  // Ranks may compute for any time.
  if (params.scope_id == SCOPE_INTER_SERVICE_PROCS) context.stall_limit = stall_limit_of(params);
  context.as_server.id = id;
  context.as_server.port = listener->port;
  return &context;
}

void ServiceEngine::end(Context& context) {
  if (context.listener != 0) transport_->stop_listening(context.listener);
  context.listener = 0;
  context.close();
  if (client == &context) client = nullptr;
  check_done();
}

void ServiceEngine::become_service_process(std::uint64_t id, std::vector<ProcessPlace> places,
                                           const Hello& agreed) {
  on_dpu = true;
  global_id = id;
  num_service_procs = places.size();
  agreed_ = agreed;
  agreed_.global_id = static_cast<std::int64_t>(id);
  processes_.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    processes_[i] = {i, i % static_cast<std::size_t>(agreed.per_dpu), places[i].host, nullptr, nullptr, 0};
  places_ = std::move(places);
  processes_[id].econtext = self_econtext;
  service_procs = processes_.data();
}

// --- Mesh of service processes ---

dpu_offload_status_t ServiceEngine::mesh_status() const {
  if (service_procs == nullptr) return DO_ERROR;
  if (mesh_ != DO_NOT_APPLICABLE) return mesh_;
  return num_service_procs == num_connected_service_procs + 1 ? DO_SUCCESS : DO_NOT_APPLICABLE;
}

void ServiceEngine::check_mesh() {
  if (mesh_deadline_ == Clock::time_point::max()) return;
  if (num_service_procs == num_connected_service_procs + 1) {
    mesh_deadline_ = Clock::time_point::max();
  } else if (Clock::now() > mesh_deadline_) {
    mesh_deadline_ = Clock::time_point::max();
    for (const remote_service_proc_info_t& process : processes_) {
      if (process.ep != nullptr || process.global_id == global_id || mesh_ != DO_NOT_APPLICABLE) continue;
      mesh_ = fail("service process " + std::to_string(process.global_id) + " has not connected in time");
    }
  }
}

dpu_offload_status_t ServiceEngine::add_default(std::uint64_t type, notification_cb cb,
                                                notification_info_t* info) {
  for (const Default& each : defaults_) {
    if (each.type == type) return fail("type " + std::to_string(type) + " has a default handler");
  }
  const auto status = event_channel_register(self_econtext->event_channels, type, cb, info);
  if (status == DO_SUCCESS) defaults_.push_back({type, cb, info});
  return status;
}

}  // namespace offramp::dpu
