// The shared secret of the processes of one offload service. It signs the first messages of each connection,
// so that other users of the machines cannot pose as a rank or a service process.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

#include "lib/services/dpu_service/transport.hpp"

namespace offramp::dpu {

using Signature = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, 16>;

class Secret {
 public:
  static constexpr std::size_t kFewestBytes = 16;
  static constexpr std::size_t kMostBytes = 4096;

  explicit Secret(Bytes bytes) : bytes_(std::move(bytes)) {}
  /// OFFRAMP_DPU_SECRET, or the contents of the file OFFRAMP_DPU_SECRET_FILE or ~/.config/offramp/dpu-secret,
  /// which is created with random bytes if it is missing. Fails if the secret is shorter than 16 bytes, or if
  /// the file belongs to or is accessible to other users; the error names the file.
  static Result<Secret> find();

  /// HMAC-SHA-256 of the concatenated parts.
  [[nodiscard]] Signature sign(std::initializer_list<std::span<const std::byte>> parts) const;

 private:
  Bytes bytes_;
};

/// Constant-time comparison.
bool same(const Signature& a, std::span<const std::byte> b);
Nonce random_nonce();

}  // namespace offramp::dpu
