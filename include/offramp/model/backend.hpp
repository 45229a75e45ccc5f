// The Backend interface: implemented by each model of communication hardware.
//
// The library moves every byte and does MPI's matching; a backend computes the time that the hardware would
// need. A message passes these stages, each at a moment of modelled time:
//
//   issue()     the sender's program calls: its cost, and when its device gets the command
//   depart()    the sender's device begins: the data leaves, or a request does
//   grant()     the receiver's device answers the request; after a request only
//   transmit()  the answer is at the sender: the data leaves; after a request only
//   arrive()    the data is at the receiver's device
//   receive()   the receiver's program sees the message
//   confirm()   the sender is notified of the receive; only where its send waits for that
//
// A world calls the stages of all messages in the order of modelled time, with the resources that ranks
// really share. A stage that needs a resource at a later moment must not reserve it now, because others could
// use it before: depart(), answer(), transmit(), and arrive() may request another call at that moment
// (Passage::again). A run calls only the DataCarrier half, which decides how data moves. Messages of a rank
// to itself pass issue() and receive() only.
//
// In a world, the host also carries accesses to the memory of other ranks (Transfer::access). The rank that
// begins the access is the sender of a direct transfer, or the receiver of a transfer by rendezvous. issue()
// gets the protocol and keeps it, and arrive() sets `complete`: when the beginning rank knows of the end.
//
// Collectives are coroutines over a Team, in worlds. Their data in a run is moved by the library, which
// combines the contributions in the order that the carrier describes (order()). A backend object serves any
// number of ranks and is used by one thread at a time; per-rank state is in its resources. Errors are values:
// functions must not throw.
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
#include "offramp/model/reduction_order.hpp"
#include "offramp/model/resource.hpp"
#include "offramp/model/team.hpp"
#include "offramp/model/validation.hpp"
#include "offramp/model/verdict.hpp"

namespace offramp {

class PacketSink;  // offramp/kernel/packet.hpp

/// The agent that continues an operation in the background: it answers the request of a message, and begins
/// the next round of a collective.
enum class Progress : std::uint8_t {
  kHardware,  // the device, at any time
  kCalls,     // the rank's processor, while its program is in an MPI call that waits or tests
  kThread     // a thread beside the program, at any time, which uses part of the processor's time
};

/// The effect of link faults on one message.
struct DeliveryFault {
  bool failed = false;      // the protocol gave up: both ends get an error
  std::uint8_t reason = 0;  // as Passage::reason
};

/// The part of a backend that a run uses to move its data. All results are independent of modelled time.
class DataCarrier {
 public:
  virtual ~DataCarrier() = default;

  /// Decides whether the hardware carries the operation. Called for every message and collective: must not
  /// allocate when it accepts, or when it repeats an earlier decline. All ranks of a collective must get the
  /// same verdict, so it may depend only on the operation and the backend's BackendContext.
  [[nodiscard]] virtual Verdict supports(const Operation& operation) const = 0;
  /// True if a non-synchronous message to another rank completes at its sender only after its receive was
  /// posted. Must agree with issue() and depart(): protocol kConfirmed, or kRendezvous without `complete`.
  /// A run asks only for messages above 64 KiB, since programs rely on smaller ones that go at once, and
  /// reuses the result for messages with the same ranks, communicator, size, type, and tag.
  [[nodiscard]] virtual bool waits_for_receiver(const Transfer& transfer) const = 0;
  /// The fate of a message to another rank whose receive was posted in time. Depends on seed or script, link,
  /// and transfer.number alone, so that a run and a world agree. Called only if wires have faults, which then
  /// have no times (FaultRates::timeless()).
  [[nodiscard]] virtual DeliveryFault delivery_fault(const Transfer& /*transfer*/) { return {}; }
  /// The order in which the hardware combines the contributions to a reduction that supports() accepted: the
  /// part of this rank. Must depend only on the operation and the members. nullopt: software on the host
  /// combines, so that collective() moves the contents in a run as well (Team::carries_data()). That is
  /// always so for prefix reductions. For small payloads the library runs all ranks symbolically in one
  /// process, once, to learn the order, and moves the payloads itself.
  [[nodiscard]] virtual std::optional<ReductionOrder> order(const Operation& operation,
                                                            const TeamMembers& team) {
    return Fold::binomial(team, top_of(operation));
  }
  /// Runs the collective to its end, in a world, where buffers have sizes only: see order() for runs. Called
  /// only if supports() accepted it on every rank.
  virtual Task<Outcome> collective(const Operation& operation, Team& team, CollectiveBuffers buffers) = 0;
  /// The communicator with this Team::context() was freed: releases what the hardware kept for it.
  virtual void forget(std::uint64_t /*context*/) {}
  /// Explains a failed message in the hardware's terms, for the text of the MPI error. reason: from its fate;
  /// 0 for a collective. Valid as long as the backend.
  [[nodiscard]] virtual std::string_view failure(std::uint8_t /*reason*/) const {
    return "the modelled protocol could not recover from a fault";
  }
};

/// The whole interface: a carrier, and the duration of each operation.
class Backend : public DataCarrier {
 public:
  /// Constant for the life of the backend. Stages refer to resources by index.
  [[nodiscard]] virtual std::span<const ResourceDescription> resources() const = 0;

  /// Called at passage.issued. Sets host_free, begin, protocol, and `complete` if the data is copied at once.
  virtual void issue(const Transfer& transfer, Passage& passage) = 0;
  /// Called at passage.begin. For a direct message, sets leaves, left, latency, and `complete` if it is
  /// unknown. For others, sets requested, and `complete` if that is independent of the receiver.
  virtual void depart(const Transfer& transfer, Passage& passage, const Resources& sender) = 0;
  /// Called at passage.granted. Sets answered.
  virtual void grant(const Transfer& /*transfer*/, Passage& /*passage*/) {}
  /// As grant(), for devices that use the receiver's resources before they answer.
  virtual void answer(const Transfer& transfer, Passage& passage, const Resources& /*receiver*/) {
    grant(transfer, passage);
  }
  /// Called at passage.answered. Sets leaves, left, latency, and complete. For a notified message, `complete`
  /// assumes that no network delays the data.
  virtual void transmit(const Transfer& /*transfer*/, Passage& /*passage*/, const Resources& /*sender*/) {}
  /// Called for a confirmed message that has arrived and whose receive was posted (passage.posted). Sets
  /// complete.
  virtual void confirm(const Transfer& /*transfer*/, Passage& /*passage*/) {}
  /// Called at passage.first. Sets stored.
  virtual void arrive(const Transfer& transfer, Passage& passage, const Resources& receiver) = 0;
  /// The receiver's program, whose clock is `at`, completes the receive: not before the message is stored and
  /// the receive was posted. Includes the copy of an unexpected message. Returns when the program continues.
  virtual Time receive(const Transfer& transfer, const Passage& passage, Time at, Matched matched) = 0;
  /// The duration of a copy within the memory of a rank, for a message to itself.
  [[nodiscard]] virtual Time copy_time(std::size_t bytes) const = 0;

  /// Counts a requested message once; depart() counts direct ones.
  virtual void count(const Transfer& /*transfer*/, const Passage& /*passage*/) {}
  /// True if spans or packets are recorded; record_sender() is then called.
  [[nodiscard]] virtual bool records() const { return false; }
  /// Records spans and packets of the sender's end, once all its times are known.
  virtual void record_sender(const Transfer& /*transfer*/, const Passage& /*passage*/) {}

  /// Constant for the life of the backend. kSend: of messages that wait for an answer.
  [[nodiscard]] virtual Progress progress(OperationKind /*kind*/) const { return Progress::kHardware; }
  /// The share of processor time that the progress thread uses while the program computes.
  [[nodiscard]] virtual double progress_share() const { return 0; }

  /// The cost of posting a receive, on the host.
  [[nodiscard]] virtual Time post_receive_cost() const = 0;

  /// The packets that this object's hardware has put on the network so far, over all ranks that it serves.
  [[nodiscard]] virtual WireCounters wire() const = 0;

  /// The part of the total time so far that `offramp predict` counts in cycles of the engine
  /// (BackendDescription::clock_parameter). nullopt: all of it.
  [[nodiscard]] virtual std::optional<Time> engine_time() const { return {}; }
};

/// Arguments of a new backend. The references outlive it.
struct BackendContext {
  int rank = 0;   // world rank; the first one if the backend serves several
  int ranks = 1;  // size of the world
  const Settings& settings;
  FaultRates faults;
  /// Receives the spans of the hardware's units; nullptr: none are recorded.
  SpanSink* spans = nullptr;
  /// Receives each packet that this rank's hardware sends, once; nullptr without a capture.
  PacketSink* packets = nullptr;
  /// The nodes on which the ranks run, the same for all backends of a comparison.
  MachineLayout machine = {};
  /// The baseline's settings, for hardware beside the same hosts: the costs of memory and processors.
  /// nullptr: use the figures of the hardware's own sources.
  const Settings* host = nullptr;
};

/// The duration of an operation on many ranks that all begin at time 0.
struct Forecast {
  std::string declined;  // the hardware's reason; the other fields are then meaningless
  std::string note;      // a note for the user, on hardware beyond what exists or parts left out; or empty
  bool what_if = false;  // for hardware with more memory than it has
  Time time;             // until the last rank is done
  Time engine;           // the part counted in cycles of the modelled engine; usually the same
  WireCounters wire;
};

/// Arguments of one topic of `offramp explain`. Texts are literals.
struct ExplainRequest {
  const Settings& settings;
  MachineLayout machine;
  Operation operation;                     // for topics about one operation
  std::span<const std::string> arguments;  // further words of the command line
};
/// The result of a topic: a text for the terminal, or an error.
struct Explanation {
  std::string text;
  std::string error;  // not empty: why there is no text
};
/// One topic: `offramp explain BACKEND TOPIC` calls render. Texts are literals.
struct ExplainTopic {
  std::string_view topic;
  std::string_view description;
  Explanation (*render)(const ExplainRequest& request) = nullptr;
};

/// A parameter with little or no effect. reason: continues "link = 200 Gb/s" and names the actual limit, as
/// in "has no effect over udp".
struct WithoutEffect {
  std::string_view parameter;
  std::string reason;
};

/// The algorithm of an operation that supports() declines.
inline Task<Outcome> declined_collective() {
  co_return Outcome::kFault;
}

/// Describes a built-in backend or a plugin to the registry.
struct BackendDescription {
  /// The version of this interface. It grows with every change that a compiled plugin would misread.
  static constexpr int kAbi = 14;
  int abi = kAbi;
  std::string_view name;
  std::string_view description;
  std::span<const Parameter> parameters;
  /// Returns a new backend, owned by the caller. The settings of the context are complete and checked.
  std::unique_ptr<Backend> (*create)(const BackendContext& context) = nullptr;

  /// The parameter (in MHz) whose cycles forecasts count; may be empty.
  std::string_view clock_parameter = {};
  std::span<const ExplainTopic> topics = {};
  /// Compares published figures with the model's, for `offramp explain validation`. May be nullptr.
  ValidationRows (*validation)() = nullptr;
  /// The parameters that have no effect given the others' values, set by the user or not; the user sees those
  /// that are set. nullptr: every parameter has an effect.
  std::vector<WithoutEffect> (*without_effect)(const Settings& settings) = nullptr;
  /// Describes the hardware below this number of ranks. nullptr: no description.
  Deployment (*deployment)(const Settings& settings, const MachineLayout& machine, int ranks) = nullptr;
  /// The hardware is one machine for all ranks and includes their interconnect: the user's network is unused.
  bool is_one_machine = false;
  /// The effective value of a parameter whose own value refers to another (0: that of the NIC). Returns
  /// nullopt if the value is literal. nullptr: all values are literal.
  std::optional<double> (*in_force)(const Settings& settings, std::string_view parameter) = nullptr;
  /// The parameters that a decision to buy depends on beside the times: shares of jobs, room for
  /// communicators, modes with other results. `offramp advise --details` prints them with their values.
  std::span<const std::string_view> in_production = {};
};

/// The `create` function of a backend that is constructed from its context: .create = make_backend<Wormhole>.
template <typename Model>
std::unique_ptr<Backend> make_backend(const BackendContext& context) {
  return std::make_unique<Model>(context);
}

}  // namespace offramp

/// The function that a plugin exports. Its description is valid as long as the plugin is loaded.
using offramp_backend_v1_function = const offramp::BackendDescription* (*)();
