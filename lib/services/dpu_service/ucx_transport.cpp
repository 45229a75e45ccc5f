// Connects engines of several processes. A link begins over TCP: both ends prove that they know the service's
// secret, and exchange their UCX worker addresses and the keys of their active messages. Notifications then
// use UCX only. UCX checks addresses with assertions, so it only gets those of peers with valid signatures
// and greetings. The TCP connection stays open; if it ends without a goodbye, the peer has died.
#include <ucp/api/ucp.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <utility>

#include "lib/services/dpu_service/bootstrap.hpp"
#include "lib/services/dpu_service/bytes.hpp"
#include "lib/services/dpu_service/pulse.hpp"
#include "offramp/kernel/hash.hpp"
#include "simulators/dpu_protocol/notification.hpp"

namespace offramp::dpu {
namespace {

constexpr unsigned kActiveMessageId = 34;  // from [dpu-service-src]
constexpr std::size_t kMostWorkerAddress = 2048;
constexpr std::size_t kMostLinks = 10'000;
constexpr std::size_t kMostGreeting = 1'000;  // connections that have not been accepted
constexpr int kMostAccepted = 64;             // per pass over a listener
constexpr std::byte kAddressVersion{0x0f};    // the bits of a UCX worker address with its format
constexpr std::uint64_t kGoodbye = 1;
constexpr auto kHandshakeLimit = std::chrono::seconds(10);
constexpr auto kRedial = std::chrono::milliseconds(20);
constexpr auto kGoodbyeLimit = std::chrono::seconds(2);
constexpr auto kVerdict = std::chrono::seconds(1);  // from an endpoint's error to the end of its connection
constexpr unsigned kLook = 16;                      // passes between checks of quiet sockets

class UcxConnections;
class UcxLink;

struct Arrival {
  Bytes header;
  Bytes payload;
  bool ready = true;
  bool failed = false;
  bool goodbye = false;
};

/// A send under way, with the header, which UCX reads until completion.
struct Sending {
  UcxLink* link;
  std::uint64_t token;
  bool goodbye;
  Bytes header;
};

class UcxLink final : public Link {
 public:
  enum class State : std::uint8_t { kDialing, kGreeting, kOpen, kClosing, kDead };

  explicit UcxLink(UcxConnections& owner) : owner_(owner) {}
  SendState send(std::span<const std::byte> header, std::span<const std::byte> payload,
                 std::uint64_t token) override {
    return state == State::kOpen ? post(header, payload, token, false) : SendState::kFailed;
  }
  void close() override;
  void watch(std::chrono::milliseconds limit) override { pulse.watch(limit); }
  [[nodiscard]] void* native() const override { return endpoint; }

  SendState post(std::span<const std::byte> header, std::span<const std::byte> payload, std::uint64_t token,
                 bool goodbye);

  State state = State::kDialing;
  Socket socket;
  std::optional<Framing> framing;
  Address address;
  Bytes hello;
  int listener = 0;  // greater than 0: this is the server's end
  Clock::time_point deadline;
  Clock::time_point redial;
  std::uint64_t key = 0;
  std::uint64_t peer_key = 0;
  ucp_ep_h endpoint = nullptr;
  std::deque<std::unique_ptr<Arrival>> inbox;
  std::size_t under_way = 0;  // requests of UCX that refer to this
  bool ended = false;         // the connection
  bool broken = false;        // the endpoint
  Pulse pulse;
  bool stalled = false;  // the peer
  bool asked = false;    // probes may be sent

 private:
  UcxConnections& owner_;
};

class UcxConnections final : public Connections {
 public:
  UcxConnections& operator=(UcxConnections&&) = delete;
  ~UcxConnections() override {
    for (const auto& link : links_) end(*link);
    for (int i = 0; i < 100'000 && !closings_.empty(); ++i) {
      ucp_worker_progress(worker_);
      reap();
    }
    if (own_ && worker_ != nullptr) ucp_worker_destroy(worker_);
    if (own_ && context_ != nullptr) ucp_cleanup(context_);
    if (!own_) set_handler(nullptr);
  }

  Result<void> open(void* worker, void* context) {
    Result<Secret> secret = Secret::find();
    if (!secret) return failure(secret.error());
    secret_ = std::make_shared<const Secret>(*std::move(secret));
    own_ = worker == nullptr;
    worker_ = static_cast<ucp_worker_h>(worker);
    context_ = static_cast<ucp_context_h>(context);
    if (const Result<void> made = own_ ? create_worker() : Result<void>(); !made) return made;
    if (const ucs_status_t status = set_handler(on_message); status != UCS_OK)
      return failure(std::string("ucp_worker_set_am_recv_handler: ") + ucs_status_string(status));
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    if (const ucs_status_t status = ucp_worker_get_address(worker_, &address, &length); status != UCS_OK)
      return failure(std::string("ucp_worker_get_address: ") + ucs_status_string(status));
    const auto* bytes = reinterpret_cast<const std::byte*>(address);
    address_.assign(bytes, bytes + length);
    ucp_worker_release_address(worker_, address);
    if (length > kMostWorkerAddress) return failure("the worker's address is longer than 2048 bytes");
    return {};
  }

  Result<Listener> listen(const Address& address) override {
    Result<Listening> listening = listen_at(address);
    if (!listening) return failure(listening.error());
    listeners_.emplace(next_, std::move(listening->socket));
    return Listener{next_++, listening->port};
  }
  void stop_listening(int listener) override { listeners_.erase(listener); }

  Link* connect(const Address& address, Bytes hello, Clock::time_point deadline) override {
    if (links_.size() >= kMostLinks) return nullptr;
    UcxLink& link = add();
    link.address = address;
    link.hello = std::move(hello);
    link.deadline = deadline;
    return &link;
  }

  void progress(Sink& sink) override {
    const bool look = busy_ || ++passes_ % kLook == 0;
    busy_ = false;
    if (look) look_at_sockets(sink);
    while (ucp_worker_progress(worker_) != 0) {
    }
    for (auto& [sending, ok] : std::exchange(finished_, {})) {
      --sending->link->under_way;
      if (!sending->goodbye) sink.sent(*sending->link, sending->token, ok);
    }
    // By index: handlers may connect.
    for (std::size_t i = 0; i < links_.size(); ++i) deliver(*links_[i], sink);
    for (std::size_t i = 0; i < links_.size(); ++i) check_link(*links_[i], sink);
    reap();
    std::erase_if(links_, [](const auto& link) {
      return link->state == UcxLink::State::kDead && link->under_way == 0;
    });
  }

  void drain(Sink& sink, Clock::time_point deadline) override {
    listeners_.clear();
    for (const auto& link : links_) link->close();
    const auto leaving = [](const auto& link) { return link->state == UcxLink::State::kClosing; };
    while (std::any_of(links_.begin(), links_.end(), leaving) && Clock::now() < deadline) progress(sink);
  }

  void end(UcxLink& link) {
    link.state = UcxLink::State::kDead;
    link.socket.close();
    if (link.endpoint == nullptr) return;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
    const ucs_status_ptr_t request = ucp_ep_close_nbx(std::exchange(link.endpoint, nullptr), &param);
    if (UCS_PTR_IS_PTR(request)) closings_.push_back(request);
  }

  void finished(Sending* sending, bool ok) { finished_.emplace_back(sending, ok); }
  void look_soon() { busy_ = true; }

 private:
  UcxLink& add() {
    UcxLink& link = *links_.emplace_back(std::make_unique<UcxLink>(*this));
    do link.key = std::uint64_t{random_()} << 32U | random_();
    while (!keys_.emplace(link.key, &link).second);
    return link;
  }

  Result<void> create_worker() {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME;
    params.features = UCP_FEATURE_AM;
    params.name = "offramp-dpu";
    if (const ucs_status_t status = ucp_init(&params, nullptr, &context_); status != UCS_OK)
      return failure(std::string("ucp_init: ") + ucs_status_string(status));
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    if (const ucs_status_t status = ucp_worker_create(context_, &worker, &worker_); status != UCS_OK)
      return failure(std::string("ucp_worker_create: ") + ucs_status_string(status));
    return {};
  }

  ucs_status_t set_handler(ucp_am_recv_callback_t callback) {
    ucp_am_handler_param_t handler{};
    handler.field_mask =
        UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kActiveMessageId;
    handler.cb = callback;
    handler.arg = this;
    return ucp_worker_set_am_recv_handler(worker_, &handler);
  }

  // --- Beginning ---

  void look_at_sockets(Sink& sink) {
    const auto now = Clock::now();
    for (const auto& [number, socket] : listeners_) accept(number, socket, now);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      UcxLink& link = *links_[i];
      if (link.state == UcxLink::State::kDialing) dial_again(link, now);
      if (link.state == UcxLink::State::kDead || !link.socket.valid()) continue;
      const bool greeted = link.state == UcxLink::State::kOpen || link.state == UcxLink::State::kClosing;
      const bool whole =
          link.framing->flush(link.socket) &&
          (greeted ? beat(link, now) : link.framing->receive(link.socket) == Framing::State::kOpen);
      if (link.state == UcxLink::State::kGreeting) {
        greet(link, sink);
        busy_ = true;
      }
      link.ended = link.ended || !whole;
      if (link.state == UcxLink::State::kGreeting && link.ended && link.listener == 0) {
        link.state = UcxLink::State::kDialing;  // there was no listener
        link.ended = false;
        link.socket.close();
        link.redial = now + kRedial;
      }
    }
  }

  /// Connections beyond the limit wait in the listener's queue.
  void accept(int listener, const Socket& socket, Clock::time_point now) {
    auto greeting =
        static_cast<std::size_t>(std::count_if(links_.begin(), links_.end(), [](const auto& link) {
          return link->state == UcxLink::State::kGreeting;
        }));
    for (int i = 0; i < kMostAccepted && greeting < kMostGreeting && links_.size() < kMostLinks;
         ++i, ++greeting) {
      Socket arrived = accept_from(socket);
      if (!arrived.valid()) return;
      UcxLink& link = add();
      link.socket = std::move(arrived);
      link.listener = listener;
      link.framing.emplace(secret_, Side::kServer);
      link.state = UcxLink::State::kGreeting;
      link.deadline = now + kHandshakeLimit;
    }
  }

  /// Exchanges heartbeats. Returns false if the connection has ended. A server sends no probe before it has
  /// received one: until then its welcome may be under way, and no data may follow it.
  bool beat(UcxLink& link, Clock::time_point now) {
    Signs signs;
    const bool whole = receive_signs(link.socket, signs);
    if (signs.answer) link.pulse.on_reply();
    if (signs.question && !send_answer(link.socket)) return false;
    link.asked = link.asked || signs.question || link.listener == 0;
    if (link.state != UcxLink::State::kOpen || !whole) return whole;
    link.stalled = link.pulse.stalled(now);
    return !link.asked || !link.pulse.starts_probe(now) || send_question(link.socket);
  }

  void dial_again(UcxLink& link, Clock::time_point now) {
    busy_ = true;
    if (now < link.redial) return;
    link.redial = now + kRedial;
    link.socket = connect_to(link.address);
    if (!link.socket.valid()) return;
    link.framing.emplace(secret_, Side::kClient);
    link.framing->queue(greeting(link, true, link.hello));
    link.state = UcxLink::State::kGreeting;
  }

  Bytes greeting(const UcxLink& link, bool welcome, std::span<const std::byte> text) const {
    return Writer()
        .put(link.key)
        .put(static_cast<std::uint8_t>(welcome ? 1 : 0))
        .put(static_cast<std::uint16_t>(address_.size()))
        .put(std::span<const std::byte>(address_))
        .put(text)
        .release();
  }

  void greet(UcxLink& link, Sink& sink) {
    const auto message = link.framing->message();
    const bool client = link.listener == 0;
    if (link.framing->foreign()) {
      end(link);
      return client ? refused(link, sink, "it has another secret") : sink.foreign();
    }
    if (!message) return;
    Reader reader(*message);
    link.peer_key = reader.get<std::uint64_t>();
    const bool welcome = reader.get<std::uint8_t>() != 0;
    const auto address = reader.get(reader.get<std::uint16_t>());
    const bool good = reader.is_valid() && !address.empty() && address.size() <= kMostWorkerAddress;
    const auto text = reader.rest();
    if (client && !welcome) {
      end(link);
      return sink.refused(link, text);
    }
    std::string why = good ? std::string() : "the greeting cannot be read";
    if (good && (address[0] & kAddressVersion) != (address_[0] & kAddressVersion))
      why = "it has another version of UCX";
    if (why.empty() && !client) why = sink.check_client(link.listener, text).error();
    if (why.empty() && !make_endpoint(link, address)) why = "UCX cannot reach it";
    if (client && !why.empty()) {
      end(link);
      return refused(link, sink, why);
    }
    link.state = UcxLink::State::kOpen;
    if (client) return sink.opened(link, text);
    const Bytes answer = why.empty() ? sink.accepted(link.listener, link, text) : Bytes();
    link.framing->queue(greeting(link, why.empty(),
                                 why.empty() ? std::span<const std::byte>(answer) : offramp::bytes_of(why)));
    link.ended = !link.framing->flush(link.socket);
    if (!why.empty()) end(link);
  }

  static void refused(UcxLink& link, Sink& sink, std::string_view why) {
    sink.refused(link, offramp::bytes_of(why));
  }

  bool make_endpoint(UcxLink& link, std::span<const std::byte> address) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = [](void* broken, ucp_ep_h, ucs_status_t) {
      static_cast<UcxLink*>(broken)->broken = true;
    };
    params.err_handler.arg = &link;
    return ucp_ep_create(worker_, &params, &link.endpoint) == UCS_OK;
  }

  // --- Messages ---

  static ucs_status_t on_message(void* self, const void* header, std::size_t header_size, void* data,
                                 std::size_t size, const ucp_am_recv_param_t* param) {
    auto* transport = static_cast<UcxConnections*>(self);
    Reader reader({static_cast<const std::byte*>(header), header_size});
    const auto found = transport->keys_.find(reader.get<std::uint64_t>());
    const auto flags = reader.get<std::uint64_t>();
    const auto rest = reader.rest();
    if (!reader.is_valid() || found == transport->keys_.end() || rest.size() != kHeaderBytes ||
        size > kMostPayload)
      return UCS_OK;
    UcxLink& link = *found->second;
    if (link.state == UcxLink::State::kDead) return UCS_OK;
    auto arrival = std::make_unique<Arrival>();
    arrival->header.assign(rest.begin(), rest.end());
    arrival->goodbye = (flags & kGoodbye) != 0;
    try {
      arrival->payload.resize(size);
    } catch (const std::bad_alloc&) {
      link.broken = true;  // a gap must be detected
      return UCS_OK;
    }
    ucs_status_t result = UCS_OK;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
      result = transport->fetch(*arrival, link, data);
    } else if (size > 0) {
      std::copy_n(static_cast<const std::byte*>(data), size, arrival->payload.begin());
    }
    link.inbox.push_back(std::move(arrival));
    return result;
  }

  struct Fetch {
    Arrival* arrival;
    UcxLink* link;
  };
  ucs_status_t fetch(Arrival& arrival, UcxLink& link, void* remote) {
    arrival.ready = false;
    auto* fetch = new Fetch{&arrival, &link};
    ++link.under_way;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data = fetch;
    param.cb.recv_am = [](void* request, ucs_status_t status, std::size_t, void* user) {
      fetched(static_cast<Fetch*>(user), status == UCS_OK);
      ucp_request_free(request);
    };
    const ucs_status_ptr_t request =
        ucp_am_recv_data_nbx(worker_, remote, arrival.payload.data(), arrival.payload.size(), &param);
    if (!UCS_PTR_IS_PTR(request)) fetched(fetch, request == nullptr);
    return UCS_INPROGRESS;
  }
  static void fetched(Fetch* fetch, bool ok) {
    fetch->arrival->ready = true;
    fetch->arrival->failed = !ok;
    --fetch->link->under_way;
    delete fetch;
  }

  void deliver(UcxLink& link, Sink& sink) {
    while (!link.inbox.empty() && link.inbox.front()->ready && link.state != UcxLink::State::kDead &&
           link.state != UcxLink::State::kGreeting) {
      const std::unique_ptr<Arrival> arrival = std::move(link.inbox.front());
      link.inbox.pop_front();
      if (arrival->failed) {
        link.broken = true;
      } else if (arrival->goodbye) {
        const bool unreported = link.state == UcxLink::State::kClosing;
        end(link);
        if (!unreported) sink.closed(link, Ending::kGoodbye);
      } else if (link.state == UcxLink::State::kOpen) {
        sink.arrived(link, arrival->header, arrival->payload);
      }
    }
  }

  /// Checks whether the link is over.
  void check_link(UcxLink& link, Sink& sink) {
    using State = UcxLink::State;
    if (link.state == State::kDead) return forget(link);
    const auto now = Clock::now();
    if (link.broken) {
      busy_ = true;
      if (link.deadline == Clock::time_point::max()) link.deadline = now + kVerdict;
    } else if (link.state == State::kOpen) {
      link.deadline = Clock::time_point::max();
    }
    if (!link.ended && !link.stalled && now < link.deadline) return;
    if (link.ended &&
        std::any_of(link.inbox.begin(), link.inbox.end(), [](const auto& a) { return a->ready; }) &&
        link.state == State::kOpen)
      return;
    const bool unreported =
        link.state == State::kClosing || (link.listener > 0 && link.state == State::kGreeting);
    end(link);
    if (!unreported) sink.closed(link, link.stalled && !link.ended ? Ending::kStalled : Ending::kLost);
    forget(link);
  }

  void forget(const UcxLink& link) { keys_.erase(link.key); }

  void reap() {
    std::erase_if(closings_, [](void* request) {
      if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
      ucp_request_free(request);
      return true;
    });
  }

  std::shared_ptr<const Secret> secret_;
  bool own_ = true;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  Bytes address_;
  std::random_device random_;
  std::map<int, Socket> listeners_;
  std::vector<std::unique_ptr<UcxLink>> links_;
  std::map<std::uint64_t, UcxLink*> keys_;
  std::vector<std::pair<std::unique_ptr<Sending>, bool>> finished_;
  std::vector<void*> closings_;
  int next_ = 1;
  unsigned passes_ = 0;
  bool busy_ = true;
};

void UcxLink::close() {
  if (state == State::kClosing || state == State::kDead) return;
  if (state == State::kOpen && !ended && !broken) {
    state = State::kClosing;
    deadline = Clock::now() + kGoodbyeLimit;
    if (post(HeaderBytes{}, {}, 0, true) != SendState::kFailed) return owner_.look_soon();
  }
  owner_.end(*this);
}

SendState UcxLink::post(std::span<const std::byte> header, std::span<const std::byte> payload,
                        std::uint64_t token, bool goodbye) {
  if (endpoint == nullptr || broken || ended) return SendState::kFailed;
  auto sending = std::make_unique<Sending>(Sending{this, token, goodbye, {}});
  sending->header = Writer().put(peer_key).put(goodbye ? kGoodbye : std::uint64_t{0}).put(header).release();
  struct User {
    UcxConnections* owner;
    Sending* sending;
  };
  auto* mine = new User{&owner_, sending.get()};
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = mine;
  param.cb.send = [](void* request, ucs_status_t status, void* data) {
    const std::unique_ptr<User> done(static_cast<User*>(data));
    done->owner->finished(done->sending, status == UCS_OK);
    ucp_request_free(request);
  };
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(endpoint, kActiveMessageId, sending->header.data(), sending->header.size(),
                      payload.data(), payload.size(), &param);
  if (UCS_PTR_IS_PTR(request)) {
    ++under_way;
    (void)sending.release();
    return SendState::kPending;
  }
  delete mine;
  return request == nullptr ? SendState::kDone : SendState::kFailed;
}

}  // namespace

Result<std::unique_ptr<Connections>> make_ucx_connections(void* worker, void* context) {
  auto transport = std::make_unique<UcxConnections>();
  if (const Result<void> opened = transport->open(worker, context); !opened) return failure(opened.error());
  return std::unique_ptr<Connections>(std::move(transport));
}

}  // namespace offramp::dpu
