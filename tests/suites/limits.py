"""Sizes and numbers at which libraries break: memory of unreceived messages, many requests, many communicators, messages beyond 2 GiB,
many ranks on few cores."""

import argparse
import os
import re
import subprocess

import pytest

from launch import mpi_of, mpirun

pytestmark = [pytest.mark.thorough, pytest.mark.alone]

GIB = 1 << 30
WINDOW_KIB = 16 << 10  # of one peer of two: PayloadWindow::kTotal / 2
PER_MESSAGE_KIB = 3    # memory at the receiver of a message whose payload stays at the sender


def figure(result, pattern):
    found = re.search(pattern, result.output)
    return float(found.group(1)) if found else None


def start(arguments, tally, name, backend, ranks, words=(), limit=90, settings=None):
    """The result of a program of tests/limits, or None if it is not selected."""
    if not tally.wants(f"limits/{name} {backend or 'native'}"):
        return None
    program = os.path.join(arguments.build, "tests/limits", name)
    return mpirun(arguments.build, backend, ranks, [program, *map(str, words)], limit, settings)


def builds(arguments):
    """(family, build) of each MPI library with built programs."""
    others = os.path.join(arguments.build, "mpich")
    yield mpi_of(arguments.build).family, arguments.build
    if os.path.exists(os.path.join(others, "tests/limits")):
        yield "mpich", others


def record(tally, what, name, backend, result, ok=True):
    if result is not None:
        tally.record(f"limits/{name} {backend or 'native'}: {what}", result.ok and ok and f"ok {name}" in result.output,
                     result.output, result.seconds)


def test_unreceived(arguments, tally):
    """More than natively, where sends of this size wait for their receives."""
    messages, size = 1500, 60000
    for backend in arguments.backends:
        result = start(arguments, tally, "unreceived", backend, 2, [messages, size, 1])
        grown = result and figure(result, r"grew by (\d+) KiB")
        bound = 1.5 * WINDOW_KIB + messages * PER_MESSAGE_KIB
        assert bound < messages * size / 1024 / 2
        record(tally, f"{messages} messages of {size} bytes take at most {bound / 1024:.0f} MiB", "unreceived", backend,
               result, grown is not None and grown <= bound)
    result = start(arguments, tally, "unreceived", "host", 2, [messages, size, 0])
    clean = result and "WARN" not in result.output and "malformed" not in result.output
    record(tally, "MPI_Finalize with messages that wait at their sender", "unreceived", "host", result, clean)


def test_tiny(arguments, tally):
    """Each message takes about as much memory as with Open MPI; MPICH needs less."""
    messages, bound = 100000, 1.2 if mpi_of(arguments.build).family == "openmpi" else 1.6
    native = start(arguments, tally, "unreceived", None, 2, [messages, 8, 1])
    result = start(arguments, tally, "unreceived", "host", 2, [messages, 8, 1])
    if native is None or result is None:
        return
    figures = [figure(each, r"grew by (\d+) KiB") for each in (native, result)]
    record(tally, f"{messages} messages of 8 bytes take at most {bound} of what they take natively: {figures} KiB", "unreceived", "host",
           result, None not in figures and figures[1] <= bound * figures[0])


def test_huge(arguments, tally):
    with open("/proc/meminfo", encoding="utf-8") as file:
        available = int(re.search(r"MemAvailable:\s+(\d+) kB", file.read()).group(1)) * 1024
    if available < 8 * GIB:
        print("note: less than 8 GiB of memory available: no message of more than 2 GiB is sent", flush=True)
        return
    for family, build in builds(arguments):
        within = argparse.Namespace(**{**vars(arguments), "build": build})
        record(tally, f"2.1 GiB in one message, {family}", "huge", "host", start(within, tally, "huge", "host", 2, limit=240))


def test_derived(arguments, tally):
    """Neither side has a packed copy of the whole, which would take as much memory as the data."""
    bound = 8 << 10
    for family, build in builds(arguments):
        result = start(argparse.Namespace(**{**vars(arguments), "build": build}), tally, "derived", "host", 2)
        grown = result and figure(result, r"grew by (\d+) KiB")
        record(tally, f"128 MiB with gaps take at most {bound >> 10} MiB more, {family}: {grown} KiB", "derived", "host", result,
               grown is not None and grown <= bound)


def test_refused_copies(arguments, tally):
    """Over Open MPI, which then copies through its own memory; MPICH ends the program."""
    for backend in arguments.backends[:2]:
        record(tally, "messages come where the kernel copies nothing", "refused_copies", backend,
               start(arguments, tally, "refused_copies", backend, 3))


def test_user_namespaces(arguments, tally):
    """Ranks of unprivileged containers: no rank may open another's files below /proc."""
    alone = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*alone, "true"], check=False, capture_output=True, timeout=60).returncode != 0:
        tally.skip("limits/user namespaces", "this user can make no user namespaces")
        return
    program = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
    for backend in arguments.backends[:2]:
        if tally.wants(f"limits/user namespaces {backend}"):
            # The launcher's variables reach the program through unshare.
            result = mpirun(arguments.build, backend, 2, [*alone, program], 60)
            tally.record(f"limits/user namespaces {backend}: ranks of their own", result.ok and "ok fixed_pattern" in result.output,
                         result.output, result.seconds)


def test_crowd(arguments, tally):
    """Waiting ranks yield: 16 ranks take a small multiple of the native time, and no time slices."""
    native = start(arguments, tally, "crowd", None, 16)
    result = start(arguments, tally, "crowd", "host", 16)
    if native is None or result is None:
        return
    figures = [figure(each, r"took ([\d.]+) s") for each in (native, result)]
    record(tally, f"16 ranks, seconds natively and here: {figures}", "crowd", "host", result,
           None not in figures and figures[1] <= 20 * max(figures[0], 0.25))


def test_communicators(arguments, tally):
    for backend in [None, *arguments.backends[:2]]:
        result = start(arguments, tally, "communicators", backend, 2)
        grown = result and figure(result, r"grew by (\d+) KiB")
        record(tally, "1,000 communicators leave nothing behind", "communicators", backend, result,
               grown is not None and grown <= 1024)


def test_many_requests(arguments, tally):
    for backend in arguments.backends[:2]:
        record(tally, "100,000 requests at once", "many_requests", backend,
               start(arguments, tally, "many_requests", backend, 2))


def test_little_memory(arguments, tally):
    """If the simulation at the end runs out of memory, the program has still succeeded: one line says that its times are not known."""
    for backend in [None, *arguments.backends]:
        result = start(arguments, tally, "little_memory", backend, 2)
        record(tally, "the end of a program that holds all memory", "little_memory", backend, result,
               backend is None or result is None or result.output.count("no modelled times: out of memory") == 1)
