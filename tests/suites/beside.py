"""Offramp beside others: modelled time across the MPI library's own calls, and other tools and programs."""

import os
import re

from launch import base_environment, mpi_of, mpirun, run as launch

RUNS = 2
# They send messages, or read and write memory, which takes time beyond that of waiting.
MODELLED = ("MPI_Allreduce_inter", "MPI_Neighbor_", "MPI_Ineighbor_", "MPI_Win_fence", "MPI_Win_post", "MPI_Win_wait", "MPI_Win_test")
MOST = 100_000  # nanoseconds


def times(output):
    return sorted(line for line in output.splitlines() if line.startswith("time "))


def is_late(line):
    _, call, _, seen, due = line.split()
    return not int(due) <= int(seen) <= int(due) + (MOST if call.startswith(MODELLED) else 0)


def test_meetings(arguments, tally, some_backend):
    """Clocks are equal where ranks wait for each other, and the same on every run; where neighbours exchange data, they
    are later by the messages."""
    label = f"beside/clocks meet across native calls {some_backend}"
    if not tally.wants(label):
        return
    line = [os.path.join(arguments.build, "bin/offramp"), "run", "-n", "3", "--backend", some_backend, "--clock", "settled", "--",
            os.path.join(arguments.build, "tests/meetings")]
    runs = [launch(line, base_environment(), 120) for _ in range(RUNS)]
    seen = times(runs[0].output)
    late = [line for line in seen if is_late(line)]
    ok = all(run.ok and "ok meetings" in run.output and times(run.output) == seen for run in runs) and len(seen) > 50 and not late
    tally.record(label, ok, "\n".join([*late, *(run.output for run in runs)]), sum(run.seconds for run in runs))


def tool_counts(output):
    return sorted(line for line in output.splitlines() if line.startswith("tool: "))


def test_profiling_tool(arguments, tally, backend="host"):
    """A PMPI tool before Offramp sees every call of the program; one behind it does no harm."""
    label = f"beside/a PMPI tool before and after {backend}"
    if not tally.wants(label):
        return
    tool, library = (os.path.join(arguments.build, name) for name in ("tests/libpmpi_tool.so", "lib/libofframp.so"))
    program = [os.path.join(arguments.build, "tests/mpi/fixed_pattern")]
    native = mpirun(arguments.build, None, 3, program, 60, variables={"LD_PRELOAD": tool})
    first = mpirun(arguments.build, backend, 3, program, 60, {"LD_PRELOAD": f"{tool}:{library}"})
    second = mpirun(arguments.build, backend, 3, program, 60, {"LD_PRELOAD": f"{library}:{tool}"})
    proof = f"offramp: {backend}, 3 ranks"
    ok = (all(result.ok and "ok fixed_pattern" in result.output for result in (native, first, second))
          and len(tool_counts(native.output)) == 3 and tool_counts(native.output) == tool_counts(first.output)
          and proof in first.output and proof in second.output)
    tally.record(label, ok, f"{native.output}\n-- first\n{first.output}\n-- second\n{second.output}",
                 native.seconds + first.seconds + second.seconds)


def test_children(arguments, tally):
    """Programs started by the program get the native environment."""
    label = "beside/programs that the program starts"
    if not tally.wants(label):
        return
    program = [os.path.join(arguments.build, "tests/children")]
    native = mpirun(arguments.build, None, 2, program, 60)
    result = mpirun(arguments.build, "host", 2, program, 60, {"OFFRAMP_SUMMARY": "false"})
    shown = [sorted(line for line in run.output.splitlines() if line.startswith("child: "))
             for run in (native, result)]
    ok = native.ok and result.ok and "ok children" in result.output and shown[0] == shown[1]
    tally.record(label, ok, native.output + result.output, result.seconds)


def test_edges(arguments, tally, backend="host"):
    """A race of the MPI library, in which programs hang natively, does not happen."""
    label = f"beside/MPI_Dist_graph_create after other operations {backend}"
    if not tally.wants(label):
        return
    if mpi_of(arguments.build).skips(tally, label, "openmpi", "the race is Open MPI's; MPICH ends at the mistakes in its arguments"):
        return
    result = mpirun(arguments.build, backend, 3, [os.path.join(arguments.build, "tests/edges")], 60,
                    {"OFFRAMP_SUMMARY": "false"})
    tally.record(label, result.ok and "ok edges" in result.output, result.output, result.seconds)


def test_native_collectives(arguments, tally, backend="host"):
    """Making and freeing communicators needs no other exchanges of the MPI library: each one costs time slices on shared cores, as its
    waits may never yield."""
    communicators, most = 300, 30
    for build in (arguments.build, os.path.join(arguments.build, "mpich")):
        if not os.path.exists(os.path.join(build, "mpi.json")):
            continue
        label = f"beside/{communicators} communicators, without collectives of {mpi_of(build).family} {backend}"
        if not tally.wants(label):
            continue
        preload = ":".join(os.path.join(build, name) for name in ("lib/libofframp.so", "tests/libnative_collectives.so"))
        program = [os.path.join(build, "tests/mpi_cases"), "comm_cycles"]
        result = mpirun(build, backend, 2, program, 60, {"LD_PRELOAD": preload})
        counts = [int(count) for count in re.findall(r"^native collectives: (\d+)$", result.output, re.M)]
        ok = result.ok and "ok comm_cycles" in result.output and len(counts) == 2 and 0 < max(counts) <= most
        tally.record(label, ok, result.output, result.seconds)
