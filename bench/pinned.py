"""Runs of the test suites' programs with their ranks pinned to cores."""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

import launch  # noqa: E402


RECORD = "record"  # as a backend: records like `offramp record`


class Stopwatch:
    """Replaces launch.mpirun: pins the ranks if there are enough cores, and adds up the times of the runs of one program."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self, build, backend, ranks, command, limit=60, settings=None, options=(), **more):
        if ranks <= len(os.sched_getaffinity(0)):
            options = (*options, "--bind-to", "core")
        with tempfile.TemporaryDirectory() as folder:
            if backend == RECORD:
                backend, settings = "off", {**(settings or {}), "OFFRAMP_RECORD": os.path.join(folder, "program.rec")}
            result = launch.mpirun(build, backend, ranks, command, 4 * limit, settings, options, **more)
        self.seconds += result.seconds
        return result
