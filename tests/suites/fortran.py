"""Every function that Offramp exports, called from mpif.h, `use mpi` and `use mpi_f08`. The program checks the results; the suite checks
that the program calls every function of the list, and that its calls reach Offramp. The fast tier runs each binding over the dealer
(tests/fixtures/dealer.cpp), the thorough tier natively and over every backend."""

import json
import os
import re
import subprocess
import tempfile

import pytest

from launch import DEALER, base_environment, lacks_processes, mpirun, openmpi_release, starts_several_programs

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINDINGS = {"MPIF": "mpif.h", "MPI": "use mpi", "F08": "use mpi_f08"}

# These need other processes: the program dynamic.
DYNAMIC = {"Comm_spawn", "Comm_spawn_multiple", "Comm_connect", "Comm_accept", "Comm_join",
           "Publish_name", "Unpublish_name", "Lookup_name"}
# Persistent requests of the standard; the other program has Open MPI's extension (MPIX), with a module of its own.
PERSISTENT = {"Send_init", "Bsend_init", "Ssend_init", "Rsend_init", "Recv_init"}
# Carried, but not counted.
UNCOUNTED = {"Init", "Init_thread", "Finalize", "Abort", "Wtime", "Wtick", "Type_free", "Op_free", "Comm_set_attr"}
# In the module mpi_f08 these two are the C functions.
C_IN_F08 = {"Wtime": "MPI_Wtime", "Wtick": "MPI_Wtick"}


def functions():
    with open(os.path.join(ROOT, "lib/run/mpi/api/functions.txt"), encoding="utf-8") as file:
        words = [line.split("#")[0].split() for line in file]
    names = {name for line in words if line and not line[0].endswith("?") for name in line[1:]
             if not name.startswith("T_")} - DYNAMIC
    return {name for name in names if not name.endswith("_init") or name in PERSISTENT}


def missing(program, binding, wanted):
    """Functions that the program does not refer to."""
    text = subprocess.run(["nm", "-u", program], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[-1].split("@")[0] for line in text.splitlines()}
    endings = ("_f08_", "_f08ts_") if binding == "F08" else ("_", "_cptr_")
    return sorted(name for name in wanted if C_IN_F08.get(name if binding == "F08" else "", "") not in symbols
                  and not any(f"mpi_{name.lower()}{ending}" in symbols for ending in endings))


def counts_in(report):
    """Function -> number of calls; empty without a report."""
    if not os.path.exists(report):
        return {}
    with open(report, encoding="utf-8") as file:
        return {call: figures["count"] for call, figures in json.load(file)["calls"].items()}


def every_call(arguments, tally, carriers, bindings=BINDINGS):
    """Runs the program of each binding. All of them make each call equally often."""
    seen = {}
    for binding, name in bindings.items():
        program = os.path.join(arguments.build, "tests/fortran", binding, "every_call")
        if tally.wants(f"fortran/{name}"):
            absent = missing(program, binding, functions())
            tally.record(f"fortran/{name}: the program calls every function", not absent, f"not called: {absent}")
        for backend in carriers:
            label = f"fortran/{name} {backend or 'native'}"
            if not tally.wants(label):
                continue
            with tempfile.TemporaryDirectory() as folder:
                report = os.path.join(folder, "report.json")
                result = mpirun(arguments.build, backend, 3, [program], 60, {"OFFRAMP_REPORT": report}, cwd=folder)
                counts = counts_in(report)
            silent = [] if backend is None else sorted(f for f in functions() - UNCOUNTED if counts.get(f"MPI_{f}", 0) == 0)
            ok = result.ok and "ok every_call" in result.output and not silent and (backend is None or counts)
            tally.record(label, bool(ok), f"not seen: {silent}\n{result.output}", result.seconds)
            # A loop that polls until data has arrived takes any number of calls.
            seen[binding, backend] = {call: n for call, n in counts.items()
                                      if not any(word in call for word in ("probe", "Test", "Win_test", "Waitsome"))}
    for backend in carriers:
        same = [seen[binding, backend] for binding in bindings if seen.get((binding, backend))]
        if len(same) > 1:
            differing = {call: [counts.get(call) for counts in same] for call in set().union(*same)}
            differing = {call: counts for call, counts in differing.items() if len(set(counts)) > 1}
            tally.record(f"fortran/{backend}: as many calls from every binding", not differing, str(differing))


def comes_from(place, lines):
    """Whether the place is the end or the beginning of a statement that calls the function. gfortran assigns some calls to the head of
    their subroutine: all with c_ptr arguments, and from version 14 on those with elements of arrays of derived types."""
    found = re.fullmatch(r"[\w.]+, fortran\.F90:(\d+)", place["name"])
    line = int(found[1]) if found else 0
    near = range(max(line - 4, 0), line + 3)
    if line > 0 and re.match(r"\s*SUBROUTINE ", lines[line - 1]):
        end = next(i for i in range(line, len(lines)) if "END SUBROUTINE" in lines[i])
        near = range(line, end)
    return place["function"].upper() in "".join(lines[i] for i in near if i < len(lines))


def test_places(arguments, tally):
    """The programs of tests/mpi pass, and the recorded places of calls are lines of the program, not of the MPI library's layers between
    it and Offramp."""
    with open(os.path.join(ROOT, "tests/mpi/fortran.F90"), encoding="utf-8") as file:
        lines = file.read().upper().split("\n")
    for binding in BINDINGS.values():
        label = f"fortran/{binding}: calls have the places that they come from"
        if not tally.wants(label):
            continue
        name = "fortran_" + binding.replace("use mpi_", "").replace(" ", "").replace(".h", "")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "a.rec")
            result = mpirun(arguments.build, DEALER, 2, [os.path.join(arguments.build, "tests/mpi", name)], 60, {"OFFRAMP_RECORD": file},
                            cwd=folder)
            done = subprocess.run([os.path.join(arguments.build, "bin/offramp"), "info", "--json", file], capture_output=True, text=True,
                                  check=False, env=base_environment(), timeout=60)
        known = json.loads(done.stdout)["places"] if done.returncode == 0 else []
        wrong = [place for place in known if not comes_from(place, lines)]
        ok = result.ok and f"ok {name}" in result.output.split("\n") and len(known) > 40 and not wrong
        tally.record(label, ok, f"{wrong}\n{result.output}{done.stderr}", result.seconds)


def start_hangs(output):
    """Sometimes a process that Open MPI 4.1.4 spawns on a busy machine takes very long in MPI_Init, or never ends it, natively too; its
    parents wait in MPI_Comm_spawn."""
    return "still running" in output and any(word in output for word in ("PMIx_Init", "MPI_Comm_spawn"))


def dynamic(arguments, tally, binding, backend):
    """Dynamic processes: every function of that chapter is called, works, and reaches Offramp."""
    if reason := lacks_processes(arguments.build):
        tally.skip("fortran/other processes", reason)
        return
    label = f"fortran/{BINDINGS[binding]}: other processes, {backend or 'native'}"
    if not tally.wants(label):
        return
    program = os.path.join(arguments.build, "tests/fortran", binding, "dynamic")
    absent = missing(program, binding, DYNAMIC)
    seen, spawned, output, seconds, ok = set(), 0, "", 0.0, True
    several = starts_several_programs()
    wanted = DYNAMIC if several else DYNAMIC - {"Comm_spawn_multiple"}
    for parts in ([], ["multiple"]) if several else ([],):
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            for _ in range(4):
                result = mpirun(arguments.build, backend, 2, [program, *parts], 15, {"OFFRAMP_REPORT": report}, cwd=folder)
                if not start_hangs(result.output):
                    break
            seen |= set(counts_in(report))
            spawned += len([name for name in os.listdir(folder) if name.startswith("report.spawned-")])
        ok = ok and result.ok and "ok dynamic" in result.output
        output += result.output
        seconds += result.seconds
    silent = [] if backend is None else sorted(name for name in wanted if f"MPI_{name}" not in seen)
    # Spawned processes have reports of their own. Over Open MPI 5 they run without Offramp, because they get no variables of mpirun's -x.
    with_it = backend is not None and openmpi_release() < 5
    ok = ok and spawned == (3 if several else 2) * with_it
    tally.record(label, ok and not absent and not silent, f"{spawned} reports of others, not called: {absent}, not seen: {silent}\n{output}", seconds)


def threads(arguments, tally):
    if tally.wants("fortran/MPI_Init_thread"):
        program = os.path.join(arguments.build, "tests/fortran/F08/every_call")
        with tempfile.TemporaryDirectory() as folder:
            result = mpirun(arguments.build, DEALER, 2, [program, "threads"], 60, cwd=folder)
        tally.record("fortran/MPI_Init_thread", result.ok and "ok every_call" in result.output, result.output,
                     result.seconds)


def test_every_call(arguments, tally):
    every_call(arguments, tally, [DEALER])
    threads(arguments, tally)


def test_other_processes(arguments, tally):
    dynamic(arguments, tally, "F08", DEALER)


@pytest.mark.thorough
def test_products(arguments, tally):
    carriers = [None, *arguments.backends]
    every_call(arguments, tally, carriers)
    for binding in BINDINGS:
        for backend in carriers:
            dynamic(arguments, tally, binding, backend)
