"""tests/mpi: every program natively (it must pass there), then over every backend."""

import os

from launch import mpirun

# Programs for which a number of ranks is no case of its own.
LIMIT = 90


def run(arguments, tally):
    folder = os.path.join(arguments.build, "tests/mpi")
    programs = sorted(name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name)))
    for name in programs:
        for ranks in arguments.ranks:
            for backend in [None, *arguments.backends]:
                label = f"mpi/{name} {backend or 'native'} {ranks} ranks"
                if not tally.wants(label):
                    continue
                result = mpirun(arguments.build, backend, ranks, [os.path.join(folder, name)], LIMIT)
                ok = result.ok and f"ok {name}" in result.output
                tally.record(label, ok, result.output, result.seconds)
