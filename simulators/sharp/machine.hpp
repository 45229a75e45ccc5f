// Reductions in progress: what adapters and switches do for the operations of all communicators, step by step
// in the order of modelled time.
//
// An operation is cut into pieces: packets of one payload (low latency), or chunks of a stream. A piece goes
// from the members that contribute to it up the tree, switch by switch, and its result down to the members
// that want it:
//
//   post      the member's processor hands a packet to its adapter; at most `outstanding` of a group wait for
//             results. A stream's chunks follow each other without the processor.
//   send      the adapter's port carries it to the member's switch.
//   arrive    low latency: the packet passes the port of the switch's aggregation node, one after the other.
//             Stream: each port has an adder of its own.
//   combine   all operands of the piece are there: the sum leaves for the next switch, over the network's
//   link. spread    at the root, and at each switch below: copies for the inputs that want the piece. deliver
//   the member's port carries it into memory.
//
// A streaming operation holds the streaming units of all its switches, from when its last member has entered
// until its last piece is delivered. Those that need the same switch follow in the order in which they were
// complete. Groups beyond the job's share take turns in the same way for their low-latency operations.
// Neither waits for members while it holds a switch, so no two operations can wait for each other.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "offramp/kernel/wire.hpp"
#include "offramp/model/resource.hpp"
#include "simulators/sharp/spec.hpp"
#include "simulators/sharp/tree.hpp"

namespace offramp::sharp {

/// The ports of a member's adapter: indices of its resources.
enum Port : std::size_t { kPortOut, kPortIn };

/// The world, as the machine sees it.
class Agenda {
 public:
  /// Machine::step(at, number) is called then, not before the present moment.
  virtual void schedule(Time at, std::uint32_t number) = 0;
  /// Machine::crossed(number, ...) is called: see WorldDevices::cross().
  virtual void cross(std::size_t link, std::size_t bytes, Time first, Time last, std::uint32_t number) = 0;
  [[nodiscard]] virtual Resources ports(int world_rank) = 0;

 protected:
  ~Agenda() = default;
};

/// Who contributes to a piece, and who gets it.
enum class Part : std::uint8_t {
  kAll,
  kRoot,
  kOwner,  // the member, or members, of the blocks that are in the piece
};

/// One operation, as all members describe it.
struct Request {
  Part from = Part::kAll;
  Part to = Part::kAll;
  int root = 0;           // a member
  std::size_t bytes = 0;  // of the vector that is combined, or of all blocks
  std::size_t block = 0;  // of one rank; for kOwner
  bool streams = false;
};

/// A communicator: its tree, and what its members still have to post.
struct Group {
  Tree tree;
  std::vector<int> leaders;  // world ranks: of each member the one that talks to the adapter
  std::vector<int> before;   // ranks of the communicator on the members in front of each, and all
  bool is_reserved = true;

  struct Posting {
    std::uint32_t operation;
    int next;  // piece
  };
  struct Member {
    std::list<Posting> postings;
    int waiting = 0;  // pieces without a result
    Time processor;   // free from then on
  };
  std::vector<Member> members;
};

/// What a member learns of its operation.
class Observer {
 public:
  /// granted: when the switches were there for it.
  virtual void done(int member, Time granted, Time at) = 0;

 protected:
  ~Observer() = default;
};

class Machine {
 public:
  /// The references outlive it.
  Machine(const Spec& spec, Agenda& agenda) : spec_(spec), agenda_(agenda) {}

  /// The operation goes on until all members have entered and are done; then it is gone.
  std::uint32_t begin(std::shared_ptr<Group> group, const Request& request, Observer& observer);
  /// posted: when the member's processor turns to it, not before the present moment.
  void enter(std::uint32_t operation, int member, Time posted);

  void step(Time at, std::uint32_t number);
  void crossed(std::uint32_t number, Time first, Time last);

  [[nodiscard]] const WireCounters& wire() const { return wire_; }
  [[nodiscard]] bool is_idle() const { return operations_.empty(); }

 private:
  enum class Kind : std::uint8_t { kEnter, kSend, kArrive, kCombine, kSpread, kDeliver, kDone };
  struct Event {
    Kind kind = Kind::kEnter;
    std::uint32_t operation = 0;
    int at = 0;  // a member, or a switch of the tree
    int piece = 0;
    Time first;
    Time last;
    std::size_t bytes = 0;
  };
  /// A piece at one switch.
  struct Station {
    int expected = 0;
    int came = 0;
    Time since;  // the first operand
    Time first;  // of the sum
    Time last;
    std::size_t up = 0;    // bytes to the parent
    std::size_t down = 0;  // bytes to what is below
  };
  struct Piece {
    std::size_t bytes = 0;
    int open = 0;  // deliveries still to come
    std::vector<Station> stations;
  };
  /// Members from `first` on, up to `end`.
  struct Range {
    int first = 0;
    int end = 0;
    [[nodiscard]] bool has(int member) const { return first <= member && member < end; }
  };
  struct Operation {
    std::shared_ptr<Group> group;
    Request request;
    Observer* observer = nullptr;
    std::size_t step = 0;  // bytes of a piece
    int pieces = 1;        // without the one that arms
    bool runs = false;     // what it waits for before the first piece is there
    Time granted;
    int entered = 0;
    int undone = 0;            // members
    std::size_t open = 0;      // deliveries of all pieces still to come
    std::vector<Time> posted;  // by member; negative: has not entered
    std::vector<int> left;     // pieces still to be delivered to each
    std::vector<int> unsent;   // and still to be sent by each
    std::vector<Time> finished;
    std::vector<bool> armed;
    std::map<int, Piece> under_way;
  };

  void later_on(Time at, const Event& event);
  Event event_of(std::uint32_t number);
  [[nodiscard]] Operation& at(std::uint32_t operation) { return *operations_.at(operation); }

  void on_enter(std::uint32_t id, int member, Time now);
  void on_send(const Event& event, Time now);
  void on_arrive(const Event& event, Time now);
  void on_combine(const Event& event, Time now);
  void on_spread(const Event& event, Time now);
  void on_deliver(const Event& event, Time now);
  void on_done(const Event& event, Time now);

  [[nodiscard]] bool is_arming(const Operation& o, int piece) const { return piece == o.pieces; }
  [[nodiscard]] Range range(const Operation& o, Part part, std::size_t begin, std::size_t bytes) const;
  [[nodiscard]] Range contributors(const Operation& o, int piece) const;
  [[nodiscard]] Range receivers(const Operation& o, int piece) const;
  [[nodiscard]] std::size_t bytes_of(const Operation& o, int piece) const;
  /// The bytes of a piece that are a member's own.
  [[nodiscard]] std::size_t own_bytes(const Operation& o, int piece, int member) const;
  Piece& piece_of(Operation& o, int piece);

  void release(std::uint32_t id, int member, Time now);
  void post_next(Group& group, int member, Time now);
  void run_those_that_can(Time now);
  void run(std::uint32_t id, Time now);
  void check_member(std::uint32_t id, int member, Time now);
  [[nodiscard]] bool takes_turns(const Operation& o) const {
    return o.request.streams || !o.group->is_reserved;
  }
  [[nodiscard]] std::size_t on_wire(const Operation& o, std::size_t bytes) const;
  [[nodiscard]] Time port_time(const Operation& o, std::size_t bytes) const;
  /// Between an adapter's memory and its switch.
  [[nodiscard]] Time half_way() const { return Time::ps(spec_.latency.count() / 2); }
  [[nodiscard]] Arbiter& engine(const Operation& o, int place);

  const Spec& spec_;
  Agenda& agenda_;
  std::uint32_t next_ = 0;
  std::map<std::uint32_t, std::unique_ptr<Operation>> operations_;
  std::vector<Event> events_;
  std::vector<std::uint32_t> unused_;
  std::map<int, Arbiter> engines_;       // by switch
  std::list<std::uint32_t> turns_;       // complete operations that wait for their switches
  std::set<std::pair<bool, int>> busy_;  // switches: of streams, and of groups beyond the share
  WireCounters wire_;
};

}  // namespace offramp::sharp
