// The objects behind the C interface, derived from its structures: engines, contexts, endpoints, events.
#pragma once

#include <deque>
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
class ServiceEngine;
class Context;
class EventObject;
}  // namespace offramp::dpu

/// An endpoint: a connected peer of a context.
struct offload_ep final : offramp::dpu::Carrier {
  bool send(const offramp::dpu::NotificationHeader& header, std::span<const std::byte> payload,
            std::uint64_t event) override;
  [[nodiscard]] offramp::dpu::PeerConnection connection() { return {this, client_id, server_id}; }

  offramp::dpu::Context* context = nullptr;
  offramp::dpu::Link* link = nullptr;  // null: disconnected
  dpu_offload_status_t status = DO_SUCCESS;
  std::uint64_t client_id = 0;
  std::uint64_t server_id = 0;
  rank_info_t rank{};
  std::int64_t global_id = -1;                          // of a service process
  std::map<std::uint32_t, int> groups;                  // groups of its rank, with the number of incarnations
  std::set<std::uint64_t> under_way;                    // events that have not been sent yet
  std::map<std::uint64_t, offramp::dpu::LentKey> keys;  // of its memory
  offramp::dpu::HeaderBytes immediate{};                // header of the send in progress
};

/// An event system, as programs see it.
struct dpu_offload_ev_sys {
  dpu_offload_ev_sys(offramp::dpu::Context& owner, const offramp::dpu::NotificationHeader& identity)
      : context(owner), system(identity, nullptr) {}
  offramp::dpu::Context& context;
  std::map<const void*, std::unique_ptr<offramp::dpu::BufferPool>> pools;  // by their notification_info_t
  std::list<offramp::dpu::EventObject*> free_objects;
  std::deque<offramp::dpu::EventObject> objects;
  offramp::dpu::EventSystem system;  // its destructor returns events: destroyed first
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
  Context(ServiceEngine& engine, daemon_type_t type, execution_context_scope_t scope, std::uint64_t id);
  Context& operator=(Context&&) = delete;

  offload_ep& add_peer(Link* link);
  /// A client's only peer, or a server's client. Null if it does not exist.
  [[nodiscard]] offload_ep* peer(std::uint64_t id) const;
  /// Sends a notification of the library itself, with a copy of the payload.
  dpu_offload_status_t notify(offload_ep* to, std::uint64_t type, std::span<const std::byte> payload);
  /// A send failed: notifies the program before progress finds the end of the connection.
  void breaking(offload_ep& peer);
  void close();
  [[nodiscard]] ServiceEngine& owner() const;

  offload_client_t as_client{};
  offload_server_t as_server{};
  connect_completed_cb connected = nullptr;
  int listener = 0;
  std::chrono::milliseconds stall_limit{0};  // for its server, or for other service processes; 0: no limit
  bool closed = false;
  std::deque<offload_ep> peers;
  dpu_offload_ev_sys events;
};

/// The host and the listening address of a service process.
struct ProcessPlace {
  int host = 0;  // index in the list of DPUs
  std::string address;
  std::uint16_t port = 0;  // 0: unknown
};

class ServiceEngine : public offloading_engine, private Sink {
 public:
  explicit ServiceEngine(const offload_engine_info_t& info);
  ServiceEngine& operator=(ServiceEngine&&) = delete;
  ~ServiceEngine() override;

  dpu_offload_status_t fail(std::string reason) {
    error_ = std::move(reason);
    return DO_ERROR;
  }
  [[nodiscard]] const std::string& error() const { return error_; }
  void progress();
  Context* connect(const init_params_t& params);
  Context* serve(const init_params_t& params);
  void end(Context& context);
  /// Sets its place among the service processes. agreed: the values that must be equal in all of them.
  void become_service_process(std::uint64_t id, std::vector<ProcessPlace> places, const Hello& agreed);
  /// All service processes must be connected by then.
  void expect_processes(Clock::time_point deadline) { mesh_deadline_ = deadline; }
  [[nodiscard]] dpu_offload_status_t mesh_status() const;
  dpu_offload_status_t add_default(std::uint64_t type, notification_cb cb, notification_info_t* info);

  // The cache, and its messages.
  void add_rank(offload_ep& peer, const GroupDescription& group, int rank);
  [[nodiscard]] EndpointCache& cache() { return cache_; }
  [[nodiscard]] Operations& operations() { return operations_; }
  /// For ranks: the context that connects to a service process. DO_NOT_APPLICABLE: not connected yet.
  dpu_offload_status_t reach(std::uint64_t process, Context*& context);
  /// 0 if the service processes are unknown.
  [[nodiscard]] int host_of(std::uint64_t process) const {
    return process < places_.size() ? places_[process].host : 0;
  }

 private:
  struct Default {
    std::uint64_t type;
    notification_cb cb;
    notification_info_t* info;
  };

  /// A message that is also sent to service processes that connect later.
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
  void greet_process(Context& context, offload_ep& peer);
  void check_done();

  void register_cache_handlers(Context& context);
  void on_add(offload_ep& peer, std::span<const std::byte> data);
  void on_entries(std::span<const std::byte> data);
  void on_revoke(std::span<const std::byte> data);
  void on_revoked(std::span<const std::byte> data);
  bool revoke(std::span<const std::byte> message);
  static void on_key(offload_ep& peer, std::span<const std::byte> data);
  void on_cache_request(Context& context, offload_ep& peer, std::span<const std::byte> data);
  void on_entry_request(Context& context, offload_ep& peer, std::span<const std::byte> data);
  void answer_requests(GroupUid uid);
  [[nodiscard]] Bytes process_data() const;
  void on_process_data(std::span<const std::byte> data);
  void notify_processes(std::uint64_t type, std::span<const std::byte> message);
  void notify_ranks(GroupUid uid, std::uint64_t type, std::span<const std::byte> message);
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
  std::vector<EntryRequest> requests_;  // for entries that are still unknown
  std::vector<ProcessPlace> places_;    // by global id
  std::map<std::uint64_t, Context*> reached_;
  std::uint64_t numbers_ = 0;
  std::string error_;
  bool progressing_ = false;
};

/// The time limit for making a connection.
std::chrono::milliseconds connect_limit(const init_params_t& params);

inline ServiceEngine& engine_of(offloading_engine_t* engine) {
  return static_cast<ServiceEngine&>(*engine);
}
inline Context& context_of(execution_context_t* context) {
  return static_cast<Context&>(*context);
}

}  // namespace offramp::dpu
