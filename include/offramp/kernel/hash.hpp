// FNV-1a: a machine-independent hash of bytes, for checksums and fingerprints. Not secure against attackers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace offramp {

/// hash: the result for the preceding bytes, to hash a text in parts.
/// The constants are the offset basis and the prime of FNV's 64-bit variant.
constexpr std::uint64_t fnv1a_64(std::span<const std::byte> bytes, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  return hash;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace offramp
