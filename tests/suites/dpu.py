"""The dpu backend's platforms: several service processes per DPU, service processes that fail, lost notifications."""

import functools
import json
import os
import re
import tempfile

from launch import mpirun
from mpi_programs import OWN_SUITES, Run, in_turn, programs as programs_of_mpi
from pairs import pairs
from suites import programs

RANKS = 4
PROCESSES = [1, 2, 4]
# By what they ask of the service processes: messages, collectives, and both at once.
FAILING = {"messages": ["fixed_pattern", "sizes", "overtaking"], "collectives": ["bcast", "reduce", "gather"],
           "collectives beside messages": ["icollectives"]}
FAILURES = {
    "a service process never connects": {"FAILURE": "never"},
    "a service process dies": {"FAILURE": "dies", "FAILURE_AT": "200"},
    "a service process pauses": {"FAILURE": "stalls", "FAILURE_AT": "100", "FAILURE_STALL": "500"},
    "a service process stalls for good": {"FAILURE": "stalls", "FAILURE_AT": "100", "FAILURE_STALL": "1e9"},
}


def variables(per_node, settings):
    """per_node: ranks on a node, which share its DPU."""
    return {"OFFRAMP_MACHINE_RANKS_PER_NODE": str(per_node), **{f"OFFRAMP_DPU_{name}": str(value) for name, value in settings.items()}}


def run_program(arguments, name, extra, ranks=RANKS):
    """Its result, and its report or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = [os.path.join(arguments.build, "tests/mpi", name)]
        result = mpirun(arguments.build, "dpu", ranks, command, 120, {"OFFRAMP_REPORT": path, **extra})
        report = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        return result, report


def shapes(arguments):
    """Ranks, ranks per node, service processes per DPU: all ranks on one DPU, and spread over several."""
    if arguments.thorough:
        return [(ranks, per_node, processes) for ranks in arguments.ranks for processes in PROCESSES
                for per_node in sorted({2, ranks}) if per_node == ranks or processes <= 2]
    rows = pairs(ranks=arguments.ranks, node=["two ranks", "all ranks"], processes=PROCESSES)
    return sorted({(row["ranks"], 2 if row["node"] == "two ranks" else row["ranks"], row["processes"]) for row in rows})


def platforms(arguments, tally):
    """Every program on one platform, another one for the next program; with --thorough on all of them."""
    names, every = [name for name in programs_of_mpi(arguments.build) if name not in OWN_SUITES - {"soak"}], shapes(arguments)
    for number, (ranks, per_node, processes) in enumerate(every):
        settings = variables(per_node, {"SERVICE_PROCESSES": processes})
        where = f"{ranks} ranks, {per_node} per node, {processes} service processes per DPU"
        Run(arguments, tally, lambda name, where=where: f"dpu/{name} {where}", "dpu", ranks, settings, limit=120).all(
            names if arguments.thorough else in_turn(names, number, len(every)))


def real_programs(arguments, tally):
    """The same answers as natively with several service processes per DPU. Without --thorough only the quick ones."""
    chosen = {("mpi4py", 4): 2, ("fftw", 4): 4, ("hdf5", 2): 2, ("boost", 4): 2, ("ptscotch", 4): 4}
    for name, execute, counts in programs.PROGRAMS:
        for ranks in counts:
            native = None
            for processes in PROCESSES if arguments.thorough else [chosen.get((name, ranks))]:
                label = f"dpu/program {name} {ranks} ranks, {processes} service processes per DPU"
                if processes is None or not tally.wants(label):
                    continue
                arguments.settings = {}
                native = native or execute(arguments, None, ranks)[1]
                arguments.settings = variables(ranks, {"SERVICE_PROCESSES": processes})
                result, answers = execute(arguments, "dpu", ranks)
                arguments.settings = {}
                ok = result.ok and answers is not None and answers == native
                tally.record(label, ok, f"{result.output}\n{answers}\nnative: {native}", result.seconds)


def every_kind(arguments, turn):
    """A program of each kind, another one at the next turn; with --thorough all."""
    return [name for names in FAILING.values() for name in (names if arguments.thorough else [names[turn % len(names)]])]


def failures(arguments, tally):
    """Passes as without the failure, which is counted. Not slower in every case: messages from host to host are
    faster than by way of the service processes, whose point is to leave the host alone."""
    common = {"SERVICE_PROCESSES": 2, "FAILURE_PROCESS": 1, "FAILURE_DETECT": 1000}
    without = functools.cache(lambda name: run_program(arguments, name, variables(2, {"SERVICE_PROCESSES": 2})))
    for number, (what, settings) in enumerate(FAILURES.items()):
        for name in every_kind(arguments, number):
            label = f"dpu/{name} when {what}"
            if not tally.wants(label):
                continue
            whole, good = without(name)
            hurt, bad = run_program(arguments, name, variables(2, {**common, **settings}))
            ok = whole.ok and hurt.ok and good is not None and bad is not None
            text = whole.output + hurt.output
            if ok:
                text += f"\n{good['modelled_time_ns']} ns, with the failure {bad['modelled_time_ns']} ns, {bad['wire']}"
                ok = bad["modelled_time_ns"] != good["modelled_time_ns"]
                ok = ok and (bad["wire"]["rerouted"] > 0) == ("pauses" not in what) == ("went another way" in hurt.output)
            tally.record(label, ok, text, whole.seconds + hurt.seconds)


def losses(arguments, tally):
    faults = {"OFFRAMP_FAULTS_SEED": "7", "OFFRAMP_FAULTS_LOSS": "1e-2", "OFFRAMP_FAULTS_DUPLICATION": "1e-2",
              "OFFRAMP_FAULTS_REORDERING": "1e-2"}
    for name in every_kind(arguments, len(FAILURES)):
        label = f"dpu/{name} with lost notifications"
        if not tally.wants(label):
            continue
        result, report = run_program(arguments, name, faults)
        ok = result.ok and report is not None and report["wire"]["lost"] > 0
        tally.record(label, ok, result.output, result.seconds)
    label = "dpu/what the transport cannot repair is an MPI error"
    if tally.wants(label):
        settings = {"OFFRAMP_FAULTS_SEED": "7", "OFFRAMP_FAULTS_LOSS": "0.5", "OFFRAMP_DPU_RETRIES": "0"}
        result, _ = run_program(arguments, "fixed_pattern", settings)
        # Our own line, not Open MPI's: mpirun loses the text of MPI_Abort when several ranks abort at once.
        ok = not result.ok and "dpu gave up" in result.output and "still running" not in result.output
        tally.record(label, ok, result.output, result.seconds)


def overlap_of(arguments, operation, sizes, per_node, settings):
    """Percent by size, as the benchmark prints it with the modelled clock; and the whole output."""
    program = [os.path.join(arguments.build, "bench", operation), "-m", sizes, "-i", "3", "-x", "1"]
    extra = {"OFFRAMP_CLOCK": "model", "OFFRAMP_SUMMARY": "false", **variables(per_node, settings)}
    result = mpirun(arguments.build, "dpu", RANKS, program, 120, extra)
    rows = [line.split() for line in result.output.splitlines() if re.match(r"\d+(\s+[\d.]+){4}\s*$", line)]
    return {int(row[0]): float(row[4]) for row in rows} if result.ok else {}, result


def overlap(arguments, tally):
    """Published: ialltoall of 4 nodes with one rank each on BlueField-3 overlaps by 92 to 99 percent at all sizes. With
    several ranks per node, hosts that copy among themselves lose the overlap of large blocks (published for 128
    ranks: from 95 to 0 percent; tests/dpu has those); service processes that do all keep it."""
    label = "dpu/overlap of ialltoall is within 10 points of the published one"
    sizes = [2**i for i in range(1, 21)]
    if tally.wants(label):
        card = {"CARD": "bf3", "LINK": 100}
        first, result = overlap_of(arguments, "ialltoall", "2:1048576", 1, card)
        second, _ = overlap_of(arguments, "ialltoall", "2:1048576", 1, card)
        ok = sorted(first) == sizes and all(82 <= percent for percent in first.values()) and first == second
        tally.record(label, ok, f"{result.output}\n{second}", result.seconds)
    label = "dpu/overlap of iallgather goes where hosts copy, and stays where service processes do all"
    if tally.wants(label):
        hosts, one = overlap_of(arguments, "iallgather", "256:1048576", 2, {"DELIVERY": "hosts"})
        dpus, two = overlap_of(arguments, "iallgather", "256:1048576", 2, {"DELIVERY": "dpu"})
        ok = len(hosts) == 13 and len(dpus) == 13 and hosts[256] > 85 and hosts[1048576] < 30
        ok = ok and min(dpus.values()) > 85
        tally.record(label, ok, one.output + two.output, one.seconds + two.seconds)


def run(arguments, tally):
    if "dpu" not in arguments.backends:
        return
    platforms(arguments, tally)
    real_programs(arguments, tally)
    failures(arguments, tally)
    losses(arguments, tally)
    overlap(arguments, tally)
