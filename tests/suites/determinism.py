"""The modelled time is the same in every run and on every rank, and so are sums with the native bits. The fast tier records a program
several times over the dealer (tests/fixtures/dealer.cpp) and replays that on every backend; the thorough tier repeats runs over every
backend."""

import json
import os
import tempfile

import pytest

from launch import DEALER, mpirun
from replays import clocks, replay

RUNS, THOROUGH_RUNS = 3, 20


def test_recordings(arguments, tally):
    """A run is settled like a replay of its recording (suite compare), so all recordings of a program take the same times."""
    label = f"determinism/{RUNS} recordings of fixed_pattern take the same times on every backend"
    if not tally.wants(label):
        return
    program, times, output, seconds = [os.path.join(arguments.build, "tests/mpi/fixed_pattern")], set(), "", 0.0
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "a.rec")
        for _ in range(RUNS):
            result = mpirun(arguments.build, DEALER, 3, program, 60, {"OFFRAMP_RECORD": file, "OFFRAMP_SUMMARY": "false"})
            again = replay(arguments.build, file, "--compare", ",".join(arguments.backends))
            output, seconds = f"{output}{result.output}", seconds + result.seconds
            times.add(again if isinstance(again, str) else str([(lane["backend"], clocks(lane), lane["arrival_order_dependences"]) for lane in again]))
    tally.record(label, len(times) == 1 and str([0, 0, 0]) not in "".join(times), f"{output}{times}", seconds)


def repeated(arguments, tally, backend, runs):
    label = f"determinism/{runs} runs of fixed_pattern {backend}"
    if not tally.wants(label):
        return
    program = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
    seen, output, seconds, counted = set(), "", 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        for _ in range(runs):
            result = mpirun(arguments.build, backend, 3, [program], 60, {"OFFRAMP_REPORT": path})
            seconds += result.seconds
            if not result.ok:
                output += result.output
                break
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            if not report["settled"]:
                output += f"settled: {report['settled']}"
            seen.add(tuple(clocks(report)))
            counted += report["arrival_order_dependences"]
    ok = len(seen) == 1 and not output and counted == 0 and min(next(iter(seen))) > 0
    tally.record(label, ok, f"{output}{sorted(seen)} {counted} dependences", seconds)


def bits(result):
    """The lines of float_sums: per sum, a number for every rank's bits."""
    return [line for line in result.lines() if not line.startswith("offramp: ")]


def native_sums(arguments, tally, ranks, carriers):
    """With reductions = native, sums have the native bits, and the modelled time is that of the hardware's own sums."""
    program = [os.path.join(arguments.build, "tests/float_sums")]
    labels = {backend: f"determinism/sums with the native bits {backend} {ranks} ranks" for backend in carriers}
    if not any(map(tally.wants, labels.values())):
        return set()
    native = mpirun(arguments.build, None, ranks, program, 60)
    different = set()
    for backend in filter(lambda backend: tally.wants(labels[backend]), carriers):
        with tempfile.TemporaryDirectory() as folder:
            reports = []
            for reductions in "hardware", "native":
                path = os.path.join(folder, reductions)
                result = mpirun(arguments.build, backend, ranks, program, 60,
                                {"OFFRAMP_REDUCTIONS": reductions, "OFFRAMP_REPORT": path})
                with open(path, encoding="utf-8") as file:
                    reports.append(json.load(file))
                if reductions == "hardware" and bits(result) != bits(native):
                    different.add(backend)
        ok = (native.ok and result.ok and len(bits(native)) > 60 and bits(result) == bits(native)
              and clocks(reports[0]) == clocks(reports[1]) and reports[0]["calls"] == reports[1]["calls"]
              and reports[0]["wire"] == reports[1]["wire"])
        tally.record(labels[backend], ok, f"{native.output}\n{result.output}\n{reports[0]['calls']}\n"
                     f"{reports[1]['calls']}", result.seconds)
    return different


def sums(arguments, tally, numbers, carriers, enough):
    """enough: the number of carriers that must have sums of their own; otherwise the program's numbers would not distinguish two orders."""
    different = set()
    for ranks in numbers:
        different |= native_sums(arguments, tally, ranks, carriers)
    label = f"determinism/sums of the hardware have bits of their own, {', '.join(carriers)}"
    if tally.wants(label):
        tally.record(label, len(different) >= enough, f"only over {sorted(different)}")


def test_sums(arguments, tally):
    sums(arguments, tally, [4], [DEALER], 1)


@pytest.mark.thorough
def test_many_runs(arguments, tally):
    for backend in arguments.backends:
        repeated(arguments, tally, backend, THOROUGH_RUNS)


@pytest.mark.thorough
def test_sums_of_each_backend(arguments, tally):
    sums(arguments, tally, [3, 4], arguments.backends, 2)
