// Framing: a magic number, a version, a length and a checksum in front of one message each way; what is
// longer than allowed ends the connection. After that a question and an answer of one byte each are the
// signs of life, which tell a peer that has stalled (no answer) from one that has died (the connection
// ends).
#include "lib/dpu_service/bootstrap.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lib/dpu_service/bytes.hpp"
#include "offramp/kernel/hash.hpp"

namespace offramp::dpu {
namespace {

constexpr std::uint32_t kMagic = 0x5044464fU;  // "OFDP"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFrameHeader = 16;

bool socket_address(const Address& address, sockaddr_in& out) {
  out = {};
  out.sin_family = AF_INET;
  out.sin_port = htons(address.port);
  if (address.host.empty()) {
    out.sin_addr.s_addr = htonl(INADDR_ANY);
    return true;
  }
  return inet_pton(AF_INET, address.host.c_str(), &out.sin_addr) == 1;
}

void set(int descriptor, int level, int name, int value) {
  (void)setsockopt(descriptor, level, name, &value, sizeof value);
}

/// A peer whose machine is gone is noticed, too: after about four seconds without an answer.
void watch(int descriptor) {
  set(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, 4000);
  set(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
}

Socket new_socket() {
  return Socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = other.descriptor_;
    other.descriptor_ = -1;
  }
  return *this;
}

void Socket::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Result<Listening> listen_at(const Address& address) {
  sockaddr_in name{};
  Socket socket = new_socket();
  if (!socket_address(address, name) || !socket.valid())
    return Result<Listening>::failure("\"" + address.host + "\" is not an IPv4 address");
  set(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, 1);
  socklen_t length = sizeof name;
  auto* const generic = reinterpret_cast<sockaddr*>(&name);
  if (::bind(socket.descriptor(), generic, length) != 0 || ::listen(socket.descriptor(), 1024) != 0 ||
      ::getsockname(socket.descriptor(), generic, &length) != 0) {
    return Result<Listening>::failure("cannot listen at port " + std::to_string(address.port) + ": " +
                                      std::strerror(errno));
  }
  return Listening{std::move(socket), ntohs(name.sin_port)};
}

Socket accept_from(const Socket& listener) {
  Socket socket(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.valid()) watch(socket.descriptor());
  return socket;
}

Socket dial(const Address& address) {
  sockaddr_in name{};
  Socket socket = new_socket();
  if (!socket_address(address, name) || !socket.valid()) return {};
  watch(socket.descriptor());
  const int done = ::connect(socket.descriptor(), reinterpret_cast<sockaddr*>(&name), sizeof name);
  if (done != 0 && errno != EINPROGRESS) return {};
  return socket;
}

namespace {

constexpr char kQuestion = '?';
constexpr char kAnswer = '!';

/// One at a time is under way, so the socket always has room.
bool send_sign(const Socket& socket, char sign) {
  return ::send(socket.descriptor(), &sign, 1, MSG_NOSIGNAL) == 1;
}

}  // namespace

bool receive_signs(const Socket& socket, Signs& signs) {
  for (;;) {
    char sign = 0;
    const ssize_t done = ::recv(socket.descriptor(), &sign, 1, 0);
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (done <= 0 || (sign != kQuestion && sign != kAnswer)) return false;
    (sign == kQuestion ? signs.question : signs.answer) = true;
  }
}

bool send_question(const Socket& socket) {
  return send_sign(socket, kQuestion);
}

bool send_answer(const Socket& socket) {
  return send_sign(socket, kAnswer);
}

void Framing::queue(std::span<const std::byte> message) {
  out_ = Writer()
             .put(kMagic)
             .put(kVersion)
             .put(static_cast<std::uint32_t>(message.size()))
             .put(fnv1a_32(message))
             .put(message)
             .take();
}

bool Framing::flush(const Socket& socket) {
  while (!out_.empty()) {
    const ssize_t done = ::send(socket.descriptor(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (done < 0) return errno == EAGAIN || errno == EINTR || errno == ENOTCONN || errno == EINPROGRESS;
    out_.erase(out_.begin(), out_.begin() + done);
  }
  return true;
}

Framing::State Framing::receive(const Socket& socket) {
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const ssize_t done = ::recv(socket.descriptor(), buffer.data(), buffer.size(), 0);
    if (done < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return State::kOpen;
    if (done <= 0) return State::kEnded;
    in_.insert(in_.end(), buffer.begin(), buffer.begin() + done);
    if (in_.size() > kFrameHeader + kMostBytes) return State::kEnded;
    Reader header(in_);
    if (in_.size() < kFrameHeader) continue;
    if (header.get<std::uint32_t>() != kMagic || header.get<std::uint32_t>() != kVersion ||
        header.get<std::uint32_t>() > kMostBytes)
      return State::kEnded;
  }
}

std::optional<Bytes> Framing::message() {
  if (in_.size() < kFrameHeader) return std::nullopt;
  Reader reader(in_);
  reader.get(8);
  const auto length = reader.get<std::uint32_t>();
  const auto sum = reader.get<std::uint32_t>();
  const auto body = reader.rest();
  // Nothing follows a message before it is answered.
  if (body.size() != length || fnv1a_32(body) != sum) return std::nullopt;
  Bytes message(body.begin(), body.end());
  in_.clear();
  return message;
}

}  // namespace offramp::dpu
