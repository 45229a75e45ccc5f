"""The dpu backend's platforms: several service processes per DPU, service processes that fail, lost notifications. The fast tier
replays a recording of several programs on each platform, and runs a program of every kind with each failure; the thorough tier runs every
program on every platform, and with every failure by itself."""

import json
import os
import re
import tempfile

import pytest

from launch import DEALER, mpirun
from mpi_programs import OWN_SUITES, Run, programs as programs_of_mpi
from real_programs import PROGRAMS, with_settings
from replays import replay

RANKS = 4
PROCESSES = [1, 2, 4]
# By their use of the service processes: messages, collectives, and both at once.
FAILING = {"messages": ["fixed_pattern", "sizes", "overtaking"], "collectives": ["bcast", "reduce", "gather"],
           "collectives beside messages": ["icollectives"]}
REPLAYED = ["fixed_pattern", "bcast", "reduce", "gather", "icollectives", "other_collectives", "nonblocking", "persistent", "communicators"]
ONE_OF_EACH = [names[0] for names in FAILING.values()]
FAILURES = {
    "a service process never connects": {"FAILURE": "never"},
    "a service process dies": {"FAILURE": "dies", "FAILURE_AT": "200"},
    "a service process pauses": {"FAILURE": "stalls", "FAILURE_AT": "100", "FAILURE_STALL": "500"},
    "a service process stalls for good": {"FAILURE": "stalls", "FAILURE_AT": "100", "FAILURE_STALL": "1e9"},
}


def variables(per_node, settings):
    """per_node: ranks on a node, which share its DPU."""
    return {"OFFRAMP_MACHINE_RANKS_PER_NODE": str(per_node), **{f"OFFRAMP_DPU_{name}": str(value) for name, value in settings.items()}}


def run_cases(arguments, names, extra, ranks=RANKS):
    """Runs cases under one MPI_Init. Returns the result, and the report or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = [os.path.join(arguments.build, "tests/mpi_cases"), *names]
        result = mpirun(arguments.build, "dpu", ranks, command, 120, {"OFFRAMP_REPORT": path, **extra})
        report = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        return result, report


def platforms(ranks):
    """Ranks per node and service processes per DPU: all ranks on one DPU, and spread over several."""
    return [(per_node, processes) for processes in PROCESSES for per_node in sorted({2, ranks}) if per_node == ranks or processes <= 2]


def test_replays_on_platforms(arguments, tally):
    """A platform decides nothing in a run, so one recording shows the effect of each on the times."""
    label = "dpu/a recording is replayed on every platform, with different times"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "a.rec")
        command = [os.path.join(arguments.build, "tests/mpi_cases"), *REPLAYED]
        result = mpirun(arguments.build, DEALER, RANKS, command, 120, {"OFFRAMP_RECORD": file, "OFFRAMP_SUMMARY": "false"})
        times = {}
        for per_node, processes in platforms(RANKS):
            found = replay(arguments.build, file, "--backend", "dpu", "--check", "--set", f"machine.ranks_per_node={per_node}",
                           "--set", f"dpu.service_processes={processes}")
            whole = isinstance(found, list) and not found[0]["unfinished"]
            times[per_node, processes] = found[0]["modelled_time_ps"] if whole else found
    ok = result.ok and all(isinstance(time, int) and time > 0 for time in times.values()) and len(set(times.values())) == len(times)
    tally.record(label, ok, f"{result.output}\n{times}", result.seconds)


@pytest.mark.thorough
def test_every_platform(arguments, tally):
    for ranks in arguments.ranks:
        for per_node, processes in platforms(ranks):
            where = f"{ranks} ranks, {per_node} per node, {processes} service processes per DPU"
            Run(arguments, tally, lambda name, where=where: f"dpu/{name} {where}", "dpu", ranks,
                variables(per_node, {"SERVICE_PROCESSES": processes}), limit=120).all(
                    [name for name in programs_of_mpi(arguments.build) if name not in OWN_SUITES - {"soak"}])


@pytest.mark.thorough
def test_real_programs(arguments, tally):
    """The same answers as natively with several service processes per DPU."""
    for name, execute, counts in PROGRAMS:
        for ranks in counts:
            native = None
            for processes in PROCESSES:
                label = f"dpu/program {name} {ranks} ranks, {processes} service processes per DPU"
                if not tally.wants(label):
                    continue
                native = native or execute(with_settings(arguments, {}), None, ranks)[1]
                settings = variables(ranks, {"SERVICE_PROCESSES": processes})
                result, answers = execute(with_settings(arguments, settings), "dpu", ranks)
                ok = result.ok and answers is not None and answers == native
                tally.record(label, ok, f"{result.output}\n{answers}\nnative: {native}", result.seconds)


def failures(arguments, tally, names):
    """The cases pass as without the failure, which is counted. Some get faster: messages from host to host are faster than messages
    through the service processes, whose purpose is to free the host."""
    common = {"SERVICE_PROCESSES": 2, "FAILURE_PROCESS": 1, "FAILURE_DETECT": 1000}
    labels = {what: f"dpu/{', '.join(names)} when {what}" for what in FAILURES}
    if not any(map(tally.wants, labels.values())):
        return
    whole, good = run_cases(arguments, names, variables(2, {"SERVICE_PROCESSES": 2}))
    for what, settings in FAILURES.items():
        if not tally.wants(labels[what]):
            continue
        hurt, bad = run_cases(arguments, names, variables(2, {**common, **settings}))
        ok = whole.ok and hurt.ok and good is not None and bad is not None
        text = whole.output + hurt.output
        if ok:
            text += f"\n{good['modelled_time_ns']} ns, with the failure {bad['modelled_time_ns']} ns, {bad['wire']}"
            ok = bad["modelled_time_ns"] != good["modelled_time_ns"]
            ok = ok and (bad["wire"]["rerouted"] > 0) == ("pauses" not in what) == ("rerouted around failed hardware" in hurt.output)
        tally.record(labels[what], ok, text, whole.seconds + hurt.seconds)


def losses(arguments, tally, names):
    label = f"dpu/{', '.join(names)} with lost notifications"
    if not tally.wants(label):
        return
    result, report = run_cases(arguments, names, {"OFFRAMP_FAULTS_SEED": "7", "OFFRAMP_FAULTS_LOSS": "1e-2",
                                                  "OFFRAMP_FAULTS_DUPLICATION": "1e-2", "OFFRAMP_FAULTS_REORDERING": "1e-2"})
    tally.record(label, result.ok and report is not None and report["wire"]["lost"] > 0, result.output, result.seconds)


def test_failures(arguments, tally):
    failures(arguments, tally, ONE_OF_EACH)


def test_losses(arguments, tally):
    losses(arguments, tally, ONE_OF_EACH)
    label = "dpu/what the transport cannot repair is an MPI error"
    if tally.wants(label):
        settings = {"OFFRAMP_FAULTS_SEED": "7", "OFFRAMP_FAULTS_LOSS": "0.5", "OFFRAMP_DPU_RETRIES": "0"}
        result, _ = run_cases(arguments, ["fixed_pattern"], settings)
        # The line is ours, not Open MPI's: mpirun loses the text of MPI_Abort when several ranks abort at once.
        ok = not result.ok and "dpu gave up" in result.output and "still running" not in result.output
        tally.record(label, ok, result.output, result.seconds)


@pytest.mark.thorough
def test_failures_and_losses_of_each_program(arguments, tally):
    for name in [name for names in FAILING.values() for name in names]:
        failures(arguments, tally, [name])
        losses(arguments, tally, [name])
