// The control processor: the firmware's clock and primitives over the data plane, the network and the RX
// buffers of one engine. One object serves one call. It is the only implementation of the engine, and runs in
// three surroundings: one message between two ranks (message.hpp), a collective in a world (Team of the
// backend), and a card that a host drives through its registers (machine.hpp).
//
// The firmware is a coroutine. Where the hardware polls for a message it waits for a token of the team; the
// token's stamp says when the message's packets reach this engine. Everything else is charged here, in the
// order in which the firmware issues its commands: they go into FIFOs, so the processor runs ahead of the
// units until its window of segments in flight is full. The units are the rank's: concurrent calls queue. In
// a world the firmware waits for its turn before each segment, so that the calls of all ranks come to what
// they share in the order of modelled time, and messages are charged at their receiver when they come.
#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <string_view>
#include <vector>

#include "offramp/model/backend.hpp"
#include "simulators/cclo/data_plane.hpp"
#include "simulators/cclo/datapath.hpp"
#include "simulators/cclo/engine_ports.hpp"
#include "simulators/cclo/engine_state.hpp"
#include "simulators/cclo/exchange_memory.hpp"
#include "simulators/cclo/network.hpp"

namespace offramp::cclo {

/// One primitive: operands are own memory and a peer's message, the result goes to a peer or into memory.
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

/// Until a world has come to a moment. Without one there is nothing to wait for.
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

/// The surroundings of a call. References outlive it.
struct CallContext {
  const Spec& spec;
  IoSpace& space;
  Team& team;
  std::uint32_t communicator = 0;  // address
  FaultRates faults;
  std::uint64_t first_packet = 0;  // of this call, on every wire
  SpanSink* spans = nullptr;
  std::uint64_t operation = 0;
  PacketTap* tap = nullptr;
  std::uint32_t tag = kTagAny;  // of the messages, and of those that are received
  /// Where the team has no data, the tap may have it: what the program sends, in place of memory that is
  /// none.
  Bytes shown = {};
  const std::byte* shown_at = nullptr;
  Time epoch = {};               // see Fate
  EngineState* state = nullptr;  // null: as after a driver's set-up
  int place = 0;                 // world rank, for spans
  // An engine with memory of its own has these (simulators/cclo/machine.hpp); all null, or none.
  EnginePorts* ports = nullptr;
  const Datapath* datapath = nullptr;
  Spec* settings = nullptr;  // what configuration calls set
  bool from_kernel = false;  // the call came from a kernel: the call block knows nothing of it
};

// Stamp::detail of a token: an Error in the low bits, with kLost where it happened (the others pass it on),
// and the tag of the message.
inline constexpr std::uint64_t kErrorMask = 0xff;
inline constexpr std::uint64_t kLost = 0x100;
inline constexpr unsigned kTagShift = 16;
inline constexpr unsigned kTypeShift = 48;  // MessageType
inline constexpr std::uint64_t kOfCall = std::uint64_t{1} << 60;
constexpr MessageType type_of(const Stamp& stamp) {
  return static_cast<MessageType>(stamp.detail >> kTypeShift & 3U);
}

class Processor {
 public:
  Processor(const CallContext& context, Time begin);
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  // --- the firmware's clock ---
  [[nodiscard]] Time now() const { return now_; }
  void spend(std::int64_t cycles) { now_ = units_[Unit::kProcessor].acquire(now_, spec_.cycles(cycles)).end; }
  void wait(Time t) { now_ = later(now_, t); }
  void access(std::int64_t n) { spend(n * spec_.firmware.axi); }
  /// Before the processor or its units do something then.
  [[nodiscard]] Turn turn(Time at = {}) const { return {world_, later(now_, at)}; }
  /// Before the next move: when the processor can issue it.
  [[nodiscard]] Turn room() const { return turn(in_flight() == window() ? retires_at() : now_); }

  // --- primitives ---
  Task<void> run(Primitive primitive);
  /// First generation's BCAST and SCATTER at the root: for every segment a header and a blocking read per
  /// peer, then all acknowledgements. part(rank) of `bytes` goes to each rank.
  struct Slots {
    Bytes data;
    std::uint64_t stride = 0;  // bytes from one rank's part to the next; 0: the same for all
    std::uint64_t bytes = 0;
  };
  Task<void> fan_out(Slots slots, int root);

  /// COMBINE within this rank's memory: inout = in (op) inout.
  void combine_memory(Bytes in, MutableBytes inout);

  // --- with kernels and casts: what the call's Datapath says (processor_lanes.cpp) ---
  [[nodiscard]] bool has_lanes() const { return context_.datapath != nullptr && !context_.datapath->plain(); }
  void copy_through_lanes(Bytes from, MutableBytes into);
  void combine_through_lanes(Bytes a, Bytes b, MutableBytes into);
  /// First generation: through a kernel outside of the engine and back. b: empty but for EXT_REDUCE.
  void run_external(Bytes a, Bytes b, MutableBytes into);
  /// First generation: write commands for the RX buffers that are idle.
  void post_buffers();

  // --- second generation: rendezvous ---
  /// Tells a peer where its data may go: a message of a header only.
  void announce(int peer);
  /// What a call does while a notification is not here: the firmware polls for it, or puts the call into its
  /// retry queue and serves others (read in [accl-2025]).
  enum class Missing : std::uint8_t { kSpin, kRetry };
  /// When a peer's announcement is here. The clock stays.
  Task<Time> address_of(int peer, Missing missing = Missing::kSpin);
  /// Writes into a peer's memory: data, then write-done. At most three moves are in flight.
  void write(int peer, Bytes data);
  /// Combines two buffers of this rank into one of them and, for a peer, writes the result there.
  void combine(Bytes in, MutableBytes inout);
  void copy(Bytes from, MutableBytes into);
  /// The two halves of written_by(), for data of several peers: they land in the order of their arrival.
  Task<Team::Arrival> write_of(int peer, MutableBytes into, Missing missing = Missing::kSpin);
  Time land_write(const Team::Arrival& arrival, std::uint64_t bytes);
  /// When a peer's data and write-done are here. The clock stays.
  Task<Time> written_by(int peer, MutableBytes into, Missing missing = Missing::kSpin);
  /// Takes a notification: waits until it is there and reads it.
  void take_notification(Time at);
  void finish_moves();
  /// The same, each at its time.
  Task<void> finish();

  /// Until every token of this call has left; modelled time does not move.
  Task<void> drain();

  [[nodiscard]] const Spec& spec() const { return spec_; }
  /// A word behind the tables of the exchange memory, which the host writes.
  [[nodiscard]] std::uint32_t word(std::uint32_t offset) const {
    return context_.space.peek(context_.space.layout().behind_tables(offset));
  }
  [[nodiscard]] Team& team() { return context_.team; }
  [[nodiscard]] int rank() const { return context_.team.rank(); }
  [[nodiscard]] int size() const { return context_.team.size(); }
  [[nodiscard]] Error error() const { return error_; }
  /// The first generation's firmware leaves the call at its first error, the second's collects them.
  void fail(Error error) {
    if (error_ == Error::kNone) error_ = error;
    errors_ |= second() || errors_ == 0 ? encode(spec_.generation, error) : 0;
  }
  /// What RETVAL gets.
  [[nodiscard]] std::uint32_t return_value() const { return errors_; }
  /// The message that the call asks the team for.
  struct Wanted {
    MessageType type = MessageType::kEager;
    Missing missing = Missing::kSpin;
  };
  [[nodiscard]] const Wanted& wanted() const { return wanted_; }
  [[nodiscard]] const CallContext& context() const { return context_; }
  /// First generation: the call has been left at an error.
  [[nodiscard]] bool unwound() const { return unwound_; }
  /// Null: as after a driver's set-up.
  [[nodiscard]] EngineState* state() const { return context_.state; }
  [[nodiscard]] const WireCounters& wire() const { return wire_; }
  void span(std::string_view unit, std::string_view what, Time begin, Time end) const {
    if (context_.spans != nullptr)
      context_.spans->record({unit, what, begin, end, context_.operation, context_.place});
  }

 private:
  static constexpr std::size_t kMostInFlight = 32;
  static constexpr std::uint32_t kGen2InFlight = 3;  // moves (read in [accl-2025])
  static constexpr std::uint32_t kNoBuffer = 0xffffffff;
  static constexpr std::uint32_t kSlots = 64;

  struct DmaCommand {
    DmaChannel channel = DmaChannel::kRead1;
    bool silent = false;
    DmaStatus status;  // second generation
  };
  struct Flight {
    Time data;    // the DMA's acknowledgement
    Time packet;  // the packetizer's
    bool sends = false;
    bool receives = false;
    std::uint32_t buffer = kNoBuffer;
    std::uint32_t slot = 0;
    std::uint64_t bytes = 0;
    int to = Primitive::kNobody;
    std::uint32_t sequence = 0;
    std::uint32_t commands = 0;
    std::array<DmaCommand, 3> command;
  };
  /// One move of the second generation between memory, messages, kernels and lanes.
  struct Piece {
    std::uint64_t elements = 0;
    bool has_own = false;
    Bytes own;
    bool has_second = false;
    Bytes second;
    bool second_compressed = false;
    bool second_is_message = false;
    bool result_compressed = false;
  };
  struct Commands {  // when each unit has its command
    Time header;
    Time read0;
    Time read1;
    Time write;
  };
  struct Outgoing {
    Outgoing(Team::PendingToken token, MutableBytes memory) : pending(token), scratch(memory) {}
    Team::PendingToken pending;
    MutableBytes scratch;
  };

  [[nodiscard]] bool second() const { return spec_.generation == Generation::kSecond; }
  [[nodiscard]] Place user_memory(std::uint64_t bytes) const {
    return spec_.host_memory && bytes > 0 ? Place::kHost : Place::kDevice;
  }
  [[nodiscard]] std::uint32_t window() const;
  [[nodiscard]] std::size_t in_flight() const { return flights_.size() - flight_head_; }
  /// When the firmware looks at the acknowledgements of the oldest segment in flight.
  [[nodiscard]] Time retires_at() const {
    const Flight& oldest = flights_[flight_head_];
    return later(now_, second() ? later(oldest.data, oldest.packet) : oldest.data);
  }
  void configure_switch(const Primitive& primitive);
  void spend_move(const Primitive& primitive);
  /// Second generation: behind spend_move().
  Commands issue(const Primitive& primitive, Time reserved, bool header);
  void issue_header();
  Flow source(const Primitive& primitive, const Commands& commands, std::uint64_t bytes);
  Time land(const Team::Arrival& arrival, std::uint64_t bytes, int from, Flight& flight);
  void seek(int from, std::uint32_t sequence, Flight& flight);
  void land_in_posted(std::uint64_t bytes, Flight& flight);
  void command(const Primitive& primitive, Bytes own, Bytes into, Flight& flight);
  void command(DmaChannel channel, Bytes target, std::uint64_t bytes, Flight& flight);
  void acknowledge(const Flight& flight);
  void acknowledge_first(const Flight& flight);
  void acknowledge_packet(const Flight& flight);
  void acknowledge_second(const Flight& flight);
  void unwind(const Flight& flight);
  void finish_arithmetic();
  Task<void> run_lanes(Primitive primitive);
  Flow produce(const Piece& piece, const Commands& commands, MutableBytes result, Flight& flight);
  Bytes operand(const Piece& piece, Time command, Flow& flow, Flight& flight);
  Bytes convert(Unit lane, Bytes data, bool from, bool to, std::uint64_t elements, Flow& flow);
  void deliver(const Flow& flow, MutableBytes result, Time command, Flight& flight);
  void note_arrival(const Team::Arrival& arrival);
  void retire();
  void push(const Flight& flight);
  Crossing transmit(int to, const Flow& flow, Time header, std::uint64_t bytes, Bytes data,
                    MessageType type = MessageType::kEager);
  void tap(int to, std::uint64_t bytes, Bytes data, MessageType type, const std::vector<SentPacket>& packets);
  [[nodiscard]] Stamp stamp_of(const Crossing& passage, MessageType type = MessageType::kEager) const;
  Team::PendingToken send_token(int to, Bytes data, Stamp stamp);
  Team::PendingToken receive_token(int from, MutableBytes data);
  std::uint32_t send(int to, Bytes data, const Crossing& passage, MutableBytes scratch = {});
  Task<void> reap();
  MutableBytes take_scratch(std::uint64_t bytes);
  CallContext context_;
  WorldDevices* world_;
  const Spec& spec_;
  Communicator communicator_;
  RxPool pool_;
  Time now_;
  EngineUnits units_;
  DataPlane plane_;
  Transmitter transmitter_;
  Receiver receiver_;
  PooledVector<Flight> flights_;  // those before the head have ended
  std::size_t flight_head_ = 0;
  std::array<Time, kSlots> slot_free_;  // RX buffers, by the order of their filling
  std::uint32_t landed_ = 0;
  std::uint64_t packets_ = 0;
  PooledList<Outgoing> outgoing_;
  PooledVector<MutableBytes> free_scratch_;
  Error error_ = Error::kNone;
  std::uint32_t errors_ = 0;
  bool unwound_ = false;
  std::uint32_t issued_tag_ = 0;  // of the last DMA command, first generation
  Wanted wanted_;
  WireCounters wire_;
};

}  // namespace offramp::cclo
