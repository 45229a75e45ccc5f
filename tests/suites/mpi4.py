"""What only MPI 4 has, over MPICH beside Open MPI: functions with large counts, sessions, partitioned communication; and recordings of
programs of MPICH, replayed. Called by the suite mpich; that the programs pass is seen there."""

import json
import os
import re
import tempfile

from launch import base_environment, run as launch
from replays import replay

# Function -> what of it the report counts: "carried" or "native".
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
# A recording of each, by MPICH alone and while Offramp carries, is replayed.
RECORDED = ["sendrecv", "persistent", "icollectives", "communicators", "windows_beside", "large_counts", "sessions_alone", "intercomm_threads",
            "group_threads", "persistent_buffered", "persistent_order"]


def command(build, name):
    alone = os.path.join(build, "tests/mpi", name)
    return [alone] if os.path.exists(alone) else [os.path.join(build, "tests/mpi_cases"), name]


def offramp(arguments, *words):
    return launch([os.path.join(arguments.build, "bin/offramp"), *words], base_environment(), 120)


def counted(arguments, build, tally, name):
    """The report has the functions by their names, and says who carried them."""
    label = f"mpich/{name} is counted by function"
    if not tally.wants(label):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        result = offramp(arguments, "run", "-n", "3", "--backend", "host", "--report", path, "--", *command(build, name))
        calls, ranks = {}, 0
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            calls, ranks = report["calls"], report["ranks"]
    if left_out := re.search(r"^note: (.*)$", result.output, re.M):
        tally.skip(label, left_out[1])
        return
    wrong = [function for function, way in COUNTED[name].items()
             if calls.get(function, {}).get("count", 0) == 0 or (calls[function]["native"] > 0) != (way == "native")]
    tally.record(label, result.ok and ranks == 3 and not wrong, f"{wrong}\n{calls}\n{result.output}", result.seconds)


def checked(arguments, build, tally):
    label = "mpich/check says that functions with large counts are carried"
    if not tally.wants(label):
        return
    result = offramp(arguments, "check", os.path.join(build, "tests/mpi_cases"))
    ok = all(re.search(rf"{name} +{fate}", result.output) for name, fate in
             [("MPI_Send_c", "offloaded"), ("MPI_Alltoallv_init_c", "offloaded"), ("MPI_Mrecv_c", "offloaded"), ("MPI_Pready", "native")])
    tally.record(label, ok, result.output, result.seconds)


def recorded(arguments, build, tally, name):
    for recorder in (None, "zrlmpi"):
        label = f"mpich/a recording of {name} by {recorder or 'MPICH alone'} is replayed"
        if not tally.wants(label):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.rec")
            how = ["record", "-o", path] if recorder is None else ["run", "--backend", recorder, "--record", path]
            result = offramp(arguments, how[0], "-n", "3", *how[1:], "--", *command(build, name))
            texts, ok = result.output, result.ok and os.path.exists(path)
            for backend in ["host", "tinsel"] if ok else []:
                replayed = replay(arguments.build, path, "--backend", backend)
                if isinstance(replayed, str) or replayed[0]["modelled_time_ps"] <= 0:
                    ok, texts = False, f"{texts}{replayed}"
        tally.record(label, ok, texts, result.seconds)


def run(arguments, build, tally):
    checked(arguments, build, tally)
    for name in COUNTED:
        counted(arguments, build, tally, name)
    for name in RECORDED:
        recorded(arguments, build, tally, name)
