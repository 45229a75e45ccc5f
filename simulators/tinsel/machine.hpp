// The whole machine: boards with mailboxes, their network on chip, the programmable router with its eight
// fetchers, and the links between boards.
//
// All boards live in one simulation, and messages meet at units that serve whoever comes first. That needs
// the order of time, so unlike the process networks of the kernel this model has an event queue; ties are
// broken by order of creation, so every run is the same. Messages move as wholes: a unit is taken for as long
// as all flits need, the head goes on at once. Buffers are finite and push back: a message keeps the unit
// that it is in until the next one takes it up. Every keyed hop is decoded from the bytes of the board's
// tables.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "offramp/kernel/arbiter.hpp"
#include "offramp/kernel/event_queue.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/tinsel/spec.hpp"
#include "simulators/tinsel/table.hpp"

namespace offramp::tinsel {

/// The board that joins the mesh to the host, south of board (0, 0). It has no mailboxes here.
inline constexpr std::uint16_t kBridge = 0xffff;

/// Where a message goes: to a set of threads of one mailbox, or to wherever a key of the sender's board says.
struct Address {
  bool keyed = false;
  std::uint32_t key = 0;
  std::uint16_t board = 0;
  std::uint8_t mailbox = 0;
  std::uint64_t mask = 0;

  static Address thread(const Place& place) {
    return {false, 0, place.board, place.mailbox, std::uint64_t{1} << place.thread};
  }
  static Address threads(std::uint16_t board, std::uint8_t mailbox, std::uint64_t mask) {
    return {false, 0, board, mailbox, mask};
  }
  static Address with_key(std::uint32_t key) { return {true, key, 0, 0, 0}; }
  static Address bridge() { return {false, 0, kBridge, 0, 0}; }
};

using Payload = std::array<std::uint32_t, kMaximumFlits * kWordsPerFlit>;

struct Message {
  Address to;
  Payload words{};
  std::uint8_t flits = 1;
  std::uint32_t tag = 0;    // for the software of the simulation; no hardware has it
  bool idle_token = false;  // of idle detection, which does not count its own messages
  // On its way:
  std::uint16_t board = 0;
  std::uint8_t mailbox = 0;
  std::uint8_t thread = 0;  // that has sent it
  std::uint8_t port = 0;    // of the router: N, S, E, W, then the four columns
  std::uint16_t hops = 0;
  Time lag;  // of the last flit behind the first
};

/// What buffers hold (read in [tinsel-src], but for the router's pipeline).
struct BufferSpec {
  int port_flits = 4;       // of a router's port from the network on chip: its pipeline (inferred)
  int receive_flits = 128;  // of a link: 512 items of 64 bit, four for a flit
  int send_flits = 256;     // of a link, until acknowledged: 1024 items
  int lookups = 8;          // messages in a fetcher: 32 flits
  int beats = 32;           // in a fetcher
  int indirections = 2;     // pending IND of a fetcher
  int pointers = 512;       // of a core in its mailbox, on their way to its threads
};

/// A message in a mailbox. Each thread of the mask gets a pointer to its slot and has to free it.
struct Delivery {
  const Message& message;
  std::uint32_t slot = 0;
  std::array<Time, kThreadsPerMailbox> pointer;  // for threads of the mask: when it shows up
};

/// What runs on the threads.
class Software {
 public:
  virtual ~Software() = default;
  virtual void delivered(const Delivery& delivery) = 0;
  /// A thread's message has left its send slot: from `at` on it may send the next one.
  virtual void left(Time at, const Place& from) { static_cast<void>(at), static_cast<void>(from); }
  /// Whether it says when a thread takes a pointer up (Machine::take()), so that rings of pointers can be
  /// full.
  [[nodiscard]] virtual bool takes_pointers() const { return false; }
  virtual void timer(Time at, std::uint64_t cookie) { static_cast<void>(at), static_cast<void>(cookie); }
  /// A message has come to the bridge board.
  virtual void at_bridge(Time at, const Message& message) {
    static_cast<void>(at), static_cast<void>(message);
  }
};

struct MachineCounters {
  std::uint64_t injected = 0;
  std::uint64_t delivered = 0;      // messages into mailboxes
  std::uint64_t pointers = 0;       // threads that they were for
  std::uint64_t records = 0;        // that routers have gone through, IND too ("sent")
  std::uint64_t inter_records = 0;  // of these RR
  std::uint64_t lookups = 0;        // keys ("received")
  std::uint64_t beats = 0;
  std::uint64_t dropped = 0;  // null keys
  std::uint64_t freed = 0;
  std::uint64_t most_slots = 0;  // of a mailbox at once
  std::uint64_t slot_waits = 0;  // messages that found no slot
  std::uint64_t waits = 0;       // for a unit that another message was in
  std::uint64_t refused = 0;     // by a link's receiver without room; they are sent again
  WireCounters link;             // packets: messages over links
};

/// What the detector of a board counts: messages that its threads have sent and freed. A router counts a key
/// that it has looked up as received, and each record's copy as sent (read in [tinsel-src]). Where all
/// boards' sums agree, nothing is on its way and everything was freed.
struct BoardCounts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

class Machine {
 public:
  explicit Machine(const MachineSpec& spec);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] const MachineSpec& spec() const { return spec_; }
  [[nodiscard]] Tables& tables(int board) { return tables_[static_cast<std::size_t>(board)]; }
  void run_on(Software* software) { software_ = software; }
  /// For the links, whose ends are boards. number is where the count of packets begins, epoch the modelled
  /// time at which this machine's clock shows zero.
  void set_faults(const FaultRates& faults, std::uint64_t number, Time epoch) {
    faults_ = faults, fault_base_ = number, epoch_ = epoch;
  }

  /// A thread has written the message to its send slot and sends it. Not before now.
  void send(Time at, const Place& from, const Message& message);
  /// The bridge board sends a message into the mesh. Not before now.
  void send_from_bridge(Time at, const Message& message);
  /// Calls the software's timer().
  void set_timer(Time at, std::uint64_t cookie);
  /// A thread has taken the first pointer out of its ring.
  void take(const Place& place);
  /// A thread frees its pointer. Not before now.
  void free(Time at, std::uint32_t slot);
  /// Words that a thread reads or writes in its mailbox: one word per cycle for all threads. Returns the end.
  /// Call it when it happens (from a timer): the port serves whoever comes first.
  Time touch(Time at, const Place& place, int words);

  /// Until nothing is left to happen. False: a router trapped, a link broke, or messages wait for ever.
  bool run();
  [[nodiscard]] Trap trap() const { return trap_; }
  [[nodiscard]] bool broken() const { return broken_; }
  /// Messages are on their way and nothing moves: they wait for each other, or for slots that stay in use.
  [[nodiscard]] bool stuck() const { return events_.empty() && messages_.size() != unused_.size(); }
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] const MachineCounters& counters() const { return counters_; }
  [[nodiscard]] const BoardCounts& counts(int board) const {
    return boards_[static_cast<std::size_t>(board)].counts;
  }
  /// Over all boards.
  [[nodiscard]] bool quiescent() const;
  /// Whether something is left to happen besides what is happening now.
  [[nodiscard]] bool has_more() const { return !events_.empty(); }
  /// Back to time zero and idle units; tables stay.
  void reset();

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  enum class Step : std::uint8_t {
    kInject,
    kHop,
    kReceive,
    kFetch,
    kServe,
    kPass,
    kOutput,
    kCross,
    kResend,
    kEmit,
    kFree,
    kTimer,
    kAtBridge,
    kCall
  };
  struct Event {
    std::uint64_t argument;  // message, fetcher, unit, slot or cookie
    Step step;
  };
  /// A message on its way.
  struct Moving : Message {
    std::uint32_t unit = kNone;  // that it is in
    Time lead;                   // from when its head leaves that unit until its tail has
    std::uint32_t next = kNone;  // that waits behind it
    Step step = Step::kInject;   // that is to be tried again
    std::uint8_t fetcher = 0;    // that it goes through
    bool copied = false;         // by a fetcher: it goes on with the next record
    std::uint32_t number = 0;    // of a link's messages
    Time ready;                  // at the end of the router's pipeline
  };
  /// First in, first out; linked through the messages.
  struct Line {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  /// What one message at a time can be in.
  struct Unit {
    Time free;
    std::uint32_t holder = kNone;
    std::uint32_t called = kNone;  // whose turn it is
    Line waiting;
    bool calls = false;  // there is an event for it
  };
  /// Of a board.
  enum UnitName : std::size_t {
    kUnitsOfMailbox = 6,  // links N, S, E, W; inject; eject
    kInjectUnit = kLinks,
    kEjectUnit = kLinks + 1,
    kIntoRouter = std::size_t{kMailboxes} * kUnitsOfMailbox,
    kEmission = kIntoRouter + kMailboxColumns,
    kOutputs = kEmission + kFetchers,  // of the crossbar
    kUnitsOfBoard = kOutputs + kFetchers
  };
  /// A lookup in progress: a keyed message and the beats that its key and its chain led to.
  struct Lookup {
    Moving message;
    std::vector<BeatRecords> wanted;                 // all of its lists
    std::size_t asked = 0;                           // of these
    std::uint8_t ram = 0;                            // where they are
    Time asks;                                       // not before
    std::deque<std::pair<Time, BeatRecords>> beats;  // with the time at which they are there
    int record = 0;                                  // next one of the front beat
    std::uint32_t read = 0;                          // beats so far
    bool maximal = false;                            // it has an IND to come
  };
  struct Fetcher {
    Line input;
    std::uint32_t front = kNone;    // the message that is taken out of the input next
    std::uint32_t blocked = kNone;  // one that waits for room in the input
    int flits = 0;                  // in the input
    Line refused;                   // by the receiver of the link, to be sent again
    Time refused_at;                // the first of them
    bool resends = false;           // there is an event for it
    std::uint32_t expected = 0;     // the number of the next message over the link
    Arbiter consume;
    std::deque<Lookup> lookups;
    int beats = 0;         // asked for and not gone through
    int indirections = 0;  // lookups with an IND to come
    bool running = false;
    bool calls = false;   // there is an event for its input
    bool opened = false;  // the front beat has had its cycle
    bool ended = false;   // the record has had its copy
  };
  struct Mailbox {
    Arbiter flits;  // the port that sending and receiving share
    Arbiter words;  // the threads' port
    std::array<Arbiter, kCores> fan;
    std::uint32_t slots = 0;
    std::array<std::uint8_t, kThreadsPerMailbox> pointers{};  // in the threads' rings
    std::uint32_t waiting = kNone;  // a message that has found no slot, or a ring without room
  };
  struct Link {
    Arbiter wire;
    std::uint64_t packets = 0;                          // with their fates
    std::uint32_t sent = 0;                             // messages
    int flits = 0;                                      // sent and not acknowledged
    std::deque<std::pair<Time, int>> acknowledgements;  // on their way back
    std::uint32_t blocked = kNone;                      // a message that waits for room
  };
  struct Board {
    std::array<Mailbox, kMailboxes> mailboxes;
    std::array<Fetcher, kFetchers> fetchers;
    std::array<Link, kLinks> links;
    std::array<Arbiter, kRams> lookups;  // beats from a DRAM for the fetchers
    BoardCounts counts;
  };
  struct Slot {
    std::uint16_t board = 0;
    std::uint8_t mailbox = 0;
    std::uint8_t references = 0;
    bool idle_token = false;
    Time last;
  };

  Board& board(const Message& m) { return boards_[m.board]; }
  Link& link(int board, Direction over) {
    return boards_[static_cast<std::size_t>(board)].links[static_cast<std::size_t>(over)];
  }
  static std::uint64_t link_index(int board, Direction over) {
    return static_cast<std::uint64_t>(board) * kLinks + static_cast<std::uint64_t>(over);
  }
  Mailbox& mailbox(const Message& m) { return boards_[m.board].mailboxes[m.mailbox]; }
  Fetcher& fetcher(std::uint64_t which) { return boards_[which / kFetchers].fetchers[which % kFetchers]; }
  static std::uint64_t fetcher_of(const Message& m) { return std::uint64_t{m.board} * kFetchers + m.port; }
  static std::uint32_t unit_of(const Message& m, std::size_t name) {
    return static_cast<std::uint32_t>(m.board * std::size_t{kUnitsOfBoard} + name);
  }
  static std::uint32_t unit_of_mailbox(const Message& m, std::size_t name) {
    return unit_of(m, m.mailbox * std::size_t{kUnitsOfMailbox} + name);
  }
  void push(Time at, Step step, std::uint64_t argument) { events_.push(at, 0, {argument, step}); }
  std::uint32_t keep(const Moving& message);
  void drop(std::uint32_t id) { unused_.push_back(id); }
  void perform(const Event& event);
  void append(Line& line, std::uint32_t id);
  std::uint32_t take_first(Line& line);
  /// Whether the message is in the unit from now on, and no longer in the one before; otherwise it waits, and
  /// the step comes again. occupied: by all flits; ahead: until the head is at the next unit.
  bool enter(std::uint32_t id, std::uint32_t unit, Step step, Time occupied, Time ahead);
  void leave(Moving& m);
  void call_next(std::uint32_t unit);
  void call(std::uint32_t unit);
  void inject(std::uint32_t id);
  void hop(std::uint32_t id);
  void receive(std::uint32_t id);
  bool has_full_ring(const Mailbox& mailbox, const Message& m) const;
  void deliver(std::uint32_t id);
  void release(std::uint64_t slot);
  void fetch(std::uint32_t id);
  void refuse(Fetcher& to, std::uint32_t id);
  void resend_later(std::uint64_t fetcher);
  void resend(std::uint64_t fetcher);
  void send_again(std::uint64_t fetcher, std::uint32_t id);
  void acknowledge(const Message& m);
  void serve(std::uint64_t fetcher);
  bool take_in(std::uint64_t fetcher);
  void taken(std::uint64_t fetcher, int flits);
  void pass(std::uint32_t id);
  void look_up(std::uint64_t fetcher, Lookup& lookup, const Key& key, Time at);
  void request(std::uint64_t fetcher);
  void emit(std::uint64_t fetcher);
  void emit_record(std::uint64_t fetcher, Lookup& lookup, const Record& record);
  bool end_record(std::uint64_t fetcher);
  void output(std::uint32_t id);
  void cross(std::uint32_t id);
  void cross_link(std::uint32_t id, Link& out, int next);
  void stop(Trap trap) { trap_ = trap_ == Trap::kNone ? trap : trap_; }

  MachineSpec spec_;
  Time flit_;  // on a link
  Time cycle_noc_flit_;
  BufferSpec buffers_;
  std::vector<Board> boards_;
  std::vector<Unit> units_;
  std::array<Arbiter, 2> bridge_links_;  // into the mesh, out of it
  std::uint32_t bridge_sent_ = 0;
  std::vector<Tables> tables_;
  EventQueue<Event> events_;
  Time now_;
  std::vector<Moving> messages_;
  std::vector<std::uint32_t> unused_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> unused_slots_;
  Software* software_ = nullptr;
  FaultRates faults_;
  std::uint64_t fault_base_ = 0;
  Time epoch_;
  Trap trap_ = Trap::kNone;
  bool broken_ = false;
  MachineCounters counters_;
};

/// Where a bypass message leaves a board's router: y first, then x, then the destination's column; for the
/// bridge, towards board (0, 0) and then south.
int bypass_port(const Mesh& mesh, int at, const Address& to);

}  // namespace offramp::tinsel
