// Idle detection: the machine's own barrier. A master on the bridge board sends a token to every board's
// detector in turn, and each answers; in three phases (probe, release with acknowledgement, sends enabled
// again); original: Safra's algorithm. Tokens are messages of one flit that cross the routers and links as
// all others do (read in code).
#pragma once

#include "offramp/kernel/wire.hpp"
#include "simulators/tinsel/spec.hpp"

namespace offramp::tinsel {

struct IdleSpec {
  int token_cycles = 22;       // the master's work per board and round; fitted to P3
  int round_cycles = 430;      // fixed part of a round; fitted to P3
  int wake_instructions = 20;  // of each thread between two calls; assumed
};

/// What idle detection takes on a machine that does nothing else, as it is when it fires.
struct IdleTimes {
  Time round;         // the master's tokens to all boards and back
  Time barrier;       // from the last thread's call of tinselIdle() to the return of all of them
  WireCounters wire;  // of the barrier
};
IdleTimes detect_idle(const MachineSpec& machine, const IdleSpec& idle);

}  // namespace offramp::tinsel
