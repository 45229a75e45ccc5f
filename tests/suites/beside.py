"""What lives beside Offramp: modelled time across calls of the MPI library's own, and other tools and programs."""

import os

from launch import mpirun

RUNS = 3


def times(output):
    return sorted(line for line in output.splitlines() if line.startswith("time "))


def meetings(arguments, tally, backend):
    """Clocks meet where ranks wait for each other, and are the same on every run."""
    label = f"beside/clocks meet across native calls {backend}"
    if not tally.wants(label):
        return
    program = os.path.join(arguments.build, "tests/meetings")
    seen, output, seconds, ok = set(), "", 0.0, True
    for _ in range(RUNS):
        result = mpirun(arguments.build, backend, 3, [program], 60, {"OFFRAMP_SUMMARY": "false"})
        seen.add(tuple(times(result.output)))
        output += result.output
        seconds += result.seconds
        ok = ok and result.ok and "ok meetings" in result.output
    tally.record(label, ok and len(seen) == 1 and len(next(iter(seen))) > 50, output, seconds)


def run(arguments, tally):
    for backend in arguments.backends:
        meetings(arguments, tally, backend)
