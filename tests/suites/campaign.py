"""Campaigns of wire faults over the programs of tests/mpi: each run ends with right data or an MPI error.

Here a fixed part of it. scripts/nightly runs all programs."""

import json
import os
import sys
import tempfile

import pytest

from launch import base_environment, mpirun, run as launch

pytestmark = pytest.mark.thorough

# Together they have messages of all kinds and sizes, the collectives that the hardware carries, and those that it declines.
PROGRAMS = ["fixed_pattern", "reduce", "nonblocking", "other_collectives", "overtaking"]
RUNS = 5
RANKS = 3
LIMIT = 60
# With the usual placement few ranks share a board, and a board has no links within.
APART = {"tinsel.placement": "apart"}
FAULTLESS = ("aie",)  # its array has no links that fail
# Retries that end at once keep the clock of a run in which everything fails small.
ALL_FAIL = {"OFFRAMP_TINSEL_PLACEMENT": "apart", "OFFRAMP_FAULTS_SCRIPT": "lose *>*"}


def faulty(arguments):
    return [backend for backend in arguments.backends if backend not in FAULTLESS]


def campaign(arguments, program, *options, settings=None, run_limit=LIMIT, limit=LIMIT * RUNS):
    script = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fault_campaign.py")
    command = [sys.executable, script, "--build", arguments.build, "--json", "--time-limit", str(run_limit)]
    for key, value in (settings or {}).items():
        command += ["--set", f"{key}={value}"]
    result = launch([*command, *options, "--", *program], base_environment(), limit)
    begin = result.output.find("{\n")
    return result, json.loads(result.output[begin:result.output.rindex("}") + 1]) if begin >= 0 else None


def mpi_program(arguments, name):
    return [os.path.join(arguments.build, "tests/mpi", name)]


def test_good_runs(arguments, tally):
    for number, name in enumerate(PROGRAMS):
        label = f"campaign/{name}"
        if not tally.wants(label):
            continue
        with tempfile.TemporaryDirectory() as folder:
            backends = ",".join(faulty(arguments))
            options = ["-n", str(RANKS), "--backend", backends, "--rates", "1e-1,1e-2", "--kinds", "all,loss", "--runs", str(RUNS), "--seed", str(RUNS * number), "--shrink-runs", "0",
                       "--expect", f"ok {name}", "--folder", folder]
            result, found = campaign(arguments, mpi_program(arguments, name), *options, settings=APART)
        ok = result.ok and found is not None and found["runs"] == RUNS and found["faults"] > 0
        ok = ok and sum(found["results"][name] for name in ("ok", "no fault", "MPI error")) == RUNS and found["results"]["ok"] > 0
        tally.record(label, ok, result.output, result.seconds)


def calls_of(output):
    """The results of each call on each rank: {call: {rank: good or error}}."""
    calls = {}
    for line in output.splitlines():
        words = line.split()
        if len(words) >= 5 and words[0] == "call" and words[2] == "rank":
            calls.setdefault(words[1], {})[int(words[3])] = words[4]
    return calls


def test_everybody_hears(arguments, tally):
    """All packets are lost: each waiting rank gets an error, and all ranks reach the end. Switches repair what sharp's trees carry."""
    for backend in faulty(arguments):
        label = f"campaign/all ranks concerned get the error over {backend}"
        if not tally.wants(label):
            continue
        result = mpirun(arguments.build, backend, RANKS, [os.path.join(arguments.build, "tests/all_fail")], LIMIT, ALL_FAIL)
        calls = calls_of(result.output)
        both = {0: "error", 1: "error"}
        everyone, good = ({rank: verdict for rank in range(RANKS)} for verdict in ("error", "good"))
        ok = result.ok and calls.get("send") == both and calls.get("large") == both
        repaired = {"bcast", "allreduce", "barrier"} if backend == "sharp" else set()
        ok = ok and all(calls.get(call) == (good if call in repaired else everyone) for call in ("bcast", "allreduce", "barrier", "gather"))
        ok = ok and calls.get("self") == good
        tally.record(label, ok, f"{calls}\n{result.output}", result.seconds)


def test_down_and_up(arguments, tally):
    """A link that is down for a while, at a modelled time, costs only time. A call of cclo begins with 75 us of software."""
    for backend in faulty(arguments):
        label = f"campaign/a link is down for a while over {backend}"
        if not tally.wants(label):
            continue
        program, times, text, seconds, lost, ok = mpi_program(arguments, "fixed_pattern"), [], "", 0.0, 0, True
        for script in ("", "down *>* from 20us to 160us"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "report.json")
                settings = {**ALL_FAIL, "OFFRAMP_FAULTS_SCRIPT": script, "OFFRAMP_REPORT": path}
                result = mpirun(arguments.build, backend, RANKS, program, LIMIT, settings)
                text, seconds = text + result.output, seconds + result.seconds
                ok = ok and result.ok and os.path.exists(path)
                if ok:
                    with open(path, encoding="utf-8") as file:
                        report = json.load(file)
                    times.append(report["modelled_time_ps"])
                    lost = report["wire"]["lost"]
        ok = ok and lost > 0 and times[1] > times[0]
        tally.record(label, ok, f"{times} ps, {lost} lost\n{text}", seconds)


def test_mistakes_are_found(arguments, tally):
    """A backend that breaks when a packet is lost behind one that was doubled: two among many faults."""
    for mistake, kind in (("abort", "crash"), ("stall", "hang")):
        label = f"campaign/a mistake that ends in a {kind} is found" + (" and shrunk to two faults" if kind == "crash" else "")
        if not tally.wants(label):
            continue
        plugins = os.path.join(arguments.build, "tests/plugins")
        settings = {"plugin_path": plugins, "careless.mistake": mistake, "faults.duplication": "0.1"}
        with tempfile.TemporaryDirectory() as folder:
            options = ["-n", "2", "--backend", "careless", "--kinds", "loss", "--rates", "0.2", "--runs", "1", "--seed", "4",
                       "--folder", folder, "--shrink-runs", "60" if kind == "crash" else "0"]
            result, found = campaign(arguments, [os.path.join(arguments.build, "tests/exchange"), "20"], *options, settings=settings,
                                     run_limit=LIMIT if kind == "crash" else 8, limit=400)
            ok = "exit status 4" in result.output and found is not None and len(found["failures"]) == 1
            if ok:
                failure = found["failures"][0]
                words = sorted(line.split()[0] for line in failure["script"])
                ok = failure["result"] == kind and failure["recorded"] > 2 and os.path.exists(failure["file"])
                ok = ok and (kind == "hang" or (failure["again"] and words == ["duplicate", "lose"]))
        tally.record(label, ok, result.output, result.seconds)
