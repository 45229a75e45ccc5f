// After the signed messages, one-byte probes and answers serve as heartbeats. They distinguish a stalled peer
// (no answer) from a dead one (the connection ends).
#include "lib/services/dpu_service/bootstrap.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lib/services/dpu_service/bytes.hpp"

namespace offramp::dpu {
namespace {

constexpr std::uint32_t kMagic = 0x5044464fU;  // "OFDP"
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kFrameHeader = 12 + sizeof(Signature);

bool socket_address(const Address& address, sockaddr_in& out) {
  out = {};
  out.sin_family = AF_INET;
  out.sin_port = htons(address.port);
  if (address.host.empty()) {
    out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return true;
  }
  return inet_pton(AF_INET, address.host.c_str(), &out.sin_addr) == 1;
}

void set(int descriptor, int level, int name, int value) {
  (void)setsockopt(descriptor, level, name, &value, sizeof value);
}

/// Detects a peer whose machine has failed after about 4 s without an answer.
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
    return failure("\"" + address.host + "\" is not an IPv4 address");
  set(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, 1);
  socklen_t length = sizeof name;
  auto* const generic = reinterpret_cast<sockaddr*>(&name);
  if (::bind(socket.descriptor(), generic, length) != 0 || ::listen(socket.descriptor(), 1024) != 0 ||
      ::getsockname(socket.descriptor(), generic, &length) != 0) {
    return failure("cannot listen at port " + std::to_string(address.port) + ": " + std::strerror(errno));
  }
  return Listening{std::move(socket), ntohs(name.sin_port)};
}

Socket accept_from(const Socket& listener) {
  Socket socket(::accept4(listener.descriptor(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.valid()) watch(socket.descriptor());
  return socket;
}

Socket connect_to(const Address& address) {
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

/// At most one is under way, so the socket always has room.
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

Framing::Framing(std::shared_ptr<const Secret> secret, Side side) : secret_(std::move(secret)), side_(side) {
  if (side_ == Side::kServer) send(own_);
}

void Framing::send(std::span<const std::byte> body) {
  const auto sender = static_cast<std::byte>(side_);
  const Signature signature = secret_->sign({{&sender, 1}, peer_, body});
  out_ = Writer()
             .put(kMagic)
             .put(kVersion)
             .put(static_cast<std::uint32_t>(body.size()))
             .put(std::span<const std::byte>(signature))
             .put(body)
             .release();
}

void Framing::queue(std::span<const std::byte> message) {
  if (side_ == Side::kServer) return send(message);
  held_ = Writer().put(std::span<const std::byte>(own_)).put(message).release();
  if (!peer_.empty()) send(held_);
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

/// The next frame's bytes if its signature is valid.
std::optional<Bytes> Framing::frame() {
  if (in_.size() < kFrameHeader) return std::nullopt;
  Reader reader(in_);
  reader.get(8);
  const auto length = reader.get<std::uint32_t>();
  const auto signature = reader.get(sizeof(Signature));
  const auto body = reader.rest();
  // No data follows a message before it is answered.
  if (body.size() != length) return std::nullopt;
  const auto sender = static_cast<std::byte>(side_ == Side::kServer ? Side::kClient : Side::kServer);
  const bool first = side_ == Side::kClient && peer_.empty();  // the server lacks our nonce
  const auto known = std::span<const std::byte>(own_).first(first ? 0 : own_.size());
  if (!same(secret_->sign({{&sender, 1}, known, body}), signature)) {
    foreign_ = true;
    return std::nullopt;
  }
  Bytes bytes(body.begin(), body.end());
  in_.clear();
  return bytes;
}

std::optional<Bytes> Framing::message() {
  std::optional<Bytes> bytes = frame();
  if (!bytes || (side_ == Side::kClient && !peer_.empty())) return bytes;
  foreign_ = bytes->size() < sizeof(Nonce);
  if (foreign_) return std::nullopt;
  const auto end = bytes->begin() + sizeof(Nonce);
  peer_.assign(bytes->begin(), end);
  if (side_ == Side::kServer) return Bytes(end, bytes->end());
  if (!held_.empty()) send(held_);
  return std::nullopt;
}

}  // namespace offramp::dpu
