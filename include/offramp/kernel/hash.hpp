// FNV-1a: a hash of bytes that is the same on every machine, for checksums and fingerprints. Does not resist
// an attacker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace offramp {

namespace detail {

template <typename Word>
constexpr Word fnv1a(std::span<const std::byte> bytes, Word hash, Word prime) {
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<Word>(byte)) * prime;
  return hash;
}

}  // namespace detail

/// hash: of the bytes before these, where they come in parts.
constexpr std::uint32_t fnv1a_32(std::span<const std::byte> bytes, std::uint32_t hash = 0x811c9dc5U) {
  return detail::fnv1a<std::uint32_t>(bytes, hash, 0x01000193U);
}
constexpr std::uint64_t fnv1a_64(std::span<const std::byte> bytes, std::uint64_t hash = 0xcbf29ce484222325U) {
  return detail::fnv1a<std::uint64_t>(bytes, hash, 0x100000001b3U);
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace offramp
