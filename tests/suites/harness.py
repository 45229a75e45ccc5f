"""The test harness detects failures: cases that fail or leave objects behind, suites that end early."""

import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile

import mutations
from launch import Result, base_environment, mpi_of, mpirun, run as launch
from mpi_programs import Run

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Detected mistakes: most show in the numbers that Open MPI gives to its objects in Fortran, or in its refusals.
LEFT = {"openmpi": ["a communicator", "a group", "an operation", "an error handler", "an info", "an attached buffer",
                    "an error handler in force", "a message"],
        "mpich": ["an attached buffer", "an error handler in force", "a message"]}


def test_nothing_stays(arguments, tally):
    """The other cases of the program leave nothing, so this run passes without the mistake."""
    for backend in (None, "host") if arguments.thorough else ("host",):
        for what in [*LEFT[mpi_of(arguments.build).family], "nothing"]:
            label = f"harness/a case that leaves {what}, {backend or 'native'}"
            if not tally.wants(label):
                continue
            result = mpirun(arguments.build, backend, 2, [os.path.join(arguments.build, "tests/leaver")], 60,
                            variables={"LEAVES": what})
            loses = mpi_of(arguments.build).family == "mpich"  # Hydra's message about ranks before MPI_Abort
            named = loses or f"case leaver has left {what}" in result.output
            tally.record(label, result.ok if what == "nothing" else not result.ok and named, result.output, result.seconds)


class Recorded:
    """Replaces the tally, or the results of a run."""

    def __init__(self):
        self.seen = {}

    def wants(self, name):
        return name is not None

    def record(self, name, ok, output="", _=0.0):
        self.seen[name] = (bool(ok), output)


def outcomes(arguments, together, alone):
    """The records for a program of several cases that prints `together`, when each case `alone` gives the listed result."""
    run = Run(arguments, Recorded(), lambda name: name, None, 2)

    def launched(command, _):
        names = command[1:]
        ok, output = together if names else (alone[os.path.basename(command[0])], "")
        return Result(ok, output if names else f"ok {os.path.basename(command[0])}", 0.0)

    run.launch = launched
    run.together(["a", "b", "c"])
    return {name: ok for name, (ok, _) in run.tally.seen.items()}


def test_fallen_cases(arguments, tally):
    begun = "case a\ntook a 0.10 s\nok a\ncase b\n"
    end = "took b 0.10 s\nok b\ncase c\ntook c 0.10 s\nok c\nok all\n"
    well, bad_c = {"a": True, "b": True, "c": True}, {"a": True, "b": True, "c": False}
    every = "all cases together"
    for label, together, alone, expected in [
            ("all are well", (True, begun + end), bad_c, well),
            ("one falls", (False, begun), well, {"a": True, "b": False, "c": True}),
            ("one falls and a later one fails by itself", (False, begun), bad_c, {"a": True, "b": False, "c": False}),
            ("the end of the program fails", (False, begun + end), well, {every: False, **well}),
            ("nothing starts", (False, ""), bad_c, {every: False, **bad_c})]:
        label = f"harness/cases under one MPI_Init: {label}"
        if tally.wants(label):
            seen = outcomes(arguments, together, alone)
            tally.record(label, seen == expected, f"{seen}\nexpected {expected}")


SUITE = """import os
import subprocess
import launch

def test_throws(tally):
    tally.record("made/before", True)
    raise ValueError("thrown")

def test_dies():
    os.abort()

def test_fails(tally):
    tally.record("made/bad", False, "what it printed")
    tally.record("made/behind", True)

def test_good(tally):
    launch.run(["true"], {}, 20)
    tally.skip("made/not here", "no such machine")

def test_last():
    pass

def test_plain():
    assert True
"""


def runner():
    """The script tests/run, as a module."""
    loader = importlib.machinery.SourceFileLoader("tests_run", os.path.join(TESTS, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_fallen_tests(arguments, tally):
    """Tests that fail, throw, or end their process are failures, the others continue, and each started program counts."""
    with tempfile.TemporaryDirectory() as folder:
        written = os.path.join(folder, "results")
        with open(os.path.join(folder, "made.py"), "w", encoding="utf-8") as file:
            file.write(SUITE)
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.path.join(TESTS, "pytest.ini"), "--rootdir", TESTS, "-p", "conftest", "-n", "2",
                   "--max-worker-restart", "0", "--dist", "loadgroup", "--build", arguments.build, "--results", written, os.path.join(folder, "made.py")]
        result = launch(command, base_environment({"PYTHONPATH": TESTS}), 120)
        with open(written, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    seen = {line["name"].rsplit("::", 1)[-1]: line["outcome"] for line in lines if "test" not in line}
    outcomes = {"made/before": "passed", "test_throws": "failed", "test_dies": "failed", "made/bad": "failed", "made/behind": "passed",
                "made/not here": "skipped", "test_plain": "passed", "test_last": "passed"}
    # The tests that the ended process was to run next are lost, and count as failures as well.
    lost = {name.split(" ")[0] for name, outcome in seen.items() if name.endswith(" was not run") and outcome == "failed"}
    expected = {name: outcome for name, outcome in outcomes.items() if name not in lost and not (name == "made/not here" and "test_good" in lost)}
    seen = {name: outcome for name, outcome in seen.items() if not name.endswith(" was not run")}
    tally.record("harness/tests that fail, throw, or end their process are failures", seen == expected and "ValueError: thrown" in result.output and
                 "what it printed" in result.output, f"{seen}\n{lines}\n{result.output}", result.seconds)
    started_there = sum(line["launches"] for line in lines if "test" in line)
    tally.record("harness/programs that tests start are counted", started_there == ("test_good" not in lost), f"{lines}")


def test_budget(tally):
    """A suite that starts more programs than tests/budget.json grants fails the run."""
    over = runner().over_budget({"many": 200, "few": 100, "free": 1000}, {"many": 100, "few": 100})
    tally.record("harness/a suite over its budget of launches is a failure", over == {"many": (200, 100)}, str(over))
    with open(os.path.join(TESTS, "budget.json"), encoding="utf-8") as file:
        granted = json.load(file)["launches"]
    unknown = [suite for suite in granted if not os.path.exists(os.path.join(TESTS, "suites", f"{suite}.py"))]
    tally.record("harness/the budget names suites", len(granted) > 5 and not unknown, f"{granted}\n{unknown}")


def test_own_sessions(arguments, tally):
    label = "harness/no mpirun can take another one's session folder"
    if not tally.wants(label) or mpi_of(arguments.build).skips(tally, label, "openmpi", "Hydra has no such folder"):
        return
    results = [mpirun(arguments.build, None, 1, ["printenv", "PMIX_SERVER_TMPDIR"]) for _ in range(2)]
    folders = [os.path.dirname(os.path.relpath(result.output.strip(), tempfile.gettempdir())) for result in results]
    outer = {folder.split("/")[0] for folder in folders}
    gone = not any(os.path.exists(os.path.join(tempfile.gettempdir(), folder)) for folder in outer)
    tally.record(label, all(result.ok for result in results) and len(outer - {"", ".", ".."}) == 2 and gone, f"{results}\n{folders}")


def test_other_libraries(tally):
    """Lines as hwloc 2.9 and UCX 1.13 print them where there is no /sys."""
    label = "harness/lines of other libraries are recognised"
    if not tally.wants(label):
        return
    theirs = ["[hwloc/linux] failed to find sysfs cpu topology directory, aborting linux discovery.",
              "[1795486618.281340] [vm:1775 :0]       tcp_iface.c:816  UCX  ERROR opendir(/sys/class/net) failed: No such file"]
    ours = ["[0] x", "", "offramp: UCX  ERROR", "a [hwloc/linux]"]
    seen = Result(True, "\n".join([theirs[0], *ours, theirs[1]]), 0.0).lines()
    tally.record(label, seen == ours, f"{seen}")


def test_mutations(tally):
    """Every suite has a mutation that it must catch, whose text occurs once in its file."""
    problems = mutations.problems()
    tally.record("harness/each suite has a mutation, whose text occurs once in its file", not problems, "\n".join(problems))
