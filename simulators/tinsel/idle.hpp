// Idle detection: the machine's own barrier, which tells all threads that all of them wait and nothing is on
// its way. A master on the bridge board sends a token to every board's detector in turn, and each answers;
// rounds follow each other in three phases (read in [tinsel-src]; after Safra's algorithm). Tokens are
// messages of one flit that cross the routers and links as all others do.
#pragma once

#include "offramp/kernel/arbiter.hpp"
#include "offramp/kernel/wire.hpp"
#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

struct IdleSpec {
  int token_cycles = 22;       // the master's work per board and round; fitted to [tinsel-asap]
  int round_cycles = 430;      // fixed part of a round; fitted to [tinsel-asap]
  int wake_instructions = 20;  // of each thread between two calls; assumed
};

/// What the rounds are about: until a probe finds the machine idle, probes; then a round that releases the
/// threads, and one that lets them send again. So no message of a thread that was released early reaches one
/// that was not.
enum class IdlePhase : std::uint8_t { kProbe, kRelease, kEnable };

/// The threads, as the boards' detectors see them.
class IdleThreads {
 public:
  struct State {
    bool idle = false;  // all of the board are in tinselIdle()
    bool vote = false;  // and all have voted for
  };
  virtual ~IdleThreads() = default;
  /// A token has come to the board. vote, in the other phases: what the probe has found on all boards.
  virtual State token(Time at, int board, IdlePhase phase, bool vote) = 0;
  /// The master is ready for the next round and begins it when it is told to.
  virtual void round_over(Time end, IdlePhase phase) = 0;
};

/// The master and the detectors. Who runs on the machine passes messages on to it.
class IdleDetection {
 public:
  IdleDetection(Machine& machine, const IdleSpec& spec, IdleThreads& threads);

  /// Begins the next round, of phase(). Not before the machine's now.
  void begin_round(Time at);
  [[nodiscard]] IdlePhase phase() const { return phase_; }
  /// The detector of a board has a token. False: the message is none.
  bool delivered(const Delivery& delivery);
  /// An answer is back at the bridge board.
  void at_bridge(Time at, const Message& message);

 private:
  Machine& machine_;
  const IdleSpec spec_;
  IdleThreads& threads_;
  Arbiter master_;
  IdlePhase phase_ = IdlePhase::kProbe;
  std::vector<std::uint64_t> received_;  // by board, at the token before
  int answers_ = 0;
  bool all_idle_ = true;
  bool all_vote_ = true;
  std::uint32_t balance_ = 0;  // of messages sent and received
};

/// What idle detection takes on a machine that does nothing else, as it is when it fires.
struct IdleTimes {
  Time round;         // the master's tokens to all boards and back
  Time barrier;       // from the last thread's call of tinselIdle() until all of them may send again
  WireCounters wire;  // of the barrier
};
IdleTimes detect_idle(const MachineSpec& machine, const IdleSpec& idle);

}  // namespace offramp::tinsel
