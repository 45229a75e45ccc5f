// What the processes of one offload service know and strangers do not. The first messages of each connection
// are signed with it, so that no other user of the machines becomes a rank or a service process.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>

#include "lib/services/dpu_service/transport.hpp"

namespace offramp::dpu {

using Signature = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, 16>;

class Secret {
 public:
  static constexpr std::size_t kFewestBytes = 16;
  static constexpr std::size_t kMostBytes = 4096;

  explicit Secret(Bytes bytes) : bytes_(std::move(bytes)) {}
  /// OFFRAMP_DPU_SECRET, or what is in the file that OFFRAMP_DPU_SECRET_FILE names, or in
  /// ~/.config/offramp/dpu-secret, which is made with random bytes if it is missing. Fails if the secret is
  /// shorter than 16 bytes, or if the file belongs to another user or others may read or write it; the error
  /// names the file.
  static Result<Secret> find();

  /// HMAC-SHA-256 of the parts in a row.
  [[nodiscard]] Signature sign(std::initializer_list<std::span<const std::byte>> parts) const;

 private:
  Bytes bytes_;
};

/// Takes the same time whatever the signatures are.
bool same(const Signature& a, std::span<const std::byte> b);
Nonce random_nonce();

}  // namespace offramp::dpu
