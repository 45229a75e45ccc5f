// The exclusive resources of a node's DPUs, and the framing of transfers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "offramp/kernel/wire.hpp"
#include "offramp/model/resource.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// Bytes of framing per packet of up to kMtu on InfiniBand: LRH 8, BTH 12, RETH 16, ICRC 4, VCRC 2.
inline constexpr std::int64_t kFraming = 42;
inline constexpr std::int64_t kMtu = 4096;
inline constexpr std::int64_t kNotificationHeader = 56;
inline constexpr std::int64_t kRtsPayload =
    176;  // id block 32, address and length 16, packed key 128 (assumed)
inline constexpr std::int64_t kAckPayload = 20;

/// Bytes with framing. An empty message has one packet.
inline std::int64_t framed(std::int64_t bytes) {
  return bytes + (bytes > kMtu ? (bytes + kMtu - 1) / kMtu : 1) * kFraming;
}
/// Adds the packets of one message.
inline void count_message(WireCounters& wire, std::int64_t bytes) {
  const std::int64_t whole = framed(bytes);
  wire.packets += static_cast<std::uint64_t>((whole - bytes) / kFraming);
  wire.payload_bytes += static_cast<std::uint64_t>(bytes);
  wire.wire_bytes += static_cast<std::uint64_t>(whole);
}

/// Parts of a DPU. The first two exist once per link.
enum class NodePart : std::uint8_t {
  kNicOut,
  kNicIn,
  kPcieUp,    // host memory to NIC
  kPcieDown,  // NIC to host memory
  kDram,      // DPU memory
  kDma,       // DPU memory to host memory
  kCount
};

/// Indices of a node's resources. Each DPU has its parts: first those of each link, then the others. The
/// service processes follow, then one resource per service process for its time of importing memory handles,
/// which occupies the process as well.
class NodeResources {
 public:
  /// The resources depend only on the numbers of DPUs, links, and processes, and on the card's rates.
  explicit NodeResources(const PlatformSpec& spec);
  NodeResources& operator=(NodeResources&&) = delete;

  /// In order of the indices below.
  [[nodiscard]] std::span<const ResourceDescription> descriptions() const { return descriptions_; }
  /// dpu: index on its node. link: index on the DPU, for parts of links.
  [[nodiscard]] std::size_t part(int dpu, NodePart part, int link = 0) const {
    const auto index = static_cast<std::size_t>(part);
    const std::size_t first = static_cast<std::size_t>(dpu) * parts_;
    return first + (index < kLinkParts ? static_cast<std::size_t>(link) * kLinkParts + index
                                       : (links_ - 1) * kLinkParts + index);
  }
  /// The Arm core of a service process of this node. Global ids are consecutive within a node.
  [[nodiscard]] std::size_t process(int global_id) const {
    return dpus_ * parts_ + static_cast<std::size_t>(global_id) % processes_;
  }
  /// The resource for a process's time of importing.
  [[nodiscard]] std::size_t imports(int global_id) const { return process(global_id) + processes_; }

 private:
  static constexpr auto kParts = static_cast<std::size_t>(NodePart::kCount);
  static constexpr auto kLinkParts = static_cast<std::size_t>(NodePart::kPcieUp);

  std::size_t dpus_;
  std::size_t links_;      // per DPU
  std::size_t parts_;      // per DPU
  std::size_t processes_;  // per node
  std::vector<ResourceDescription> descriptions_;
};

}  // namespace offramp::dpu
