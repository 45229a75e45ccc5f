// The stages of a point-to-point message by way of the service processes.
//
// Short: host -> (notification with payload) -> service process -> network -> the other's service process,
// where it waits for its receive -> host. Long: RTS the same way without payload; when the receive is posted,
// the receiver's service process READs from host memory to host memory and ACKs (read in [ucc-offload]:
// UCC's allgatherv_offload*.h; payloads in notifications: dpu_offload_event_channels.c of the service). A
// service process that has failed is left out: host to host.
//
// A stage occupies resources from its own moment on, in the order of modelled time; where it comes to another
// one later, it is called again then (Passage::again). What a service process does later for the same message
// (after the last byte, or for the ACK) is part of what occupies it before; the message goes on when that
// later moment has come.
#pragma once

#include "offramp/model/message.hpp"
#include "offramp/model/resource.hpp"
#include "simulators/dpu/node.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// Where the two ends are. kOtherDpu: of the same host; notifications take the network, READs need not.
enum class Distance : std::uint8_t { kSameProcess, kSameNode, kOtherDpu, kNetwork };
Distance distance_between(const Placement& placement, int world_rank, int other);

class MessagePath {
 public:
  /// emit: the host's time for a notification. What is referred to outlives it.
  MessagePath(const PlatformSpec& spec, const NodeResources& node, Time emit)
      : spec_(spec), card_(spec.card), node_(node), placement_(placement_of(spec)), emit_(emit) {}

  [[nodiscard]] Time emit() const { return emit_; }

  // See Backend. passage.protocol is set before.
  /// Returns whether the message goes past a service process that has failed, once it has left.
  bool depart(const Transfer& transfer, Passage& passage, const Resources& sender) const;
  void answer(const Transfer& transfer, Passage& passage, const Resources& receiver) const;
  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) const;
  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) const;
  [[nodiscard]] Time receive(const Transfer& transfer, const Passage& passage, Time at,
                             Matched matched) const;

  [[nodiscard]] Distance distance(const Transfer& transfer) const {
    return distance_between(placement_, transfer.source, transfer.destination);
  }
  /// Whether its notification takes the network, where it can be lost.
  [[nodiscard]] bool notifies_remotely(const Transfer& transfer) const {
    return distance(transfer) >= Distance::kOtherDpu;
  }

 private:
  /// Whether the message must do without a service process, and from when on its sender knows.
  struct Reroute {
    bool needed = false;
    Time from;
  };
  [[nodiscard]] Time latency(Distance distance) const;
  [[nodiscard]] Reroute reroute(const Transfer& transfer, Time issued) const;
  /// Whether the stage of this moment is one of two hosts without their service processes.
  [[nodiscard]] bool is_by_host(const Transfer& transfer, Time at) const;
  /// Work of a rank's service process, which may pause.
  Arbiter::Grant work(const Resources& node, int world_rank, Time at, Time duration) const;
  Arbiter::Grant carry(const Resources& node, int world_rank, NodePart part, Time at,
                       std::int64_t bytes) const;
  /// The DMA engine takes a request, and the bytes.
  [[nodiscard]] Time dma_time(std::int64_t bytes) const;
  void arrive_short(const Transfer& transfer, Passage& passage, const Resources& receiver) const;
  void arrive_read(const Transfer& transfer, Passage& passage, const Resources& receiver) const;
  /// What is left of a READ once the last byte has come.
  [[nodiscard]] Time rest_of_read(std::int64_t bytes) const;

  const PlatformSpec& spec_;
  const CardSpec& card_;
  const NodeResources& node_;
  Placement placement_;
  Time emit_;
};

}  // namespace offramp::dpu
