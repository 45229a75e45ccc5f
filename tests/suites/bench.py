"""The benchmarks: each prints OSU's columns, checks its data, and detects wrong data."""

import glob
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types

import pytest

import real_programs as programs
from launch import base_environment, mpi_of, mpirun, run as launch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAIRED = ("latency", "bw", "bibw")  # exactly two ranks
COLLECTIVES = ("allgather", "allreduce", "alltoall", "barrier", "bcast", "gather", "reduce", "reduce_scatter", "scatter")
BLOCKING = (*PAIRED, "multi_lat", "mbw_mr", *COLLECTIVES)
NONBLOCKING = tuple("i" + name for name in COLLECTIVES)
REDUCTIONS = ("allreduce", "reduce", "reduce_scatter")
OVERLAP_COLUMNS = ["Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)"]


def benchmark(arguments, name, backend, ranks, options=()):
    """Runs a benchmark over a backend and checks its data, if it has any."""
    command = [os.path.join(arguments.build, "bench", name), "-i", "3", "-x", "1", *options]
    if "barrier" not in name:
        command += ["-c", "-m", "4:8192", *(["-T", "mpi_float"] if name.lstrip("i") in REDUCTIONS else [])]
    return mpirun(arguments.build, backend, ranks, command, 90,
                  {"OFFRAMP_SUMMARY": "false"})


def table(output):
    """Heading and rows of numbers; the last column of checked data is a word."""
    heading = [line for line in output.splitlines() if line.startswith("#")]
    names = re.split(r"\s{2,}", heading[-1].lstrip("# ").strip()) if heading else []
    rows = [line.split() for line in output.splitlines() if re.match(r"\s*[\d.]+(\s|$)", line)]
    return [name for name in names if name != "Size"], rows


def right_table(name, output):
    names, rows = table(output)
    sized = "barrier" not in name
    if len(rows) != (12 if sized else 1):
        return False
    values = [row[1:] if sized else row for row in rows]
    checked = all(row[-1] == "Pass" for row in values) if sized else True
    if name in NONBLOCKING:
        times = [[float(value) for value in row[:4]] for row in values]
        return checked and names[:4] == OVERLAP_COLUMNS and all(
            overall >= compute >= pure > 0 and 0 <= overlap <= 100 for overall, compute, pure, overlap in times)
    return checked and all(float(row[0]) > 0 for row in values)


def test_each_over_a_backend(arguments, tally):
    """All programs; backends and numbers of ranks take turns."""
    for i, name in enumerate(BLOCKING + NONBLOCKING):
        backend = arguments.backends[i % len(arguments.backends)]
        ranks = 2 if name in PAIRED else arguments.ranks[i // len(arguments.backends) % len(arguments.ranks)]
        label = f"bench/{name} {backend} {ranks} ranks"
        if tally.wants(label):
            result = benchmark(arguments, name, backend, ranks)
            tally.record(label, result.ok and right_table(name, result.output), result.output, result.seconds)


def test_tests_in_between_are_timed(arguments, tally):
    label = "bench/MPI_Test during the computation"
    if not tally.wants(label):
        return
    result = benchmark(arguments, "iallreduce", "host", 2, ["-t", "4", "-f"])
    names, rows = table(result.output)
    column = names.index("MPI_Test(us)") + 1 if result.ok else 0
    ok = result.ok and right_table("iallreduce", result.output) and all(float(row[column]) > 0 for row in rows)
    tally.record(label, ok, result.output, result.seconds)


def test_wrong_options_are_refused(arguments, tally):
    label = "bench/wrong options are refused"
    if not tally.wants(label):
        return
    missed, output, seconds = [], "", 0
    for name, options, reason in (("bcast", ["-m", "9:8"], "the first size is above the last"),
                                  ("ibcast", ["-t", "-1"], "expected a number from 0"),
                                  ("barrier", ["-m", "8"], "an option is unknown"),
                                  ("reduce", ["-T", "mpi_double"], "expected mpi_char, mpi_int or mpi_float"),
                                  ("multi_lat", ["-p", "2"], "2 pairs need at least 4 ranks")):
        result = mpirun(arguments.build, None, 2, [os.path.join(arguments.build, "bench", name), *options], 60)
        seconds, output = seconds + result.seconds, output + result.output
        missed += [] if not result.ok and reason in result.output else [name]
    tally.record(label, not missed, f"taken by {missed}\n{output}", seconds)


def compile_tool(arguments, folder):
    library = os.path.join(folder, "spoil.so")
    command = [mpi_of(arguments.build).compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", library,
               os.path.join(ROOT, "tests/fixtures/spoil.c")]
    return library, launch(command, base_environment(), 60)


def test_wrong_data_is_found(arguments, tally):
    """Natively below a tool that corrupts received data: every benchmark with a check fails and names the place."""
    label = "bench/wrong data is found"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        library, compiled = compile_tool(arguments, folder)
        missed, output, seconds = [], compiled.output, compiled.seconds
        for name in ("multi_lat", *(n for n in COLLECTIVES + NONBLOCKING if "barrier" not in n)):
            command = [os.path.join(arguments.build, "bench", name), "-i", "1", "-x", "0", "-c", "-m", "8:8"]
            command += ["-T", "mpi_int"] if name.lstrip("i") in REDUCTIONS else []
            result = mpirun(arguments.build, None, 2, command, 60, variables={"LD_PRELOAD": library})
            seconds += result.seconds
            if result.ok or "DATA VALIDATION ERROR" not in result.output or "Fail" not in result.output:
                missed.append(name)
                output += result.output
        tally.record(label, compiled.ok and not missed, f"not found by {missed}\n{output}", seconds)


def test_side_by_side(arguments, tally):
    label = "bench/modelled times side by side"
    if not tally.wants(label):
        return
    command = [sys.executable, os.path.join(ROOT, "bench/modelled"), "bcast", "--build", arguments.build, "--ranks", "3",
               "--backends", "host,zrlmpi", "--", "-m", "1024:4096", "-i", "2", "-x", "0"]
    result = launch(command, base_environment(), 120)
    rows = [line.split() for line in result.output.splitlines() if line[:1].isdigit()]
    ok = result.ok and [row[0] for row in rows] == ["1024", "2048", "4096"] and \
        all(0 < float(host) < float(slow) for _, host, slow in rows)
    refused = subprocess.run([*command[:2], "bcast", "--build", arguments.build, "--backends", "host", "--column", "x",
                              "--", "-m", "1:1", "-i", "1"], capture_output=True, text=True, timeout=60, check=False,
                             env=base_environment())
    ok = ok and refused.returncode == 1 and "no column x; there are" in refused.stderr
    tally.record(label, ok, result.output + refused.stderr, result.seconds)


def test_large_programs_are_there(arguments, tally):
    """ScaLAPACK's factorisation takes minutes; this checks only that it starts."""
    label = "bench/the large programs are found"
    if not tally.wants(label):
        return
    if not glob.glob(programs.SCALAPACK.format(programs.family(arguments))):
        tally.skip(label, "ScaLAPACK's tests are not installed for this MPI library")
        return
    sys.path.insert(0, os.path.join(ROOT, "bench"))
    loader = importlib.machinery.SourceFileLoader("timed_programs", os.path.join(ROOT, "bench/programs"))
    timed = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(timed)
    started = []

    def start(_arguments, _backend, _ranks, command, *_others, **_more):
        started.append(command[0])
        return types.SimpleNamespace(ok=False, output="")

    timed.programs = types.SimpleNamespace(start=start, family=programs.family, SCALAPACK=programs.SCALAPACK)
    timed.scalapack_lu(arguments, "host", 2)
    tally.record(label, len(started) == 1 and os.access(started[0], os.X_OK), str(started))


def test_ratios_to_native(arguments, tally):
    """Speeds are meaningless on a busy machine, so this checks that every run ends with right answers and a ratio."""
    label = "bench/wall time against native"
    if not tally.wants(label):
        return
    command = [sys.executable, os.path.join(ROOT, "bench/programs"), "--build", arguments.build, "--rounds", "1", "--only",
               "start", "--backends", "off,cclo"]
    whole = launch(command, base_environment(), 60)
    command = [sys.executable, os.path.join(ROOT, "bench/compare"), "--build", arguments.build, "--only", "latency", "--rounds",
               "1", "--seconds", "0.01", "--backends", "off,host", "--markdown"]
    calls = launch(command, base_environment(), 120)
    ok = whole.ok and re.search(r"^\| start \| 2 \| \d+\.\d+ \| \d+\.\d+ \| \d+\.\d+ \|$", whole.output, re.M)
    rows = re.findall(r"^\| latency (\d+ \w+) \|.*\| \d+\.\d+ \[.*\| \d+\.\d+ \[", calls.output, re.M)
    ok = ok and calls.ok and rows == ["8 B", "4 KiB", "16 KiB", "64 KiB"]
    tally.record(label, bool(ok), whole.output + calls.output, whole.seconds + calls.seconds)


@pytest.mark.thorough
def test_replays_and_recordings(arguments, tally):
    """Speeds are not checked, only that every row is printed."""
    label = "bench/what replays and recordings cost"
    if not tally.wants(label):
        return
    command = [sys.executable, os.path.join(ROOT, "bench/replay"), "--build", arguments.build, "--rounds", "1", "--events", "20000",
               "--ranks", "16", "--record", "pingpong", "--record-rounds", "1"]
    result = launch(command, base_environment(), 120)
    made_up = re.findall(r"^\| (\w+) \| (stencil2d|random) \| 16 \| \d+ \| [1-9].*\|$", result.output, re.M)
    replayed = re.findall(r"^\| (\w+) \| hpcc \| 4 \| 57790 \| [1-9].*\|$", result.output, re.M)
    recorded = re.findall(r"^\| pingpong \| [\d.]+ \| [\d.]+ \| \d.* \| [\d.]+ \| \d.* \| 0\.\d+ \|$", result.output, re.M)
    tally.record(label, result.ok and len(made_up) == 4 and len(replayed) == 6 and len(recorded) == 1, result.output, result.seconds)


def test_networks_agree_with_simgrid(arguments, tally):
    label = "bench/shared links as SimGrid has them"
    if not tally.wants(label) or not os.path.exists(os.path.join(arguments.build, "bench/simgrid_flows")):
        return
    command = [sys.executable, os.path.join(ROOT, "bench/network"), "--build", arguments.build, "--draws", "2", "--within", "5"]
    result = launch(command, base_environment(), 120)
    rows = re.findall(r"^\| (?:permutation|incast|recorded program) \|", result.output, re.M)
    tally.record(label, result.ok and len(rows) == 15, result.output, result.seconds)


def test_exported_programs_take_as_long_in_simgrid(arguments, tally):
    label = "bench/exported programs end in SimGrid, and take as long there"
    if not tally.wants(label) or shutil.which("smpirun") is None:
        return
    command = [sys.executable, os.path.join(ROOT, "bench/exported"), "--build", arguments.build, "--within", "10"]
    result = launch(command, base_environment(), 120)
    rows = re.findall(r"^\| .* \| [\d.]+ \| \d+ \| [+-][\d.]+ % \|$", result.output, re.M)
    tally.record(label, result.ok and len(rows) == 19, result.output, result.seconds)
