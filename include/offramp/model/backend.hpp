// The Backend interface: what a model of communication hardware offers to Offramp.
//
// The library moves every byte and does MPI's matching; a backend says what it would take the hardware. A
// message passes these stages, each at a moment of modelled time:
//
//   issue()     the sender's program calls: what that costs it, and when its device gets the command
//   depart()    the sender's device begins: the data leaves, or a request does
//   grant()     the receiver's device answers the request         (not where the data leaves at once)
//   transmit()  the answer is at the sender: the data leaves      (not where the data leaves at once)
//   arrive()    the data is at the receiver's device
//   receive()   the receiver's program learns of it
//   confirm()   the sender learns that it was taken           (only where its send depends on that)
//
// A world calls the stages of all messages in the order of modelled time, with the resources that ranks
// really share. A resource that a stage occupies from a later moment on is kept from all that could use it
// before: depart(), answer(), transmit() and arrive() may ask to be called again at that moment
// (Passage::again). A run asks only what decides how its data moves: the DataCarrier half. Messages of a rank
// to itself pass none but issue() and receive().
//
// Collectives are coroutines over a Team, the same in both. A backend object serves any number of ranks
// and is used by one thread at a time; what belongs to a rank is in its resources. Every function is noexcept
// in effect: errors are values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/span.hpp"
#include "offramp/kernel/task.hpp"
#include "offramp/kernel/time.hpp"
#include "offramp/kernel/wire.hpp"
#include "offramp/model/machine.hpp"
#include "offramp/model/message.hpp"
#include "offramp/model/operation.hpp"
#include "offramp/model/parameter.hpp"
#include "offramp/model/resource.hpp"
#include "offramp/model/team.hpp"
#include "offramp/model/validation.hpp"
#include "offramp/model/verdict.hpp"

namespace offramp {

class PacketSink;  // offramp/kernel/packet.hpp

/// Who moves an operation on once it was begun: answers the request of a message, and begins the next round
/// of a collective.
enum class Progress : std::uint8_t {
  kHardware,  // the device, at any time
  kCalls,     // the rank's processor, while its program is in a call of MPI that waits or asks
  kThread     // a thread beside the program, at any time, which takes part of the processor's time
};

/// What faults of the modelled links do to one message.
struct MessageFate {
  bool failed = false;      // the protocol gave up on it: both ends get an error
  std::uint8_t reason = 0;  // as Passage::reason
};

/// What a run asks of a backend that only moves its data. Nothing here depends on modelled time.
class DataCarrier {
 public:
  virtual ~DataCarrier() = default;

  /// Whether the hardware carries the operation. Called for every message and collective: allocates nothing
  /// on a yes, and nothing on a no that it has given before. All ranks of a collective must come to the same
  /// answer, so it may depend on the operation and on what the backend was created with only.
  [[nodiscard]] virtual Verdict supports(const Operation& operation) const = 0;
  /// Whether a message to another rank, not synchronous, is complete at its sender only once its receive was
  /// posted. It must agree with issue() and depart(): kConfirmed, or kRendezvous and `complete` unknown. The
  /// answer is used again for messages of the same ranks, communicator, size, type and tag.
  [[nodiscard]] virtual bool waits_for_receiver(const Transfer& transfer) const = 0;
  /// What the backend's faults do to a message to another rank whose receive was posted in time. It follows
  /// from seed or script, link, and transfer.number, so that a run and a world agree. Only asked where wires
  /// have faults; the faults have no times then (FaultRates::timeless()).
  [[nodiscard]] virtual MessageFate fate(const Transfer& /*transfer*/) { return {}; }
  /// Runs the collective to its end. Only called when supports() said yes on every rank. In a run the
  /// algorithm, and so the order in which it combines, follows from the operation and the team's members
  /// alone: for small payloads the library derives that order once, by running all ranks over symbols in one
  /// process, and then moves the payloads itself.
  virtual Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) = 0;
  /// The communicator with this Team::context() is gone, and so may be what the hardware kept for it.
  virtual void forget(std::uint64_t /*context*/) {}
  /// What a failed message means, in the hardware's words: for the text of the MPI error. reason: of its
  /// fate; 0 of a collective. Lives as long as the backend.
  [[nodiscard]] virtual std::string_view failure(std::uint8_t /*reason*/) const {
    return "the modelled protocol could not repair a fault";
  }
};

/// The whole backend: a carrier, and what each operation takes.
class Backend : public DataCarrier {
 public:
  /// The same for the life of the backend. Stages name them by index.
  [[nodiscard]] virtual std::span<const ResourceDescription> resources() const = 0;

  /// At passage.issued. Sets host_free, begin, protocol, and complete if it is known now (the data was
  /// taken).
  virtual void issue(const Transfer& transfer, Passage& passage) = 0;
  /// At passage.begin. Sets leaves, left, latency (and complete if it is unknown) of a direct message, and
  /// requested of one that asks; complete of such a one if it does not depend on the receiver.
  virtual void depart(const Transfer& transfer, Passage& passage, const Resources& sender) = 0;
  /// At passage.granted. Sets answered.
  virtual void grant(const Transfer& /*transfer*/, Passage& /*passage*/) {}
  /// The same for devices that have to work before they answer: with what the receiver's reaches.
  virtual void answer(const Transfer& transfer, Passage& passage, const Resources& /*receiver*/) {
    grant(transfer, passage);
  }
  /// At passage.answered. Sets leaves, left, latency and complete; of a notified message, what complete is
  /// where no network delays the data.
  virtual void transmit(const Transfer& /*transfer*/, Passage& /*passage*/, const Resources& /*sender*/) {}
  /// Of a confirmed message that has come and whose receive was posted (passage.posted). Sets complete.
  virtual void confirm(const Transfer& /*transfer*/, Passage& /*passage*/) {}
  /// At passage.first. Sets stored.
  virtual void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) = 0;
  /// The receiver's program, whose clock shows `at`, learns of the message: not before it is stored and the
  /// receive was posted. The data of an unexpected message has to be copied. Returns when the program goes
  /// on.
  virtual Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) = 0;
  /// A copy within the memory of a rank: of a message to itself.
  [[nodiscard]] virtual Time copy_time(std::size_t bytes) const = 0;

  /// Counts a message that was requested, once; a direct one counts itself when it departs.
  virtual void count(const Transfer& /*transfer*/, const Passage& /*passage*/) {}
  /// Whether spans or packets are recorded: then record_sender() is called.
  [[nodiscard]] virtual bool records() const { return false; }
  /// Spans and packets of the sender's end, once all its times are known.
  virtual void record_sender(const Transfer& /*transfer*/, const Passage& /*passage*/) {}

  /// The same for the life of the backend. kSend: of messages that ask first.
  [[nodiscard]] virtual Progress progress(OperationKind /*kind*/) const { return Progress::kHardware; }
  /// The share of the processor's time that the thread making progress takes while the program computes.
  [[nodiscard]] virtual double progress_share() const { return 0; }

  /// What posting a receive costs the host.
  [[nodiscard]] virtual Time post_receive_cost() const = 0;

  [[nodiscard]] virtual WireCounters wire() const = 0;

  /// Of the time that all its work has taken so far, the part that `offramp predict` counts in cycles of the
  /// engine (BackendDescription::clock_parameter). Nothing: all of it.
  [[nodiscard]] virtual std::optional<Time> engine_time() const { return {}; }
};

/// What a backend is created with. The references outlive it.
struct BackendContext {
  int rank = 0;   // world rank; of a backend that serves them all, the first
  int ranks = 1;  // of the world
  const Settings& settings;
  FaultRates faults;
  SpanSink* spans = nullptr;
  /// Receives each packet that this rank's hardware sends, once; null when no capture was asked for.
  PacketSink* packets = nullptr;
  MachineLayout machine = {};
  /// The baseline's settings, for hardware that works beside the same hosts: what their memory and processors
  /// take. Null: what the hardware's own sources say of theirs.
  const Settings* host = nullptr;
};

/// What an operation on many ranks takes, all of which begin at time 0.
struct Forecast {
  std::string declined;  // the hardware's reason; the rest is meaningless then
  std::string note;      // what the user has to know: more hardware than exists, what is left out; or empty
  bool what_if = false;  // of hardware with more memory than there is
  Time time;             // until the last rank is done
  Time engine;           // the part that is counted in cycles of the modelled engine; usually the same
  WireCounters wire;
};

/// One thing that `offramp explain` shows of a backend. Texts are literals.
struct ExplainRequest {
  const Settings& settings;
  MachineLayout machine;
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

/// A parameter whose value makes no difference, or next to none. reason: goes on behind "link = 200 Gb/s",
/// and says what limits or decides instead: "has no effect over udp".
struct WithoutEffect {
  std::string_view parameter;
  std::string reason;
};

/// The door through which built-in backends and plugins come alike.
struct BackendDescription {
  static constexpr int kAbi = 12;
  int abi = kAbi;
  std::string_view name;
  std::string_view description;
  std::span<const Parameter> parameters;
  std::unique_ptr<Backend> (*create)(const BackendContext& context) = nullptr;

  /// The parameter (in MHz) in whose cycles forecasts are counted; empty: none.
  std::string_view clock_parameter = {};
  std::span<const ExplainTopic> topics = {};
  /// Published figures and the model's for them: offramp explain validation. Null: there are none.
  ValidationRows (*validation)() = nullptr;
  /// The parameters that make no difference beside the others' values, whether the user has set them or not:
  /// those that are set are reported. Null: all of them always count.
  std::vector<WithoutEffect> (*without_effect)(const Settings& settings) = nullptr;
  /// What so many ranks stand on. Null: nothing is said of it.
  Footing (*footing)(const Settings& settings, const MachineLayout& machine, int ranks) = nullptr;
  /// The hardware is one machine for all ranks, and what connects them is part of it: no network of the
  /// user's lies between nodes.
  bool is_one_machine = false;
  /// What a parameter amounts to whose own value stands for another's (0: of the NIC); nothing for those that
  /// mean what they say. Null: all do.
  std::optional<double> (*in_force)(const Settings& settings, std::string_view parameter) = nullptr;
};

/// The `create` of a backend that is built from its context: .create = make_backend<Wormhole>.
template <typename Model>
std::unique_ptr<Backend> make_backend(const BackendContext& context) {
  return std::make_unique<Model>(context);
}

}  // namespace offramp

/// A plugin exports this: a description that lives as long as the plugin is loaded.
using offramp_backend_v1_function = const offramp::BackendDescription* (*)();
