"""Faults of the modelled wire: the program's results stay right, and the modelled time includes the repair. The fast tier runs several
programs at once at each rate, the thorough tier each by itself."""

import json
import os
import tempfile

import pytest

from launch import mpirun
from replays import clocks

PROGRAMS = ["fixed_pattern", "sizes", "bcast", "reduce", "gather", "overtaking"]
SOME = ["fixed_pattern", "reduce", "overtaking"]
RANKS = 3
BACKEND = "zrlmpi"
RATES = {"1e-3": (1e-3, 1e-3, 1e-3), "5e-2": (5e-2, 5e-2, 5e-2), "loss 5e-2": (5e-2, 0, 0)}


def faults(rates, seed=7):
    loss, duplication, reordering = rates
    return {"OFFRAMP_FAULTS_SEED": str(seed), "OFFRAMP_FAULTS_LOSS": str(loss),
            "OFFRAMP_FAULTS_DUPLICATION": str(duplication), "OFFRAMP_FAULTS_REORDERING": str(reordering)}


def run_cases(arguments, names, settings):
    """Runs cases of tests/mpi under one MPI_Init. Returns the result, and the report or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = [os.path.join(arguments.build, "tests/mpi_cases"), *names]
        result = mpirun(arguments.build, BACKEND, RANKS, command, 120, {"OFFRAMP_REPORT": path, **settings})
        report = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        return result, report


def repaired(arguments, tally, names):
    """The cases pass as without faults; lost packets were repeated, which took longer."""
    labels = {rate: f"faults/{', '.join(names)} at {rate}" for rate in RATES}
    if not any(map(tally.wants, labels.values())):
        return
    without = run_cases(arguments, names, {})
    for rate, label in labels.items():
        if tally.wants(label):
            compared(tally, label, without, run_cases(arguments, names, faults(RATES[rate])))


def compared(tally, label, without, with_faults):
    (whole, good), (hurt, bad) = without, with_faults
    ok = whole.ok and hurt.ok and good is not None and bad is not None
    text = whole.output + hurt.output
    if ok:
        wire = bad["wire"]
        text += f"\n{good['modelled_time_ns']} ns, with faults {bad['modelled_time_ns']} ns, {wire}"
        # A sender with a late receiver repeats its request without any loss.
        ok = bad["modelled_time_ns"] > good["modelled_time_ns"] and good["wire"]["lost"] == 0 < wire["lost"]
        ok = ok and wire["retransmissions"] > good["wire"]["retransmissions"]
    tally.record(label, ok, text, hurt.seconds)


def test_reproducible(arguments, tally):
    label = "faults/the same seed gives the same modelled times, another one others"
    if not tally.wants(label):
        return
    more = {f"OFFRAMP_FAULTS_{kind}": "0.02" for kind in ("CORRUPTION", "DELAY", "OUTAGE")}
    runs = [run_cases(arguments, ["fixed_pattern"], {**faults(RATES["5e-2"], seed), **more}) for seed in (7, 7, 8)]
    ok = all(result.ok and report is not None for result, report in runs)
    if ok:
        first, second, other = (clocks(report) for _, report in runs)
        ok = first == second != other
    tally.record(label, ok, "".join(result.output for result, _ in runs), sum(result.seconds for result, _ in runs))


def test_unrepairable(arguments, tally):
    """MPI_ERRORS_ARE_FATAL: the program ends with a message instead of waiting for ever."""
    label = "faults/a message that cannot be repaired is an MPI error"
    if not tally.wants(label):
        return
    settings = {**faults((0.5, 0, 0)), "OFFRAMP_ZRLMPI_RETRIES": "0"}
    result, _ = run_cases(arguments, ["fixed_pattern"], settings)
    ok = not result.ok and all(word in result.output for word in ["offramp: rank", f"{BACKEND} gave up"])
    ok = ok and "still running" not in result.output
    tally.record(label, ok, result.output, result.seconds)


def test_repaired(arguments, tally):
    repaired(arguments, tally, SOME)


@pytest.mark.thorough
def test_each_program(arguments, tally):
    for name in PROGRAMS:
        repaired(arguments, tally, [name])
