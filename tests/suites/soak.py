"""Load: random traffic against a checker over every backend, with memory that does not grow; many ranks on few cores; a great
many messages in flight. With --thorough it takes ten minutes and more."""

import os
import zlib

from launch import mpirun

SECONDS = {False: 2, True: 100}
MANY_RANKS = 16
# Each process: a request and its record here, a message that nobody has received yet there.
IN_FLIGHT = {False: 100_000, True: 1_000_000}
BYTES_PER_MESSAGE = 2500


def soak(arguments, backend, ranks, seconds, seed):
    command = [os.path.join(arguments.build, "tests/mpi/soak"), "--seconds", str(seconds), "--seed", str(seed)]
    result = mpirun(arguments.build, backend, ranks, command, 120 + 4 * seconds, {"OFFRAMP_SUMMARY": "false"})
    return result.ok and "ok soak" in result.output, result


def in_flight(arguments, backend, count):
    command = [os.path.join(arguments.build, "tests/in_flight"), str(count), str(BYTES_PER_MESSAGE)]
    result = mpirun(arguments.build, backend, 2, command, 300, {"OFFRAMP_SUMMARY": "false"})
    return result.ok and "ok in_flight" in result.output, result


def run(arguments, tally):
    seconds = SECONDS[arguments.thorough]
    for i, backend in enumerate(arguments.backends):
        many = arguments.thorough or i == 0
        for ranks in [3, MANY_RANKS] if many else [3]:
            label = f"soak/{backend} {ranks} ranks"
            if tally.wants(label):
                ok, result = soak(arguments, backend, ranks, seconds, zlib.crc32(label.encode()) % 100_000)
                tally.record(label, ok, result.output, result.seconds)
    for backend in arguments.backends if arguments.thorough else arguments.backends[:1]:
        count = IN_FLIGHT[arguments.thorough]
        label = f"soak/{count} messages in flight, {backend}"
        if tally.wants(label):
            ok, result = in_flight(arguments, backend, count)
            tally.record(label, ok, result.output, result.seconds)
