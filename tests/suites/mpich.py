"""Programs of MPICH beside Open MPI's: those of tests/mpi and tests/fortran natively and over the backends, with libofframp.so in
LD_PRELOAD, which hands over to the library that was built for MPICH. The modelled times are those that the same program has over Open MPI."""

import argparse
import json
import os
import tempfile

from launch import base_environment, mpi_of, run as launch
from mpi_programs import Run, cases, in_turn, least_ranks, programs
from suites import fortran, mpi4


class Within:
    """The tally, for a suite that is a part of this one."""

    def __init__(self, tally):
        self.tally = tally

    def wants(self, name):
        return self.tally.wants(f"mpich/{name}")

    def record(self, name, ok, output="", seconds=0.0):
        self.tally.record(f"mpich/{name}", ok, output, seconds)

    def skip(self, name, why):
        self.tally.skip(f"mpich/{name}", why)


def each_rank(build, command, backend, folder, name):
    """The modelled times of the ranks, which `offramp run` started: it finds library and launcher by itself."""
    path = os.path.join(folder, f"{name}.json")
    result = launch([os.path.join(build, "bin/offramp"), "run", "-n", "3", "--backend", backend, "--report", path, "--", *command],
                    base_environment(), 90)
    if not result.ok or not os.path.exists(path):
        return None, result
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    return (report["mpi"].split()[0], [rank["modelled_time_ps"] for rank in report["each_rank"]]), result


def same_times(arguments, build, tally, backend):
    label = f"mpich/fixed_pattern takes the same modelled times, {backend}"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        ours, result = each_rank(arguments.build, [os.path.join(build, "tests/mpi_cases"), "fixed_pattern"], backend, folder, "mpich")
        theirs, other = each_rank(arguments.build, [os.path.join(arguments.build, "tests/mpi_cases"), "fixed_pattern"], backend, folder, "openmpi")
    ok = ours is not None and theirs is not None and ours[0] == "MPICH" and theirs[0] == "Open" and ours[1] == theirs[1]
    tally.record(label, ok, f"{ours}\n{theirs}\n{result.output}{other.output}", result.seconds + other.seconds)


def run(arguments, tally):
    build = os.path.join(arguments.build, "mpich")
    if not os.path.exists(os.path.join(build, "mpi.json")):
        tally.skip("mpich", "nothing was built for MPICH beside another library")
        return
    within = argparse.Namespace(**{**vars(arguments), "build": build})
    names = sorted([*programs(build), *sum(cases(build), [])])
    for number, backend in enumerate([None, *arguments.backends]):
        # Waits inside MPICH never yield, so there are no more ranks than a program needs. Each program natively and over two
        # backends of six, with --thorough over all.
        chosen = names if backend is None or arguments.thorough else in_turn(names, number, 3)
        for ranks in sorted({max(2, least_ranks(name)) for name in names}):
            Run(within, tally, lambda name, backend=backend, ranks=ranks: f"mpich/{name} {backend or 'native'} {ranks} ranks",
                backend, ranks, separate=False).all([name for name in chosen if max(2, least_ranks(name)) == ranks])
    within.backends = arguments.backends if arguments.thorough else arguments.backends[1:2]
    fortran.run(within, Within(tally), arguments.build)
    mpi4.run(arguments, build, tally)
    for backend in arguments.backends:
        same_times(arguments, build, tally, backend)
