// The machine of a collective: the resources of all participating DPUs and service processes, and events on
// them in order of modelled time.
//
// In a world, the resources are those of the nodes, shared with messages and other collectives, and the world
// schedules the events. Without a world, the machine has private resources and its own events: it starts when
// the arrivals of all ranks are known, and simultaneous events keep their scheduling order. Results depend
// only on the input. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "offramp/kernel/event_queue.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/dpu/node.hpp"
#include "simulators/dpu/notifications.hpp"
#include "simulators/dpu/platform.hpp"

namespace offramp::dpu {

/// One rank's part in a collective.
struct Member {
  int world_rank = 0;
  Time posted;        // when its host has posted the notification
  Time process_free;  // end of earlier work of its service process
  friend bool operator==(const Member&, const Member&) = default;
};

/// A world's schedule of events.
class EventSink {
 public:
  /// The world returns the event to its owner at `at`.
  virtual void schedule(Time at, int kind, int subject) = 0;
  /// Resources of the device of a world rank.
  [[nodiscard]] virtual Resources resources(int world_rank) = 0;
  /// The notifications of all service processes.
  [[nodiscard]] virtual Notifications& notifications() = 0;

 protected:
  ~EventSink() = default;
};

/// The machine of one collective, or of a population.
class Machine final : private Notifications::NoteCarrier {
 public:
  /// kind: below kMostKinds. The machine's own kinds are the highest ones.
  struct Event {
    int kind = 0;
    int subject = 0;
  };
  using Events = EventQueue<Event>;
  // Collectives, populations, and the machine itself share one range of kinds.
  static constexpr int kMostKinds = 32;

  /// host_run: members whose host replaces a failed service process. agenda: null for a stand-alone machine.
  Machine(const PlatformSpec& spec, const std::vector<Member>& members, const std::vector<bool>& host_run,
          std::uint64_t first_packet, EventSink* event_sink);

  /// Consecutive indices of service processes, hosts, and DPUs.
  [[nodiscard]] int process_of(int member) const { return process_of_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] int host_of(int member) const { return process_at(process_of(member)).host; }
  [[nodiscard]] int dpu_of(int member) const { return process_at(process_of(member)).dpu; }
  /// Every DPU of a host can access all of its memory.
  [[nodiscard]] bool on_same_host(int a, int b) const { return host_of(a) == host_of(b); }
  [[nodiscard]] int processes() const { return static_cast<int>(processes_.size()); }
  [[nodiscard]] int hosts() const { return static_cast<int>(hosts_.size()); }
  /// Whether the host replaces this service process.
  [[nodiscard]] bool on_host(int process) const { return process_at(process).on_host; }
  /// The id of a service process among all of the job.
  [[nodiscard]] int global_id(int process) const { return process_at(process).global_id; }

  /// In a world, its agenda keeps the events; otherwise this machine does.
  void schedule(Time at, int kind, int subject) {
    event_sink_ != nullptr ? event_sink_->schedule(at, kind, subject) : events_.push(at, 0, {kind, subject});
  }
  // Without agenda only.
  [[nodiscard]] bool idle() const { return events_.empty(); }
  /// Removes the earliest event. The machine must not be idle.
  Events::Entry next() { return events_.pop(); }

  /// Occupies a service process for `duration` at the speed of its card (less if its host replaces it).
  /// Returns the time when it is done.
  Time work(int process, Time at, Time duration);
  /// Occupies a service process for one of the five steps of a pair.
  Time step(int process, Time at) { return work(process, at, spec_.card.step()); }
  /// Imports the memory handles of an arrival.
  /// Also charges the node's resource that counts imports. Returns the time when it is done.
  Time import(int process, Time at);
  /// Handles the machine's own events. Returns false for other events.
  bool handle(const Event& event, Time at);

  /// Notifies another service process, or the same one: event `then` occurs when the notification arrives.
  /// Payloads of up to notification_limit bytes travel with the header. The receiver fetches longer ones, and
  /// the sender is free once it knows. Notifications are too short (11 ns on the link) to queue on links.
  /// meta: a meta-event that includes this notification, or null.
  void notify(int from, int to, std::int64_t payload, Time at, Event then, dpu::Event* meta = nullptr);
  /// Works like notify(), to the host of a member.
  void notify_host(int from, int member, std::int64_t payload, Time at, Event then);
  /// Begins a meta-event of a service process, which groups notifications.
  [[nodiscard]] dpu::Event* begin_meta(int process) {
    return notifications_->begin_meta({process_at(process).global_id});
  }
  /// No further notification can be added.
  void end_meta(int process, dpu::Event* meta) {
    notifications_->end_meta({process_at(process).global_id}, meta);
  }
  /// Works like notify(), from the host of a member to its service process.
  void notify_process(int member, std::int64_t payload, Time at, Event then);
  /// Returns the time when a completion notification reaches the host of a member.
  Time to_host(int member, Time at);

  /// Returns the time when a READ request posted at `at` reaches the NIC at the source.
  [[nodiscard]] Time read_request(bool remote, Time at) const;
  /// The endpoints of a transfer: each is the host memory or the own memory of a DPU.
  struct TransferPath {
    int from = 0;
    int to = 0;
    bool remote = false;  // crosses both NICs
    bool of_dpu = false;
    bool in_dpu = false;
  };
  /// Starts a transfer at the present moment. `then` occurs when its last byte has landed.
  void move(const TransferPath& path, std::int64_t bytes, Time now, Event then);
  /// Works like move(), from a DPU's memory to its host by the DMA engine.
  void write_to_host(int dpu, std::int64_t bytes, Time now, Event then);

  /// Returns the time when a service process is free.
  [[nodiscard]] Time process_free(int process) const;
  /// Total time that a process was busy with this collective.
  [[nodiscard]] Time process_busy(int process) const { return process_at(process).busy; }
  /// Traffic of notifications and data over PCIe, the DPU's loopback, and the network.
  [[nodiscard]] const WireCounters& wire() const { return wire_; }
  /// Returns whether a notification was lost more often than the transport retries.
  [[nodiscard]] bool has_failed() const { return gave_up_; }
  /// Returns whether a failed service process was needed after its failure.
  [[nodiscard]] bool failure_met() const { return failure_met_; }

 private:
  /// A service process that serves members of this collective.
  struct Process {
    int host = 0;
    int dpu = 0;
    int global_id = 0;
    bool on_host = false;
    std::size_t resource = 0;  // index on the node
    Arbiter host_cpu;          // used when the host replaces the process
    Time busy;
  };
  /// A DPU with service processes of this collective.
  struct Dpu {
    int host = 0;
    int place = 0;  // index on its node
    // Links for the next transfers, used round-robin (inferred: published for one link).
    int next_out = 0;
    int next_in = 0;
  };

  /// The machine's own event kinds, above all others: fetched payloads and moving bytes.
  enum MachineEventKind { kRequest = kMostKinds - 8, kFetch, kFetched, kLeft, kOut, kIn, kDown, kDma };
  /// A notification whose payload is fetched by the receiver.
  struct Fetched {
    Note note;
    std::uint64_t send = 0;
  };
  /// A transfer, which occupies one resource after the other, each from the arrival of its first byte.
  struct Moving {
    TransferPath path;
    std::int64_t bytes = 0;
    Event then;
    Time last;    // when the last byte has left the previous resources
    Time behind;  // from the last resource to `then`
  };

  bool depart(const Note& note, std::uint64_t send, Time at) override;
  /// Returns the time when a header, with any payload that travels with it, reaches the receiver.
  Time header_arrives(const Note& note, std::int64_t payload, Time at);
  /// The event system that sends a note.
  [[nodiscard]] Sender sender_of(const Note& note) const;
  /// Latency from a note's sender to its receiver, or back.
  [[nodiscard]] Time latency(const Note& note) const;
  void request_payload(int number, Time at);
  /// How a fetched payload reaches the receiver.
  [[nodiscard]] TransferPath path_of(const Note& note) const;
  /// The receiver continues, and the sender learns of it later.
  void payload_landed(int number, Time at);
  /// The note has left, so that waiting ones can follow.
  void leave_fetched(int number, Time at);
  /// Counts the traffic and returns the transfer's number.
  int begin_moving(const Moving& moving);
  /// Occupies the sending NIC.
  void leave(int number, Time at);
  /// Occupies the receiving NIC.
  void enter(int number, Time at);
  /// Occupies the memory or bus of the destination, and ends the transfer.
  void land(int number, Time at);
  /// Occupies the DMA engine.
  void write(int number, Time at);
  /// The delay by faults of a notification.
  Time repairs(std::uint64_t link, Time at);
  [[nodiscard]] Fetched& fetched_at(int i) { return fetched_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Process& process_at(int i) { return processes_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Process& process_at(int i) const { return processes_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Resources& host_at(int i) const { return hosts_[static_cast<std::size_t>(i)]; }
  /// Occupies a part of a DPU, choosing links round-robin.
  Arbiter::Grant carry(int dpu, NodePart part, Time at, std::int64_t bytes);

  PlatformSpec spec_;
  EventSink* event_sink_;
  NodeResources node_;
  std::uint64_t packet_;  // next packet number in the fault script
  bool gave_up_ = false;
  std::vector<int> process_of_;  // by member
  std::vector<int> world_rank_;  // by member
  std::vector<Process> processes_;
  std::vector<Dpu> dpus_;
  std::vector<std::vector<Resource>> own_;  // by host, without agenda
  std::vector<Resources> hosts_;
  std::unique_ptr<Notifications> own_notifications_;  // without agenda
  Notifications* notifications_;
  std::vector<Fetched> fetched_;
  std::vector<int> unused_fetched_;
  std::vector<Moving> moving_;
  std::vector<int> unused_moving_;
  Events events_;
  bool failure_met_ = false;
  WireCounters wire_;
};

}  // namespace offramp::dpu
