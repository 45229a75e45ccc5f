"""The unit tests: one GoogleTest program per folder of tests/. Large programs run in parts. Each GoogleTest counts."""

import glob
import json
import os
import tempfile

from launch import base_environment, run as launch

LIMIT = 300  # s, of a part
PARTS = {"model_test": 2, "replay_test": 2}
# The largest recordings, which take half of the program's time: thorough tier only.
WITHOUT = {"scale_test": "*ComeOutAsTheyWereRecorded/hpcc:*ComeOutAsTheyWereRecorded/lammps_melt"}


def pytest_generate_tests(metafunc):
    """A test per part of a program: (program, part, parts)."""
    programs = sorted(path for path in glob.glob(os.path.join(metafunc.config.offramp.build, "tests", "*_test")) if os.access(path, os.X_OK))
    parts = [(path, part, PARTS.get(os.path.basename(path), 1)) for path in programs for part in range(PARTS.get(os.path.basename(path), 1))]
    metafunc.parametrize("program", parts, ids=[f"{os.path.basename(path)}-{part}" for path, part, _ in parts])


def results_of(path):
    """{test: (seconds, its failures)}, as written by the program. Parameter combinations that a test skips are no results."""
    with open(path, encoding="utf-8") as file:
        suites = json.load(file)["testsuites"]
    return {f"{test['classname']}.{test['name']}": (float(test["time"].rstrip("s")), [each["failure"] for each in test.get("failures", [])])
            for suite in suites for test in suite["testsuite"] if test["result"] == "COMPLETED"}


def test_each_program(arguments, tally, program):
    path, part, parts = program
    name = os.path.basename(path)
    left_out = "" if arguments.thorough else WITHOUT.get(name, "")
    with tempfile.TemporaryDirectory() as folder:
        written = os.path.join(folder, "results.json")
        environment = base_environment({"OFFRAMP_TEST_FABRIC": os.path.join(arguments.build, "lib/offramp/offramp-fabric-ucx.so"),
                                        "GTEST_TOTAL_SHARDS": str(parts), "GTEST_SHARD_INDEX": str(part)})
        result = launch([path, "--gtest_brief=1", f"--gtest_output=json:{written}", f"--gtest_filter=-{left_out}"], environment, LIMIT)
        tests = results_of(written) if os.path.exists(written) else {}
    for test, (seconds, failures) in tests.items():
        tally.record(f"units/{name} {test}", not failures, "\n".join(failures), seconds)
    # A program that ends early writes no results; one with leaks fails after its last test.
    failed = any(failures for _, failures in tests.values())
    tally.record(f"units/{name} part {part + 1} of {parts} ends well", bool(tests) and (result.ok or failed), result.output, result.seconds)
