#include "simulators/tinsel/idle.hpp"

#include "offramp/kernel/arbiter.hpp"

namespace offramp::tinsel {

Time idle_round(const MachineSpec& machine, const IdleSpec& idle) {
  // The master serves boards in order, so the farthest one's token leaves last.
  const Mesh& mesh = machine.mesh;
  Arbiter sending;
  Arbiter link;
  Time end;
  for (int board = 0; board < mesh.boards(); ++board) {
    const int hops = mesh.x(board) + mesh.y(board) + 1;  // the bridge is one hop before board (0, 0)
    const Time out = sending.acquire({}, machine.cycles(idle.token_cycles)).end;
    const Time back = link.acquire(out + machine.hop_latency() * (2 * hops), machine.link_flit()).begin;
    end = later(end, back);
  }
  return end + machine.cycles(idle.round_cycles);
}

Time idle_barrier(const MachineSpec& machine, const IdleSpec& idle) {
  // Threads of a core share its pipeline: all of them have to get through the call.
  const Time wake = machine.cycles(std::int64_t{idle.wake_instructions} * kThreadsPerCore);
  return idle_round(machine, idle) * 3 + wake;
}

}  // namespace offramp::tinsel
