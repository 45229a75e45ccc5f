// Bytes from a peer of the offload service over TCP, in pieces of any size, and the service's own messages.
#include "lib/services/dpu_service/bootstrap.hpp"

#include <sys/socket.h>

#include "lib/services/dpu_service/bytes.hpp"
#include "lib/services/dpu_service/cache_service.hpp"
#include "lib/services/dpu_service/secret.hpp"
#include "tests/fuzz/support.hpp"

using namespace offramp::dpu;  // NOLINT: one file

namespace {

void receive_frames(std::span<const std::byte> bytes, std::size_t piece) {
  int ends[2];
  offramp::fuzz::require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const Socket here(ends[0]);
  Socket there(ends[1]);
  static const auto secret = std::make_shared<const Secret>(Bytes(Secret::kFewestBytes, std::byte{7}));
  Framing framing(secret, Side::kServer);
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(piece, bytes.size()));
    if (send(there.descriptor(), part.data(), part.size(), MSG_NOSIGNAL) < 0) break;
    bytes = bytes.subspan(part.size());
    if (framing.receive(here) == Framing::State::kEnded) return;
    offramp::fuzz::require(!framing.message());  // from a sender without the secret
  }
  there.close();
  offramp::fuzz::require(framing.receive(here) == Framing::State::kEnded);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  offramp::fuzz::Input input(data, size);
  Reader reader(input.rest());
  static_cast<void>(get_group(reader));
  if (const auto revoke = decode_message<RevokeMessage>(input.rest())) {
    const Bytes image = encode_message(*revoke);
    offramp::fuzz::require(std::equal(image.begin(), image.end(), input.rest().begin(), input.rest().end()));
  }
  const std::size_t piece = std::size_t{input.take<std::uint8_t>()} + 1;
  receive_frames(input.rest(), piece * piece);
  return 0;
}
