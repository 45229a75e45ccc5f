// The objects behind the C interface: engines, contexts, endpoints and events. The C structures are their
// bases.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lib/services/dpu_service/greeting.hpp"
#include "lib/services/dpu_service/operations.hpp"
#include "lib/services/dpu_service/transport.hpp"
#include "offramp/dpu/service.h"
#include "simulators/dpu_protocol/endpoint_cache.hpp"
#include "simulators/dpu_protocol/events.hpp"

namespace offramp::dpu {
class Engine;
class Context;
class EventObject;
}  // namespace offramp::dpu

/// An endpoint: a connected peer of a context.
struct offload_ep final : offramp::dpu::Carrier {
  bool send(const offramp::dpu::NotificationHeader& header, std::span<const std::byte> payload,
            std::uint64_t event) override;
  [[nodiscard]] offramp::dpu::Way way() { return {this, client_id, server_id}; }

  offramp::dpu::Context* context = nullptr;
  offramp::dpu::Link* link = nullptr;  // null: gone
  dpu_offload_status_t status = DO_SUCCESS;
  std::uint64_t client_id = 0;
  std::uint64_t server_id = 0;
  rank_info_t rank{};
  std::int64_t global_id = -1;                          // of a service process
  std::map<std::uint32_t, int> groups;                  // that its rank is in, and incarnations of them
  std::set<std::uint64_t> under_way;                    // events that have not left
  std::map<std::uint64_t, offramp::dpu::LentKey> keys;  // of its memory
  offramp::dpu::HeaderBytes immediate{};                // the header of the send that is being posted
};

/// An event system, as programs see it.
struct dpu_offload_ev_sys {
  dpu_offload_ev_sys(offramp::dpu::Context& owner, const offramp::dpu::NotificationHeader& identity)
      : context(owner), system(identity, nullptr) {}
  offramp::dpu::Context& context;
  std::map<const void*, std::unique_ptr<offramp::dpu::BufferPool>> pools;  // by their notification_info_t
  std::list<offramp::dpu::EventObject*> free_objects;
  std::deque<offramp::dpu::EventObject> objects;
  offramp::dpu::EventSystem system;  // its end returns what is held: ends first
};

struct offload_fabric {
  std::shared_ptr<offramp::dpu::MemoryFabric> shared = offramp::dpu::make_memory_fabric();
};

namespace offramp::dpu {

class EventObject : public dpu_offload_event {
 public:
  Event* event = nullptr;
  BufferPool pool;
};

class Context : public execution_context {
 public:
  Context(Engine& engine, daemon_type_t type, execution_context_scope_t scope, std::uint64_t id);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  offload_ep& add_peer(Link* link);
  /// The only peer of a client, a client of a server; null: there is none.
  [[nodiscard]] offload_ep* peer(std::uint64_t id) const;
  /// A notification of the library itself, with a copy of the payload.
  dpu_offload_status_t notify(offload_ep* to, std::uint64_t type, std::span<const std::byte> payload);
  /// A send failed at once: the program learns it now, before progress finds the end of the connection.
  void breaking(offload_ep& peer);
  void close();
  [[nodiscard]] Engine& owner() const;

  offload_client_t as_client{};
  offload_server_t as_server{};
  connect_completed_cb connected = nullptr;
  int listener = 0;
  std::chrono::milliseconds stall_limit{0};  // of its server, or of other service processes; 0: any
  bool closed = false;
  std::deque<offload_ep> peers;
  dpu_offload_ev_sys events;
};

/// Where a service process is, and listens for ranks.
struct ProcessPlace {
  int host = 0;  // in the order of the list of DPUs
  std::string address;
  std::uint16_t port = 0;  // 0: not known
};

class Engine : public offloading_engine, private Sink {
 public:
  explicit Engine(const offload_engine_info_t& info);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() override;

  dpu_offload_status_t fail(std::string reason) {
    error_ = std::move(reason);
    return DO_ERROR;
  }
  [[nodiscard]] const std::string& error() const { return error_; }
  void progress();
  Context* connect(const init_params_t& params);
  Context* serve(const init_params_t& params);
  void end(Context& context);
  /// Who it is among the service processes; the hello has what they have to agree on.
  void become_service_process(std::uint64_t id, std::vector<ProcessPlace> places, const Hello& agreed);
  /// All of them have to be there by then.
  void expect_processes(Clock::time_point deadline) { mesh_deadline_ = deadline; }
  [[nodiscard]] dpu_offload_status_t mesh_status() const;
  dpu_offload_status_t add_default(std::uint64_t type, notification_cb cb, notification_info_t* info);

  // The cache, and its messages.
  void add_rank(offload_ep& peer, const GroupDescription& group, int rank);
  [[nodiscard]] EndpointCache& cache() { return cache_; }
  [[nodiscard]] Operations& operations() { return operations_; }
  /// Of a rank: the context by which it reaches a service process. DO_NOT_APPLICABLE: not yet.
  dpu_offload_status_t reach(std::uint64_t process, Context*& context);
  /// 0 where nothing is known of service processes.
  [[nodiscard]] int host_of(std::uint64_t process) const {
    return process < places_.size() ? places_[process].host : 0;
  }

 private:
  struct Default {
    std::uint64_t type;
    notification_cb cb;
    notification_info_t* info;
  };

  /// A message that service processes which connect later have to get, too.
  struct OwnEntry {
    GroupUid uid;
    std::uint32_t incarnation;
    Bytes message;
  };

  struct EntryRequest {
    Context* context;
    offload_ep* peer;
    GroupUid uid;
    int rank;
  };

  bool open_transport(const init_params_t& params);
  bool address_of(const init_params_t& params, bool server, Address& address);
  Context& add_context(daemon_type_t type, execution_context_scope_t scope, std::uint64_t id);

  Result<void> check_client(int listener, std::span<const std::byte> hello) override;
  Bytes accepted(int listener, Link& link, std::span<const std::byte> hello) override;
  void foreign() override {
    fail("a connection was refused: its greeting is not signed with this service's secret");
  }
  void opened(Link& link, std::span<const std::byte> welcome) override;
  void arrived(Link& link, std::span<const std::byte> header, std::span<const std::byte> payload) override;
  void sent(Link& link, std::uint64_t token, bool ok) override;
  void refused(Link& link, std::span<const std::byte> why) override;
  void closed(Link& link, Ending ending) override;
  Context* listening(int listener);
  [[nodiscard]] Result<void> check_client(const Context& context, const Hello& hello) const;
  [[nodiscard]] Hello hello_of(const init_params_t& params) const;
  void disconnected(offload_ep& peer, dpu_offload_status_t status, std::string why);
  void check_mesh();
  void connected(Context& context, offload_ep& peer, std::uint64_t peer_id);
  void meet_process(Context& context, offload_ep& peer);
  void check_done();

  void register_cache_handlers(Context& context);
  void take_add(offload_ep& peer, std::span<const std::byte> data);
  void take_entries(std::span<const std::byte> data);
  void take_revoke(std::span<const std::byte> data);
  void take_revoked(std::span<const std::byte> data);
  bool revoke(std::span<const std::byte> message);
  static void take_key(offload_ep& peer, std::span<const std::byte> data);
  void take_cache_request(Context& context, offload_ep& peer, std::span<const std::byte> data);
  void take_entry_request(Context& context, offload_ep& peer, std::span<const std::byte> data);
  void answer_requests(GroupUid uid);
  [[nodiscard]] Bytes process_data() const;
  void take_process_data(std::span<const std::byte> data);
  void tell_processes(std::uint64_t type, std::span<const std::byte> message);
  void tell_ranks(GroupUid uid, std::uint64_t type, std::span<const std::byte> message);
  void push_if_populated(GroupUid uid, const CacheActions& actions);

  std::shared_ptr<MemoryFabric> fabric_;
  std::unique_ptr<Connections> transport_;
  void* worker_ = nullptr;
  std::deque<Context> contexts_;
  std::vector<Default> defaults_;
  std::vector<remote_service_proc_info_t> processes_;
  Hello agreed_;  // of a service process
  Clock::time_point mesh_deadline_ = Clock::time_point::max();
  dpu_offload_status_t mesh_ = DO_NOT_APPLICABLE;
  EndpointCache cache_;
  std::vector<OwnEntry> own_entries_;
  Operations operations_;
  std::vector<EntryRequest> requests_;  // for entries that are not known yet
  std::vector<ProcessPlace> places_;    // by global id
  std::map<std::uint64_t, Context*> reached_;
  std::uint64_t numbers_ = 0;
  std::string error_;
  bool progressing_ = false;
};

/// How long a connection may take to come about.
std::chrono::milliseconds connect_limit(const init_params_t& params);

inline Engine& engine_of(offloading_engine_t* engine) {
  return static_cast<Engine&>(*engine);
}
inline Context& context_of(execution_context_t* context) {
  return static_cast<Context&>(*context);
}

}  // namespace offramp::dpu
