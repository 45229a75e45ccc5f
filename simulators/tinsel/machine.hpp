// The whole machine: boards with mailboxes, their networks on chip, the programmable router with its eight
// fetchers, and the links between boards.
//
// All boards share one simulation, and messages meet at units with first-come, first-served order. The model
// therefore has an event queue in order of time, unlike the process networks of the kernel. Ties are broken
// by order of creation, so runs are reproducible. Messages move as wholes: a unit is occupied for the time of
// all flits, while the head moves on at once. Buffers are finite and push back: a message occupies its unit
// until the next one accepts it. Every keyed hop is decoded from the bytes of the board's tables.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "offramp/kernel/arbiter.hpp"
#include "offramp/kernel/event_queue.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/tinsel/spec.hpp"
#include "simulators/tinsel/table.hpp"

namespace offramp::tinsel {

/// The board that connects the mesh to the host, south of board (0, 0). Modelled without mailboxes.
inline constexpr std::uint16_t kBridge = 0xffff;

/// A destination: a set of threads of one mailbox, or the destinations of a key in the sender's board.
struct Address {
  bool keyed = false;
  std::uint32_t key = 0;
  std::uint16_t board = 0;
  std::uint8_t mailbox = 0;
  std::uint64_t mask = 0;

  static Address thread(const ThreadLocation& place) {
    return {false, 0, place.board, place.mailbox, std::uint64_t{1} << place.thread};
  }
  static Address threads(std::uint16_t board, std::uint8_t mailbox, std::uint64_t mask) {
    return {false, 0, board, mailbox, mask};
  }
  /// key: an encoded Key of the sender's board.
  static Address with_key(std::uint32_t key) { return {true, key, 0, 0, 0}; }
  static Address bridge() { return {false, 0, kBridge, 0, 0}; }
};

/// The words of a message of maximum length.
using Payload = std::array<std::uint32_t, kMaximumFlits * kWordsPerFlit>;

/// A message, with the state of its journey.
struct MailboxMessage {
  Address to;
  Payload words{};
  std::uint8_t flits = 1;
  std::uint32_t tag = 0;    // for the simulation's software; not in hardware
  bool idle_token = false;  // idle detection does not count its own messages
  // In flight:
  std::uint16_t board = 0;
  std::uint8_t mailbox = 0;
  std::uint8_t thread = 0;  // the sender
  std::uint8_t port = 0;    // router port: N, S, E, W, then the four columns
  std::uint16_t hops = 0;
  Time lag;  // delay of the last flit behind the first
};

/// Buffer capacities (read in [tinsel-src], except for the router's pipeline).
struct BufferSpec {
  int port_flits = 4;       // per router port from the network on chip: its pipeline (inferred)
  int receive_flits = 128;  // per link: 512 items of 64 bit, four per flit
  int send_flits = 256;     // per link, until acknowledged: 1024 items
  int lookups = 8;          // messages per fetcher: 32 flits
  int beats = 32;           // per fetcher
  int indirections = 2;     // pending IND records per fetcher
  int pointers = 512;       // per core of a mailbox, not yet delivered to threads
};

/// A message in a mailbox. Each thread of the mask receives a pointer to its slot and must free it.
struct Delivery {
  const MailboxMessage& message;
  std::uint32_t slot = 0;
  std::array<Time, kThreadsPerMailbox> pointer;  // arrival at each thread of the mask
};

/// The software on the threads.
/// The machine calls it from run(), on the same thread. It may send, free, and set timers during a call.
class Software {
 public:
  virtual ~Software() = default;
  /// A message has its slot. Called once per mailbox, before the pointers arrive.
  virtual void delivered(const Delivery& delivery) = 0;
  /// A thread's message has left its send slot; the thread may send again from `at` on.
  virtual void on_sent(Time at, const ThreadLocation& from) {
    static_cast<void>(at), static_cast<void>(from);
  }
  /// Returns whether the software calls Machine::on_pointer_taken() for each pointer, so that pointer rings
  /// can be full.
  [[nodiscard]] virtual bool reports_pointers() const { return false; }
  /// The time of a set_timer() has come.
  virtual void timer(Time at, std::uint64_t cookie) { static_cast<void>(at), static_cast<void>(cookie); }
  /// A message has arrived at the bridge board.
  virtual void at_bridge(Time at, const MailboxMessage& message) {
    static_cast<void>(at), static_cast<void>(message);
  }
};

/// Counts since construction or reset().
struct MachineCounters {
  std::uint64_t injected = 0;
  std::uint64_t delivered = 0;      // messages delivered to mailboxes
  std::uint64_t pointers = 0;       // their destination threads
  std::uint64_t records = 0;        // processed by routers, including IND ("sent")
  std::uint64_t inter_records = 0;  // RR records among them
  std::uint64_t lookups = 0;        // keys ("received")
  std::uint64_t beats = 0;
  std::uint64_t dropped = 0;  // null keys
  std::uint64_t freed = 0;
  std::uint64_t most_slots = 0;  // in use in one mailbox
  std::uint64_t slot_waits = 0;  // messages that had to wait for a slot
  std::uint64_t waits = 0;       // for an occupied unit
  std::uint64_t refused = 0;     // by a link's receiver without room; sent again
  WireCounters link;             // packets are messages over links
};

/// The counters of a board's idle detector: messages that its threads have sent and freed. A router counts a
/// looked-up key as received, and each record's copy as sent (read in [tinsel-src]). If the sums over all
/// boards agree, no message is in flight or unfreed.
struct BoardCounts {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// The machine. Set the software and tables, send(), then run(). One thread at a time.
class Machine {
 public:
  /// All units are idle, and the tables are empty.
  explicit Machine(const MachineSpec& spec);
  ~Machine();
  Machine& operator=(Machine&&) = delete;

  [[nodiscard]] const MachineSpec& spec() const { return spec_; }
  /// The tables of a board, to be filled before run().
  [[nodiscard]] Tables& tables(int board) { return tables_[static_cast<std::size_t>(board)]; }
  /// software: must outlive the runs. Null: messages are delivered without software.
  void run_on(Software* software) { software_ = software; }
  /// Faults of the links between boards. number: the first packet's number. epoch: modelled time at clock
  /// zero.
  void set_faults(const FaultRates& faults, std::uint64_t number, Time epoch) {
    faults_ = faults, fault_base_ = number, epoch_ = epoch;
  }

  /// A thread sends the message, which it has written to its send slot. `at` must not be before now().
  /// The message is copied.
  void send(Time at, const ThreadLocation& from, const MailboxMessage& message);
  /// The bridge board sends a message into the mesh. `at` must not be before now().
  void send_from_bridge(Time at, const MailboxMessage& message);
  /// Schedules a call of the software's timer().
  /// cookie: passed back to timer().
  void set_timer(Time at, std::uint64_t cookie);
  /// A thread takes the first pointer from its ring.
  void on_pointer_taken(const ThreadLocation& place);
  /// A thread frees its pointer. `at` must not be before now().
  void free(Time at, std::uint32_t slot);
  /// Accesses of a thread to words in its mailbox: one word per cycle for all threads. Returns the time when
  /// they are done. Call it at the time of access (from a timer), since the port serves in order of calls.
  Time touch(Time at, const ThreadLocation& place, int words);

  /// Runs until no event is left. Returns false if a router trapped, a link broke, or messages wait forever.
  bool run();
  /// The error at which a router stopped, or kNone.
  [[nodiscard]] Trap trap() const { return trap_; }
  /// Returns whether a link gave up after MachineSpec::retries.
  [[nodiscard]] bool broken() const { return broken_; }
  /// Returns whether messages in flight wait forever, for each other or for slots that stay in use.
  [[nodiscard]] bool stuck() const { return events_.empty() && messages_.size() != unused_.size(); }
  /// The time of the present event.
  [[nodiscard]] Time now() const { return now_; }
  /// Counts of all boards together since the last reset().
  [[nodiscard]] const MachineCounters& counters() const { return counters_; }
  /// The counters of one board's detector.
  [[nodiscard]] const BoardCounts& counts(int board) const {
    return boards_[static_cast<std::size_t>(board)].counts;
  }
  /// Returns whether the detectors' counts balance over all boards.
  [[nodiscard]] bool quiescent() const;
  /// Returns whether further events are scheduled.
  [[nodiscard]] bool has_more() const { return !events_.empty(); }
  /// Returns to time zero with idle units; keeps the tables.
  void reset();

 private:
  // The end of a list that is linked by indices.
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
  /// A step at its time. The step decides what the argument is.
  struct Event {
    std::uint64_t argument;  // message, fetcher, unit, slot, or cookie
    Step step;
  };
  /// A message in flight.
  struct Moving : MailboxMessage {
    std::uint32_t unit = kNone;  // the occupied unit
    Time lead;                   // from when its head leaves that unit until its tail has left
    std::uint32_t next = kNone;  // the message behind it in a line
    Step step = Step::kInject;   // to be retried
    std::uint8_t fetcher = 0;    // the fetcher that it passes
    bool copied = false;         // a fetcher's copy; leaving continues with the next record
    std::uint32_t number = 0;    // among the messages of a link
    Time ready;                  // end of the router's pipeline
  };
  /// A FIFO, linked through the messages.
  struct Line {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
  };
  /// A unit that contains one message at a time.
  struct Unit {
    Time free;
    std::uint32_t holder = kNone;
    std::uint32_t called = kNone;  // next to enter
    Line waiting;
    bool calls = false;  // an event is scheduled
  };
  /// Units of a board.
  enum UnitName : std::size_t {
    kUnitsOfMailbox = 6,  // links N, S, E, W; inject; eject
    kInjectUnit = kLinks,
    kEjectUnit = kLinks + 1,
    kIntoRouter = std::size_t{kMailboxes} * kUnitsOfMailbox,
    kEmission = kIntoRouter + kMailboxColumns,
    kOutputs = kEmission + kFetchers,  // crossbar
    kUnitsOfBoard = kOutputs + kFetchers
  };
  /// A lookup in progress: a keyed message, and the beats of its key and chain.
  struct Lookup {
    Moving message;
    std::vector<BeatRecords> wanted;                 // all beats of its lists
    std::size_t asked = 0;                           // number requested so far
    std::uint8_t ram = 0;                            // the DRAM with these beats
    Time asks;                                       // earliest request
    std::deque<std::pair<Time, BeatRecords>> beats;  // with their arrival times
    int record = 0;                                  // next record of the front beat
    std::uint32_t read = 0;                          // beats
    bool maximal = false;                            // an IND record is still to come
  };
  /// One of the router's eight inputs. It handles its messages in order.
  struct Fetcher {
    Line input;
    std::uint32_t front = kNone;    // the next message to be taken from the input
    std::uint32_t blocked = kNone;  // a message that waits for room in the input
    int flits = 0;                  // in the input
    Line refused;                   // by the link's receiver, to be sent again
    Time refused_at;                // time of the first one
    bool resends = false;           // an event is scheduled
    std::uint32_t expected = 0;     // number of the next message over the link
    Arbiter consume;
    std::deque<Lookup> lookups;
    int beats = 0;         // requested and not yet processed
    int indirections = 0;  // lookups whose IND is still to come
    bool running = false;
    bool calls = false;   // an event is scheduled for its input
    bool opened = false;  // the front beat has used its cycle
    bool ended = false;   // the record's copy has left
  };
  /// A mailbox with its ports, slots, and the pointer logic of its cores.
  struct Mailbox {
    Arbiter flits;  // port shared by sending and receiving
    Arbiter words;  // port of the threads
    std::array<Arbiter, kCores> fan;
    std::uint32_t slots = 0;
    std::array<std::uint8_t, kThreadsPerMailbox> pointers{};  // in the threads' rings
    std::uint32_t waiting = kNone;                            // a message that waits for a slot or a ring
  };
  /// One direction of a link, at its sender.
  struct Link {
    Arbiter wire;
    std::uint64_t packets = 0;                          // packets, for their faults
    std::uint32_t sent = 0;                             // messages
    int flits = 0;                                      // sent and not acknowledged
    std::deque<std::pair<Time, int>> acknowledgements;  // in flight back
    std::uint32_t blocked = kNone;                      // a message that waits for room
  };
  /// Everything on one board except its units and tables.
  struct Board {
    std::array<Mailbox, kMailboxes> mailboxes;
    std::array<Fetcher, kFetchers> fetchers;
    std::array<Link, kLinks> links;
    std::array<Arbiter, kRams> lookups;  // beats from a DRAM, for the fetchers
    BoardCounts counts;
  };
  /// A message in a mailbox until its last thread has freed it.
  struct Slot {
    std::uint16_t board = 0;
    std::uint8_t mailbox = 0;
    std::uint8_t references = 0;
    bool idle_token = false;
    Time last;
  };

  // Shorthands for the unit that a message needs on its present board.
  Board& board(const MailboxMessage& m) { return boards_[m.board]; }
  Link& link(int board, Direction over) {
    return boards_[static_cast<std::size_t>(board)].links[static_cast<std::size_t>(over)];
  }
  static std::uint64_t link_index(int board, Direction over) {
    return static_cast<std::uint64_t>(board) * kLinks + static_cast<std::uint64_t>(over);
  }
  Mailbox& mailbox(const MailboxMessage& m) { return boards_[m.board].mailboxes[m.mailbox]; }
  Fetcher& fetcher(std::uint64_t which) { return boards_[which / kFetchers].fetchers[which % kFetchers]; }
  static std::uint64_t fetcher_of(const MailboxMessage& m) {
    return std::uint64_t{m.board} * kFetchers + m.port;
  }
  /// A unit of the board where the message is. name: a UnitName, or an index from it.
  static std::uint32_t unit_of(const MailboxMessage& m, std::size_t name) {
    return static_cast<std::uint32_t>(m.board * std::size_t{kUnitsOfBoard} + name);
  }
  static std::uint32_t unit_of_mailbox(const MailboxMessage& m, std::size_t name) {
    return unit_of(m, m.mailbox * std::size_t{kUnitsOfMailbox} + name);
  }
  void push(Time at, Step step, std::uint64_t argument) { events_.push(at, 0, {argument, step}); }
  /// Gives a message an id, which is valid until drop().
  std::uint32_t store(const Moving& message);
  void drop(std::uint32_t id) { unused_.push_back(id); }
  /// Performs the step of an event at now_.
  void perform(const Event& event);
  /// A message is in one line at most.
  void append(Line& line, std::uint32_t id);
  std::uint32_t pop_front(Line& line);
  /// Moves the message into the unit and out of its previous one. Returns false if it must wait; the step is
  /// then repeated. occupied: time of all flits. ahead: time until the head reaches the next unit.
  bool enter(std::uint32_t id, std::uint32_t unit, Step step, Time occupied, Time ahead);
  /// Leaves the message's unit, if it occupies one, and calls the next message.
  void leave(Moving& m);
  /// Schedules the first waiting message for when the unit is free.
  void call_next(std::uint32_t unit);
  void call(std::uint32_t unit);
  /// The steps of a message, in the order of its journey. Each is repeated if its unit is occupied.
  void inject(std::uint32_t id);
  void hop(std::uint32_t id);
  /// Moves the message into its mailbox, or lets it wait there.
  void receive(std::uint32_t id);
  /// Whether a destination thread has no room for another pointer.
  bool has_full_ring(const Mailbox& mailbox, const MailboxMessage& m) const;
  void deliver(std::uint32_t id);
  void release(std::uint64_t slot);
  void fetch(std::uint32_t id);
  /// Keeps a message that the link's receiver had no room for.
  void refuse(Fetcher& to, std::uint32_t id);
  void resend_later(std::uint64_t fetcher);
  void resend(std::uint64_t fetcher);
  void send_again(std::uint64_t fetcher, std::uint32_t id);
  /// The receiver has accepted the message. The sender's buffer is free one link latency later.
  void acknowledge(const MailboxMessage& m);
  void serve(std::uint64_t fetcher);
  bool accept(std::uint64_t fetcher);
  void advance_input(std::uint64_t fetcher, int flits);
  void pass(std::uint32_t id);
  void look_up(std::uint64_t fetcher, Lookup& lookup, const Key& key, Time at);
  void request(std::uint64_t fetcher);
  void emit(std::uint64_t fetcher);
  void emit_record(std::uint64_t fetcher, Lookup& lookup, const Record& record);
  bool end_record(std::uint64_t fetcher);
  void output(std::uint32_t id);
  void cross(std::uint32_t id);
  void cross_link(std::uint32_t id, Link& out, int next);
  /// Ends run(). The first trap counts.
  void stop(Trap trap) { trap_ = trap_ == Trap::kNone ? trap : trap_; }

  MachineSpec spec_;
  Time flit_;  // time on a link
  Time cycle_noc_flit_;
  BufferSpec buffers_;
  std::vector<Board> boards_;
  std::vector<Unit> units_;
  std::array<Arbiter, 2> bridge_links_;  // into and out of the mesh
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

/// The port by which a bypass message leaves a board's router: y first, then x, then the destination's
/// column. For the bridge: towards board (0, 0), then south.
int bypass_port(const Mesh& mesh, int at, const Address& to);

}  // namespace offramp::tinsel
