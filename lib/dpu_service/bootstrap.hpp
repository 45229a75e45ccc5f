// The TCP connection that a link begins with: one framed message each way, then silence as long as both live.
// Its end is how the death of a peer is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lib/dpu_service/transport.hpp"

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

/// Frames of one connection: magic, version, length, checksum, bytes.
class Framing {
 public:
  static constexpr std::size_t kMostBytes = 16384;

  /// What is to be sent; flush() until it is out.
  void queue(std::span<const std::byte> message);
  /// False: the connection is broken.
  bool flush(const Socket& socket);
  [[nodiscard]] bool flushed() const { return out_.empty(); }

  enum class State : std::uint8_t { kOpen, kEnded };
  /// Takes what is there. Ended: the peer has closed, is gone, or sends something that is no frame.
  State receive(const Socket& socket);
  /// The message, once it is complete.
  std::optional<Bytes> message();

 private:
  Bytes out_;
  Bytes in_;
};

}  // namespace offramp::dpu
