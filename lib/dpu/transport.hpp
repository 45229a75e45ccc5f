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

namespace offramp::dpu {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

struct Address {
  std::string host;  // IPv4 in digits; empty: any
  std::uint16_t port = 0;
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
  [[nodiscard]] virtual void* native() const = 0;
  void* user = nullptr;
};

/// What a transport tells, from progress() only.
class Sink {
 public:
  virtual ~Sink() = default;
  /// A client's hello; the answer is the welcome, nothing refuses it.
  virtual std::optional<Bytes> accepted(int listener, Link& link, std::span<const std::byte> hello) = 0;
  virtual void opened(Link& link, std::span<const std::byte> welcome) = 0;
  virtual void arrived(Link& link, std::span<const std::byte> header, std::span<const std::byte> payload) = 0;
  virtual void sent(Link& link, std::uint64_t token, bool ok) = 0;
  /// goodbye: the peer said so; else it is lost, or was never reached.
  virtual void closed(Link& link, bool goodbye) = 0;
};

class Connections {
 public:
  virtual ~Connections() = default;
  /// The listener's number and port; an error in words.
  virtual int listen(const Address& address, std::uint16_t& port, std::string& error) = 0;
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
std::unique_ptr<Connections> make_ucx_connections(void* worker, void* context, std::string& error);

}  // namespace offramp::dpu
