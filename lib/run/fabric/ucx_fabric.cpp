// UCX between processes: one UCP worker per rank, active messages, endpoints created on first use. Small
// messages between ranks of one node go through rings instead. Both paths together keep the order of each
// pair: a ring message carries the number of messages sent through UCX before it, and a message from UCX is
// delivered after those that are ready in its sender's ring.
//
// UCX 1.13 needs the header of an active message until the send completes; callers of Fabric::send guarantee
// that.
#include "lib/run/fabric/ucx_fabric.hpp"

#include <ucp/api/ucp.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "lib/run/fabric/memory_fabric.hpp"
#include "lib/run/fabric/node_rings.hpp"
#include "lib/run/fabric/transports.hpp"

namespace offramp {
namespace {

// IDs of active messages: from another node, or kFromNeighbour plus the sender's index on this node.
constexpr unsigned kFromAfar = 0;
constexpr unsigned kFromNeighbour = 1;
// Polls of the rings per poll of UCX, if no message is known to come from UCX.
constexpr unsigned kTurnsWithoutUcx = 8;
// For messages above 8 KiB and a header, one copy by the kernel is faster than two through a buffer: at 32
// KiB it takes half the time (measured). UCX switches at 60 KiB by default.
constexpr const char* kCrossMemoryThreshold = "8400";

struct ConfigRelease {
  void operator()(ucp_config_t* config) const { ucp_config_release(config); }
};
using Config = std::unique_ptr<ucp_config_t, ConfigRelease>;

/// Environment variables that UCX reads when a worker is created; it warns about any that remain unused, so
/// the destructor unsets them. Variables that the user has set keep their values.
/// - FIFO element: room for a header and 2 KiB of payload.
/// - kWide: a FIFO for a whole window of messages, and segments that take 16 KiB instead of 8.
/// - Segment pool, created with the worker: a few more than the FIFO's elements. UCX's default is hundreds.
class SharedMemorySettings {
 public:
  explicit SharedMemorySettings(SharedMemory way, bool one_user_namespace) {
    if (way == SharedMemory::kNone || !shares_memory(std::getenv("UCX_TLS"))) return;
    const bool few = way == SharedMemory::kNarrow;
    set("UCX_POSIX_FIFO_ELEM_SIZE", "2240");
    set("UCX_POSIX_SEG_SIZE", way == SharedMemory::kWide ? "65472" : "8448");
    set("UCX_POSIX_FIFO_SIZE", few ? "64" : "256");
    set("UCX_POSIX_RX_BUFS_GROW", few ? "80" : "272");
    // A segment cannot be opened through its creator's file descriptor from another user namespace.
    if (!one_user_namespace) set("UCX_POSIX_USE_PROC_LINK", "n");
  }
  ~SharedMemorySettings() {
    for (const char* name : set_) unsetenv(name);
  }
  SharedMemorySettings& operator=(SharedMemorySettings&&) = delete;

 private:
  void set(const char* name, const char* value) {
    if (std::getenv(name) != nullptr) return;
    setenv(name, value, 1);
    set_.push_back(name);
  }
  std::vector<const char*> set_;
};

std::string failure(const char* what, ucs_status_t status) {
  return std::string(what) + ": " + ucs_status_string(status);
}

class UcxFabric final : public ProcessFabric {
 public:
  explicit UcxFabric(const UcxOptions& options)
      : rank_(options.rank),
        endpoints_(static_cast<std::size_t>(options.ranks), nullptr),
        self_(options.rank),
        neighbours_of_(endpoints_.size(), nullptr) {}
  UcxFabric& operator=(UcxFabric&&) = delete;

  ~UcxFabric() override {
    closed_ = true;  // ucp_worker_destroy completes pending requests
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
  }

  /// Fails on all ranks if a rank has no worker: each rank sends its address, or its error.
  std::string open(const UcxOptions& options) {
    constexpr char kAddress = '+';
    std::string error;
    {
      const SharedMemorySettings settings(options.shared_memory, options.one_user_namespace);
      error = create_worker(options);
    }
    // All ranks exchange, also after a failure, so that no rank waits for one that has given up.
    addresses_ = options.exchange(error.empty() ? kAddress + worker_address() : "-" + error);
    if (addresses_.size() != endpoints_.size()) return "the exchange of worker addresses failed";
    for (std::size_t peer = 0; peer < addresses_.size(); ++peer) {
      const bool good = addresses_[peer].size() > 1 && addresses_[peer].front() == kAddress;
      if (!addresses_[peer].empty()) addresses_[peer].erase(0, 1);
      if (!good) return "rank " + std::to_string(peer) + ": " + addresses_[peer];
    }
    open_rings(options);
    return options.one_node ? std::string() : check_ways(options);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return static_cast<int>(endpoints_.size()); }

  State send(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
             FabricWaiter& waiter) override {
    if (peer == rank_) return self_.send(header, payload, waiter);
    if (Neighbour* const neighbour = neighbours_of_[static_cast<std::size_t>(peer)];
        neighbour != nullptr && write_to_ring(*neighbour, header, payload))
      return State::kDone;
    ucp_request_param_t param;
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    return start_send(peer, header, payload, waiter, param);
  }

  State offer(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
              FabricWaiter& waiter) override {
    if (peer == rank_) return self_.offer(header, payload, waiter);
    ucp_request_param_t param;
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
    // The flag keeps the payload at this rank, whatever its size.
    param.flags = UCP_AM_SEND_FLAG_RNDV;
    return start_send(peer, header, payload, waiter, param);
  }

  State pull(void* remote, std::span<std::byte> into, FabricWaiter& waiter) override {
    if (SelfPath::owns(remote)) {
      SelfPath::pull(remote, into);
      return State::kDone;
    }
    ucp_request_param_t param;
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.recv_am = [](void* request, ucs_status_t status, std::size_t, void* user) {
      finish(request, status, user);
    };
    param.user_data = &waiter;
    return started(ucp_am_recv_data_nbx(worker_, remote, into.data(), into.size(), &param));
  }

  void drop(void* remote) override {
    if (SelfPath::owns(remote)) return SelfPath::drop(remote);
    if (closed_) return;          // the sender may be gone
    if (remote == delivering_) {  // UCX releases it when the callback returns
      delivering_ = nullptr;
      return;
    }
    ucp_am_data_release(worker_, remote);
  }

  int progress(Sink& sink) override {
    sink_ = &sink;
    int events = 0;
    rings_.for_each_sender([&](std::size_t index) {
      if (!rings_.is_empty(index)) events += read_ring(*neighbours_[index]) ? 1 : 0;
    });
    if (is_turn_of_ucx()) events += static_cast<int>(ucp_worker_progress(worker_));
    return events + self_.progress(sink);
  }

  [[nodiscard]] std::string version() const override { return ucp_get_version_string(); }

  std::span<std::byte> shared_memory(int peer) override {
    if (peer == rank_) return rings_.shared_memory(rings_.self());
    const Neighbour* const neighbour = neighbours_of_[static_cast<std::size_t>(peer)];
    return neighbour != nullptr ? rings_.shared_memory(neighbour->index) : std::span<std::byte>();
  }
  bool reserve(std::span<std::byte> part) override { return NodeRings::reserve(part); }

  void close(Sink& sink) override {
    // The worker closes the endpoints: closing each needs the peers' help, or excludes transports.
    ucp_request_param_t param;
    param.op_attr_mask = 0;
    const ucs_status_ptr_t request = ucp_worker_flush_nbx(worker_, &param);
    if (UCS_PTR_IS_PTR(request)) {
      drain_until(sink, [request] { return ucp_request_check_status(request) != UCS_INPROGRESS; });
      ucp_request_free(request);
    }
    closed_ = true;
  }

 private:
  /// A rank of this node, with the numbers of messages sent and received through UCX beside its rings.
  struct Neighbour {
    UcxFabric* fabric = nullptr;
    std::size_t index = 0;
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
  };

  void open_rings(const UcxOptions& options) {
    rings_.open(options.node, rank_, options.ring_memory, options.exchange);
    all_near_ = options.one_node && rings_.join_all();
    for (std::size_t i = 0; i < options.node.size(); ++i) {
      if (rings_.join(i)) neighbours_of_[static_cast<std::size_t>(options.node[i])] = neighbours_[i].get();
    }
  }

  bool write_to_ring(const Neighbour& to, std::span<const std::byte> header,
                     std::span<const std::byte> payload) {
    if (payload.size() > kLargestInRing) return false;
    RingWriter* const ring = rings_.towards(to.index);
    return ring != nullptr && RingWord::room(header.size(), payload.size()) <= ring->largest() &&
           ring->write(header, payload, to.sent);
  }

  bool read_ring(Neighbour& from) {
    return rings_.read(from.index, *sink_, [&](const RingReader::RingMessage& message) {
      if (message.after != from.received) return NodeRings::Taken::kNotYet;  // UCX is behind
      sink_->deliver({message.header, message.payload.data(), message.payload.size()});
      return NodeRings::Taken::kYes;
    });
  }

  /// Polls UCX now and then even if no message is known to come, since it also has work of its own.
  bool is_turn_of_ucx() {
    // UCX is polled while it has requests, while ranks without rings exist, or if a neighbour has announced
    // more messages than have come.
    return pending_ != 0 || !all_near_ || rings_.announced() != received_ || ++turns_ % kTurnsWithoutUcx == 0;
  }

  static ucs_status_t on_neighbours_message(void* self, const void* header, std::size_t header_size,
                                            void* data, std::size_t size, const ucp_am_recv_param_t* param) {
    auto& from = *static_cast<Neighbour*>(self);
    // Messages that were sent through the ring before this one come first.
    while (from.fabric->read_ring(from)) {
    }
    ++from.received;
    ++from.fabric->received_;
    return on_message(from.fabric, header, header_size, data, size, param);
  }

  // UCX reserves room for this in each request.
  struct RequestOwner {
    UcxFabric* fabric;
  };

  static void finish(void* request, ucs_status_t status, void* user) {
    auto* waiter = static_cast<FabricWaiter*>(user);
    UcxFabric& fabric = *static_cast<RequestOwner*>(request)->fabric;
    // Freed before the callback, which may start another send.
    ucp_request_free(request);
    --fabric.pending_;
    if (!fabric.closed_) waiter->notify(*waiter, status == UCS_OK);
  }

  State start_send(int peer, std::span<const std::byte> header, std::span<const std::byte> payload,
                   FabricWaiter& waiter, ucp_request_param_t& param) {
    const ucp_ep_h endpoint = endpoint_of(peer);
    if (endpoint == nullptr) return State::kFailed;
    param.cb.send = [](void* request, ucs_status_t status, void* user) { finish(request, status, user); };
    param.user_data = &waiter;
    Neighbour* const neighbour = neighbours_of_[static_cast<std::size_t>(peer)];
    const unsigned id =
        neighbour != nullptr ? kFromNeighbour + static_cast<unsigned>(rings_.self()) : kFromAfar;
    const State state = started(
        ucp_am_send_nbx(endpoint, id, header.data(), header.size(), payload.data(), payload.size(), &param));
    // Counted after the start: a failed send does not arrive, and the peer would wait for it.
    if (neighbour != nullptr && state != State::kFailed) {
      ++neighbour->sent;
      rings_.announce(neighbour->index);
    }
    return state;
  }

  State started(ucs_status_ptr_t request) {
    if (request == nullptr) return State::kDone;
    if (UCS_PTR_IS_ERR(request)) return State::kFailed;
    static_cast<RequestOwner*>(request)->fabric = this;
    ++pending_;
    return State::kPending;
  }

  static ucs_status_t on_message(void* self, const void* header, std::size_t header_size, void* data,
                                 std::size_t size, const ucp_am_recv_param_t* param) {
    auto* fabric = static_cast<UcxFabric*>(self);
    Inbound inbound;
    inbound.header = {static_cast<const std::byte*>(header), header_size};
    inbound.size = size;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
      inbound.remote = data;
      fabric->delivering_ = data;
      fabric->sink_->deliver(inbound);
      // If the sink has dropped the payload during the call, UCX releases it on UCS_OK; otherwise it is kept.
      const bool dropped = std::exchange(fabric->delivering_, nullptr) == nullptr;
      return dropped ? UCS_OK : UCS_INPROGRESS;
    }
    inbound.data = static_cast<const std::byte*>(data);
    fabric->sink_->deliver(inbound);
    return UCS_OK;
  }

  std::string create_worker(const UcxOptions& options) {
    ucp_config_t* raw = nullptr;
    if (const ucs_status_t status = ucp_config_read(nullptr, nullptr, &raw); status != UCS_OK)
      return failure("ucp_config_read", status);
    const Config config(raw);
    set_transports(raw, options);
    set_threshold(raw, options);
    set_protocols(raw);
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME |
                        UCP_PARAM_FIELD_REQUEST_SIZE;
    params.request_size = sizeof(RequestOwner);
    params.features = UCP_FEATURE_AM;
    params.estimated_num_eps = endpoints_.size();
    params.name = "offramp";
    if (const ucs_status_t status = ucp_init(&params, raw, &context_); status != UCS_OK)
      return failure("ucp_init", status);

    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // the engine's lock serialises calls
    if (const ucs_status_t status = ucp_worker_create(context_, &worker, &worker_); status != UCS_OK)
      return failure("ucp_worker_create", status);

    ucs_status_t status = listen(kFromAfar, on_message, this);
    for (std::size_t i = 0; i < options.node.size() && status == UCS_OK; ++i) {
      neighbours_.push_back(std::make_unique<Neighbour>(Neighbour{this, i}));
      status = listen(kFromNeighbour + static_cast<unsigned>(i), on_neighbours_message, neighbours_[i].get());
    }
    return status == UCS_OK ? std::string() : failure("ucp_worker_set_am_recv_handler", status);
  }

  ucs_status_t listen(unsigned id, ucp_am_recv_callback_t callback, void* argument) {
    ucp_am_handler_param_t handler{};
    handler.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = id;
    handler.cb = callback;
    handler.arg = argument;
    return ucp_worker_set_am_recv_handler(worker_, &handler);
  }

  /// Checks early that transports between nodes work (UCX_TLS): otherwise a receive would hang later. Every
  /// rank tries the next one, so that each node tries another.
  std::string check_ways(const UcxOptions& options) {
    const int next = (rank_ + 1) % ranks();
    const bool reached = next == rank_ || endpoint_of(next) != nullptr;
    const std::vector<std::string> verdicts = options.exchange(reached ? "+" : "-");
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i] != "+")
        return "rank " + std::to_string(i) + " cannot reach rank " +
               std::to_string((i + 1) % verdicts.size()) + ": no UCX transport connects them";
    }
    return {};
  }

  [[nodiscard]] std::string worker_address() const {
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    if (ucp_worker_get_address(worker_, &address, &length) != UCS_OK) return {};
    std::string own(reinterpret_cast<const char*>(address), length);
    ucp_worker_release_address(worker_, address);
    return own;
  }

  static std::string transports(const UcxOptions& options) {
    const bool shared = options.shared_memory != SharedMemory::kNone;
    // On one node, a short list saves the time in which UCX looks for network devices.
    if (options.one_node && shared) return options.cross_memory ? "posix,cma,self" : "posix,self";
    std::string excluded = "^sysv";  // UCX would prefer it to posix, whose buffers are set here
    if (!shared) excluded += ",posix";
    if (!options.cross_memory) excluded += ",cma";
    return excluded;
  }

  static void set_transports(ucp_config_t* config, const UcxOptions& options) {
    if (std::getenv("UCX_TLS") == nullptr)
      (void)ucp_config_modify(config, "TLS", transports(options).c_str());
  }

  /// Only if all ranks can read each other's memory. For networks, UCX's own choice is better.
  static void set_threshold(ucp_config_t* config, const UcxOptions& options) {
    const bool one_way = options.one_node && options.cross_memory && std::getenv("UCX_TLS") == nullptr;
    if (one_way && options.shared_memory != SharedMemory::kNone && std::getenv("UCX_RNDV_THRESH") == nullptr)
      (void)ucp_config_modify(config, "RNDV_THRESH", kCrossMemoryThreshold);
  }

  /// Disables the second generation of UCX's protocols, the default from 1.16 on. If ranks cannot read each
  /// other's memory, it sends 4 MiB through buffers, which the receiver would have to retain, and offered
  /// messages do not arrive (1.18.1).
  static void set_protocols(ucp_config_t* config) {
    if (std::getenv("UCX_PROTO_ENABLE") == nullptr) (void)ucp_config_modify(config, "PROTO_ENABLE", "n");
  }

  ucp_ep_h endpoint_of(int peer) {
    ucp_ep_h& endpoint = endpoints_[static_cast<std::size_t>(peer)];
    if (endpoint != nullptr) return endpoint;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address =
        reinterpret_cast<const ucp_address_t*>(addresses_[static_cast<std::size_t>(peer)].data());
    if (ucp_ep_create(worker_, &params, &endpoint) != UCS_OK) endpoint = nullptr;
    return endpoint;
  }

  int rank_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::vector<ucp_ep_h> endpoints_;
  std::vector<std::string> addresses_;
  SelfPath self_;
  NodeRings rings_;
  std::vector<std::unique_ptr<Neighbour>> neighbours_;  // by index on the node
  std::vector<Neighbour*> neighbours_of_;               // by rank; null: no ring
  bool all_near_ = false;                               // all other ranks have rings to this one
  std::uint64_t received_ = 0;                          // from neighbours through UCX
  unsigned turns_ = 0;
  std::size_t pending_ = 0;  // UCX requests
  bool closed_ = false;
  void* delivering_ = nullptr;  // handle passed to deliver(), until it is dropped
  Sink* sink_ = nullptr;
};

}  // namespace
}  // namespace offramp

extern "C" __attribute__((visibility("default"))) offramp::ProcessFabric* offramp_ucx_fabric_create(
    const offramp::UcxOptions& options, std::string& error) {
  auto fabric = std::make_unique<offramp::UcxFabric>(options);
  error = fabric->open(options);
  return error.empty() ? fabric.release() : nullptr;
}
