"""The modelled time is the same on every run and on every rank, and so are sums with the native bits."""

import json
import os
import tempfile

from launch import mpirun

RUNS, THOROUGH_RUNS = 3, 20


def clocks(report):
    return [rank["modelled_time_ps"] for rank in report["each_rank"]]


# The times of a run are those that a world of all its ranks gives, or those of the clocks that the ranks have while it goes on.
CLOCKS = {"": {}, " with live clocks": {"OFFRAMP_LIVE_CLOCK": "true", "OFFRAMP_SETTLE_LIMIT": "0"}}


def repeated(arguments, tally, backend, clock):
    runs = THOROUGH_RUNS if arguments.thorough else RUNS
    label = f"determinism/{runs} runs of fixed_pattern {backend}{clock}"
    if not tally.wants(label):
        return
    program = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
    seen, output, seconds, counted = set(), "", 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        for _ in range(runs):
            result = mpirun(arguments.build, backend, 3, [program], 60, {"OFFRAMP_REPORT": path, **CLOCKS[clock]})
            seconds += result.seconds
            if not result.ok:
                output += result.output
                break
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            if report["settled"] == bool(clock):
                output += f"settled: {report['settled']}"
            seen.add(tuple(clocks(report)))
            counted += report["arrival_order_dependences"]
    ok = len(seen) == 1 and not output and counted == 0 and min(next(iter(seen))) > 0
    tally.record(label, ok, f"{output}{sorted(seen)} {counted} dependences", seconds)


def bits(result):
    """The lines of float_sums: per sum, a number for every rank's bits."""
    return [line for line in result.lines() if not line.startswith("offramp: ")]


def native_sums(arguments, tally, ranks):
    """With reductions = native sums have the native bits, and the modelled time is that of the hardware's own sums."""
    program = [os.path.join(arguments.build, "tests/float_sums")]
    labels = {backend: f"determinism/sums with the native bits {backend} {ranks} ranks" for backend in arguments.backends}
    if not any(map(tally.wants, labels.values())):
        return set()
    native = mpirun(arguments.build, None, ranks, program, 60)
    different = set()
    for backend in filter(lambda backend: tally.wants(labels[backend]), arguments.backends):
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


def sums(arguments, tally):
    different = set()
    for ranks in 3, 4:
        different |= native_sums(arguments, tally, ranks)
    label = "determinism/sums of the hardware have bits of their own"
    if tally.wants(label) and set(arguments.backends) > {"host"}:
        # Otherwise the program's numbers would not tell one order from another.
        tally.record(label, len(different) > 1, f"only over {sorted(different)}")


def run(arguments, tally):
    for backend in arguments.backends:
        for clock in CLOCKS:
            repeated(arguments, tally, backend, clock)
    sums(arguments, tally)
