// A clock tree in software, as measured by the machine's authors: a tick goes down a tree of vertices, each
// of them sending to its children one by one, and acknowledgements return. The machine's graph framework runs
// the vertices (POLite, read in [tinsel-src]); a thread's loop sends or receives one message at a time.
#pragma once

#include <vector>

#include "simulators/tinsel/machine.hpp"

namespace offramp::tinsel {

/// The tree and the software of its vertices. Every vertex above the leaves has fan_out children.
struct ClockTreeSpec {
  int depth = 1;
  int fan_out = 1;
  /// Instructions per message: sending, receiving, and additionally waking a sleeping thread.
  int send = 23;
  int receive = 46;
  int wake = 82;
  int pipeline = 8;  // cycles between two instructions of a thread
};

/// The number of vertices of a tree.
/// depth: levels below the root. fan_out: children of each vertex that is not a leaf.
std::int64_t vertices_of(const ClockTreeSpec& tree);
/// Time from the root's first send to its last acknowledgement. Neighbouring vertices are close, as the
/// framework's partitioner (METIS) places them: whole subtrees on one mailbox and one board. With more
/// vertices than threads, neighbours share threads. The machine must be idle and is reset.
/// Returns 0 if the machine did not finish: see Machine::run().
Time run_clock_tree(Machine& machine, const ClockTreeSpec& tree);

}  // namespace offramp::tinsel
