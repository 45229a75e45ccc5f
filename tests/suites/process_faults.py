"""Failing processes: the others end with a message that names the rank, or continue correctly, and nothing is left behind. Each run is
isolated (tests/isolated.py)."""

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

# The expected output when rank {} fails; about a killed rank the launcher prints it.
KILLED = {"openmpi": "process rank {} with PID", "mpich": "Killed (signal 9)"}
FATAL = {
    "kill": "",
    "abort": "offramp: rank {} called MPI_Abort with code 5",
    "exit": "offramp: rank {} ended without MPI_Finalize",
    "fail": "offramp: rank {} ended without MPI_Finalize",
}


def run_alone(arguments, backend, ranks, words, settings=None, options=(), shm="1g"):
    """Replaces mpirun() of launch.py, which would repeat some of these runs as faults of mpirun."""
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
    """Hydra's exit code is that of the rank, even of one that skips MPI's end."""
    return not result.ok or fault == "exit" and mpi_of(arguments.build).family == "mpich"


def fatal(arguments, fault, backend, ranks, traffic):
    victim = ranks - 1
    result = run_alone(arguments, backend, ranks, [fault, victim, traffic])
    said = FATAL[fault] or KILLED[mpi_of(arguments.build).family]
    return failed(arguments, fault, result) and clean(result) and said.format(victim) in result.output, result


# The reason why the failing rank's recording ends.
CUT = "the recording is cut off"
LEFT = {
    "kill": CUT,
    "overflow": "signal 11 (Segmentation fault)",
    "heap": "signal 6 (Aborted)",
    "abort": "called MPI_Abort with code 5",
    "error": "fatal MPI error in MPI_Send",
    "exit": "ended without MPI_Finalize",
    "interrupt": "signal 15 (Terminated)",
    "finalize": "signal 15 (Terminated)",
}


def left_by(family, fault):
    """The reasons why the recordings of the failing rank and of the others end. Open MPI's launcher sends SIGTERM to the others. Hydra
    forwards SIGINT, and otherwise ends them by SIGKILL, immediately also a rank with a fatal error."""
    if family == "openmpi":
        return LEFT[fault], "signal 15 (Terminated)"
    if fault in ("interrupt", "finalize"):
        return ("signal 2 (Interrupt)",) * 2
    return CUT if fault == "error" else LEFT[fault], CUT


# Ends the process if the thread that called forbid_memory() requests memory or forks before it restores the action of a signal, which is
# the last step of Offramp's handler.
WATCHES_HANDLERS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);
static volatile long forbidden;
void forbid_memory(void) { forbidden = syscall(SYS_gettid); }
static void check(void) {
  static const char text[] = "memory or a process in a handler\n";
  if (forbidden == 0 || forbidden != syscall(SYS_gettid)) return;
  if (write(2, text, sizeof text - 1) > 0) _exit(99);
}
void* malloc(size_t bytes) { check(); return __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { check(); return __libc_calloc(count, bytes); }
void* realloc(void* block, size_t bytes) { check(); return __libc_realloc(block, bytes); }
void free(void* block) { check(); __libc_free(block); }
pid_t fork(void) { check(); return ((pid_t (*)(void))dlsym(RTLD_NEXT, "fork"))(); }
pid_t _Fork(void) { check(); return ((pid_t (*)(void))dlsym(RTLD_NEXT, "_Fork"))(); }
int sigaction(int signal, const struct sigaction* next, struct sigaction* before) {
  if (forbidden == syscall(SYS_gettid)) forbidden = 0;
  return ((int (*)(int, const struct sigaction*, struct sigaction*))dlsym(RTLD_NEXT, "sigaction"))(signal, next, before);
}
"""


def watching_handlers(folder):
    library, source = os.path.join(folder, "watches.so"), os.path.join(folder, "watches.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(WATCHES_HANDLERS)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


def parts_problem(tool, folder, victim, ranks, reason, reason_of_others):
    """The problems with the parts of an interrupted run; empty if there are none."""
    recording = os.path.join(folder, "report.json.recording")
    info = subprocess.run([tool, "info", "--json", recording], text=True, env=base_environment(), capture_output=True, timeout=60,
                          check=False)
    facts = json.loads(info.stdout)
    ended = [rank["ended"] for rank in facts["ranks"]]
    others = ended[:victim] + ended[victim + 1:]
    # mpirun may send SIGKILL to one of the others too early
    silent = [rank for rank in range(ranks) if ended[rank] == CUT and rank != victim]
    files = {"report.json", *(f"report.json.recording.rank-{rank}" for rank in range(ranks))}
    problems = [
        (info.returncode != 2 or facts["complete"], "it counts as whole"),
        (ended[victim] != reason, "the victim"),
        (reason_of_others != CUT and len(silent) > 1, "more than one of the others has left no reason"),
        (set(others) - {CUT} != {reason_of_others} - {CUT}, "the others"),
        (any(one["events"] < 30 for one in facts["ranks"] if one["ended"] != CUT), "what a rank did before its end is not there"),
        (set(os.listdir(folder)) != files, f"files: {sorted(os.listdir(folder))}"),
    ]
    if reason != CUT:  # then its part has events
        made = os.path.join(folder, "made.json")
        replay = subprocess.run([tool, "replay", "--partial", recording, "--backend", "host", "--report", made], text=True,
                                env=base_environment(), capture_output=True, timeout=60, check=False)
        with open(made, encoding="utf-8") as file:
            report = json.load(file)
        reported = {rank: end["reason"] for end in report["ended"] for rank in end["ranks"]}
        problems += [
            (replay.returncode != 0 or report["complete"] or reported != dict(enumerate(ended)), f"the report: {reported} {replay.stderr}"),
            (not report["warnings"][0].startswith("incomplete: ") or reason not in report["warnings"][0], f"{report['warnings']}"),
        ]
    text = "; ".join(text for wrong, text in problems if wrong)
    return text and f"{text} {facts}"


def incomplete(arguments, fault, backend, ranks):
    """The parts of the recording have the reason and the place of each rank's end, and a report can be made of them. They replace the
    parts of an earlier run, whose report stays."""
    victim = ranks - 1
    tool = os.path.join(arguments.build, "bin/offramp")
    reasons = left_by(mpi_of(arguments.build).family, fault)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as libraries:
        for name in ("report.json", f"report.json.recording.rank-{victim}"):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write('{"complete": true}')
        settings = {"OFFRAMP_REPORT": f"{folder}/report.json", "OFFRAMP_TRACE": f"{folder}/trace.json",
                    "OFFRAMP_CAPTURE": f"{folder}/capture.pcap", "OFFRAMP_RECEIPTS": "all",
                    "LD_PRELOAD": f"{watching_handlers(libraries)}:{os.path.join(arguments.build, 'lib/libofframp.so')}"}
        result = run_alone(arguments, backend, ranks, [fault, victim, "reduce"], settings)
        said = "offramp: the program did not finish; offramp replay --partial" in result.output
        try:
            problem = parts_problem(tool, folder, victim, ranks, *reasons)
        except (OSError, ValueError, KeyError) as error:
            problem = repr(error)
        # From Open MPI 5 on, mpirun forwards nothing after it has received SIGTERM.
        silent = reasons == (CUT, CUT) or openmpi_release() >= 5 and fault in ("interrupt", "finalize")
        ok = failed(arguments, fault, result) and clean(result) and not problem and (said or silent)
        result.output += f"\n{problem}\n"
        return ok and "memory or a process in a handler" not in result.output, result


def own_handlers(arguments, backend, ranks):
    """The program's own signal handler stays, whenever it was installed."""
    with tempfile.TemporaryDirectory() as folder:
        result = run_alone(arguments, backend, ranks, ["handler", ranks - 1], {"OFFRAMP_REPORT": f"{folder}/r.json"})
        return went_well(result) and os.listdir(folder) == ["r.json"], result


def stopped(arguments, backend, ranks, traffic):
    result = run_alone(arguments, backend, ranks, ["stop", ranks - 1, traffic])
    return went_well(result) and result.seconds > 5, result


def taken_by_library(arguments):
    """The MPI library's own use of /dev/shm for each rank, in MiB: Open MPI 5 and MPICH do not start with less."""
    return 4 if mpi_of(arguments.build).family == "openmpi" and openmpi_release() < 5 else 16


# Up to 16 ranks on one node run without UCX (lib/run/fabric/node_fabric.hpp).
RANKS_WITH_UCX = 17
# Name, size of /dev/shm for so many ranks, further settings and options, and whether messages use the network. The library itself runs
# without shared memory only if its options disable it.
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
    return went_well(result) and network == ("messages use the network" in result.output), result


def asked_for_too_much(arguments, backend, ranks):
    """The user's own transports and sizes stay, so there is no fallback."""
    settings = {"UCX_TLS": "posix,self", "UCX_POSIX_RX_BUFS_GROW": "100000"}
    result = run_alone(arguments, backend, ranks, ["none", 0], settings, shm="64m")
    named = re.search(r"offramp: rank \d: ucp_worker_create: ", result.output) is not None
    return not result.ok and clean(result) and named, result


def filled_up(arguments, backend, ranks):
    """While the program runs. The MPI library's own segments grow, and a rank that touches an unavailable page may be killed."""
    result = run_alone(arguments, backend, ranks, ["fill", ranks - 1], shm="128m")
    named = "process rank" in result.output and "signal 7" in result.output
    return clean(result) and (went_well(result) or named), result


def cases(arguments):
    """Pairs of a label and a function. Every backend gets the hardest ones; the rest take turns, unless thorough."""
    backends = arguments.backends
    over_ucx = mpi_of(arguments.build).family == "mpich"  # which itself fails if UCX gets no shared memory
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
            yield f"recording after {fault}", backend, most, incomplete, (fault, backend, most)
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
    with ThreadPoolExecutor(3) as pool:  # mostly waiting for mpirun's patience, and for stopped ranks
        results = pool.map(lambda case: case[1](arguments, *case[2]), wanted)
        for (label, _, _), (ok, result) in zip(wanted, results):
            tally.record(label, ok, result.output, result.seconds)
