// Idle detection: the machine's own barrier. A master on the bridge board probes every board's detector in
// turn, in three phases (probe, release with acknowledgement, sends enabled again); original: Safra's
// algorithm.
#pragma once

#include "simulators/tinsel/spec.hpp"

namespace offramp::tinsel {

struct IdleSpec {
  int token_cycles = 26;       // the master's work per board and round; fitted to P3
  int round_cycles = 398;      // fixed part of a round; fitted to P3
  int wake_instructions = 20;  // of each thread between two calls; assumed
};

/// One round trip of the master to all boards: P2's estimate 2 L (x + y - 1), the tokens one after the other.
Time idle_round(const MachineSpec& machine, const IdleSpec& idle);
/// From the last thread's call of tinselIdle() to the return of all of them.
Time idle_barrier(const MachineSpec& machine, const IdleSpec& idle);

}  // namespace offramp::tinsel
