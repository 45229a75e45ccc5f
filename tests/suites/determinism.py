"""The modelled time is the same on every run, on every rank, and without mpirun."""

import json
import os
import tempfile

from launch import base_environment, mpirun, run as launch

RUNS, THOROUGH_RUNS = 6, 20


def clocks(report):
    return [rank["modelled_time_ps"] for rank in report["each_rank"]]


def repeated(arguments, tally, backend):
    runs = THOROUGH_RUNS if arguments.thorough else RUNS
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
            seen.add(tuple(clocks(report)))
            counted += report["arrival_order_dependences"]
    ok = len(seen) == 1 and not output and counted == 0 and min(next(iter(seen))) > 0
    tally.record(label, ok, f"{output}{sorted(seen)} {counted} dependences", seconds)


def times(output):
    return sorted(line for line in output.splitlines() if line.startswith("time "))


def without_mpirun(arguments, tally, backend):
    label = f"determinism/mpirun and memory fabric agree {backend}"
    if not tally.wants(label):
        return
    program = os.path.join(arguments.build, "tests/fixed_ops")
    under_mpirun = mpirun(arguments.build, backend, 3, [program], 60)
    in_process = launch([os.path.join(arguments.build, "tests/fixed_ops_memory"), backend], base_environment(), 60)
    left, right = times(under_mpirun.output), times(in_process.output)
    ok = under_mpirun.ok and in_process.ok and left == right and len(left) > 10
    tally.record(label, ok, f"{under_mpirun.output}\n-- in one process\n{in_process.output}", under_mpirun.seconds)


def run(arguments, tally):
    for backend in arguments.backends:
        repeated(arguments, tally, backend)
        without_mpirun(arguments, tally, backend)
