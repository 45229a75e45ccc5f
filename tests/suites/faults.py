"""Faults of the modelled wire: the program's results stay right, and the modelled time pays for the repair."""

import json
import os
import tempfile

from launch import mpirun

PROGRAMS = ["fixed_pattern", "sizes", "bcast", "reduce", "gather", "overtaking"]
RANKS = 3
BACKEND = "zrlmpi"
RATES = {"1e-3": (1e-3, 1e-3, 1e-3), "5e-2": (5e-2, 5e-2, 5e-2), "loss 5e-2": (5e-2, 0, 0)}


def faults(rates, seed=7):
    loss, duplication, reordering = rates
    return {"OFFRAMP_FAULTS_SEED": str(seed), "OFFRAMP_FAULTS_LOSS": str(loss),
            "OFFRAMP_FAULTS_DUPLICATION": str(duplication), "OFFRAMP_FAULTS_REORDERING": str(reordering)}


def run_program(arguments, name, settings):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = [os.path.join(arguments.build, "tests/mpi", name)]
        result = mpirun(arguments.build, BACKEND, RANKS, command, 120, {"OFFRAMP_REPORT": path, **settings})
        report = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        return result, report


def clocks(report):
    return [rank["modelled_time_ps"] for rank in report["each_rank"]]


def repaired(arguments, tally, name, label, rates, whole_runs):
    """Passes as without faults; what was lost was repeated, and that took longer. whole_runs: those without faults."""
    label = f"faults/{name} at {label}"
    if not tally.wants(label):
        return
    if name not in whole_runs:
        whole_runs[name] = run_program(arguments, name, {})
    whole, good = whole_runs[name]
    hurt, bad = run_program(arguments, name, faults(rates))
    ok = whole.ok and hurt.ok and good is not None and bad is not None
    text = whole.output + hurt.output
    if ok:
        wire = bad["wire"]
        text += f"\n{good['modelled_time_ns']} ns, with faults {bad['modelled_time_ns']} ns, {wire}"
        # A sender whose receiver is late repeats its request without any loss.
        ok = bad["modelled_time_ns"] > good["modelled_time_ns"] and good["wire"]["lost"] == 0 < wire["lost"]
        ok = ok and wire["retransmissions"] > good["wire"]["retransmissions"]
    tally.record(label, ok, text, hurt.seconds)


def reproducible(arguments, tally):
    label = "faults/the same seed gives the same modelled times, another one others"
    if not tally.wants(label):
        return
    more = {f"OFFRAMP_FAULTS_{kind}": "0.02" for kind in ("CORRUPTION", "DELAY", "OUTAGE")}
    runs = [run_program(arguments, "fixed_pattern", {**faults(RATES["5e-2"], seed), **more}) for seed in (7, 7, 8)]
    ok = all(result.ok and report is not None for result, report in runs)
    if ok:
        first, second, other = (clocks(report) for _, report in runs)
        ok = first == second != other
    tally.record(label, ok, "".join(result.output for result, _ in runs), sum(result.seconds for result, _ in runs))


def unrepairable(arguments, tally):
    """MPI_ERRORS_ARE_FATAL: the program ends with a message instead of waiting for ever."""
    label = "faults/a message that cannot be repaired is an MPI error"
    if not tally.wants(label):
        return
    settings = {**faults((0.5, 0, 0)), "OFFRAMP_ZRLMPI_RETRIES": "0"}
    result, _ = run_program(arguments, "fixed_pattern", settings)
    ok = not result.ok and all(word in result.output for word in ["offramp: rank", f"{BACKEND} gave up"])
    ok = ok and "still running" not in result.output
    tally.record(label, ok, result.output, result.seconds)


def run(arguments, tally):
    whole_runs = {}
    for label, rates in RATES.items():
        for name in PROGRAMS:
            repaired(arguments, tally, name, label, rates, whole_runs)
    reproducible(arguments, tally)
    unrepairable(arguments, tally)
