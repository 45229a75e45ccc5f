// Shared by the tests of the DPU service.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "backends/dpu/dpu.hpp"
#include "simulators/dpu/collective.hpp"

namespace offramp::dpu {

using SettingValues = std::vector<std::pair<std::string, Settings::Value>>;

inline Settings settings_with(const SettingValues& values) {
  Settings settings = Settings::defaults(dpu_backend().parameters);
  for (const auto& [name, value] : values) settings.set(name, value);
  return settings;
}

inline double microseconds(Time t) {
  return t.seconds() * 1e6;
}

/// The platform of the published runs: 4 nodes of 32 ranks, 4 service processes per DPU.
inline PlatformSpec measured_platform(const CardSpec& card) {
  PlatformSpec spec;
  spec.card = card;
  spec.ranks_per_node = 32;
  spec.processes = 4;
  return spec;
}

inline CollectiveRequest request_of(const PlatformSpec& spec, OperationKind kind, int ranks,
                                    std::int64_t bytes, int root = 0) {
  CollectiveRequest request;
  request.kind = kind;
  request.bytes = bytes;
  request.root = root;
  const HostCost cost = host_cost(spec, kind, bytes, ranks, false);
  for (int rank = 0; rank < ranks; ++rank) request.members.push_back({rank, cost.post, {}});
  // Blocks that may differ, and do not.
  if (has_blocks_of_different_sizes(kind))
    request.sizes.assign(static_cast<std::size_t>(kind == OperationKind::kAlltoallv ? ranks * ranks : ranks),
                         bytes);
  return request;
}

/// What an overlap benchmark in the style of OSU shows of a nonblocking collective: the program computes for
/// as long as the operation takes by itself.
struct Overlap {
  Time pure;
  Time post;
  Time wait;
  [[nodiscard]] double percent() const {
    return std::max(0.0, 100.0 * (1.0 - (post + wait).seconds() / pure.seconds()));
  }
};
inline Overlap overlap_of(const PlatformSpec& spec, OperationKind kind, int ranks, std::int64_t bytes) {
  const HostCost cost = host_cost(spec, kind, bytes, ranks, false);
  const CollectiveResult result = run_collective(spec, request_of(spec, kind, ranks, bytes));
  Overlap overlap;
  overlap.post = cost.post + cost.copy;
  for (const MemberResult& member : result.members) {
    overlap.pure = later(overlap.pure, later(member.done, overlap.post + member.host_work));
    overlap.wait = later(overlap.wait, member.host_work);
  }
  return overlap;
}

}  // namespace offramp::dpu
