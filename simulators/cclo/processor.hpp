// The control processor: the firmware's clock, and its primitives over the data plane, the network, and the
// RX buffers of one engine. One object per call. This is the only implementation of the engine. It runs in
// two environments: single messages (message.hpp), and collectives in a world (the backend's Team). The
// virtual functions are a hook for a card with memory, kernels, and units that may fail (tests/cclo/card).
//
// The firmware is a coroutine. Where the hardware polls for a message, it waits for a token of the team,
// whose stamp has the arrival times of the message's packets. All other costs are charged here, in the order
// of the firmware's commands. Commands enter FIFOs, so the processor runs ahead of the units until its window
// of segments in flight is full. The units belong to the rank, and concurrent calls queue for them. In a
// world, the firmware waits for its turn before each segment, so that all calls use shared units in order of
// modelled time. Messages are charged at the receiver when they arrive.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/cclo/data_plane.hpp"
#include "simulators/cclo/exchange_memory.hpp"
#include "simulators/cclo/move.hpp"
#include "simulators/cclo/network.hpp"
#include "simulators/world/own_departures.hpp"

namespace offramp::cclo {

/// One primitive. Operands are own memory and a peer's message; the result goes to a peer or into memory.
/// COPY: own -> into. SEND: own -> to. RECV: from -> into. RECV+REDUCE: from, own -> into.
/// RECV+REDUCE+SEND: from, own -> to. RELAY: from -> to.
struct Primitive {
  static constexpr int kNobody = -1;
  int from = kNobody;
  int to = kNobody;
  bool has_own = false;
  Bytes own;
  MutableBytes into;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool receives() const { return from != kNobody; }
  [[nodiscard]] bool sends() const { return to != kNobody; }
  [[nodiscard]] bool reduces() const { return receives() && has_own; }

  static Primitive copy(Bytes own, MutableBytes into) {
    return {kNobody, kNobody, true, own, into, own.size()};
  }
  static Primitive send(int to, Bytes own) { return {kNobody, to, true, own, {}, own.size()}; }
  static Primitive receive(int from, MutableBytes into) {
    return {from, kNobody, false, {}, into, into.size()};
  }
  static Primitive receive_reduce(int from, Bytes own, MutableBytes into) {
    return {from, kNobody, true, own, into, own.size()};
  }
  static Primitive receive_reduce_send(int from, Bytes own, int to) {
    return {from, to, true, own, {}, own.size()};
  }
  static Primitive relay(int from, int to, std::uint64_t bytes) { return {from, to, false, {}, {}, bytes}; }
};

/// Suspends until a world reaches a time. Does not wait without a world.
class Turn final : private WorldDevices::Work {
 public:
  Turn(WorldDevices* world, Time at) : world_(world), at_(at) {}
  [[nodiscard]] bool await_ready() const { return world_ == nullptr; }
  void await_suspend(std::coroutine_handle<> waiter) {
    waiter_ = waiter;
    world_->schedule(at_, *this, 0);
  }
  void await_resume() const {}

 private:
  void step(Time, std::uint32_t) override { waiter_.resume(); }

  WorldDevices* world_;
  Time at_;
  std::coroutine_handle<> waiter_;
};

/// The environment of a call. References must outlive it.
struct CallContext {
  const Spec& spec;
  IoSpace& space;
  Team& team;
  std::uint32_t communicator = 0;  // address
  FaultRates faults;
  std::uint64_t first_packet = 0;  // number on every wire
  SpanSink* spans = nullptr;
  std::uint64_t operation = 0;
  PacketTap* tap = nullptr;
  std::uint32_t tag = kTagAny;  // sent messages have it, received ones must match
  /// The sent data for the tap, if the team has none. shown_at is the address of its placeholder.
  Bytes shown = {};
  const std::byte* shown_at = nullptr;
  Time epoch = {};  // see Fate
  int place = 0;    // world rank, for spans
  /// Set if no other rank uses the units of the rank's card: steps may then need no event.
  const OwnSteps* own_steps = nullptr;
};

// Stamp::detail of a token: an Error in the low bits, and the message's tag. kLost marks the message at which
// the error occurred; others only propagate it.
inline constexpr std::uint64_t kErrorMask = 0xff;
inline constexpr std::uint64_t kLost = 0x100;
inline constexpr unsigned kTagShift = 16;
inline constexpr unsigned kTypeShift = 48;  // MessageType
inline constexpr std::uint64_t kOfCall = std::uint64_t{1} << 60;
constexpr MessageType type_of(const Stamp& stamp) {
  return static_cast<MessageType>(stamp.detail >> kTypeShift & 3U);
}

/// The control processor during one call.
class Processor {
 public:
  /// begin: when the engine has the call. Everything that the context refers to must outlive the processor.
  Processor(const CallContext& context, Time begin);
  Processor& operator=(Processor&&) = delete;
  virtual ~Processor() = default;

  // --- the firmware's clock ---
  /// The firmware's clock. It never goes back.
  [[nodiscard]] Time now() const { return now_; }
  /// Occupies the control processor for `cycles`. Calls of one engine take turns on it.
  void spend(std::int64_t cycles) { now_ = own_time_.acquire(now_, spec_.cycles(cycles)).end; }
  /// Idles until `t`, without occupying the processor.
  void wait(Time t) { now_ = later(now_, t); }
  /// Spends the time of n accesses to peripherals or the exchange memory.
  void access(std::int64_t n) { spend(n * spec_.firmware.axi); }
  /// Waits for the world to reach `at`, before the processor or its units act.
  [[nodiscard]] Turn turn(Time at = {}) const {
    const Time step = later(now_, at);
    const bool now =
        context_.own_steps != nullptr && context_.own_steps->steps_now(context_.team, step, spec_.latency);
    return {now ? nullptr : world_, step};
  }
  /// Waits until the processor can issue the next move.
  [[nodiscard]] Turn room() const { return turn(in_flight() == window() ? retires_at() : now_); }

  // --- primitives ---
  /// Executes one primitive, segment by segment. Returns once all of its segments are acknowledged, or after
  /// the hook has ended it.
  virtual Task<void> run(Primitive primitive);
  /// First generation, root of BCAST and SCATTER: per segment, one header and one blocking read per peer,
  /// then all acknowledgements. Each rank receives its part of `bytes`.
  struct Slots {
    Bytes data;
    std::uint64_t stride = 0;  // bytes between the parts of two ranks; 0: all receive the same
    std::uint64_t bytes = 0;
  };
  virtual Task<void> fan_out(Slots slots, int root);

  // --- second generation: rendezvous ---
  /// Advertises this rank's memory to a peer: a message without payload.
  void announce(int peer);
  /// The behaviour of a call until its notification arrives: the firmware polls for it, or puts the call into
  /// its retry queue and serves others (read in [accl-2025]).
  enum class Missing : std::uint8_t { kSpin, kRetry };
  /// Returns the time when a peer's advertisement arrives. The clock does not advance.
  Task<Time> address_of(int peer, Missing missing = Missing::kSpin);
  /// Writes into a peer's memory: data, then write-done. At most three moves may be in flight.
  void write(int peer, Bytes data);
  /// One move within this rank's memory: inout = in (op) inout.
  /// Both operands have `in`'s length. Waits for the oldest move if the window is full.
  void combine(Bytes in, MutableBytes inout);
  /// Copies `from`, of the length of `into`.
  void copy(Bytes from, MutableBytes into);
  /// The two steps of written_by(), for data of several peers, which must land in order of arrival.
  Task<Team::Arrival> write_of(int peer, MutableBytes into, Missing missing = Missing::kSpin);
  Time land_write(const Team::Arrival& arrival, std::uint64_t bytes);
  /// Returns the time when a peer's data and write-done have arrived. The clock does not advance.
  Task<Time> written_by(int peer, MutableBytes into, Missing missing = Missing::kSpin);
  /// Waits until the notification's arrival `at`, and reads it.
  /// Not before `at`; the clock then includes the firmware's time to read the words.
  void read_notification(Time at);
  /// Waits for the acknowledgements of all moves in flight.
  void finish_moves();
  /// Works like finish_moves(), but waits for the world before retiring each move.
  Task<void> finish();

  /// Returns whether drain() has something to wait for.
  [[nodiscard]] bool has_outgoing() const { return !outgoing_.empty(); }
  /// Waits until every token of this call has left. The clock does not advance.
  Task<void> drain();

  [[nodiscard]] const Spec& spec() const { return spec_; }
  /// A word behind the tables of the exchange memory, written by the host.
  [[nodiscard]] std::uint32_t word(std::uint32_t offset) const {
    return context_.space.peek(context_.space.layout().behind_tables(offset));
  }
  [[nodiscard]] Team& team() { return context_.team; }
  [[nodiscard]] int rank() const { return context_.team.rank(); }
  /// The number of ranks of the communicator.
  [[nodiscard]] int size() const { return context_.team.size(); }
  /// The first error, or kNone.
  [[nodiscard]] Error error() const { return error_; }
  /// Records an error. The first generation reports the first error, the second collects all.
  void fail(Error error) {
    if (error_ == Error::kNone) error_ = error;
    errors_ |= second() || errors_ == 0 ? encode(spec_.generation, error) : 0;
  }
  /// Returns the value for RETVAL.
  [[nodiscard]] std::uint32_t return_value() const { return errors_; }
  /// The traffic of all messages that this call has sent.
  [[nodiscard]] const WireCounters& wire() const { return wire_; }
  /// Records a span of work if the context has a sink. Free otherwise.
  void span(std::string_view unit, std::string_view what, Time begin, Time end) const {
    if (context_.spans != nullptr)
      context_.spans->record({unit, what, begin, end, context_.operation, context_.place});
  }

 protected:
  static constexpr std::uint32_t kNoBuffer = 0xffffffff;

  /// A segment or move whose acknowledgements the firmware has not checked yet.
  struct Flight {
    Time data;    // acknowledgement of the DMA
    Time packet;  // acknowledgement of the packetizer
    bool sends = false;
    bool receives = false;
    std::uint32_t buffer = kNoBuffer;
    std::uint32_t slot = 0;
  };
  struct Commands {  // when each unit receives its command
    Time header;
    Time read0;
    Time read1;
    Time write;
  };
  /// The message that the call currently waits for.
  struct Wanted {
    MessageType type = MessageType::kEager;
    Missing missing = Missing::kSpin;
  };

  // --- the hook: steps that a card with memory and fallible units extends ---
  /// First generation: one write per output of the switch, one to apply, one to poll (read in [accl-2021]).
  /// The second generation routes by the destination in each word. Returns false if the primitive must end.
  virtual bool configure_switch(const Primitive& primitive);
  /// Stores the message of one segment in an RX buffer. Returns the time when the buffer is RESERVED.
  /// `nullopt` if the primitive must end.
  virtual std::optional<Time> land(const Team::Arrival& arrival, std::uint64_t bytes, int from,
                                   Flight& flight);
  /// Numbers an eager message. Returns its sequence number.
  virtual std::uint32_t count_message(int to, std::uint64_t bytes);
  /// Called when all commands of a move are issued: for `bytes` of its operands at `offset`.
  virtual void issued(const Primitive& /*primitive*/, std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
  /// Ends the oldest segment in flight. Returns false if its primitive must end, too.
  virtual bool retired(const Flight& flight);
  /// In fan_out(): a message has been read, and the packets of one segment have left. Return false if the
  /// primitive must end.
  virtual bool fan_out_read(const Primitive& /*message*/) { return true; }
  virtual bool fan_out_sent() { return true; }

  [[nodiscard]] bool second() const { return spec_.generation == Generation::kSecond; }
  [[nodiscard]] BufferLocation user_memory(std::uint64_t bytes) const {
    return spec_.host_memory && bytes > 0 ? BufferLocation::kHost : BufferLocation::kDevice;
  }
  /// The most segments or moves in flight. At least 1.
  [[nodiscard]] std::uint32_t window() const;
  /// Segments or moves whose acknowledgements are open.
  [[nodiscard]] std::size_t in_flight() const { return flights_.size() - flight_head_; }
  /// Waits for the acknowledgements of the oldest segment in flight. Returns false if its primitive must end.
  bool retire();
  /// Drops all segments in flight, unacknowledged.
  void abandon_flights() { flight_head_ = flights_.size(); }
  /// Adds a flight behind the others. The caller ensures room first: see room() and retire().
  void push(const Flight& flight);
  static MoveOpcode opcode_of(const Primitive& primitive);
  /// Second generation: issues a move instruction.
  void spend_move(MoveOpcode opcode) {
    spend(spec_.firmware.move + move_words(opcode) * spec_.firmware.word);
  }
  /// Issues the unit commands of a primitive, in the second generation after its move instruction.
  Commands issue(const Primitive& primitive, Time reserved, bool header);
  /// Records the errors of a message: those that its sender propagates, and those of its delivery.
  void note_arrival(const Team::Arrival& arrival);
  /// The steps of land(): through the network into memory, into an RX buffer, and its service.
  Time receive(const Team::Arrival& arrival, std::uint64_t bytes, Flight& flight);
  void store(const RxMessage& message, int from, std::uint32_t sequence, Flight& flight);
  Time serve(Time landed);
  void seek(int from, std::uint32_t sequence, Flight& flight);
  Crossing transmit(int to, const Flow& flow, Time header, std::uint64_t bytes, Bytes data,
                    MessageType type = MessageType::kEager);
  /// scratch: memory that the message occupies until it has left. It is reused then.
  void send(int to, Bytes data, const Crossing& passage, MutableBytes scratch = {});
  void retire_sends();
  /// Reuses memory of messages that have left, since scratch memory of a team lives as long as the team's
  /// call.
  MutableBytes allocate_scratch(std::uint64_t bytes);

  CallContext context_;
  const Spec& spec_;
  Communicator communicator_;
  EngineUnits units_;
  Arbiter& own_time_ = units_[Unit::kProcessor];
  DataPlane plane_;
  Error error_ = Error::kNone;
  Wanted wanted_;

 private:
  static constexpr std::size_t kMostInFlight = 32;
  static constexpr std::uint32_t kGen2InFlight = 3;  // moves (read in [accl-2025])
  static constexpr std::uint32_t kSlots = 64;

  struct Outgoing {
    Outgoing(Team::PendingToken token, MutableBytes memory) : pending(token), scratch(memory) {}
    Team::PendingToken pending;
    MutableBytes scratch;
  };

  /// Returns the time when the firmware checks the acknowledgements of the oldest segment in flight.
  [[nodiscard]] Time retires_at() const {
    const Flight& oldest = flights_[flight_head_];
    return later(now_, second() ? later(oldest.data, oldest.packet) : oldest.data);
  }
  void spend_move(const Primitive& primitive) {
    if (second()) spend_move(opcode_of(primitive));
  }
  void issue_header();
  void retire_send(const Outgoing& sent, const Team::Arrival& arrival);
  Flow source(const Primitive& primitive, const Commands& commands, std::uint64_t bytes);
  void push(const Flight& flight, const Primitive& primitive, std::uint64_t offset, std::uint64_t bytes) {
    issued(primitive, offset, bytes);
    push(flight);
  }
  void tap(int to, std::uint64_t bytes, Bytes data, MessageType type, const std::vector<SentPacket>& packets);
  [[nodiscard]] Stamp stamp_of(const Crossing& passage, MessageType type = MessageType::kEager) const;
  Team::PendingToken send_token(int to, Bytes data, Stamp stamp);
  Team::PendingToken receive_token(int from, MutableBytes data);

  WorldDevices* world_;
  RxPool pool_;
  Time now_;
  Transmitter transmitter_;
  Receiver receiver_;
  PooledVector<Flight> flights_;  // entries before the head have ended
  std::size_t flight_head_ = 0;
  std::array<Time, kSlots> slot_free_;  // by RX buffer, in order of filling
  std::uint32_t landed_ = 0;
  std::uint64_t packets_ = 0;
  PooledList<Outgoing> outgoing_;
  PooledVector<MutableBytes> free_scratch_;
  std::uint32_t errors_ = 0;
  WireCounters wire_;
};

}  // namespace offramp::cclo
