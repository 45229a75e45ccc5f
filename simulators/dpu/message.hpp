// The stages of a point-to-point message through service processes.
//
// Short: host -> (notification with payload) -> service process -> network -> the peer's service process,
// where it waits for its receive -> host. Long: an RTS without payload uses the same route; once the receive
// is posted, the receiver's service process READs from host memory to host memory and ACKs (read in
// [ucc-offload]: UCC's allgatherv_offload*.h; payloads in notifications: dpu_offload_event_channels.c of the
// service). A failed service process is bypassed: host to host.
//
// A stage occupies resources from its own time on. If it needs another one later, it is called again at that
// time (Passage::again). Later work of a service process for the same message (after the last byte, or for
// the ACK) is charged together with its earlier work; the message continues when the later time has come.
#pragma once

#include "offramp/model/message.hpp"
#include "offramp/model/resource.hpp"
#include "simulators/dpu/node.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// Relative location of two ranks. kOtherDpu: same host; only notifications need the network.
enum class Distance : std::uint8_t { kSameProcess, kSameNode, kOtherDpu, kNetwork };
/// Both are world ranks. The service processes of one DPU reach each other without the network.
Distance distance_between(const Placement& placement, int world_rank, int other);

/// Computes the stages of messages. Stateless: the state is in Passage and Resources.
class MessagePath {
 public:
  /// emit: host time for a notification. References must outlive this object.
  MessagePath(const PlatformSpec& spec, const NodeResources& node, Time emit)
      : spec_(spec), card_(spec.card), node_(node), placement_(placement_of(spec)), emit_(emit) {}

  /// Host time before the message departs.
  [[nodiscard]] Time emit() const { return emit_; }

  // The stages of Backend; the caller sets passage.protocol.

  /// Returns whether the message bypasses a failed service process, once it has left.
  bool depart(const Transfer& transfer, Passage& passage, const Resources& sender) const;
  /// The receive is posted: imports the buffers, posts the READ, and sets passage.answered.
  void answer(const Transfer& transfer, Passage& passage, const Resources& receiver) const;
  /// Sends the bytes that a READ requests, and sets passage.complete for the sender.
  void transmit(const Transfer& transfer, Passage& passage, const Resources& sender) const;
  /// Occupies the receiver's node, and sets passage.stored.
  void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) const;
  /// Returns the time when the receiver's host has the message.
  [[nodiscard]] Time receive(const Transfer& transfer, const Passage& passage, Time at,
                             Matched matched) const;

  [[nodiscard]] Distance distance(const Transfer& transfer) const {
    return distance_between(placement_, transfer.source, transfer.destination);
  }
  /// Returns whether its notification crosses the network, where it can be lost.
  [[nodiscard]] bool notifies_remotely(const Transfer& transfer) const {
    return distance(transfer) >= Distance::kOtherDpu;
  }

 private:
  /// The decision to bypass a failed service process, and the time when the sender knows of the failure.
  struct Reroute {
    bool needed = false;
    Time from;
  };
  /// Latency between the service processes of two ranks.
  [[nodiscard]] Time latency(Distance distance) const;
  /// issued: when the host begins to send.
  [[nodiscard]] Reroute reroute(const Transfer& transfer, Time issued) const;
  /// Returns whether hosts handle the stage without service processes at this time.
  [[nodiscard]] bool is_by_host(const Transfer& transfer, Time at) const;
  /// Occupies a rank's service process, which may pause.
  Arbiter::Grant work(const Resources& node, int world_rank, Time at, Time duration) const;
  /// Occupies a part of the DPU that serves the rank.
  Arbiter::Grant carry(const Resources& node, int world_rank, NodePart part, Time at,
                       std::int64_t bytes) const;
  /// Time of the DMA engine for one request.
  [[nodiscard]] Time dma_time(std::int64_t bytes) const;
  /// The arrival of a message whose payload is in its notification.
  void arrive_short(const Transfer& transfer, Passage& passage, const Resources& receiver) const;
  /// The arrival of the data of a READ.
  void arrive_read(const Transfer& transfer, Passage& passage, const Resources& receiver) const;
  /// The time of a READ after the arrival of its last byte.
  [[nodiscard]] Time rest_of_read(std::int64_t bytes) const;

  const PlatformSpec& spec_;
  const CardSpec& card_;
  const NodeResources& node_;
  Placement placement_;
  Time emit_;
};

}  // namespace offramp::dpu
