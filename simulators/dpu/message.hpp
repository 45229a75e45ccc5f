// One point-to-point message by way of the service processes, in closed form.
//
// Short: host -> (notification with payload) -> service process -> network -> the other's service process,
// where it waits for its receive -> host. Long: RTS the same way without payload; when the receive is posted,
// the receiver's service process READs from host memory to host memory and ACKs (fact sheet 5.2; payloads in
// notifications as in section 4 of it). A service process that has failed is left out: host to host.
#pragma once

#include "offramp/kernel/arbiter.hpp"
#include "simulators/dpu/machine.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// The units that one rank charges, in its program's order.
struct HostUnits {
  Arbiter& up;           // PCIe, host to DPU
  Arbiter& service_out;  // its service process, for what it sends
  Arbiter& nic_out;
};
struct ReceiveUnits {
  Arbiter& service_in;  // its service process, for what it receives
  Arbiter& down;        // PCIe, DPU to host
};

/// Where the two ends are. kOtherDpu: of the same host; notifications take the network, READs need not.
enum class Distance : std::uint8_t { kSameProcess, kSameNode, kOtherDpu, kNetwork };
Distance distance_between(const Placement& placement, int world_rank, int other);

class MessagePath {
 public:
  MessagePath(const PlatformSpec& spec, Time emit) : spec_(spec), card_(spec.card), emit_(emit) {}

  struct Sent {
    Time host_free;
    Time complete;  // the host's buffer has been read
    Time first;     // first and last byte in the memory of the receiver's DPU
    Time last;
  };
  /// service: when the source's service process was free to take it, for the failure's sake.
  [[nodiscard]] Sent send(std::int64_t bytes, Distance distance, int process, Time issued,
                          HostUnits units) const;
  /// When the program has the message.
  [[nodiscard]] Time receive(std::int64_t bytes, int process, Time arrived, Time posted,
                             ReceiveUnits units) const;

  struct Read {
    Time begin;  // the source's memory is read from here on
    Time landed;
    Time acked;  // the sender's host knows
  };
  /// A long message whose RTS is at the receiver's service process and whose receive is posted.
  [[nodiscard]] Read read(std::int64_t bytes, Distance distance, Time requested, Time posted) const;
  /// After landing.
  [[nodiscard]] Time notified(int process, Time landed, std::int64_t bytes, ReceiveUnits units) const;

  // Host to host, without service processes.
  [[nodiscard]] Sent send_by_host(std::int64_t bytes, Distance distance, Time issued, HostUnits units) const;
  [[nodiscard]] Read read_by_host(std::int64_t bytes, Distance distance, Time requested, Time posted) const;
  [[nodiscard]] Time receive_by_host(std::int64_t bytes, Time arrived, Time posted) const;

  /// Whether the message must do without a service process, and from when on its sender knows.
  struct Reroute {
    bool needed = false;
    Time from;
  };
  [[nodiscard]] Reroute reroute(int process, Time issued, Time used) const;

  [[nodiscard]] Time emit() const { return emit_; }

 private:
  [[nodiscard]] Time latency(Distance distance) const;
  /// A unit of work of a service process that may pause.
  [[nodiscard]] Time work(Arbiter& unit, int process, Time at, Time duration) const;
  [[nodiscard]] Time stream(std::int64_t bytes) const;

  const PlatformSpec& spec_;
  const CardSpec& card_;
  Time emit_;
};

}  // namespace offramp::dpu
