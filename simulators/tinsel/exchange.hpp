// What graph applications of the machine's framework (POLite) do in a time step: every thread sends messages
// of one flit along its edges and takes up as many. A thread's loop receives or sends one message at a time,
// and receives first.
#pragma once

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

struct ExchangeSpec {
  int messages = 1;        // of each thread of all boards
  int crossing = 0;        // per cent of them, for threads of neighbouring boards; others stay on theirs
  int send = 23;           // instructions for a message
  int receive = 46;        // as of the clock tree
  int pipeline = 8;        // cycles between two instructions of a thread; a core has one per cycle
  std::uint64_t seed = 1;  // of the destinations
};

/// From the first send until the last message is taken up. The machine must be idle and is reset.
Time run_exchange(Machine& machine, const ExchangeSpec& exchange);

}  // namespace offramp::tinsel
