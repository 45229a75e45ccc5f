"""What runs the tests notices what goes wrong: cases that fail or leave things behind, suites that end early."""

import copy
import itertools
import math
import os
import tempfile
import types

import costs
import mutations
from launch import Result, base_environment, mpi_of, mpirun, run as launch, started
from mpi_programs import Run
from pairs import pairs
from pool import Pool

# What is noticed: most of it by the numbers that Open MPI gives to its objects in Fortran, or by its refusals.
LEFT = {"openmpi": ["a communicator", "a group", "an operation", "an error handler", "an info", "an attached buffer",
                    "an error handler in force", "a message"],
        "mpich": ["an attached buffer", "an error handler in force", "a message"]}


def nothing_stays(arguments, tally):
    """The other cases of the program leave nothing, so the same run without the mistake is well."""
    for backend in (None, "host"):
        for what in [*LEFT[mpi_of(arguments.build).family], "nothing"]:
            label = f"harness/a case that leaves {what}, {backend or 'native'}"
            if not tally.wants(label):
                continue
            result = mpirun(arguments.build, backend, 2, [os.path.join(arguments.build, "tests/leaver")], 60,
                            variables={"LEAVES": what})
            loses = mpi_of(arguments.build).family == "mpich"  # Hydra, what ranks say before MPI_Abort
            named = loses or f"case leaver has left {what}" in result.output
            tally.record(label, result.ok if what == "nothing" else not result.ok and named, result.output, result.seconds)


class Recorded:
    """In place of the tally or of the results of a run of their own."""

    def __init__(self):
        self.seen = {}

    def wants(self, name):
        return name is not None

    def record(self, name, ok, output="", _=0.0):
        self.seen[name] = (bool(ok), output)


def outcomes(arguments, together, alone):
    """What is recorded when the program of several cases prints `together`, and each case `alone` does what is said there."""
    run = Run(arguments, Recorded(), lambda name: name, None, 2)

    def launched(command, _):
        names = command[1:]
        ok, output = together if names else (alone[os.path.basename(command[0])], "")
        return Result(ok, output if names else f"ok {os.path.basename(command[0])}", 0.0)

    run.launch = launched
    run.together(["a", "b", "c"])
    return {name: ok for name, (ok, _) in run.tally.seen.items()}


def fallen_cases(arguments, tally):
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


def fallen_suites(arguments, tally):
    label = "harness/a suite that ends with an exception or a signal is a failure, and the others go on"
    if not tally.wants(label):
        return
    own = copy.copy(arguments)
    own.filter, own.jobs = "", 2

    def good(_, inner):
        inner.record("good", True)

    def throws(_, inner):
        inner.record("before", True)
        raise ValueError("thrown")

    suites = {"throws": throws, "dies": lambda *_: os.abort(), "good": good, "quiet": good}
    modules = {name: types.SimpleNamespace(run=run) for name, run in suites.items()}
    results = Recorded()
    taken = Pool(own, results, modules, {"quiet"}).run()
    seen = {name: ok for name, (ok, _) in results.seen.items()}
    expected = {"before": True, "throws: the suite ended with an exception": False, "good": True,
                "dies: the suite's process ended with -6": False}
    ok = seen == expected and "ValueError: thrown" in results.seen["throws: the suite ended with an exception"][1]
    tally.record(label, ok and set(taken) == {"throws", "good", "quiet"}, f"{seen}\n{taken}")


def pairs_meet(tally):
    label = "harness/every pair of settings meets, in fewer runs than there are combinations"
    if not tally.wants(label):
        return
    problems = []
    for factors in ({"a": [1, 2, 3], "b": "xy"}, {"a": [1, 2], "b": [None, "host"], "c": "pq", "d": [2, 3, 4]},
                    {name: list(range(4)) for name in "abcde"}):
        rows = pairs(**factors)
        for one, other in itertools.combinations(factors, 2):
            met = {(row[one], row[other]) for row in rows}
            problems += [f"{one} = {a} never meets {other} = {b}" for a in factors[one] for b in factors[other] if (a, b) not in met]
        if len(factors) > 2 and len(rows) > math.prod(map(len, factors.values())) // 2 or rows != pairs(**factors):
            problems.append(f"{len(rows)} rows for {factors}")
    tally.record(label, not problems, "\n".join(problems))


def starts_are_counted(tally):
    label = "harness/a suite that starts more programs than it may is a failure"
    if not tally.wants(label):
        return
    before = started()
    launch(["true"], base_environment(), 20)
    results = Recorded(), Recorded()
    costs.hold({"many": (1, 1.0, 1.0, 200)}, results[0], {"many": 100})
    costs.hold({"few": (1, 1.0, 1.0, 100)}, results[1], {"few": 100})
    seen = [ok for result in results for ok, _ in result.seen.values()]
    tally.record(label, started() == before + 1 and seen == [False, True] and len(costs.documented()) > 5, f"{seen}\n{costs.documented()}")


def mutations_apply(tally):
    label = "harness/each suite has a mutation, whose text is in the product"
    if tally.wants(label):
        problems = mutations.problems()
        tally.record(label, not problems, "\n".join(problems))


def own_sessions(arguments, tally):
    label = "harness/no mpirun can take another one's session folder"
    if not tally.wants(label) or mpi_of(arguments.build).skips(tally, label, "openmpi", "Hydra has no such folder"):
        return
    results = [mpirun(arguments.build, None, 1, ["printenv", "PMIX_SERVER_TMPDIR"]) for _ in range(2)]
    folders = [os.path.dirname(os.path.relpath(result.output.strip(), tempfile.gettempdir())) for result in results]
    outer = {folder.split("/")[0] for folder in folders}
    gone = not any(os.path.exists(os.path.join(tempfile.gettempdir(), folder)) for folder in outer)
    tally.record(label, all(result.ok for result in results) and len(outer - {"", ".", ".."}) == 2 and gone, f"{results}\n{folders}")


def other_libraries(tally):
    """Lines as hwloc 2.9 and UCX 1.13 print them where there is no /sys."""
    label = "harness/lines of other libraries are told apart"
    if not tally.wants(label):
        return
    theirs = ["[hwloc/linux] failed to find sysfs cpu topology directory, aborting linux discovery.",
              "[1795486618.281340] [vm:1775 :0]       tcp_iface.c:816  UCX  ERROR opendir(/sys/class/net) failed: No such file"]
    ours = ["[0] x", "", "offramp: UCX  ERROR", "a [hwloc/linux]"]
    seen = Result(True, "\n".join([theirs[0], *ours, theirs[1]]), 0.0).lines()
    tally.record(label, seen == ours, f"{seen}")


def run(arguments, tally):
    other_libraries(tally)
    mutations_apply(tally)
    own_sessions(arguments, tally)
    nothing_stays(arguments, tally)
    fallen_cases(arguments, tally)
    fallen_suites(arguments, tally)
    pairs_meet(tally)
    starts_are_counted(tally)
