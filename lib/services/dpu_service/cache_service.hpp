// Messages of the endpoint cache: the members of a group and the service process of each.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/services/dpu_service/bytes.hpp"
#include "simulators/dpu_protocol/endpoint_cache.hpp"

namespace offramp::dpu {

inline constexpr std::uint64_t kCacheRequest = 40;
inline constexpr std::uint64_t kCacheEntries = 41;
inline constexpr std::uint64_t kEntryRequest = 42;
inline constexpr std::uint64_t kAddRank = 43;
inline constexpr std::uint64_t kRevokeRank = 44;
inline constexpr std::uint64_t kRevokeProcess = 45;
inline constexpr std::uint64_t kProcessData = 46;
inline constexpr std::uint32_t kMostGroupSize = 1U << 20U;

void put_group(Writer& writer, const GroupDescription& group);
/// `nullopt` if the bytes are no group.
std::optional<GroupDescription> get_group(Reader& reader);

void put_entry(Writer& writer, int rank, const CacheEntry& entry);
/// The message for one entry.
Bytes one_entry(const GroupDescription& group, int rank, const CacheEntry& entry);

struct RevokeMessage {
  GroupUid uid = 0;
  std::uint32_t incarnation = 0;
  std::int32_t rank = 0;

  static void fields(auto& stream, auto& self) { stream.fields(self.uid, self.incarnation, self.rank); }
};

}  // namespace offramp::dpu
