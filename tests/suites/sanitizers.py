"""Offramp with sanitizers. One build with AddressSanitizer and UndefinedBehaviorSanitizer has the libraries, the unit tests, and
mpi_cases. The cases run with a recording, a report, and the summary, so that recorder and settlement are checked from an MPI program.
The sample has the unit tests of decoders, recordings, engine, and fabrics, and some cases. With --thorough: all unit tests, all cases,
and a build with ThreadSanitizer for code with threads."""

import argparse
import functools
import glob
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from launch import base_environment, mpi_of, openmpi_release, run as launch
from mpi_programs import Run, cases

pytestmark = [pytest.mark.thorough, pytest.mark.alone]

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

SAMPLED_TESTS = ("base_test", "engine_test", "fabric_test", "kernel_test", "marshal_test", "recording_test", "replay_test", "trace_test")
SAMPLED_CASES = ("fixed_pattern", "nonblocking", "derived_types", "communicators", "comm_free_pending", "reduce_user", "probe", "persistent",
                 "bsend_buffers", "truncation", "collectives_more", "other_collectives", "topologies", "wildcards")
# The device models have no threads: ThreadSanitizer checks the layers below them, and worlds that are simulated side by side.
THREADED_TESTS = ("base_test", "kernel_test", "fabric_test", "zrlmpi_test", "advice_test")
THREADED_CASES = ("threads",)

# Only unit tests are checked for leaks: under mpirun the leaks are the MPI library's, in modules that are unloaded by then and cannot be
# named in a suppression.
ADDRESS = {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
# Keeps stacks in place: from GCC 13 on, arrays of a stack move by default to a place without a guard page below.
LEAKS = {"ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=0",
         "LSAN_OPTIONS": f"suppressions={ROOT}/tests/leaks.supp:print_suppressions=0"}
# Open MPI 5's PMIx needs shared memory at addresses that ThreadSanitizer uses.
THREAD = {"TSAN_OPTIONS": f"ignore_noninstrumented_modules=1:halt_on_error=0:exitcode=66:suppressions={ROOT}/tests/races.supp",
          **({"PMIX_MCA_gds": "hash"} if openmpi_release() >= 5 else {})}
# ThreadSanitizer's message when it has lost track of its own memory. One of ten runs of a program that loads libraries with thread-local
# memory while it has threads prints it; it is no fault of the program.
LOST = "ThreadSanitizer failed to allocate"

# Tests that compare figures run the same code as other tests, many times over.
FIGURES = "SingleOperations.*:AieForecast.*:BestWindow.*:Bounds.*:*Validation*:*Published*:Advised.*"
# Algorithms on many ranks, whose code the same tests run on fewer; and the largest of the recordings that are scaled.
MANY_RANKS = "*HostAlgorithm*On16:*HostAlgorithm*On21:*ComeOutAsTheyWereRecorded/hpcc:*ComeOutAsTheyWereRecorded/lammps_melt"
# Unit tests that take minutes, with their number of parts.
SHARDS = {"engine_test": 2, "replay_test": 2}
LIMIT = 1800  # s, of a build


def unit_tests():
    """The programs of the unit tests: one for each folder with tests."""
    folder = os.path.join(ROOT, "tests")
    return tuple(sorted(f"{name}_test" for name in os.listdir(folder) if glob.glob(os.path.join(folder, name, "*_test.cpp"))))


@functools.cache
def build(outer, name, sanitizers, targets):
    """The folder of the build, and what went wrong last."""
    folder = os.path.join(outer, f"sanitize-{name}")
    for step in (["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1",
                  "-DCMAKE_C_FLAGS=-O1", f"-DOFFRAMP_SANITIZE={sanitizers}", "-DCMAKE_UNITY_BUILD=ON",
                  f"-DMPI_C_COMPILER={mpi_of(outer).compiler}"],
                 ["ninja", "-C", folder, "offramp", "offramp-fabric-ucx", *targets]):
        done = launch(step, base_environment(), LIMIT)
        if not done.ok:
            break
    return folder, done


def parts(tests):
    """Each unit test with the number of its part, and the number of parts."""
    return [(test, shard, SHARDS.get(test, 1)) for test in tests for shard in range(SHARDS.get(test, 1))]


def run_unit_tests(tally, name, folder, tests, options):
    environment = {**options, "OFFRAMP_TEST_FABRIC": os.path.join(folder, "lib/offramp/offramp-fabric-ucx.so"), "OFFRAMP_SEEDS": "100"}

    def run_part(part):
        test, shard, shards = part
        shard_of = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)} if shards > 1 else {}
        for _ in range(3):
            result = launch([os.path.join(folder, "tests", test), "--gtest_brief=1", f"--gtest_filter=-{FIGURES}:{MANY_RANKS}"],
                            base_environment({**environment, **shard_of}), 600)
            if LOST not in result.output:
                break
        return f"sanitizers/{name} {test}" + (f", part {shard + 1} of {shards}" if shards > 1 else ""), result

    with ThreadPoolExecutor(2) as pool:
        for label, result in pool.map(run_part, parts(tests)):
            tally.record(label, result.ok, result.output, result.seconds)


def is_clean(output):
    """Nothing was found, and the run was settled."""
    found = any(word in output for word in ("ERROR: ", "WARNING: ThreadSanitizer", "runtime error"))
    return not found and "2 ranks: communication " in output


def run_cases(arguments, tally, name, folder, names, variables, preload=None):
    """The cases of arguments.build with the library of a folder. preload: further preloaded libraries."""
    for backend in arguments.backends:
        with tempfile.TemporaryDirectory() as files:
            settings = {"OFFRAMP_RECORD": os.path.join(files, "a.rec"), "OFFRAMP_REPORT": os.path.join(files, "a.json"),
                        "LD_PRELOAD": ":".join([*(preload or []), f"{folder}/lib/libofframp.so"])}
            Run(arguments, tally, lambda case, backend=backend: f"sanitizers/{name} {case} {backend} 2 ranks", backend, 2, settings,
                variables, is_clean, 300, folder, separate=False).all(names)


def test_address(arguments, tally):
    if not tally.wants("sanitizers/address"):
        return
    tests = unit_tests() if arguments.thorough else SAMPLED_TESTS
    folder, done = build(arguments.build, "address", "address,undefined", ("mpi_cases", *tests))
    tally.record("sanitizers/address build", done.ok, done.output, done.seconds)
    if done.ok:
        run_unit_tests(tally, "address", folder, tests, LEAKS)
        within = argparse.Namespace(**{**vars(arguments), "build": folder})
        run_cases(within, tally, "address", folder, sum(cases(folder), []) if arguments.thorough else SAMPLED_CASES, ADDRESS)


@pytest.mark.thorough
def test_thread(arguments, tally):
    """The MPI programs are the ordinary ones, because the test is of Offramp."""
    if not tally.wants("sanitizers/thread"):
        return
    folder, done = build(arguments.build, "thread", "thread", THREADED_TESTS)
    tally.record("sanitizers/thread build", done.ok, done.output, done.seconds)
    if done.ok:
        run_unit_tests(tally, "thread", folder, THREADED_TESTS, THREAD)
        runtime = subprocess.run(["g++", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True).stdout.strip()
        run_cases(arguments, tally, "thread", folder, THREADED_CASES, THREAD, [os.path.realpath(runtime)])
