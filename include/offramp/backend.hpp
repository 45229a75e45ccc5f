// The Backend interface: what a model of communication hardware offers to Offramp, for one rank.
//
// The library moves every byte and does MPI's matching; a backend says what it would take the hardware.
// Point-to-point is four questions, each asked at a moment that the program's own order fixes, so that the
// answers are reproducible:
//
//   sender, when the program issues the send   depart()         -> a stamp that travels with the message
//   receiver, when a receive is matched        match()          -> a reply (after a handshake departure)
//   receiver, when completion is observed      receive()        -> the receiver's time
//   sender, when completion is observed        complete_send()  -> the sender's time (after a handshake)
//
// Collectives are coroutines over a Team. One backend object serves one rank in one lane; it is used by one
// thread at a time and keeps no state outside itself. Every function is noexcept in effect: errors are
// values.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "offramp/kernel/arbiter.hpp"
#include "offramp/kernel/span.hpp"
#include "offramp/kernel/task.hpp"
#include "offramp/kernel/time.hpp"
#include "offramp/kernel/wire.hpp"
#include "offramp/parameter.hpp"

namespace offramp {

class PacketSink;  // offramp/kernel/packet.hpp

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

enum class OperationKind : std::uint8_t {
  kSend,
  kBcast,
  kReduce,
  kGather,
  kAllreduce,
  kScatter,
  kAllgather,
  kReduceScatter,
  kAlltoall,
  kBarrier,
  kScan,
  kExscan,
  // With blocks of different sizes (MPI_Gatherv and so on): carried by the host's algorithms.
  kGatherv,
  kScatterv,
  kAllgatherv,
  kReduceScatterv,
  kAlltoallv,
  kCount
};
std::string_view to_string(OperationKind kind);

/// The class of an MPI datatype's elements. kMixed: a derived type of several, or one that has no class here.
enum class ElementType : std::uint8_t {
  kByte,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat32,
  kFloat64,
  kFloatExtended,
  kComplex,
  kLogical,
  kPair,
  kMixed
};
std::string_view to_string(ElementType type);

enum class ReduceFunction : std::uint8_t {
  kNone,
  kSum,
  kProduct,
  kMaximum,
  kMinimum,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kBitAnd,
  kBitOr,
  kBitXor,
  kMaximumLocation,
  kMinimumLocation,
  kReplace,
  kUser
};
std::string_view to_string(ReduceFunction function);

/// What supports() may look at: only what all ranks of a collective know alike.
/// bytes: kSend, kBcast, kReduce, kAllreduce, kScan, kExscan: the message; the others: one rank's block; 0
/// where blocks differ. elements: of a reduction, as many as the bytes hold. ranks: of the communicator; a
/// send has 2.
struct Operation {
  OperationKind kind = OperationKind::kSend;
  ElementType element = ElementType::kByte;
  ReduceFunction function = ReduceFunction::kNone;
  bool commutative = true;
  std::size_t bytes = 0;
  std::size_t elements = 0;
  int ranks = 2;
  int root = 0;
  int tag = 0;  // point-to-point only
};

/// Yes, or the hardware's reason why not. The text lives as long as the backend.
struct Verdict {
  std::string_view reason;
  [[nodiscard]] bool yes() const { return reason.empty(); }
  static Verdict decline(std::string_view why) { return {why}; }
};

/// One point-to-point message. Ranks are world ranks. number counts the messages of this (source,
/// destination) pair that this backend has carried, from 0: with the seed of the fault script it fixes the
/// message's fate.
struct Transfer {
  int source = 0;
  int destination = 0;
  std::size_t bytes = 0;
  ElementType element = ElementType::kByte;
  int tag = 0;
  std::uint64_t context = 0;
  bool synchronous = false;  // complete only after the receive is matched (MPI_Ssend)
  std::uint32_t number = 0;
  std::uint64_t operation = 0;  // for spans
  Bytes data = {};              // for a packet capture: the payload, or empty where nobody needs or has it
};

/// What a backend sends along with a message. first and last: when the message's first and last byte reach
/// the receiving device (or, after a handshake departure, whatever match() needs); detail is the backend's
/// own. Times are positions on the modelled clock: not negative, below 2^62 ps (a header with others is
/// dropped).
struct Stamp {
  Time first;
  Time last;
  std::uint64_t detail = 0;  // bit 63 is kFailed on every backend

  static constexpr std::uint64_t kFailed = std::uint64_t{1} << 63;
  /// The protocol gave up on the message: both ends get an error.
  [[nodiscard]] bool failed() const { return (detail & kFailed) != 0; }
};

/// Availability of a device's units, charged in issue order. The index is the backend's own. A collective
/// works on a copy taken when it is issued, which is merged back when the program sees its completion, so
/// that operations in flight never depend on each other's progress.
struct Units {
  static constexpr std::size_t kMaximum = 24;
  std::array<Arbiter, kMaximum> unit;
  void merge(const Units& other) {
    for (std::size_t i = 0; i < kMaximum; ++i) unit[i].merge(other.unit[i].free_at());
  }
};

struct Departure {
  Time host_free;          // when a nonblocking call returns to the program
  Time complete;           // when the send is complete at the sender (no handshake)
  bool handshake = false;  // completion needs the receiver: match() there, complete_send() here
  Stamp stamp;
};

/// The outcome of a message or an algorithm.
enum class Outcome : std::uint8_t {
  kOk,
  kTruncated,  // the message was longer than the receive
  kFault,      // the modelled protocol could not repair a fault
  kCancelled
};

/// The ranks of one collective operation as its algorithm sees them: ranks are those of the communicator. The
/// clock is the algorithm's position in modelled time. Implemented by the library; used by one coroutine.
class Team {
 public:
  using Handle = void*;
  virtual ~Team() = default;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Where the members are, for hardware to which their places matter: the world rank of a rank.
  [[nodiscard]] virtual int world_rank(int rank) const { return rank; }
  /// The communicator: the same on all members, and never used again in a run. See Backend::forget().
  [[nodiscard]] virtual std::uint64_t context() const { return 0; }
  /// The units as they were when the operation was issued; merged back when the program sees its completion.
  [[nodiscard]] Units& units() { return units_; }
  Time clock;
  /// For spans of what belongs to the whole operation and not to one of its messages.
  std::uint64_t operation = 0;

  // For hardware that works while the program computes.
  /// When a nonblocking call returns to the program. Set before the first co_await; 0: at once.
  Time host_free;
  /// Work of the host itself that is left: it begins when the program waits, not before host_begin, and goes
  /// on beside the hardware's. The operation is complete when both are done.
  Time host_begin;
  Time host_work;

  class [[nodiscard]] Pending {
   public:
    Pending(Team& team, Handle handle) : team_(team), handle_(handle) {}
    [[nodiscard]] bool await_ready() const { return team_.ready(handle_); }
    void await_suspend(std::coroutine_handle<> waiter) const { team_.wait(handle_, waiter); }
    /// Takes the clock to the completion; the handle is used up.
    Outcome await_resume() const { return team_.finish(handle_); }

   private:
    Team& team_;
    Handle handle_;
  };

  /// Starts a send or a receive of exactly data.size() bytes; co_await it once. Buffers stay valid until
  /// then. They cost what the backend's point-to-point model says.
  Pending send(int peer, Bytes data) { return {*this, start_send(peer, data, nullptr)}; }
  Pending receive(int peer, MutableBytes data) { return {*this, start_receive(peer, data, false)}; }

  /// What came with a token: the stamp that its sender gave it.
  struct Arrival {
    Outcome outcome = Outcome::kOk;
    Stamp stamp;
  };
  class [[nodiscard]] PendingToken {
   public:
    PendingToken(Team& team, Handle handle) : team_(team), handle_(handle) {}
    [[nodiscard]] bool await_ready() const { return team_.ready(handle_); }
    void await_suspend(std::coroutine_handle<> waiter) const { team_.wait(handle_, waiter); }
    /// The clock stays; the handle is used up.
    Arrival await_resume() const { return team_.take(handle_); }

   private:
    Team& team_;
    Handle handle_;
  };

  /// The same for models with processes of their own on both sides, which know when each byte leaves and
  /// arrives: a token of their network, with data or without. The library carries it and adds no time;
  /// neither clock moves. Tokens of one pair arrive in order, and in order with send(): a token is received
  /// as a token.
  PendingToken send_token(int peer, Bytes data, const Stamp& stamp) {
    return {*this, start_send(peer, data, &stamp)};
  }
  PendingToken receive_token(int peer, MutableBytes data) { return {*this, start_receive(peer, data, true)}; }

  /// inout = in (op) inout on whole elements: MPI's operand order, `in` comes from the lower ranks.
  void combine(Bytes in, MutableBytes inout) {
    if (carries_data_) combine_elements(in, inout);
  }
  /// Local copy; the sizes are equal. Use it instead of memcpy: a lane that only watches has no data.
  void copy(Bytes from, MutableBytes to) const {
    if (carries_data_ && !from.empty() && from.data() != to.data())
      std::memcpy(to.data(), from.data(), from.size());
  }
  /// Working memory that lives until the operation ends; uninitialised.
  virtual MutableBytes scratch(std::size_t bytes) = 0;

 protected:
  Team(int rank, int size, bool carries_data) : Team(rank, size, carries_data, Units()) {}
  Team(int rank, int size, bool carries_data, const Units& units)
      : rank_(rank), size_(size), carries_data_(carries_data), units_(units) {}
  [[nodiscard]] bool carries_data() const { return carries_data_; }
  virtual void combine_elements(Bytes in, MutableBytes inout) = 0;
  /// stamp: of a token; null: the backend's point-to-point model prices the message.
  virtual Handle start_send(int peer, Bytes data, const Stamp* stamp) = 0;
  virtual Handle start_receive(int peer, MutableBytes data, bool token) = 0;
  virtual bool ready(Handle handle) = 0;
  virtual void wait(Handle handle, std::coroutine_handle<> waiter) = 0;
  virtual Outcome finish(Handle handle) = 0;
  virtual Arrival take(Handle handle) = 0;

 private:
  int rank_;
  int size_;
  bool carries_data_;
  Units units_;
};

/// Buffers of a collective, packed (contiguous, in type-map order). send: this rank's contribution; receive:
/// where this rank's result goes (empty where MPI gives it none). For bcast, receive is the buffer on every
/// rank. Blocks of gather, scatter, allgather, reduce_scatter and alltoall lie in rank order. send and
/// receive never overlap, except that they are the same memory where MPI_IN_PLACE says so (bcast always).
struct CollectiveBuffers {
  Bytes send;
  MutableBytes receive;
  std::size_t block = 0;  // bytes of one rank's block
  // Where blocks differ, one per rank, anywhere in memory. send_blocks: kScatterv at the root,
  // kReduceScatterv (the parts of send), kAlltoallv. receive_blocks: kGatherv at the root, kAllgatherv,
  // kAlltoallv.
  std::span<const Bytes> send_blocks = {};
  std::span<const MutableBytes> receive_blocks = {};
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// What the library asks: supports(), for the kinds of operation that the backend knows at all.
  [[nodiscard]] Verdict answer(const Operation& operation) const {
    if (operation.kind > OperationKind::kBarrier && !knows(operation.kind))
      return Verdict::decline("the hardware has no such collective");
    return supports(operation);
  }

  [[nodiscard]] virtual Verdict supports(const Operation& operation) const = 0;
  /// Of the kinds after kBarrier, which came later: only a backend that says so is asked about one.
  [[nodiscard]] virtual bool knows(OperationKind) const { return false; }

  virtual Departure depart(const Transfer& transfer, Time issued, Units& units) = 0;
  /// posted: the host clock at which the receive was issued. Only after a handshake departure.
  virtual Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) = 0;
  virtual Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units& units) = 0;
  virtual Time complete_send(const Transfer& transfer, const Stamp& reply, Units& units) = 0;
  /// What posting a receive costs the host.
  [[nodiscard]] virtual Time post_receive_cost() const = 0;

  /// Runs the collective to its end. Only called when supports() said yes on every rank.
  virtual Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) = 0;

  [[nodiscard]] virtual WireCounters wire() const = 0;

  /// The communicator with this Team::context() is gone, and so may be what the hardware kept for it.
  virtual void forget(std::uint64_t /*context*/) {}

  /// What a failed stamp means, in the hardware's words: for the text of the MPI error. Lives as long as the
  /// backend.
  [[nodiscard]] virtual std::string_view failure(const Stamp&) const {
    return "the modelled protocol could not repair a fault";
  }
};

/// What a backend is created with. The references outlive it.
struct BackendContext {
  int rank = 0;   // world rank
  int ranks = 1;  // of the world
  const Settings& settings;
  FaultRates faults;
  SpanSink* spans = nullptr;
  /// Wants the packets that this rank's hardware sends, each once. Null: nobody captures.
  PacketSink* packets = nullptr;
};

/// What an operation on many ranks takes, all of which begin at time 0.
struct Forecast {
  std::string declined;  // the hardware's reason; the rest is meaningless then
  std::string note;      // what the user has to know: more hardware than exists, what is left out; or empty
  Time time;             // until the last rank is done
  Time engine;           // the part that is counted in cycles of the modelled engine; usually the same
  WireCounters wire;
};

/// One thing that `offramp explain` shows of a backend. Texts are literals.
struct ExplainRequest {
  const Settings& settings;
  Operation operation;                     // where the topic is about one
  std::span<const std::string> arguments;  // further words of the command line
};
struct Explanation {
  std::string text;
  std::string error;  // not empty: why there is no text
};
struct ExplainTopic {
  std::string_view topic;
  std::string_view description;
  Explanation (*render)(const ExplainRequest& request) = nullptr;
};

/// The door through which built-in backends and plugins come alike.
struct BackendDescription {
  static constexpr int kAbi = 1;
  int abi = kAbi;
  std::string_view name;
  std::string_view description;
  std::span<const Parameter> parameters;
  std::unique_ptr<Backend> (*create)(const BackendContext& context) = nullptr;

  /// The parameter (in MHz) in whose cycles forecasts are counted; empty: none.
  std::string_view clock_parameter = {};
  /// Where all the hardware in one simulation says more than one device per rank does (links that ranks
  /// share). Null: forecasts run one backend per rank.
  Forecast (*forecast)(const Operation& operation, const BackendContext& context) = nullptr;
  std::span<const ExplainTopic> topics = {};
  /// For forecasts of what the hardware declines only because one of its memories is full: makes it larger in
  /// the settings, and says what was done. Empty: that is not the reason. Null: never is.
  std::string (*enlarge)(const Operation& operation, Settings& settings) = nullptr;
};

}  // namespace offramp

/// A plugin exports this: a description that lives as long as the plugin is loaded.
using offramp_backend_v1_function = const offramp::BackendDescription* (*)();
