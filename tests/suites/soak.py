"""Load: random traffic against a checker over every backend, recorded into a file, with memory that does not grow; many ranks on few cores,
alone and beside programs that keep the cores busy; many messages in flight. With --thorough it takes ten minutes and more. Only the
first are recorded and settled: the others test waiting and the memory of messages."""

import os
import subprocess
import sys
import tempfile
import zlib

import pytest

from launch import mpirun

pytestmark = [pytest.mark.thorough, pytest.mark.alone]

SECONDS = {False: 2, True: 100}
MANY_RANKS = 16
# Ranks for each core, and other processes for each core.
CROWDS = (8, 25)
BUSY = 3
# Bytes for each message of 8 bytes: a request and its record at the sender, an unreceived message at the receiver. They take 590 and 285
# (x86-64, g++ 12); Open MPI itself takes 920 and 610.
IN_FLIGHT = {False: 100_000, True: 1_000_000}
SENDER_BYTES = 700
RECEIVER_BYTES = 320
# Seconds. Searching all messages for each receive would take minutes for the smaller number, and hours for the larger one.
IN_FLIGHT_LIMIT = 60


UNRECORDED = {"OFFRAMP_SUMMARY": "false"}


def soak(arguments, backend, ranks, seconds, seed, settings):
    command = [os.path.join(arguments.build, "tests/mpi/soak"), "--seconds", str(seconds), "--seed", str(seed)]
    result = mpirun(arguments.build, backend, ranks, command, 120 + 4 * seconds, settings)
    return result.ok and "ok soak" in result.output, result


def recorded_soak(arguments, backend, ranks, seconds, seed):
    with tempfile.TemporaryDirectory() as folder:
        ok, result = soak(arguments, backend, ranks, seconds, seed, {"OFFRAMP_RECORD": os.path.join(folder, "soak.rec")})
    return ok and f"offramp: {backend}, {ranks} ranks: communication " in result.output, result


def soak_on_busy_cores(arguments, backend, ranks_per_core, seconds, seed):
    """A rank gets its core for some milliseconds now and then: it is only slow."""
    cores = len(os.sched_getaffinity(0))
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY * cores)]
    try:
        return soak(arguments, backend, min(50, ranks_per_core * cores), seconds, seed, UNRECORDED)
    finally:
        for process in busy:
            process.kill()
        for process in busy:
            process.wait()


def in_flight(arguments, backend, count, order):
    command = [os.path.join(arguments.build, "tests/in_flight"), str(count), str(SENDER_BYTES), str(RECEIVER_BYTES), order]
    result = mpirun(arguments.build, backend, 2, command, IN_FLIGHT_LIMIT, UNRECORDED)
    return result.ok and "ok in_flight" in result.output, result


def test_traffic(arguments, tally):
    seconds = SECONDS[arguments.thorough]
    for i, backend in enumerate(arguments.backends):
        for ranks in [3, MANY_RANKS] if arguments.thorough or i == 0 else [3]:
            label = f"soak/{backend} {ranks} ranks"
            if tally.wants(label):
                seed = zlib.crc32(label.encode()) % 100_000
                ok, result = (recorded_soak(arguments, backend, ranks, seconds, seed) if ranks == 3 else
                              soak(arguments, backend, ranks, seconds, seed, UNRECORDED))
                tally.record(label, ok, result.output, result.seconds)


def test_busy_cores(arguments, tally):
    seconds = SECONDS[arguments.thorough]
    for i, backend in enumerate(arguments.backends):
        for ranks_per_core in CROWDS if arguments.thorough or i == 0 else CROWDS[:1]:
            label = f"soak/{backend} {ranks_per_core} ranks for each core, which is busy"
            if tally.wants(label):
                seed = zlib.crc32(label.encode()) % 100_000
                ok, result = soak_on_busy_cores(arguments, backend, ranks_per_core, seconds, seed)
                tally.record(label, ok, result.output, result.seconds)


def test_in_flight(arguments, tally):
    for backend in arguments.backends if arguments.thorough else arguments.backends[:1]:
        count = IN_FLIGHT[arguments.thorough]
        for order in ("forward", "reverse"):
            label = f"soak/{count} messages in flight, received {order}, {backend}"
            if tally.wants(label):
                ok, result = in_flight(arguments, backend, count, order)
                tally.record(label, ok, result.output, result.seconds)


def test_load(arguments, tally):
    test_traffic(arguments, tally)
    test_busy_cores(arguments, tally)
    test_in_flight(arguments, tally)
