// The TCP connection that a link begins with: signed messages, then silence as long as both live. Its end is
// how the death of a peer is seen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/services/dpu_service/secret.hpp"
#include "lib/services/dpu_service/transport.hpp"

namespace offramp::dpu {

/// A non-blocking socket.
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
  std::uint16_t port = 0;  // that it listens at, where the address leaves it open
};
Result<Listening> listen_at(const Address& address);
/// Invalid: nobody there now.
Socket accept_from(const Socket& listener);
/// Invalid: refused at once, or no address.
Socket dial(const Address& address);

/// Single bytes, after the frames: a question, and the answer to one. False: the connection has ended.
struct Signs {
  bool question = false;
  bool answer = false;
};
bool receive_signs(const Socket& socket, Signs& signs);
bool send_question(const Socket& socket);
bool send_answer(const Socket& socket);

enum class Side : std::uint8_t { kClient = 'C', kServer = 'S' };

/// The beginning of a connection: one message each way, in frames that a secret signs. The server sends a
/// nonce first. A side signs its nonce, the other side's, and its message: a frame of another connection, or
/// one that its own sender gets back, is not accepted.
///   frame: magic, version, length, signature (32 bytes), then the bytes
class Framing {
 public:
  static constexpr std::size_t kMostBytes = 16384;

  Framing(std::shared_ptr<const Secret> secret, Side side);

  /// What is to be sent; flush() until it is out. A client's message waits for the server's nonce.
  void queue(std::span<const std::byte> message);
  /// False: the connection is broken.
  bool flush(const Socket& socket);
  [[nodiscard]] bool flushed() const { return out_.empty(); }

  enum class State : std::uint8_t { kOpen, kEnded };
  /// Takes what is there. Ended: the peer has closed, is gone, or sends something that is no frame.
  State receive(const Socket& socket);
  /// The peer's message, once it is complete and its signature is right.
  std::optional<Bytes> message();
  /// A frame came whose sender does not know the secret. Nothing that it sent was looked at.
  [[nodiscard]] bool foreign() const { return foreign_; }

 private:
  void send(std::span<const std::byte> body);
  std::optional<Bytes> frame();

  std::shared_ptr<const Secret> secret_;
  Side side_;
  Nonce own_ = random_nonce();
  Bytes peer_;  // its nonce; empty: not known yet
  Bytes held_;  // a client's message that waits
  Bytes out_;
  Bytes in_;
  bool foreign_ = false;
};

}  // namespace offramp::dpu
