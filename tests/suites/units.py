"""The unit tests: one GoogleTest program per folder."""

import os

from launch import base_environment, run as launch


def run(arguments, tally):
    folder = os.path.join(arguments.build, "tests")
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        label = f"units/{name}"
        if not name.endswith("_test") or not os.access(path, os.X_OK) or not tally.wants(label):
            continue
        env = base_environment({"OFFRAMP_TEST_FABRIC": os.path.join(arguments.build, "lib/offramp/offramp-fabric-ucx.so")})
        result = launch([path, "--gtest_brief=1"], env, 300)
        tally.record(label, result.ok, result.output, result.seconds)
