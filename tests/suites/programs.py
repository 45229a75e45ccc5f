"""Real programs and libraries: the same answers as natively, and the modelled times that a replay gives. The fast tier runs some of them
over the dealer (tests/fixtures/dealer.cpp), the thorough tier all of them over every backend. The recording of each is its native run,
carried by the MPI library, and is replayed on every backend."""

import json
import os
import subprocess
import tempfile

import pytest

from launch import DEALER, plugins
from real_programs import PROGRAMS, family, missing, with_settings
from replays import differences, replay

# The fast tier runs these, on the larger number of ranks: solvers and collectives, objects of Python, a graph partitioner that receives
# from any rank, and transforms that make the same calls in every run.
FAST = {"hpcc", "mpi4py", "ptscotch", "fftw"}

# The tests run these with the larger number only; scripts/compatibility with all numbers.
ONE_COUNT = {"mumps", "coarrays", "mpi4py-fft", "mpi4py.futures"}

# These make the same calls in every run; others receive from any rank, or use random numbers.
ALWAYS_THE_SAME = {"fftw", "hdf5", "mpi4py-fft"}


def recorded(arguments, execute, backend, ranks, folder):
    """A run with a recording and a report of its own: returns the result, the answers, the recording's file, and the report or None."""
    file, report = os.path.join(folder, f"{backend}.rec"), os.path.join(folder, f"{backend}.json")
    result, answers = execute(with_settings(arguments, {"OFFRAMP_RECORD": file, "OFFRAMP_REPORT": report}), backend, ranks)
    if not os.path.exists(report):
        return result, answers, file, None
    with open(report, encoding="utf-8") as opened:
        return result, answers, file, json.load(opened)


def fingerprint(arguments, file):
    """The calls of the program, independent of the order of arrival and of time."""
    told = subprocess.run([os.path.join(arguments.build, "bin/offramp"), "info", "--json", file], capture_output=True, text=True,
                          check=False, timeout=120)
    return json.loads(told.stdout)["fingerprint"] if told.returncode == 0 else None


def everywhere(arguments, tally, name, execute, ranks):
    """Recorded while the MPI library carries it: the answers, the calls, and the modelled times on each backend."""
    with tempfile.TemporaryDirectory() as folder:
        result, answers, file, _ = recorded(arguments, execute, "off", ranks, folder)
        found = replay(arguments.build, file, "--compare", ",".join(arguments.backends), "--check")
        did = fingerprint(arguments, file)
    ok = (result.ok and answers is not None and not isinstance(found, str) and len(found) == len(arguments.backends)
          and not any(one["unfinished"] for one in found) and found[0]["events"] > 30)
    tally.record(f"programs/{name} recorded natively, replayed on every backend {ranks} ranks", ok, f"{result.output}\n{found}", result.seconds)
    return answers, did, {one["backend"]: one["modelled_time_ps"] for one in found} if ok else {}


def carried(arguments, tally, name, execute, backend, ranks, elsewhere):
    """The answers are those of the native run, and the reported times those of a replay of this run's recording. If the order of arrival
    decided nothing and the program made the same calls (PT-Scotch uses random numbers), they are also those of the native recording."""
    native, did, times = elsewhere
    with tempfile.TemporaryDirectory() as folder:
        result, answers, file, report = recorded(arguments, execute, backend, ranks, folder)
        plugin = ["--set", f"plugin_path={plugins(arguments.build)}"] if backend == DEALER else []
        again = replay(arguments.build, file, "--backend", backend, *plugin)
        same = fingerprint(arguments, file) == did
    problems = "" if result.ok and answers is not None and answers == native else f"{answers}\nnative: {native}\n"
    if report is None or isinstance(again, str):
        problems += f"no report, or no replay: {again}"
    else:
        problems += differences(report, again[0])
        if name in ALWAYS_THE_SAME and (not same or report["arrival_order_dependences"] > 0):
            problems += "the program did something else than in the native run\n"
        if (same and backend in arguments.backends and report["arrival_order_dependences"] == 0
                and times.get(backend) != report["modelled_time_ps"]):
            problems += f"the native run's recording takes {times.get(backend)} ps, the run {report['modelled_time_ps']} ps"
    tally.record(f"programs/{name} {backend} {ranks} ranks", not problems, f"{result.output}\n{problems}", result.seconds)


def run_over(arguments, tally, name, execute, ranks, carriers):
    if not tally.wants(f"programs/{name}"):
        return
    if reason := missing(arguments, name):
        tally.skip(f"programs/{name}", reason)
        return
    if family(arguments) != "openmpi" and execute(arguments, None, ranks)[1] is None:
        tally.skip(f"programs/{name} {ranks} ranks", "it does not finish natively over this library")
        return
    elsewhere = everywhere(arguments, tally, name, execute, ranks)
    for backend in carriers:
        carried(arguments, tally, name, execute, backend, ranks, elsewhere)


@pytest.mark.parametrize("program", [program for program in PROGRAMS if program[0] in FAST], ids=lambda program: program[0])
def test_dealt(arguments, tally, program):
    name, execute, counts = program
    run_over(arguments, tally, name, execute, counts[-1], [DEALER])


@pytest.mark.thorough
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program[0])
def test_products(arguments, tally, program):
    name, execute, counts = program
    for ranks in (counts[-1:] if name in ONE_COUNT else counts) if tally.wants(f"programs/{name}") else []:
        # Offramp in the process may hide problems without it.
        result, native = execute(arguments, None, ranks)
        if native is not None or family(arguments) == "openmpi":
            tally.record(f"programs/{name} native {ranks} ranks", result.ok and native is not None, result.output, result.seconds)
        run_over(arguments, tally, name, execute, ranks, arguments.backends)
