"""MPI 4 only, over MPICH beside Open MPI: functions with large counts, sessions, partitioned communication; and replays of recordings of
MPICH's programs. The suite mpich calls this one, and checks that the programs pass."""

import json
import os
import re
import tempfile

from launch import DEALER, base_environment, plugins, run as launch
from replays import replay

# Function -> its count in the report: "carried" or "native".
COUNTED = {
    "large_counts": {"MPI_Send_c": "carried", "MPI_Isend_c": "carried", "MPI_Bcast_c": "carried", "MPI_Alltoallv_c": "carried",
                     "MPI_Ialltoallv_c": "carried", "MPI_Reduce_scatter_c": "carried", "MPI_Neighbor_alltoallv_c": "native"},
    "partitioned": {"MPI_Psend_init": "native", "MPI_Precv_init": "native", "MPI_Pready": "native", "MPI_Parrived": "native"},
    "persistent_collectives": {"MPI_Bcast_init": "carried", "MPI_Alltoallw_init": "carried", "MPI_Neighbor_allgather_init": "native"},
    "persistent_order": {"MPI_Allreduce_init_c": "carried"},
    "sessions_alone": {"MPI_Send": "carried", "MPI_Allreduce": "carried"},
    "sessions_before_world": {"MPI_Send": "carried", "MPI_Allreduce": "carried"},
    "sessions_after_world": {"MPI_Send": "carried", "MPI_Allreduce": "carried"},
    "sessions_on_some": {"MPI_Send": "carried", "MPI_Allreduce": "carried"},
}
# Each has a recording by MPICH alone and one while Offramp carries; both are replayed.
RECORDED = ["sendrecv", "persistent", "icollectives", "communicators", "windows_beside", "large_counts", "sessions_alone", "between_groups", "intercomm_threads",
            "group_threads", "partitioned", "persistent_buffered", "persistent_order"]


CASES_COUNTED = [name for name in COUNTED if not name.startswith("sessions_")]


def command(build, name):
    alone = os.path.join(build, "tests/mpi", name)
    return [alone] if os.path.exists(alone) else [os.path.join(build, "tests/mpi_cases"), name]


def offramp(arguments, *words):
    return launch([os.path.join(arguments.build, "bin/offramp"), *words], base_environment(), 120)


def over(arguments, backend):
    """Options of `offramp run`."""
    return ["--backend", backend, *(["--set", f"plugin_path={plugins(arguments.build)}"] if backend == DEALER else [])]


def counted(arguments, tally, names, program, backend, ranks):
    """The report lists functions of some cases by their names, and which library carried them."""
    label = f"mpich/{', '.join(names)}: the functions are counted"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        result = offramp(arguments, "run", "-n", str(ranks), *over(arguments, backend), "--report", path, "--", *program)
        calls, counted_ranks = {}, 0
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            calls, counted_ranks = report["calls"], report["ranks"]
    if left_out := re.search(r"^note: (.*)$", result.output, re.M):
        tally.skip(label, left_out[1])
        return
    expected = {function: way for name in names for function, way in COUNTED[name].items()}
    wrong = [function for function, way in expected.items()
             if calls.get(function, {}).get("count", 0) == 0 or (calls[function]["native"] > 0) != (way == "native")]
    passed = all(re.search(rf"^ok {name}$", result.output, re.M) for name in names)
    tally.record(label, result.ok and passed and counted_ranks == ranks and not wrong, f"{wrong}\n{calls}\n{result.output}", result.seconds)


def checked(arguments, build, tally):
    label = "mpich/check says that functions with large counts are carried"
    if not tally.wants(label):
        return
    result = offramp(arguments, "check", os.path.join(build, "tests/mpi_cases"))
    ok = all(re.search(rf"{name} +{fate}", result.output) for name, fate in
             [("MPI_Send_c", "offloaded"), ("MPI_Alltoallv_init_c", "offloaded"), ("MPI_Mrecv_c", "offloaded"), ("MPI_Pready", "native")])
    tally.record(label, ok, result.output, result.seconds)


def recorded(arguments, tally, what, program, recorder, ranks):
    label = f"mpich/a recording of {what} by {recorder or 'MPICH alone'} is replayed"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "run.rec")
        how = ["record", "-o", path] if recorder is None else ["run", *over(arguments, recorder), "--record", path]
        result = offramp(arguments, how[0], "-n", str(ranks), *how[1:], "--", *program)
        texts, ok = result.output, result.ok and os.path.exists(path)
        events = offramp(arguments, "info", "--events", path).output if ok and "partitioned" in program else ""
        if ok and "partitioned" in program and not re.search(r"MPI_Pready access .* bytes 400 ", events):
            ok, texts = False, f"{texts}no part of a partitioned message"
        for backend in ["host", "tinsel"] if ok else []:
            replayed = replay(arguments.build, path, "--backend", backend)
            if isinstance(replayed, str) or replayed[0]["modelled_time_ps"] <= 0:
                ok, texts = False, f"{texts}{replayed}"
    tally.record(label, ok, texts, result.seconds)


def together(arguments, build, tally):
    """Cases in one run over the dealer, and each session in a run of its own. Waits inside MPICH never yield, so two ranks are recorded."""
    cases_of = os.path.join(build, "tests/mpi_cases")
    checked(arguments, build, tally)
    counted(arguments, tally, CASES_COUNTED, [cases_of, *CASES_COUNTED], DEALER, 3)
    for name in COUNTED:
        if name not in CASES_COUNTED:
            counted(arguments, tally, [name], command(build, name), DEALER, 3)
    names = [name for name in RECORDED if not name.startswith("sessions_")]
    for recorder in (None, DEALER):
        recorded(arguments, tally, f"{len(names)} cases", [cases_of, *names], recorder, 2)


def one_by_one(arguments, build, tally):
    checked(arguments, build, tally)
    for name in COUNTED:
        counted(arguments, tally, [name], command(build, name), "host", 3)
    for name in RECORDED:
        for recorder in (None, "zrlmpi"):
            recorded(arguments, tally, name, command(build, name), recorder, 3)
