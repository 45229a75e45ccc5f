// FNV-1a: a hash of bytes that is the same on every machine, for checksums and fingerprints. Does not resist
// an attacker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace offramp {

/// hash: of the bytes before these, where they come in parts.
constexpr std::uint64_t fnv1a_64(std::span<const std::byte> bytes, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  return hash;
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace offramp
