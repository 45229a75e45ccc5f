"""The unit tests and a multi-rank test in builds with AddressSanitizer and UndefinedBehaviorSanitizer, and with
ThreadSanitizer. The MPI programs and the MPI library are the ordinary ones; what is checked is Offramp."""

import glob
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from launch import base_environment, compiler_cache, mpi_of, openmpi_release, run as launch
from mpi_programs import Run, in_turn, stand_alone

pytestmark = [pytest.mark.thorough, pytest.mark.alone]

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Open MPI 5's PMIx wants shared memory at addresses that ThreadSanitizer has taken.
ELSEWHERE = {"PMIX_MCA_gds": "hash"} if openmpi_release() >= 5 else {}

# Name, compiler flag, runtime to preload, unit tests (None: all), programs that run under it, and options of the
# runtime. The device models have no threads: ThreadSanitizer looks at what is beneath them.
KINDS = [
    ("address", "address,undefined", "libasan.so", None,
     ["fixed_pattern", "nonblocking", "derived_types", "communicators", "comm_free_pending", "reduce_user",
      "probe", "persistent", "bsend_buffers", "truncation", "finalize_unreceived", "fortran_usempi"],
     {"ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}),
    ("thread", "thread", "libtsan.so", ["kernel_test", "fabric_test", "zrlmpi_test"], ["threads"],
     {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1:halt_on_error=0:exitcode=66:"
                      f"suppressions={ROOT}/tests/races.supp", **ELSEWHERE}),
]


# Leaks are looked for in the unit tests. Under mpirun they would be the MPI library's, from modules that are unloaded by
# then and cannot be named in a suppression.
# Stacks stay where they are: what gcc does from 13 on by default puts their arrays elsewhere, where no guard page is beneath them.
LEAKS = {"ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=0",
         "LSAN_OPTIONS": f"suppressions={ROOT}/tests/leaks.supp:print_suppressions=0"}


def runtime(name):
    """The sanitizer's library, as a path that LD_PRELOAD takes."""
    return os.path.realpath(subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True,
                                           check=True).stdout.strip())


def unit_tests():
    """The tests' programs: one per folder with tests."""
    folder = os.path.join(ROOT, "tests")
    return sorted({f"{name}_test" for name in os.listdir(folder)
                   if glob.glob(os.path.join(folder, name, "*_test.cpp"))})


def build(arguments, name, flag, tests):
    folder = os.path.join(arguments.build, f"sanitize-{name}")
    steps = [["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None",
              "-DCMAKE_CXX_FLAGS=-O1 -g1", "-DCMAKE_C_FLAGS=-O1 -g1",
              f"-DOFFRAMP_SANITIZE={flag}", "-DCMAKE_UNITY_BUILD=ON", "-DOFFRAMP_MPI_PROGRAMS=OFF", f"-DMPI_C_COMPILER={mpi_of(arguments.build).compiler}", *compiler_cache()],
             ["ninja", "-C", folder, "offramp", "offramp-fabric-ucx", *(tests or unit_tests())]]
    for step in steps:
        done = launch(step, base_environment(), 1800)
        if not done.ok:
            return folder, done
    return folder, done


# What ThreadSanitizer says when it has lost track of its own memory, for which it takes an address for a size. It happens in
# one of ten runs of a program that loads libraries with thread-local memory while it has threads, and says nothing of the
# program.
LOST = "ThreadSanitizer failed to allocate"


# What compares figures runs code that other tests run, many times over.
FIGURES = "SingleOperations.*:AieForecast.*:BestWindow.*:Bounds.*:*Validation*:*Published*:Advised.*"
# Algorithms on many ranks, whose code the same tests run on fewer; and the largest recordings of those that are scaled.
MANY_RANKS = "*HostAlgorithm*On16:*HostAlgorithm*On21:*ComeOutAsTheyWereRecorded/hpcc:*ComeOutAsTheyWereRecorded/lammps_melt"

# Programs that take minutes: so many parts of each.
SHARDS = {"core_test": 4}


def parts(folder, tests):
    """Of each unit test its path, and which part of how many."""
    places = [os.path.join(folder, "tests", test) for test in sorted(os.listdir(os.path.join(folder, "tests")))
              if test.endswith("_test") and (tests is None or test in tests)]
    return [(path, shard, SHARDS.get(os.path.basename(path), 1)) for path in places if os.access(path, os.X_OK)
            for shard in range(SHARDS.get(os.path.basename(path), 1))]


def unit_test(path, shard, shards, environment):
    """What to call it, and its result."""
    part = {"GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(shard)} if shards > 1 else {}
    for _ in range(3):
        result = launch([path, "--gtest_brief=1", f"--gtest_filter=-{FIGURES}:{MANY_RANKS}"], base_environment({**environment, **part}), 600)
        if LOST not in result.output:
            break
    return os.path.basename(path) + (f", part {shard + 1} of {shards}" if shards > 1 else ""), result


def clean(output):
    return not any(word in output for word in ("ERROR: ", "WARNING: ThreadSanitizer", "runtime error"))


def prepare(arguments):
    for name, flag, _, tests, _, _ in KINDS:
        if arguments.filter in f"sanitizers/{name}":
            build(arguments, name, flag, tests)


def run(arguments, tally):
    for name, flag, library, tests, programs, options in KINDS:
        if not tally.wants(f"sanitizers/{name}"):
            continue
        folder, done = build(arguments, name, flag, tests)
        tally.record(f"sanitizers/{name} build", done.ok, done.output, done.seconds)
        if not done.ok:
            continue
        environment = {**options, **LEAKS, "OFFRAMP_TEST_FABRIC": os.path.join(folder, "lib/offramp/offramp-fabric-ucx.so"),
                       "OFFRAMP_SEEDS": "100"}
        with ThreadPoolExecutor(2) as pool:
            for label, result in pool.map(lambda part, where=environment: unit_test(*part, where), parts(folder, tests)):
                tally.record(f"sanitizers/{name} {label}", result.ok, result.output, result.seconds)
        preload = f"{runtime(library)}:{folder}/lib/libofframp.so"
        alone = stand_alone(arguments.build, programs)
        for number, backend in enumerate(arguments.backends):
            here = [program for program in programs if program not in alone or program in in_turn(alone, number, len(alone))]
            Run(arguments, tally, lambda program, name=name, backend=backend: f"sanitizers/{name} {program} {backend} 2 ranks",
                backend, 2, {"LD_PRELOAD": preload, "OFFRAMP_SUMMARY": "false"}, options, clean, 180, folder).all(here)
