// The machine that a collective runs on: the units of every DPU and service process that takes part, and
// what happens to them in order of modelled time.
//
// A service process takes what reaches it first. That order is not left to chance: a simulation begins when
// the arrivals of all ranks are known, and equal times keep the order in which they were scheduled. So its
// results depend on its input only, which is what a timed process network is for. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "offramp/kernel/arbiter.hpp"
#include "offramp/kernel/event_queue.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// One rank's part in a collective.
struct Member {
  int world_rank = 0;
  Time posted;        // when its host has handed over the notification
  Time process_free;  // what earlier operations left of its service process
  friend bool operator==(const Member&, const Member&) = default;
};

/// Bytes of framing per packet of up to kMtu on InfiniBand: LRH 8, BTH 12, RETH 16, ICRC 4, VCRC 2.
inline constexpr std::int64_t kFraming = 42;
inline constexpr std::int64_t kMtu = 4096;
inline constexpr std::int64_t kNotificationHeader = 56;
inline constexpr std::int64_t kRtsPayload =
    176;  // id block 32, address and length 16, packed key 128 (assumed)
inline constexpr std::int64_t kAckPayload = 20;

inline std::int64_t framed(std::int64_t bytes) {
  return bytes + (bytes > kMtu ? (bytes + kMtu - 1) / kMtu : 1) * kFraming;
}
inline void count_message(WireCounters& wire, std::int64_t bytes) {
  const std::int64_t whole = framed(bytes);
  wire.packets += static_cast<std::uint64_t>((whole - bytes) / kFraming);
  wire.payload_bytes += static_cast<std::uint64_t>(bytes);
  wire.wire_bytes += static_cast<std::uint64_t>(whole);
}

class Machine {
 public:
  struct Event {
    int kind = 0;
    int subject = 0;
  };
  using Events = EventQueue<Event>;

  /// host_run: members whose service process has failed and whose host does its work instead.
  Machine(const PlatformSpec& spec, const std::vector<Member>& members, const std::vector<bool>& host_run,
          std::uint64_t first_packet);

  /// Dense numbers of places.
  [[nodiscard]] int process_of(int member) const { return process_of_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] int host_of(int member) const { return process_at(process_of(member)).host; }
  [[nodiscard]] int dpu_of(int member) const { return process_at(process_of(member)).dpu; }
  /// Every DPU of a host reaches all of its memory.
  [[nodiscard]] bool on_same_host(int a, int b) const { return host_of(a) == host_of(b); }
  [[nodiscard]] int processes() const { return static_cast<int>(processes_.size()); }
  [[nodiscard]] int hosts() const { return hosts_; }
  [[nodiscard]] bool on_host(int process) const { return process_at(process).on_host; }

  void schedule(Time at, int kind, int subject) { events_.push(at, 0, {kind, subject}); }
  [[nodiscard]] bool idle() const { return events_.empty(); }
  /// The earliest event. Not when the machine is idle.
  Events::Entry next() { return events_.pop(); }

  /// A service process is busy for so long at the speed of its card; when it is done.
  Time work(int process, Time at, Time duration);
  Time step(int process, Time at) { return work(process, at, spec_.card.step()); }
  /// When a notification with a payload, sent at a time, reaches another service process. Notifications are
  /// so short (11 ns on the link) that they do not queue behind each other.
  Time notify(int from, int to, std::int64_t payload, Time at);
  /// When a member's notification reaches its service process, and when the way back reaches the host.
  Time from_host(int member, std::int64_t payload, Time at);
  Time to_host(int member, Time at);

  struct Passage {
    Time first;
    Time last;
  };
  /// A READ request that was posted at a time, where it reaches the NIC at the source.
  [[nodiscard]] Time read_request(bool remote, Time at) const;
  /// Bytes leave host memory (or, of_dpu, the DPU's) through a DPU's NIC; first and last at the NIC that gets
  /// them.
  Passage leave(int dpu, bool remote, std::int64_t bytes, bool of_dpu, Time at);
  /// They land in host memory, or in the DPU's.
  Time land(int dpu, std::int64_t bytes, bool in_dpu, bool remote, Passage passage);
  /// The DPU's DMA engine writes its memory to its host's.
  Time write_to_host(int dpu, std::int64_t bytes, Time at);

  [[nodiscard]] Time process_free(int process) const { return process_at(process).cpu.free_at(); }
  /// How long a process was busy.
  [[nodiscard]] Time process_busy(int process) const { return process_at(process).busy; }
  /// Notifications and data, over PCIe, the DPU's loopback and the network alike.
  [[nodiscard]] const WireCounters& wire() const { return wire_; }
  /// True once a notification has been lost more often than the transport repeats it.
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  /// True once a service process that the failure names was to work after it had failed.
  [[nodiscard]] bool failure_met() const { return failure_met_; }

 private:
  struct Process {
    Process(int host_, int dpu_, int global_id_, bool on_host_)
        : host(host_), dpu(dpu_), global_id(global_id_), on_host(on_host_) {}
    int host = 0;
    int dpu = 0;
    int global_id = 0;
    bool on_host = false;
    Arbiter cpu;
    Time busy;
  };
  struct Dpu {
    Arbiter nic_out;
    Arbiter nic_in;
    Arbiter pcie_up;    // host memory to NIC
    Arbiter pcie_down;  // NIC to host memory
    Arbiter dram;
    Arbiter dma;
  };

  /// What the faults of a notification cost.
  Time repairs(std::uint64_t link, Time at);
  [[nodiscard]] Process& process_at(int i) { return processes_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Process& process_at(int i) const { return processes_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Dpu& dpu_at(int i) { return dpus_[static_cast<std::size_t>(i)]; }

  PlatformSpec spec_;
  std::uint64_t packet_;  // number of the next one that the fault script judges
  bool gave_up_ = false;
  std::vector<int> process_of_;  // by member
  std::vector<Process> processes_;
  std::vector<Dpu> dpus_;
  int hosts_ = 0;
  Events events_;
  bool failure_met_ = false;
  WireCounters wire_;
};

}  // namespace offramp::dpu
