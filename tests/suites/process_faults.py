"""Processes that come to grief: the others end with a message that names the rank, or go on and are right, and nothing is
left behind. Each run has a machine to itself."""

import json
import os
import re
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from isolated import isolated, why_not
from launch import base_environment, mpi_of, openmpi_release, run as launch

pytestmark = pytest.mark.alone

LIMIT = 60
TRAFFIC = ["mixed", "receive", "send", "reduce", "barrier"]

# What has to be in the output when rank {} suffers it; of one that is killed the launcher tells.
KILLED = {"openmpi": "process rank {} with PID", "mpich": "Killed (signal 9)"}
FATAL = {
    "kill": "",
    "abort": "offramp: rank {} called MPI_Abort with code 5",
    "exit": "offramp: rank {} ended without MPI_Finalize",
    "fail": "offramp: rank {} ended without MPI_Finalize",
}


def run_alone(arguments, backend, ranks, words, settings=None, options=(), shm="1g"):
    """Not mpirun() of launch.py: that would take some of these runs for a fault of mpirun, and repeat them."""
    variables = {"LD_PRELOAD": os.path.join(arguments.build, "lib/libofframp.so"), "OFFRAMP_BACKEND": backend,
                 "OFFRAMP_SUMMARY": "false", **(settings or {})}
    line = mpi_of(arguments.build).start(ranks, variables, options)
    line += [os.path.join(arguments.build, "tests/process_fault"), *map(str, words)]
    return launch(isolated(line, shm), base_environment(), LIMIT)


def clean(result):
    return "left behind" not in result.output and "still running" not in result.output


def went_well(result):
    return result.ok and clean(result) and "ok process_fault" in result.output


def failed(arguments, fault, result):
    """Hydra's exit code is that of the rank, also of one that leaves MPI out at its end."""
    return not result.ok or fault == "exit" and mpi_of(arguments.build).family == "mpich"


def fatal(arguments, fault, backend, ranks, traffic):
    victim = ranks - 1
    result = run_alone(arguments, backend, ranks, [fault, victim, traffic])
    said = FATAL[fault] or KILLED[mpi_of(arguments.build).family]
    return failed(arguments, fault, result) and clean(result) and said.format(victim) in result.output, result


# What the report says of the rank that suffers it; nothing: it is missing.
LEFT = {
    "kill": None,
    "crash": "signal 11 (Segmentation fault)",
    "abort": "called MPI_Abort with code 5",
    "error": "fatal MPI error in MPI_Send",
    "exit": "ended without MPI_Finalize",
    "interrupt": "signal 15 (Terminated)",
    "finalize": "signal 15 (Terminated)",
}


def left_by(family, fault):
    """What the report says of the rank that suffers it and of the others; nothing: they are missing. Open MPI's launcher sends
    SIGTERM to the others. Hydra hands on SIGINT, and otherwise ends them by SIGKILL, at once also a rank with a fatal error."""
    if family == "openmpi":
        return LEFT[fault], "signal 15 (Terminated)"
    if fault in ("interrupt", "finalize"):
        return ("signal 2 (Interrupt)",) * 2
    return None if fault == "error" else LEFT[fault], None


def incomplete_problem(folder, victim, ranks, reason, reason_of_others):
    """What is wrong with the outputs of a run that did not come to its end; empty: nothing."""
    names = sorted(os.listdir(folder))
    with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
        report = json.load(file)
    known = {rank: end["reason"] for end in report["ended"] for rank in end["ranks"]}
    others = {reason for rank, reason in known.items() if rank != victim}
    silent = [rank for rank in range(ranks) if rank not in known]  # mpirun may be too early with SIGKILL for one of the others
    expected = {"report.json", *(f"report.json.recording.rank-{rank}" for rank in known)}
    problems = [
        (report["complete"] or report["settled"], "it says that it is complete"),
        (known.get(victim) != reason, f"the victim: {known}"),
        (report.get("missing", []) != silent, f"missing: {report.get('missing', [])}"),
        (reason_of_others and len(set(silent) - {victim}) > 1, f"more than one of the others has left nothing: {silent}"),
        (others != {reason_of_others} - {None}, f"the others: {known}"),
        (not report["warnings"][0].startswith("incomplete: "), f"warnings: {report['warnings']}"),
        (set(names) != expected, f"files: {names}"),
        ([bool(part) for part in report["parts"]] != [rank in known for rank in range(ranks)], "parts"),
        ({entry["rank"] for entry in report["each_rank"]} != set(known), "each_rank has other ranks"),
    ]
    return "; ".join(text for wrong, text in problems if wrong)


def incomplete(arguments, fault, backend, ranks):
    """The report of a run of an earlier time is replaced, too, and the recording of what was done can be replayed. Where nothing
    is left, that report alone stays."""
    victim = ranks - 1
    tool = os.path.join(arguments.build, "bin/offramp")
    reasons = left_by(mpi_of(arguments.build).family, fault)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("report.json", f"report.json.recording.rank-{victim}"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write('{"complete": true}')
        settings = {"OFFRAMP_REPORT": f"{folder}/report.json", "OFFRAMP_TRACE": f"{folder}/trace.json",
                    "OFFRAMP_CAPTURE": f"{folder}/capture.pcap", "OFFRAMP_RECEIPTS": "all"}
        result = run_alone(arguments, backend, ranks, [fault, victim, "reduce"], settings)
        said = re.findall(r"offramp: the program did not come to MPI_Finalize; (the report in|offramp replay --partial)", result.output)
        if reasons == (None, None):
            return not result.ok and clean(result) and not said and os.listdir(folder) == ["report.json"], result
        try:
            problem = incomplete_problem(folder, victim, ranks, *reasons)
        except (OSError, ValueError, KeyError) as error:
            problem = repr(error)
        told = subprocess.run([tool, "report", f"{folder}/report.json"], text=True,
                              env=base_environment(), capture_output=True, timeout=60, check=False)
        page = subprocess.run([tool, "report", f"{folder}/report.json", "--html",
                               f"{folder}/page.html"], env=base_environment(), capture_output=True, timeout=60, check=False)
        in_page = page.returncode == 0 and "did not come to MPI_Finalize" in open(f"{folder}/page.html", encoding="utf-8").read()
        # From Open MPI 5 on mpirun hands on nothing more once it has got SIGTERM.
        heard = {"the report in", "offramp replay --partial"} <= set(said) or openmpi_release() >= 5 and fault in ("interrupt", "finalize")
        ok = (failed(arguments, fault, result) and clean(result) and not problem and heard and in_page and
              "warning: incomplete: the program did not come to MPI_Finalize" in told.stdout)
        result.output += f"\n{problem}\n{told.stdout}{told.stderr}"
        return ok, result


# Before the library in LD_PRELOAD: waits for a lock as if another process had it for long.
NO_LOCK = "#include <unistd.h>\nint flock(int file, int operation) { (void)file; (void)operation; return (int)sleep(60); }\n"


def held_up(arguments, backend):
    """The child that writes waits in vain for its turn: the rank says so, and nothing but the lock is left. With one rank: mpirun ends
    others by SIGKILL meanwhile, whose children go on waiting for a while."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as outputs:
        waits, source = os.path.join(folder, "waits.so"), os.path.join(folder, "waits.c")
        with open(source, "w", encoding="utf-8") as file:
            file.write(NO_LOCK)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", waits, source], check=True)
        preload = f"{waits}:{os.path.join(arguments.build, 'lib/libofframp.so')}"
        result = run_alone(arguments, backend, 1, ["crash", 0, "reduce"], {"OFFRAMP_REPORT": f"{outputs}/r.json", "LD_PRELOAD": preload})
        told = "offramp: rank 0: its part of the outputs is lost, from the report on" in result.output
        left = [name for name in os.listdir(outputs) if not re.fullmatch(r"\.offramp-[0-9a-f]{16}", name)]
        return not result.ok and clean(result) and told and left == [], result


def own_handlers(arguments, backend, ranks):
    """The program's own handler of a signal stays, whenever it was installed."""
    result = run_alone(arguments, backend, ranks, ["handler", ranks - 1], {"OFFRAMP_REPORT": "/dev/null"})
    return went_well(result), result


def stopped(arguments, backend, ranks, traffic):
    result = run_alone(arguments, backend, ranks, ["stop", ranks - 1, traffic])
    return went_well(result) and result.seconds > 5, result


def taken_by_library(arguments):
    """What the MPI library itself takes of /dev/shm for each rank, in MiB: Open MPI 5 and MPICH do not start with less."""
    return 4 if mpi_of(arguments.build).family == "openmpi" and openmpi_release() < 5 else 16


# Up to 16 ranks on one node do without it (lib/run/fabric/node_fabric.hpp).
RANKS_WITH_UCX = 17
# Name, size of /dev/shm for so many ranks, further settings and options, and whether messages take the network. The library
# itself gets by without shared memory only if it is told so.
SHORT_OF_MEMORY = [
    ("little for all buffers", "{little}m", {}, [], False),
    ("nothing", "256k", {}, ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"], True),
    ("less than it seemed", "256m", {"UCX_POSIX_RX_BUFS_GROW": "100000"}, [], True),  # of UCX, so on more ranks
]


def short_of_memory(arguments, backend, ranks, shm, settings, options, network):
    if "UCX_POSIX_RX_BUFS_GROW" in settings:
        ranks = RANKS_WITH_UCX
    result = run_alone(arguments, backend, ranks, ["none", 0], settings, options,
                       shm.format(little=taken_by_library(arguments) * ranks + 2))
    return went_well(result) and network == ("messages take the network" in result.output), result


def asked_for_too_much(arguments, backend, ranks):
    """The user's own transports and sizes stay, so there is nothing to fall back to."""
    settings = {"UCX_TLS": "posix,self", "UCX_POSIX_RX_BUFS_GROW": "100000"}
    result = run_alone(arguments, backend, ranks, ["none", 0], settings, shm="64m")
    named = re.search(r"offramp: rank \d: ucp_worker_create: ", result.output) is not None
    return not result.ok and clean(result) and named, result


def filled_up(arguments, backend, ranks):
    """While the program runs. The MPI library's own segments grow, and the processor may end a rank that touches a page
    which cannot be had."""
    result = run_alone(arguments, backend, ranks, ["fill", ranks - 1], shm="128m")
    named = "process rank" in result.output and "signal 7" in result.output
    return clean(result) and (went_well(result) or named), result


def cases(arguments):
    """Pairs of a label and what to call. Every backend meets the worst of them; the rest take turns, unless thorough."""
    backends = arguments.backends
    over_ucx = mpi_of(arguments.build).family == "mpich"  # which fails itself where UCX gets no shared memory
    for i, fault in enumerate(FATAL):
        for j, backend in enumerate(backends):
            every = arguments.ranks if arguments.thorough else [arguments.ranks[(i + j) % len(arguments.ranks)]]
            if not arguments.thorough and fault != "kill" and j % 3 != i % 3:
                continue
            for ranks in every:
                for traffic in TRAFFIC if arguments.thorough else [TRAFFIC[(i + j) % len(TRAFFIC)]]:
                    yield f"{fault} in {traffic}", backend, ranks, fatal, (fault, backend, ranks, traffic)
    for j, backend in enumerate(backends if arguments.thorough else backends[:2]):
        ranks = arguments.ranks[j % len(arguments.ranks)]
        yield "stop for 5 s", backend, ranks, stopped, (backend, ranks, TRAFFIC[0])
    for j, backend in enumerate(backends if arguments.thorough else backends[:1]):
        ranks = arguments.ranks[j % len(arguments.ranks)]
        most = arguments.ranks[-1]  # several write at once
        for name, shm, settings, options, network in SHORT_OF_MEMORY:
            if name != "little for all buffers" and over_ucx:
                continue
            yield f"shared memory: {name}", backend, ranks, short_of_memory, (backend, ranks, shm, settings, options, network)
        for fault in LEFT:
            yield f"outputs after {fault}", backend, most, incomplete, (fault, backend, most)
        yield "outputs that cannot be written in time", backend, 1, held_up, (backend,)
        yield "own handlers of signals", backend, ranks, own_handlers, (backend, ranks)
        if not over_ucx:
            yield "shared memory: less than the user asked for", backend, ranks, asked_for_too_much, (backend, ranks)
        yield "shared memory: filled up on the way", backend, ranks, filled_up, (backend, ranks)


def test_ranks_that_fail(arguments, tally):
    reason = why_not()
    if reason:
        tally.skip("process_faults", f"no namespaces: {reason}")
        return
    wanted = [(f"process_faults/{what}, {backend} {ranks} ranks", check, rest)
              for what, backend, ranks, check, rest in cases(arguments)]
    wanted = [case for case in wanted if tally.wants(case[0])]
    with ThreadPoolExecutor(3) as pool:  # mostly waiting: for mpirun's patience, and for ranks that are stopped
        results = pool.map(lambda case: case[1](arguments, *case[2]), wanted)
        for (label, _, _), (ok, result) in zip(wanted, results):
            tally.record(label, ok, result.output, result.seconds)
