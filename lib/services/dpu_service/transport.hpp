// Connections between engines of the offload service, which carry notifications in order: within a process,
// or between processes over UCX. No function but drain() blocks; all work is done in progress().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "offramp/kernel/result.hpp"

namespace offramp::dpu {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

struct Address {
  std::string host;  // IPv4 in digits; empty: any
  std::uint16_t port = 0;
};

/// How a connection ended.
enum class Ending : std::uint8_t {
  kGoodbye,  // the peer closed it
  kLost,     // the peer died, or was never reached
  kStalled   // the peer is alive but does not answer
};

enum class SendState : std::uint8_t { kDone, kPending, kFailed };

/// One end of a connection. Valid until its transport has called closed(), or until close().
class Link {
 public:
  virtual ~Link() = default;
  /// Pending: header and payload must stay valid until sent().
  virtual SendState send(std::span<const std::byte> header, std::span<const std::byte> payload,
                         std::uint64_t token) = 0;
  /// Sends a goodbye after all sends. Pending sends are still reported; closed() is not.
  virtual void close() = 0;
  /// Starts heartbeats: the peer has stalled if it does not answer within the limit. Only checked in
  /// progress(), after processing received data, so an owner that paused itself does not blame its peer.
  virtual void watch(std::chrono::milliseconds limit) = 0;
  [[nodiscard]] virtual void* native() const = 0;
  void* user = nullptr;
};

/// The callbacks of a transport, called from progress() only.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Fails if a server does not accept the client with this greeting. Otherwise accepted() follows.
  virtual Result<void> check_client(int listener, std::span<const std::byte> hello) = 0;
  /// Returns the welcome.
  virtual Bytes accepted(int listener, Link& link, std::span<const std::byte> hello) = 0;
  /// A server has rejected a connection whose greeting is not signed with the secret.
  virtual void foreign() = 0;
  virtual void opened(Link& link, std::span<const std::byte> welcome) = 0;
  virtual void arrived(Link& link, std::span<const std::byte> header, std::span<const std::byte> payload) = 0;
  virtual void sent(Link& link, std::uint64_t token, bool ok) = 0;
  /// The server rejects this client; called instead of opened().
  virtual void refused(Link& link, std::span<const std::byte> why) = 0;
  virtual void closed(Link& link, Ending ending) = 0;
};

class Connections {
 public:
  virtual ~Connections() = default;
  struct Listener {
    int number = 0;
    std::uint16_t port = 0;  // the actual port, if the address leaves it open
  };
  virtual Result<Listener> listen(const Address& address) = 0;
  virtual void stop_listening(int listener) = 0;
  /// Tries until the deadline. Null if there are too many connections.
  virtual Link* connect(const Address& address, Bytes hello, Clock::time_point deadline) = 0;
  virtual void progress(Sink& sink) = 0;
  /// Sends goodbyes; waits until the deadline at most.
  virtual void drain(Sink& sink, Clock::time_point deadline) = 0;
};

class MemoryFabric;
std::unique_ptr<Connections> make_memory_connections(MemoryFabric& fabric);
std::shared_ptr<MemoryFabric> make_memory_fabric();
/// worker and context: the caller's (ucp_worker_h, ucp_context_h), or null.
Result<std::unique_ptr<Connections>> make_ucx_connections(void* worker, void* context);

}  // namespace offramp::dpu
