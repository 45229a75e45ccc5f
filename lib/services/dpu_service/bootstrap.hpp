// The TCP connection that begins a link: signed messages, then heartbeats. Its end shows the peer's death.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "lib/services/dpu_service/secret.hpp"
#include "lib/services/dpu_service/transport.hpp"

namespace offramp::dpu {

/// A nonblocking socket.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { close(); }
  void close();
  [[nodiscard]] bool valid() const { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

struct Listening {
  Socket socket;
  std::uint16_t port = 0;  // the actual port, if the address leaves it open
};
Result<Listening> listen_at(const Address& address);
/// Returns an invalid socket if no connection is waiting.
Socket accept_from(const Socket& listener);
/// Returns an invalid socket if the connection is refused at once or the address is invalid.
Socket connect_to(const Address& address);

/// Single bytes after the frames: a probe, and its answer. False: the connection has ended.
struct Signs {
  bool question = false;
  bool answer = false;
};
bool receive_signs(const Socket& socket, Signs& signs);
bool send_question(const Socket& socket);
bool send_answer(const Socket& socket);

enum class Side : std::uint8_t { kClient = 'C', kServer = 'S' };

/// The handshake of a connection: one message each way, in signed frames. The server sends a nonce first.
/// Each side signs its nonce, the other side's, and its message, so a frame of another connection or a
/// reflected one is rejected.
///   frame: magic, version, length, signature (32 bytes), then the bytes
class Framing {
 public:
  static constexpr std::size_t kMostBytes = 16384;

  Framing(std::shared_ptr<const Secret> secret, Side side);

  /// Sets the message for flush(). A client's message waits for the server's nonce.
  void queue(std::span<const std::byte> message);
  /// Returns false if the connection is broken.
  bool flush(const Socket& socket);
  [[nodiscard]] bool flushed() const { return out_.empty(); }

  enum class State : std::uint8_t { kOpen, kEnded };
  /// Receives available data. Ended: the peer has closed, is gone, or sends invalid frames.
  State receive(const Socket& socket);
  /// The peer's message, once it is complete and its signature is valid.
  std::optional<Bytes> message();
  /// True after a frame whose sender does not know the secret. Its contents are ignored.
  [[nodiscard]] bool foreign() const { return foreign_; }

 private:
  void send(std::span<const std::byte> body);
  std::optional<Bytes> frame();

  std::shared_ptr<const Secret> secret_;
  Side side_;
  Nonce own_ = random_nonce();
  Bytes peer_;  // its nonce; empty: not received yet
  Bytes held_;  // a client's deferred message
  Bytes out_;
  Bytes in_;
  bool foreign_ = false;
};

}  // namespace offramp::dpu
