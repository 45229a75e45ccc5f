// How engines of the offload service reach each other: connections that carry notifications in order. One
// implementation within a process, one between processes over UCX. Nothing waits: all happens in progress().
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
  kGoodbye,  // the peer said so
  kLost,     // or was never reached
  kStalled   // it lives, and does nothing
};

enum class SendState : std::uint8_t { kDone, kPending, kFailed };

/// One end of a connection. Valid until its transport has reported closed(), or close() was called.
class Link {
 public:
  virtual ~Link() = default;
  /// header and payload stay until sent() when the state is pending.
  virtual SendState send(std::span<const std::byte> header, std::span<const std::byte> payload,
                         std::uint64_t token) = 0;
  /// A goodbye behind all that was sent. Pending sends are still reported, closed() is not.
  virtual void close() = 0;
  /// From now on the peer is asked for a sign of life, and has stalled when none has come for so long. Looked
  /// at in progress() only, after what has come in: an owner that was away itself judges nobody for that.
  virtual void watch(std::chrono::milliseconds limit) = 0;
  [[nodiscard]] virtual void* native() const = 0;
  void* user = nullptr;
};

/// What a transport calls, from progress() only.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Fails if a server does not accept the client with this greeting. Else accepted() follows.
  virtual Result<void> check_client(int listener, std::span<const std::byte> hello) = 0;
  /// Returns the welcome.
  virtual Bytes accepted(int listener, Link& link, std::span<const std::byte> hello) = 0;
  /// A server has turned away a connection whose greeting is not signed with the secret.
  virtual void foreign() = 0;
  virtual void opened(Link& link, std::span<const std::byte> welcome) = 0;
  virtual void arrived(Link& link, std::span<const std::byte> header, std::span<const std::byte> payload) = 0;
  virtual void sent(Link& link, std::uint64_t token, bool ok) = 0;
  /// The server does not want this client: instead of opened().
  virtual void refused(Link& link, std::span<const std::byte> why) = 0;
  virtual void closed(Link& link, Ending ending) = 0;
};

class Connections {
 public:
  virtual ~Connections() = default;
  struct Listener {
    int number = 0;
    std::uint16_t port = 0;  // that it listens at, where the address leaves it open
  };
  virtual Result<Listener> listen(const Address& address) = 0;
  virtual void unlisten(int listener) = 0;
  /// Tries until the deadline. Null: the address is none.
  virtual Link* connect(const Address& address, Bytes hello, Clock::time_point deadline) = 0;
  virtual void progress(Sink& sink) = 0;
  /// Lets goodbyes out; waits until the deadline at most.
  virtual void drain(Sink& sink, Clock::time_point deadline) = 0;
};

class MemoryFabric;
std::unique_ptr<Connections> make_memory_connections(MemoryFabric& fabric);
std::shared_ptr<MemoryFabric> make_memory_fabric();
/// worker and context: of the caller (ucp_worker_h, ucp_context_h), or null.
Result<std::unique_ptr<Connections>> make_ucx_connections(void* worker, void* context);

}  // namespace offramp::dpu
