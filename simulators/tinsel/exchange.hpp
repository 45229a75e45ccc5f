// One time step of graph applications on the machine's framework (POLite): every thread sends messages of one
// flit along its edges and receives as many. Threads handle one message at a time, and receive first.
#pragma once

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

/// The messages of one time step and the threads' software.
struct ExchangeSpec {
  int messages = 1;        // per thread, on all boards
  int crossing = 0;        // percentage for threads of neighbouring boards; the others stay on their board
  int send = 23;           // instructions per message
  int receive = 46;        // instructions per message, as for the clock tree
  int pipeline = 8;        // cycles between two instructions of a thread; a core issues one per cycle
  std::uint64_t seed = 1;  // for the destinations
};

/// Time from the first send until the last message is received. The machine must be idle and is reset.
/// Returns 0 if the machine did not finish: see Machine::run().
Time run_exchange(Machine& machine, const ExchangeSpec& exchange);

}  // namespace offramp::tinsel
