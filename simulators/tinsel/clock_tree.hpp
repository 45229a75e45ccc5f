// A clock tree in software, as the machine's authors have measured it: a tick goes down a tree of vertices,
// each of which sends to its children one after the other; acknowledgements come back up. The machine's
// framework for graphs runs the vertices (POLite, read in [tinsel-src]): a thread's loop receives or sends
// one message at a time.
#pragma once

#include <vector>

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

struct ClockTreeSpec {
  int depth = 1;
  int fan_out = 1;
  /// Instructions of a thread for a message: to send it, to receive it, and besides if the thread was asleep.
  int send = 23;
  int receive = 46;
  int wake = 82;
  int pipeline = 8;  // cycles between two instructions of a thread
};

/// Vertices of a tree.
std::int64_t vertices_of(const ClockTreeSpec& tree);
/// From the root's first send to its last acknowledgement. Neighbours lie near each other, as the framework's
/// partitioner (METIS) places them: whole subtrees on a mailbox, and on a board. Where there are more
/// vertices than threads, neighbours share threads. The machine must be idle and is reset.
Time run_clock_tree(Machine& machine, const ClockTreeSpec& tree);

}  // namespace offramp::tinsel
