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

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "offramp/kernel/span.hpp"
#include "offramp/kernel/task.hpp"
#include "offramp/kernel/time.hpp"
#include "offramp/kernel/wire.hpp"
#include "offramp/model/message.hpp"
#include "offramp/model/operation.hpp"
#include "offramp/model/parameter.hpp"
#include "offramp/model/team.hpp"
#include "offramp/model/verdict.hpp"

namespace offramp {

class PacketSink;  // offramp/kernel/packet.hpp

class Backend {
 public:
  virtual ~Backend() = default;

  /// Whether the hardware carries the operation. Called for every message and collective: allocates nothing
  /// on a yes, and nothing on a no that it has given before. All ranks of a collective must come to the same
  /// answer, so it may depend on the operation and on what the backend was created with only.
  [[nodiscard]] virtual Verdict supports(const Operation& operation) const = 0;

  virtual Departure depart(const Transfer& transfer, Time issued, Units& units) = 0;
  /// posted: the host clock at which the receive was issued. Only after a handshake departure.
  virtual Stamp match(const Transfer& transfer, const Stamp& departure, Time posted) = 0;
  virtual Time receive(const Transfer& transfer, const Stamp& departure, Time posted, Units& units) = 0;
  virtual Time complete_send(const Transfer& transfer, const Stamp& reply, Units& units) = 0;
  /// How many of Units the hardware uses: those with an index below.
  [[nodiscard]] virtual std::size_t units() const { return Units::kMaximum; }
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
  /// Receives each packet that this rank's hardware sends, once; null when no capture was asked for.
  PacketSink* packets = nullptr;
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
  static constexpr int kAbi = 2;
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
  /// The parameters that make no difference beside the others' values, whether the user has set them or not:
  /// those that are set are reported. Null: all of them always count.
  std::vector<WithoutEffect> (*without_effect)(const Settings& settings) = nullptr;
};

}  // namespace offramp

/// A plugin exports this: a description that lives as long as the plugin is loaded.
using offramp_backend_v1_function = const offramp::BackendDescription* (*)();
