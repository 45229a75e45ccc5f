"""valgrind with unit tests, checking leaks, and with MPI programs, without that: the MPI library leaves its own memory to the system.
The programs are recorded and settled. tests/valgrind.supp lists faults of other libraries. A sample, because it is slow; all with
--thorough."""

import os
import shutil

import pytest

from launch import base_environment, mpirun, run as launch

pytestmark = pytest.mark.thorough

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOUND = 66  # the exit status
VALGRIND = ["valgrind", "--quiet", f"--error-exitcode={FOUND}", f"--suppressions={ROOT}/tests/valgrind.supp"]
LEAKS = ["--leak-check=full", "--errors-for-leak-kinds=definite", "--show-leak-kinds=definite"]

# The sample of unit tests, as a filter of GoogleTest.
SAMPLE = {"fabric_test": "EveryFabric/*.CarriesHeaders*:EveryFabric/*.KeepsTheOrder*"}
LEFT_OUT = ["kernel_test"]  # counts its allocations with its own operators, which valgrind replaces
PROGRAMS = ["fixed_pattern", "nonblocking", "derived_types", "communicators", "comm_free_pending", "reduce_user", "probe",
            "persistent", "bsend_buffers", "truncation", "finalize_unreceived", "collectives_more", "soak"]


def unit_tests(arguments):
    folder = os.path.join(arguments.build, "tests")
    for name in sorted(os.listdir(folder)):
        if name.endswith("_test") and os.path.isfile(os.path.join(folder, name)):
            if name in SAMPLE or arguments.thorough and name not in LEFT_OUT:
                yield os.path.join(folder, name), "*" if arguments.thorough else SAMPLE[name]


def clean(result):
    """valgrind found nothing; its warnings about itself do not count."""
    said = [line for line in result.output.splitlines() if line.startswith("==") and "WARNING: valgrind ignores" not in line]
    return result.ok and not said


def missing(tally):
    if shutil.which("valgrind") is None:
        tally.skip("valgrind", "it is not installed")
        return True
    return False


def test_units(arguments, tally):
    if missing(tally):
        return
    for path, chosen in unit_tests(arguments):
        label = f"valgrind/{os.path.basename(path)}"
        if tally.wants(label):
            result = launch([*VALGRIND, *LEAKS, path, "--gtest_brief=1", f"--gtest_filter={chosen}"],
                            base_environment({"OFFRAMP_SEEDS": "20"}), 3600)
            tally.record(label, clean(result), result.output, result.seconds)


def test_programs(arguments, tally):
    if missing(tally):
        return
    for i, name in enumerate(PROGRAMS if arguments.thorough else PROGRAMS[:1]):
        for backend in arguments.backends if arguments.thorough else [arguments.backends[i % len(arguments.backends)]]:
            label = f"valgrind/{name} {backend} 2 ranks"
            if tally.wants(label):
                rounds = ["--rounds", "4"] if name == "soak" else []
                command = [*VALGRIND, os.path.join(arguments.build, "tests/mpi", name), *rounds]
                result = mpirun(arguments.build, backend, 2, command, 600)
                settled = f"offramp: {backend}, 2 ranks: communication " in result.output
                tally.record(label, clean(result) and settled and f"ok {name}" in result.output, result.output, result.seconds)


def test_sample(arguments, tally):
    test_units(arguments, tally)
    test_programs(arguments, tally)
