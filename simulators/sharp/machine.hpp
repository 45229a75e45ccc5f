// Reductions in progress: the work of adapters and switches for the operations of all communicators, in steps
// in order of modelled time. Driven by an Agenda; one thread at a time.
//
// An operation is divided into pieces: packets of one payload (low latency) or chunks of a stream. A piece
// moves from its contributing members up the tree, switch by switch, and its result down to the receiving
// members:
//
//   post      the member's processor passes a packet to its adapter; at most `outstanding` packets per group
//             wait for results. The chunks of a stream follow each other without the processor.
//   send      the adapter's port sends it to the member's switch.
//   arrive    low latency: packets pass the port of the switch's aggregation node one by one. Stream: each
//             port has its own adder.
//   combine   once all operands of the piece have arrived, the sum leaves for the next switch.
//   spread    at the root and each switch below: copies for the inputs that need the piece.
//   deliver   the member's port writes it to memory.
//
// A streaming operation owns the streaming units of all its switches, from when its last member has entered
// until its last piece is delivered. Operations that need the same switch run in the order in which they
// became complete. Low-latency operations of groups beyond the job's share use turns in the same way. An
// operation that owns a switch never waits for members, so operations cannot deadlock.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "offramp/kernel/wire.hpp"
#include "offramp/model/resource.hpp"
#include "simulators/sharp/spec.hpp"
#include "simulators/sharp/tree.hpp"

namespace offramp::sharp {

/// The ports of a member's adapter, as indices of its resources.
enum Port : std::size_t { kPortOut, kPortIn };

/// The world as seen by the machine.
class EventSink {
 public:
  /// Schedules a call of Machine::step(at, number). `at` must not be in the past.
  virtual void schedule(Time at, std::uint32_t number) = 0;
  /// Crosses a link, then calls Machine::crossed(number, ...); see WorldDevices::cross().
  virtual void cross(std::size_t link, std::size_t bytes, Time first, Time last, std::uint32_t number) = 0;
  /// The ports of the rank's adapter, indexed by Port.
  [[nodiscard]] virtual Resources ports(int world_rank) = 0;

 protected:
  ~EventSink() = default;
};

/// The members that contribute to a piece, or receive it.
enum class PieceMembers : std::uint8_t {
  kAll,
  kRoot,
  kOwner,  // the members whose blocks are in the piece
};

/// One operation. All members describe it identically.
struct Request {
  PieceMembers from = PieceMembers::kAll;
  PieceMembers to = PieceMembers::kAll;
  int root = 0;           // member
  std::size_t bytes = 0;  // combined vector, or all blocks
  std::size_t block = 0;  // per rank; for kOwner
  bool streams = false;
};

/// A communicator: its tree, and the packets that its members still have to post.
struct Group {
  Tree tree;
  std::vector<int> leaders;  // by member: the world rank that uses the adapter
  std::vector<int> before;   // by member: communicator ranks on earlier members; the last entry is the total
  // Whether the group is within the job's share. Other groups take turns, see Machine::takes_turns().
  bool is_reserved = true;

  /// The packets of one operation that a member still has to post.
  struct Posting {
    std::uint32_t operation;
    int next;  // next piece
  };
  /// A member's queue of packets. Operations post in the order in which they were released.
  struct Member {
    std::list<Posting> postings;
    int waiting = 0;  // pieces without a result
    Time processor;   // when it is free
  };
  // By member. All operations of the group share them, so `outstanding` limits them together.
  std::vector<Member> members;
};

/// Notified of the end of an operation at each member.
class Observer {
 public:
  /// granted: when the operation acquired its switches.
  /// Called once per member. `at` is never before the member entered.
  virtual void done(int member, Time granted, Time at) = 0;

 protected:
  ~Observer() = default;
};

/// All operations in progress on the fabric of a world.
class Machine {
 public:
  /// References must outlive the machine.
  Machine(const Spec& spec, EventSink& event_sink) : spec_(spec), event_sink_(event_sink) {}

  /// Creates an operation, which exists until all members have entered and are done.
  /// The observer must outlive the operation. The group may have several operations in progress.
  std::uint32_t begin(std::shared_ptr<Group> group, const Request& request, Observer& observer);
  /// posted: when the member's processor begins with it. Must not be in the past.
  void enter(std::uint32_t operation, int member, Time posted);

  /// Processes an event. number: as passed to EventSink::schedule().
  void step(Time at, std::uint32_t number);
  /// A piece has crossed a link. first, last: arrival of its first and last byte.
  void crossed(std::uint32_t number, Time first, Time last);

  /// Traffic of all operations, on the ports of adapters and on links.
  [[nodiscard]] const WireCounters& wire() const { return wire_; }

 private:
  enum class EventKind : std::uint8_t { kEnter, kSend, kArrive, kCombine, kSpread, kDeliver, kDone };
  /// A piece at a member or a switch. `first` and `last` are the times of its first and last byte there.
  struct Event {
    EventKind kind = EventKind::kEnter;
    std::uint32_t operation = 0;
    int at = 0;  // member, or switch of the tree
    int piece = 0;
    Time first;
    Time last;
    std::size_t bytes = 0;
  };
  /// A piece at one switch.
  struct Station {
    // Operands: contributing members at this switch, and switches below with contributions.
    int expected = 0;
    int came = 0;
    Time since;  // arrival of the first operand
    Time first;  // first byte of the sum
    Time last;
    std::size_t up = 0;    // bytes to the parent
    std::size_t down = 0;  // bytes to the switches below
  };
  /// A piece on its way, from its first arrival at a switch until its last delivery.
  struct Piece {
    std::size_t bytes = 0;
    int open = 0;  // outstanding deliveries
    std::vector<Station> stations;
  };
  /// Members from `first` to before `end`.
  struct Range {
    int first = 0;
    int end = 0;
    [[nodiscard]] bool has(int member) const { return first <= member && member < end; }
  };
  struct Operation {
    std::shared_ptr<Group> group;
    Request request;
    Observer* observer = nullptr;
    std::size_t step = 0;  // bytes per piece
    int pieces = 1;        // without the arming piece
    bool runs = false;     // the switches are acquired
    Time granted;
    int entered = 0;
    int undone = 0;            // members that are not done
    std::size_t open = 0;      // outstanding deliveries of all pieces
    std::vector<Time> posted;  // by member; negative: not entered
    std::vector<int> left;     // by member: pieces still to be delivered
    std::vector<int> unsent;   // by member: pieces still to be sent
    std::vector<Time> finished;
    std::vector<bool> armed;
    // By number. Other pieces need no memory.
    std::map<int, Piece> under_way;
  };

  /// Stores an event and schedules it.
  void later_on(Time at, const Event& event);
  /// Takes an event out. Its number is free for the next event.
  Event event_of(std::uint32_t number);
  [[nodiscard]] Operation& at(std::uint32_t operation) { return *operations_.at(operation); }

  void on_enter(std::uint32_t id, int member, Time now);
  void on_send(const Event& event, Time now);
  void on_arrive(const Event& event, Time now);
  void on_combine(const Event& event, Time now);
  void on_spread(const Event& event, Time now);
  void on_deliver(const Event& event, Time now);
  void on_done(const Event& event, Time now);

  /// The arming piece has the number after the last piece. It has no bytes, and goes from member 0 to all.
  [[nodiscard]] bool is_arming(const Operation& o, int piece) const { return piece == o.pieces; }
  /// The members that belong to these bytes of the operation.
  [[nodiscard]] Range range(const Operation& o, PieceMembers part, std::size_t begin,
                            std::size_t bytes) const;
  [[nodiscard]] Range contributors(const Operation& o, int piece) const;
  [[nodiscard]] Range receivers(const Operation& o, int piece) const;
  [[nodiscard]] std::size_t bytes_of(const Operation& o, int piece) const;
  /// The bytes of a piece that belong to a member.
  [[nodiscard]] std::size_t own_bytes(const Operation& o, int piece, int member) const;
  Piece& piece_of(Operation& o, int piece);

  void release(std::uint32_t id, int member, Time now);
  void post_next(Group& group, int member, Time now);
  void run_those_that_can(Time now);
  /// Grants the switches to an operation, and releases all members.
  void run(std::uint32_t id, Time now);
  void check_member(std::uint32_t id, int member, Time now);
  /// Whether the operation needs its switches for itself.
  [[nodiscard]] bool takes_turns(const Operation& o) const {
    return o.request.streams || !o.group->is_reserved;
  }
  [[nodiscard]] std::size_t on_wire(const Operation& o, std::size_t bytes) const;
  /// How long the adapter's port is occupied by a piece.
  [[nodiscard]] Time port_time(const Operation& o, std::size_t bytes) const;
  /// Latency between an adapter's memory and its switch.
  [[nodiscard]] Time half_way() const { return Time::ps(spec_.latency.count() / 2); }
  /// The aggregation node of a switch, which all groups share. place: index in the group's tree.
  [[nodiscard]] Arbiter& engine(const Operation& o, int place);

  const Spec& spec_;
  EventSink& event_sink_;
  std::uint32_t next_ = 0;
  std::map<std::uint32_t, std::unique_ptr<Operation>> operations_;
  // By number. unused_ contains the free numbers.
  std::vector<Event> events_;
  std::vector<std::uint32_t> unused_;
  std::map<int, Arbiter> engines_;       // by switch
  std::list<std::uint32_t> turns_;       // operations that wait for their switches
  std::set<std::pair<bool, int>> busy_;  // switches in use, by streams and by groups beyond the share
  WireCounters wire_;
};

}  // namespace offramp::sharp
