"""Instructions per 8-byte operation and backend, counted by callgrind: equal in every run, on a busy machine, too. More than 5 % above
bench/instructions.json fails. With another compiler than that of those figures, each backend is compared with the host of the same
build. After a change that is worth it: tests/suites/speed.py BUILD --write

For a failed poll over host, the instructions more than with the MPI library alone: a program may poll millions of times.

For a message in a world, the instructions more with prefetching: a compiler that sees no effect omits those calls.

For a message while the backend is off, with each MPI library that has programs: at most 2 % more than natively. It has 8 bytes and goes
to the rank itself without any wait, which makes it the cheapest: for others the share is smaller."""

import json
import os
import re
import subprocess
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import registry  # noqa: E402  # pylint: disable=wrong-import-position
from launch import base_environment, mpi_of  # noqa: E402  # pylint: disable=wrong-import-position

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIGURES = os.path.join(ROOT, "bench/instructions.json")
OPERATIONS = ("message", "allreduce")  # between two ranks
BYTES = 8
FEW, MANY = 1000, 3000
TOLERANCE = 1.05


OFF_TOLERANCE = 1.02
# 15 % above what g++ 12 makes of them.
MORE_PER_QUESTION = {"testany": 131, "test": 207, "testsome": 117, "iprobe": 0}
MANY_RANKS = 512  # from here on, a world prefetches memory (simulators/world/world_core.cpp)
FEW_ROUNDS, MANY_ROUNDS = 2, 12
LEAST_PREFETCHING = 570  # 620 by g++ 12; 523 if the compiler omits the optional calls
FEW_MESSAGES, MANY_MESSAGES = 1000, 101000  # the instructions of a run's start vary by a million


def counted(command, settings=None):
    """The instructions of a run; None if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        line = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *map(str, command)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False, env=base_environment(settings))
    found = re.search(r"Collected : (\d+)", done.stderr)
    return int(found.group(1)) if done.returncode == 0 and found else None


def per_operation(build, backend, operation):
    few, many = (counted([os.path.join(build, "bench/operation_cost"), backend, operation, BYTES, count]) for count in (FEW, MANY))
    return None if few is None or many is None else round((many - few) / (MANY - FEW))


def compiler(build):
    """Name and major version of a build's compiler."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", file.read(), re.M)[1]
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
    major = re.search(r" (\d+)\.\d+\.\d+", said)[1]
    return f"{'clang' if 'clang' in said else 'g++'} {major}"


def scale(arguments, tally, operation, expected):
    """The factor for the figures with this compiler; None if the host's cannot be counted."""
    ours = compiler(arguments.build)
    if ours == expected["compiler"]:
        return 1.0
    tally.skip(f"speed/instructions per {operation} host", f"the figures are of {expected['compiler']}, this is {ours}")
    seen = per_operation(arguments.build, "host", operation)
    return None if seen is None else seen / expected[operation]["host"]


def per_message(build, settings=None, program=("messages",)):
    """With the MPI library of the build. program: another program, and its arguments after the number of rounds."""
    name, *words = program
    few, many = (counted([os.path.join(build, "tests", name), count, *words], settings) for count in (FEW_MESSAGES, MANY_MESSAGES))
    return None if few is None or many is None else (many - few) / (MANY_MESSAGES - FEW_MESSAGES)


def off_costs_nothing(build, preload, label, tally):
    if not tally.wants(label):
        return
    native = per_message(build)
    off = per_message(build, {"LD_PRELOAD": os.path.join(build, "lib", preload), "OFFRAMP_BACKEND": "off"})
    ok = native is not None and off is not None and off <= native * OFF_TOLERANCE
    tally.record(f"{label}: {native} instructions, and {off}", ok, "more than 2 %, or a run failed")


@pytest.mark.thorough
def test_questions_cost_little(arguments, tally):
    expected = figures_expected()
    carried = {"LD_PRELOAD": os.path.join(arguments.build, "lib/libofframp.so"), "OFFRAMP_BACKEND": "host", "OFFRAMP_SUMMARY": "false"}
    for question, most in MORE_PER_QUESTION.items():
        label = f"speed/instructions per question that finds nothing, {question} host"
        if not tally.wants(label):
            continue
        if compiler(arguments.build) != expected["compiler"]:
            tally.skip(label, f"the figures are of {expected['compiler']}, and of the MPI library beside it")
            continue
        native, own = (per_message(arguments.build, settings, ("questions", question)) for settings in (None, carried))
        ok = native is not None and own is not None and own <= native + most
        tally.record(f"{label}: {native} natively, and {own}", ok, f"more than {most} on top, or a run failed")


def figures_expected():
    with open(FIGURES, encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.thorough
def test_off_costs_nothing(arguments, tally):
    own = mpi_of(arguments.build).family
    off_costs_nothing(arguments.build, "libofframp.so", f"speed/a message while the backend is off, {own}", tally)
    other = os.path.join(arguments.build, "mpich")
    if os.path.exists(os.path.join(other, "mpi.json")):
        off_costs_nothing(other, "libofframp-mpich.so", "speed/a message while the backend is off, mpich", tally)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_cost_what_they_did(arguments, tally, operation):
    expected = figures_expected()
    factor = scale(arguments, tally, operation, expected)
    for backend in arguments.backends:
        label = f"speed/instructions per {operation} {backend}"
        if tally.wants(label) and not (backend == "host" and factor not in (None, 1.0)):
            seen, known = per_operation(arguments.build, backend, operation), expected[operation].get(backend)
            ok = None not in (factor, seen, known) and seen <= known * factor * TOLERANCE
            tally.record(label, ok, f"{seen} instructions, expected {known} times {factor}")


def per_message_of_world(build, ranks):
    """Instructions of a world for a message between two of so many ranks."""
    few, many = (counted([os.path.join(build, "bench/world_cost"), "host", "pingpong", ranks, BYTES, count])
                 for count in (FEW_ROUNDS, MANY_ROUNDS))
    return None if few is None or many is None else (many - few) / (MANY_ROUNDS - FEW_ROUNDS) / ranks


@pytest.mark.thorough
def test_worlds_of_many_ranks_prefetch(arguments, tally):
    label = "speed/instructions that fetch memory ahead, per message of a world"
    if not tally.wants(label):
        return
    without, ahead = (per_message_of_world(arguments.build, ranks) for ranks in (MANY_RANKS - 2, MANY_RANKS))
    ok = None not in (without, ahead) and ahead - without >= LEAST_PREFETCHING
    tally.record(f"{label}: {ahead} and {without} without", ok, f"fewer than {LEAST_PREFETCHING}, or a run failed")


if __name__ == "__main__":
    build = os.path.abspath(sys.argv[1])
    backends = registry.backends(build)
    figures = {"compiler": compiler(build), **{operation: {backend: per_operation(build, backend, operation) for backend in backends}
                                               for operation in OPERATIONS}}
    print(json.dumps(figures, indent=2))
    if "--write" in sys.argv:
        with open(FIGURES, "w", encoding="utf-8") as file:
            file.write(json.dumps(figures, indent=2) + "\n")
