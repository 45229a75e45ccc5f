// Connects engines of one process: sends copy into the peer's inbox, which the peer's progress empties.
#include <deque>
#include <map>
#include <utility>

#include "lib/services/dpu_service/pulse.hpp"
#include "lib/services/dpu_service/transport.hpp"
#include "offramp/kernel/hash.hpp"

namespace offramp::dpu {
namespace {

class MemoryConnections;

class MemoryLink final : public Link {
 public:
  struct LinkMessage {
    Bytes header;
    Bytes payload;
  };

  SendState send(std::span<const std::byte> header, std::span<const std::byte> payload,
                 std::uint64_t /*token*/) override {
    if (!open || peer == nullptr) return SendState::kFailed;
    peer->inbox.push_back({{header.begin(), header.end()}, {payload.begin(), payload.end()}});
    return SendState::kDone;
  }
  void close() override {
    closing = true;
    leave(true);
  }
  void watch(std::chrono::milliseconds limit) override { pulse.watch(limit); }
  [[nodiscard]] void* native() const override { return nullptr; }

  void leave(bool with_goodbye) {
    open = false;
    if (peer == nullptr) return;
    peer->ended = true;
    peer->ending = with_goodbye ? Ending::kGoodbye : Ending::kLost;
    peer->peer = nullptr;
    peer = nullptr;
  }

  MemoryLink* peer = nullptr;
  std::deque<LinkMessage> inbox;
  bool open = false;
  bool welcomed = false;  // a client's first message is the welcome
  bool ended = false;     // by the peer
  Ending ending = Ending::kLost;
  std::optional<Bytes> refusal;  // from the server
  Pulse pulse;
  bool closing = false;  // by the owner
  // For a client that is not connected yet:
  Address address;
  Bytes hello;
  Clock::time_point deadline;
  bool trying = false;
  // For a server: a client that its owner has not accepted yet.
  std::optional<int> listener;
};

}  // namespace

class MemoryFabric {
 public:
  struct Listener {
    MemoryConnections* transport;
    int number;
  };
  std::map<std::uint16_t, std::map<std::string, Listener>> listeners;  // by port, then host
  std::uint16_t free_port = 49152;

  Listener* find(const Address& address) {
    const auto port = listeners.find(address.port);
    if (port == listeners.end()) return nullptr;
    for (const std::string& host : {address.host, std::string()}) {
      if (const auto found = port->second.find(host); found != port->second.end()) return &found->second;
    }
    return nullptr;
  }
};

namespace {

class MemoryConnections final : public Connections {
 public:
  explicit MemoryConnections(MemoryFabric& fabric) : fabric_(fabric) {}
  MemoryConnections& operator=(MemoryConnections&&) = delete;
  ~MemoryConnections() override {
    while (!own_.empty()) stop_listening(own_.begin()->first);
    for (const auto& link : links_) link->leave(false);
  }

  Result<Listener> listen(const Address& address) override {
    const std::uint16_t port = address.port != 0 ? address.port : fabric_.free_port++;
    if (!fabric_.listeners[port].try_emplace(address.host, MemoryFabric::Listener{this, next_}).second)
      return failure("the address is in use");
    own_[next_] = {address.host, port};
    return Listener{next_++, port};
  }

  void stop_listening(int listener) override {
    const auto found = own_.find(listener);
    if (found == own_.end()) return;
    fabric_.listeners[found->second.port].erase(found->second.host);
    own_.erase(found);
  }

  Link* connect(const Address& address, Bytes hello, Clock::time_point deadline) override {
    MemoryLink& link = *links_.emplace_back(std::make_unique<MemoryLink>());
    link.address = address;
    link.hello = std::move(hello);
    link.deadline = deadline;
    link.trying = true;
    return &link;
  }

  void progress(Sink& sink) override {
    for (std::size_t i = 0; i < links_.size(); ++i) step(*links_[i], sink);
    std::erase_if(links_, [](const auto& link) { return link->closing; });
  }

  void drain(Sink& /*sink*/, Clock::time_point /*deadline*/) override {
    for (const auto& link : links_) link->leave(true);
  }

 private:
  void step(MemoryLink& link, Sink& sink) {
    if (link.closing) return;
    if (link.trying) return connect_link(link, sink);
    if (link.listener) return admit(link, sink);
    if (link.refusal) {
      link.closing = true;
      return sink.refused(link, *link.refusal);
    }
    if (beat(link)) {
      link.closing = true;
      link.leave(false);
      return sink.closed(link, Ending::kStalled);
    }
    // Messages that arrive meanwhile wait for the next pass, so that two engines alternate.
    for (std::size_t n = link.inbox.size(); n > 0 && !link.inbox.empty(); --n) {
      const MemoryLink::LinkMessage message = std::move(link.inbox.front());
      link.inbox.pop_front();
      deliver(link, message, sink);
      if (link.closing) return;
    }
    if (link.ended && link.inbox.empty()) {
      link.closing = true;
      sink.closed(link, link.ending);
    }
  }

  /// Exchanges heartbeats. Returns true if the peer has stalled.
  static bool beat(MemoryLink& link) {
    if (link.peer == nullptr || !link.open) return false;
    const auto now = Clock::now();
    if (std::exchange(link.pulse.asked_by_peer, false)) link.peer->pulse.answered = true;
    if (std::exchange(link.pulse.answered, false)) link.pulse.on_reply();
    if (link.pulse.stalled(now)) return true;
    if (link.pulse.starts_probe(now)) link.peer->pulse.asked_by_peer = true;
    return false;
  }

  static void deliver(MemoryLink& link, const MemoryLink::LinkMessage& message, Sink& sink) {
    if (link.welcomed) return sink.arrived(link, message.header, message.payload);
    link.welcomed = true;
    link.open = !link.ended;
    sink.opened(link, message.payload);
  }

  void connect_link(MemoryLink& link, Sink& sink) {
    MemoryFabric::Listener* const listener = fabric_.find(link.address);
    if (listener != nullptr) {
      link.trying = false;
      MemoryLink& other = *listener->transport->links_.emplace_back(std::make_unique<MemoryLink>());
      other.listener = listener->number;
      other.hello = std::move(link.hello);
      other.peer = &link;
      link.peer = &other;
    } else if (Clock::now() >= link.deadline) {
      link.closing = true;
      sink.closed(link, Ending::kLost);
    }
  }

  static void admit(MemoryLink& link, Sink& sink) {
    const int listener = *link.listener;
    link.listener.reset();
    if (link.peer == nullptr) {  // already disconnected
      link.closing = true;
      return;
    }
    if (const Result<void> taken = sink.check_client(listener, link.hello); !taken) {
      const auto bytes = offramp::bytes_of(taken.error());
      link.closing = true;
      link.peer->refusal = Bytes(bytes.begin(), bytes.end());
      return link.leave(false);
    }
    link.open = link.welcomed = true;
    Bytes welcome = sink.accepted(listener, link, link.hello);
    // Precedes anything that callbacks may have sent.
    link.peer->inbox.push_front({{}, std::move(welcome)});
  }

  MemoryFabric& fabric_;
  std::vector<std::unique_ptr<MemoryLink>> links_;
  std::map<int, Address> own_;
  int next_ = 1;
};

}  // namespace

std::unique_ptr<Connections> make_memory_connections(MemoryFabric& fabric) {
  return std::make_unique<MemoryConnections>(fabric);
}

std::shared_ptr<MemoryFabric> make_memory_fabric() {
  return std::make_shared<MemoryFabric>();
}

}  // namespace offramp::dpu
