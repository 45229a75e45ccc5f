"""Programs of MPICH beside Open MPI's, with libofframp.so in LD_PRELOAD, which hands over to the library that was built for MPICH. The fast
tier runs the cases of tests/mpi over the dealer (tests/fixtures/dealer.cpp), also with handles that are freed early, and the tests for MPI 4; the thorough tier runs the
programs of tests/mpi and tests/fortran natively and over every backend. With the same algorithms of the host, the modelled times equal
those over Open MPI."""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import pytest

from launch import DEALER, base_environment, mpi_of, run as launch
from mpi_programs import KEEP_HANDLES, Run, by_number, cases, freed_early, programs
from suites import fortran, mpi4

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Waits inside MPICH never yield, so programs run with as few ranks as they need.
RANKS = [2]


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


@pytest.fixture
def within(arguments):
    """The arguments of a suite for the build for MPICH."""
    build = os.path.join(arguments.build, "mpich")
    if not os.path.exists(os.path.join(build, "mpi.json")):
        pytest.skip("nothing was built for MPICH beside another library")
    return argparse.Namespace(**{**vars(arguments), "build": build})


def each_rank(build, command, backend, folder, name):
    """The modelled times of the ranks that `offramp run` started: it finds library and launcher by itself. The setting selects the
    host's collectives, which otherwise are those of the run's library."""
    path = os.path.join(folder, f"{name}.json")
    result = launch([os.path.join(build, "bin/offramp"), "run", "-n", "3", "--backend", backend, "--report", path, "--", *command],
                    base_environment({"OFFRAMP_HOST_COLLECTIVES": "openmpi"}), 90)
    if not result.ok or not os.path.exists(path):
        return None, result
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    return (report["mpi"].split()[0], [rank["modelled_time_ps"] for rank in report["each_rank"]]), result


def same_times(arguments, within, tally, backend):
    label = f"mpich/fixed_pattern takes the same modelled times, {backend}"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        ours, result = each_rank(arguments.build, [os.path.join(within.build, "tests/mpi_cases"), "fixed_pattern"], backend, folder, "mpich")
        theirs, other = each_rank(arguments.build, [os.path.join(arguments.build, "tests/mpi_cases"), "fixed_pattern"], backend, folder, "openmpi")
    ok = ours is not None and theirs is not None and ours[0] == "MPICH" and theirs[0] == "Open" and ours[1] == theirs[1]
    tally.record(label, ok, f"{ours}\n{theirs}\n{result.output}{other.output}", result.seconds + other.seconds)


def run_all(within, tally, backend, names, settings=None, how=""):
    for number, those in by_number(names, RANKS).items():
        Run(within, tally, lambda name, number=number: f"mpich/{name} {backend or 'native'} {number} ranks{how}", backend, number, settings,
            separate=False).all(those)


def test_cases_dealt(within, tally):
    run_all(within, tally, DEALER, sum(cases(within.build), []))


def test_freed_early(within, tally):
    names = [name for name in sum(cases(within.build), []) if name not in KEEP_HANDLES]
    run_all(within, tally, DEALER, names, freed_early(within.build), ", handles freed early")


def test_stand_alone_dealt(within, tally):
    """Programs whose begin or end of MPI differs over MPICH; those with sessions are among the tests for MPI 4."""
    run_all(within, tally, DEALER, ["dynamic_processes", "end_of_program", "thread_level"])


def test_fortran_dealt(within, tally):
    """MPICH's functions of all bindings call the same C functions; those of mpi_f08 are the ones with descriptors."""
    fortran.every_call(within, Within(tally), [DEALER], {"F08": "use mpi_f08"})


def test_same_times(arguments, within, tally):
    same_times(arguments, within, tally, "cclo")


def compile_by_abi_name(compiler, folder, source, program):
    """Links a program to a copy of MPICH's library under the name that programs of Intel MPI, MVAPICH, and Cray MPICH use."""
    words = subprocess.run([compiler, "-show"], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    linked = os.path.join(folder, "linked")
    subprocess.run([compiler, "-o", linked, "-x", "c", "-", "-Wl,--no-as-needed"], input="int main(void) { return 0; }", text=True, check=True,
                   timeout=60)
    needed = subprocess.run(["ldd", linked], capture_output=True, text=True, check=True, timeout=60).stdout
    name, original = re.search(r"(libmpich\.so\.12) => (\S+)", needed).groups()
    library = os.path.join(folder, "libmpi.so.12")
    with open(original, "rb") as old, open(library, "wb") as new:
        new.write(old.read().replace(name.encode() + b"\0", b"libmpi.so.12\0\0\0"))
    headers = [word for word in words if word.startswith("-I")]
    return original, launch([words[0], *headers, "-o", program, source, library, f"-Wl,-rpath,{folder}", "-lm"], base_environment(), 60)


def command_line(arguments, *words):
    """The command line of offramp run, without running it."""
    offramp = [os.path.join(arguments.build, "bin/offramp"), "run", "--dry-run"]
    return subprocess.run([*offramp, *words], env=base_environment(), capture_output=True, text=True, check=False, timeout=60).stdout


def test_abi_name(arguments, within, tally):
    label = "mpich/a program that is linked to libmpi.so.12"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "app")
        source = os.path.join(ROOT, "tests/mpi/fixed_pattern.c")
        original, compiled = compile_by_abi_name(mpi_of(within.build).compiler, folder, source, program)
        needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True, timeout=60).stdout
        # On systems with this name, it is often a link to MPICH's library, whose own name is libmpich.so.12.
        library, report = os.path.join(folder, "libmpi.so.12"), os.path.join(folder, "report.json")
        os.remove(library)
        os.symlink(original, library)
        line = command_line(arguments, "--", program)
        settings = {"LD_PRELOAD": os.path.join(arguments.build, "lib/libofframp.so"), "OFFRAMP_BACKEND": "cclo", "OFFRAMP_REPORT": report}
        result = launch([mpi_of(within.build).launcher, "-n", "2", program], base_environment(settings), 90)
        calls = {}
        if os.path.exists(report):
            with open(report, encoding="utf-8") as file:
                calls = json.load(file)["calls"]
    carried = [name for name in ("MPI_Sendrecv", "MPI_Bcast", "MPI_Reduce") if calls.get(name, {}).get("offloaded", 0) > 0]
    ok = compiled.ok and result.ok and "libmpich" not in needed and "ok fixed_pattern" in result.output and len(carried) == 3
    tally.record(label, ok and "libofframp-mpich.so" in line, f"{compiled.output}{needed}{line}{result.output}{calls}",
                 result.seconds)


def test_launcher_decides(arguments, within, tally):
    """A program that opens its MPI library itself, as interpreters do, gets the Offramp of the launcher in the request."""
    label = "mpich/an interpreter gets the Offramp of its launcher"
    if tally.wants(label):
        line = command_line(arguments, "--launcher", mpi_of(within.build).launcher, "--", sys.executable, "-c", "")
        tally.record(label, "libofframp-mpich.so" in line, line)


def test_only_mpi4(arguments, within, tally):
    mpi4.together(arguments, within.build, tally)


@pytest.mark.thorough
def test_products(arguments, within, tally):
    for backend in [None, *arguments.backends]:
        run_all(within, tally, backend, sorted([*programs(within.build), *sum(cases(within.build), [])]))


@pytest.mark.thorough
def test_fortran_products(within, tally):
    fortran.every_call(within, Within(tally), [None, *within.backends])


@pytest.mark.thorough
def test_same_times_everywhere(arguments, within, tally):
    for backend in arguments.backends:
        same_times(arguments, within, tally, backend)


@pytest.mark.thorough
def test_only_mpi4_one_by_one(arguments, within, tally):
    mpi4.one_by_one(arguments, within.build, tally)
