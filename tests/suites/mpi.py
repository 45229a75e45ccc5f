"""tests/mpi: every program natively (it must pass there), then over every backend."""

import os

from launch import mpirun

LIMIT = 90
# Programs about what the MPI library does beside: the number of ranks is no case of its own, the largest does.
BESIDE = {"attributes", "dynamic_processes", "errors_beside", "errors_more", "files_beside", "persistent_collectives",
          "threads_beside", "windows_beside"}


def run(arguments, tally):
    folder = os.path.join(arguments.build, "tests/mpi")
    programs = sorted(name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name)))
    for name in programs:
        for ranks in arguments.ranks if name not in BESIDE else [max(arguments.ranks)]:
            for backend in [None, *arguments.backends]:
                label = f"mpi/{name} {backend or 'native'} {ranks} ranks"
                if not tally.wants(label):
                    continue
                result = mpirun(arguments.build, backend, ranks, [os.path.join(folder, name)], LIMIT)
                ok = result.ok and f"ok {name}" in result.output
                tally.record(label, ok, result.output, result.seconds)
