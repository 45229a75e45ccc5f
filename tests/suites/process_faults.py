"""Processes that come to grief: the others end with a message that names the rank, or go on and are right, and nothing is
left behind. Each run has a machine to itself."""

import os
import re
from concurrent.futures import ThreadPoolExecutor

from isolated import isolated, why_not
from launch import base_environment, run as launch

LIMIT = 60
TRAFFIC = ["mixed", "receive", "send", "reduce", "barrier"]

# What has to be in the output when rank {} suffers it.
FATAL = {
    "kill": "process rank {} with PID",
    "abort": "offramp: rank {} called MPI_Abort with code 5",
    "exit": "offramp: rank {} ended without MPI_Finalize",
    "fail": "offramp: rank {} ended without MPI_Finalize",
}


def run_alone(arguments, backend, ranks, words, settings=None, options=(), shm="1g"):
    """Not mpirun() of launch.py: that would take some of these runs for a fault of mpirun, and repeat them."""
    variables = {"LD_PRELOAD": os.path.join(arguments.build, "lib/libofframp.so"), "OFFRAMP_BACKEND": backend,
                 "OFFRAMP_SUMMARY": "false", **(settings or {})}
    line = ["mpirun", "--oversubscribe", "-n", str(ranks), *options]
    for name, value in variables.items():
        line += ["-x", f"{name}={value}"]
    line += [os.path.join(arguments.build, "tests/process_fault"), *map(str, words)]
    return launch(isolated(line, shm), base_environment(), LIMIT)


def clean(result):
    return "left behind" not in result.output and "still running" not in result.output


def went_well(result):
    return result.ok and clean(result) and "ok process_fault" in result.output


def fatal(arguments, fault, backend, ranks, traffic):
    victim = ranks - 1
    result = run_alone(arguments, backend, ranks, [fault, victim, traffic])
    return not result.ok and clean(result) and FATAL[fault].format(victim) in result.output, result


def stopped(arguments, backend, ranks, traffic):
    result = run_alone(arguments, backend, ranks, ["stop", ranks - 1, traffic])
    return went_well(result) and result.seconds > 5, result


# Name, size of /dev/shm, further settings and options, and whether messages take the network. The library itself gets by
# without shared memory only if it is told so.
SHORT_OF_MEMORY = [
    ("little for all buffers", "10m", {}, [], False),
    ("nothing", "256k", {}, ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"], True),
    ("less than it seemed", "256m", {"UCX_POSIX_RX_BUFS_GROW": "100000"}, [], True),
]


def short_of_memory(arguments, backend, ranks, shm, settings, options, network):
    result = run_alone(arguments, backend, ranks, ["none", 0], settings, options, shm)
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
        for name, shm, settings, options, network in SHORT_OF_MEMORY:
            yield f"shared memory: {name}", backend, ranks, short_of_memory, (backend, ranks, shm, settings, options, network)
        yield "shared memory: less than the user asked for", backend, ranks, asked_for_too_much, (backend, ranks)
        yield "shared memory: filled up on the way", backend, ranks, filled_up, (backend, ranks)


def run(arguments, tally):
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
