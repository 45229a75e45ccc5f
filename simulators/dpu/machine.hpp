// The machine that a collective runs on: the resources of every DPU and service process that takes part, and
// what happens to them in order of modelled time.
//
// In a world these are the nodes' own, which messages and other collectives use as well, and the world takes
// the steps with all its others. Where there is no world, the machine has resources and an order of steps to
// itself: it begins when the arrivals of all ranks are known, and equal times keep the order in which they
// were scheduled. Either way the results depend on the input only. One thread.
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
  Time posted;        // when its host has handed over the notification
  Time process_free;  // what earlier operations left of its service process
  friend bool operator==(const Member&, const Member&) = default;
};

/// What happens when: a world's order of steps.
class Agenda {
 public:
  virtual void schedule(Time at, int kind, int subject) = 0;
  /// What the device of a world rank reaches.
  [[nodiscard]] virtual Resources resources(int world_rank) = 0;
  /// Of all service processes.
  [[nodiscard]] virtual Notifications& notifications() = 0;

 protected:
  ~Agenda() = default;
};

class Machine final : private Notifications::Way {
 public:
  struct Event {
    int kind = 0;
    int subject = 0;
  };
  using Events = EventQueue<Event>;
  static constexpr int kMostKinds = 32;

  /// host_run: members whose service process has failed and whose host does its work instead. agenda: null
  /// where the machine has everything to itself.
  Machine(const PlatformSpec& spec, const std::vector<Member>& members, const std::vector<bool>& host_run,
          std::uint64_t first_packet, Agenda* agenda);

  /// Dense numbers of places.
  [[nodiscard]] int process_of(int member) const { return process_of_[static_cast<std::size_t>(member)]; }
  [[nodiscard]] int host_of(int member) const { return process_at(process_of(member)).host; }
  [[nodiscard]] int dpu_of(int member) const { return process_at(process_of(member)).dpu; }
  /// Every DPU of a host reaches all of its memory.
  [[nodiscard]] bool on_same_host(int a, int b) const { return host_of(a) == host_of(b); }
  [[nodiscard]] int processes() const { return static_cast<int>(processes_.size()); }
  [[nodiscard]] int hosts() const { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] bool on_host(int process) const { return process_at(process).on_host; }
  [[nodiscard]] int global_id(int process) const { return process_at(process).global_id; }

  void schedule(Time at, int kind, int subject) {
    agenda_ != nullptr ? agenda_->schedule(at, kind, subject) : events_.push(at, 0, {kind, subject});
  }
  // Without an agenda.
  [[nodiscard]] bool idle() const { return events_.empty(); }
  /// The earliest event. Not when the machine is idle.
  Events::Entry next() { return events_.pop(); }

  /// A service process is busy for so long at the speed of its card; when it is done.
  Time work(int process, Time at, Time duration);
  Time step(int process, Time at) { return work(process, at, spec_.card.step()); }
  /// The memory handles of an arrival.
  Time import(int process, Time at);
  /// The machine's own part of what is scheduled; false: it is no such event.
  bool take(const Event& event, Time at);

  /// A service process tells another one, or itself: `kind` happens with `subject` when the notification has
  /// reached it. Up to notification_limit bytes the payload travels with the header; a longer one is fetched
  /// by its receiver, and the sender is free of it once it is told. Notifications are so short (11 ns on the
  /// link) that they do not queue behind each other there. meta: that it is a part of; null: none.
  void notify(int from, int to, std::int64_t payload, Time at, Event then, dpu::Event* meta = nullptr);
  /// The same to the host of a member.
  void notify_host(int from, int member, std::int64_t payload, Time at, Event then);
  /// A meta-event of a service process, for notifications that belong together.
  [[nodiscard]] dpu::Event* begin_meta(int process) {
    return notifications_->begin_meta({process_at(process).global_id});
  }
  void end_meta(int process, dpu::Event* meta) {
    notifications_->end_meta({process_at(process).global_id}, meta);
  }
  /// The same from the host of a member to its service process.
  void notify_process(int member, std::int64_t payload, Time at, Event then);
  /// When the notification of a completion reaches the host of a member.
  Time to_host(int member, Time at);

  /// A READ request that was posted at a time, where it reaches the NIC at the source.
  [[nodiscard]] Time read_request(bool remote, Time at) const;
  /// From one DPU's host, or its own memory, to another one's, or the same.
  struct Way {
    int from = 0;
    int to = 0;
    bool remote = false;  // over both NICs
    bool of_dpu = false;
    bool in_dpu = false;
  };
  /// Bytes begin to leave at the present moment: `then` happens when the last one has landed.
  void move(const Way& way, std::int64_t bytes, Time now, Event then);
  /// The DPU's DMA engine writes its memory to its host's: the same.
  void write_to_host(int dpu, std::int64_t bytes, Time now, Event then);

  /// When the process of a member is free.
  [[nodiscard]] Time process_free(int process) const;
  /// How long a process was busy with this collective.
  [[nodiscard]] Time process_busy(int process) const { return process_at(process).busy; }
  /// Notifications and data, over PCIe, the DPU's loopback and the network alike.
  [[nodiscard]] const WireCounters& wire() const { return wire_; }
  /// True once a notification has been lost more often than the transport repeats it.
  [[nodiscard]] bool gave_up() const { return gave_up_; }
  /// True once a service process that the failure names was to work after it had failed.
  [[nodiscard]] bool failure_met() const { return failure_met_; }

 private:
  struct Process {
    int host = 0;
    int dpu = 0;
    int global_id = 0;
    bool on_host = false;
    std::size_t resource = 0;  // of the node
    Arbiter host_cpu;          // where the host does the work
    Time busy;
  };
  struct Dpu {
    int host = 0;
    int place = 0;  // on its node
    // Which of its links the next transfer takes: they are taken in turn (inferred: published for one).
    int next_out = 0;
    int next_in = 0;
  };

  /// Kinds of its own, behind all others: of payloads that are fetched, and of bytes on their way.
  enum Kind { kRequest = kMostKinds - 8, kFetch, kFetched, kLeft, kOut, kIn, kDown, kDma };
  /// A notification whose payload its receiver fetches.
  struct Fetched {
    Note note;
    std::uint64_t send = 0;
  };
  /// What occupies one resource after the other, each when its first byte is there.
  struct Moving {
    Way way;
    std::int64_t bytes = 0;
    Event then;
    Time last;    // byte, behind the resources so far
    Time behind;  // from the last resource to where `then` happens
  };

  bool depart(const Note& note, std::uint64_t send, Time at) override;
  /// When a header, and what travels with it, is at its receiver.
  Time header_arrives(const Note& note, std::int64_t payload, Time at);
  [[nodiscard]] Sender sender_of(const Note& note) const;
  [[nodiscard]] Time latency(const Note& note) const;
  void ask_for_payload(int number, Time at);
  [[nodiscard]] Way way_of(const Note& note) const;
  void payload_landed(int number, Time at);
  void leave_fetched(int number, Time at);
  int begin_moving(const Moving& moving);
  void leave(int number, Time at);
  void enter(int number, Time at);
  void land(int number, Time at);
  void write(int number, Time at);
  /// What the faults of a notification cost.
  Time repairs(std::uint64_t link, Time at);
  [[nodiscard]] Fetched& fetched_at(int i) { return fetched_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] Process& process_at(int i) { return processes_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Process& process_at(int i) const { return processes_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const Resources& host_at(int i) const { return hosts_[static_cast<std::size_t>(i)]; }
  /// Of a DPU.
  Arbiter::Grant carry(int dpu, NodePart part, Time at, std::int64_t bytes);

  PlatformSpec spec_;
  Agenda* agenda_;
  NodeResources node_;
  std::uint64_t packet_;  // number of the next one that the fault script judges
  bool gave_up_ = false;
  std::vector<int> process_of_;  // by member
  std::vector<int> world_rank_;  // by member
  std::vector<Process> processes_;
  std::vector<Dpu> dpus_;
  std::vector<std::vector<Resource>> own_;  // by host, without an agenda
  std::vector<Resources> hosts_;
  std::unique_ptr<Notifications> own_notifications_;  // without an agenda
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
