// Idle detection: the machine's own barrier, which notifies all threads that all of them wait and no message
// is in flight. A master on the bridge board sends a token to every board's detector in turn, and each
// answers. Rounds are repeated in three phases (read in [tinsel-src]; after Safra's algorithm). Tokens are
// messages of one flit that use routers and links like all others.
#pragma once

#include "offramp/kernel/arbiter.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

/// Costs that no document contains.
struct IdleSpec {
  int token_cycles = 22;       // master's work per board and round; fitted to [tinsel-asap]
  int round_cycles = 430;      // fixed part of a round; fitted to [tinsel-asap]
  int wake_instructions = 20;  // per thread between two calls; assumed
};

/// Phases of the rounds: probes until the machine is idle, then one round that releases the threads, and one
/// that lets them send again. A thread that was released early therefore cannot send to one that was not.
enum class IdlePhase : std::uint8_t { kProbe, kRelease, kEnable };

/// The threads as seen by the boards' detectors.
class IdleThreads {
 public:
  struct State {
    bool idle = false;  // all threads of the board are in tinselIdle()
    bool vote = false;  // and all their votes are positive
  };
  virtual ~IdleThreads() = default;
  /// Called when a token arrives at the board. vote: in later phases, the probe's result for all boards.
  virtual State token(Time at, int board, IdlePhase phase, bool vote) = 0;
  /// The master is ready for the next round. Call begin_round() to start it.
  virtual void round_over(Time end, IdlePhase phase) = 0;
};

/// The master and the detectors. The software of the machine must forward messages to it.
class IdleDetection {
 public:
  /// machine and threads must outlive this object.
  IdleDetection(Machine& machine, const IdleSpec& spec, IdleThreads& threads);

  /// Begins the next round, of phase(). `at` must not be before the machine's now().
  void begin_round(Time at);
  /// The phase of the present round, or of the next one between rounds.
  [[nodiscard]] IdlePhase phase() const { return phase_; }
  /// Handles a token at a board's detector. Returns false if the message is not a token.
  bool delivered(const Delivery& delivery);
  /// Handles an answer at the bridge board.
  void at_bridge(Time at, const MailboxMessage& message);

 private:
  Machine& machine_;
  const IdleSpec spec_;
  IdleThreads& threads_;
  Arbiter master_;
  IdlePhase phase_ = IdlePhase::kProbe;
  std::vector<std::uint64_t> received_;  // by board, at the previous token
  int answers_ = 0;
  bool all_idle_ = true;
  bool all_vote_ = true;
  // Modulo 2^32. 0 in a round of idle boards: no message is in flight.
  std::uint32_t balance_ = 0;  // messages sent minus received
};

/// The times of idle detection on an otherwise idle machine.
struct IdleTimes {
  Time round;         // the master's tokens to all boards and the answers
  Time barrier;       // from the last thread's call of tinselIdle() until all may send again
  WireCounters wire;  // traffic of the barrier
};
/// Simulates one barrier of all threads, with no other messages.
IdleTimes detect_idle(const MachineSpec& machine, const IdleSpec& idle);

}  // namespace offramp::tinsel
