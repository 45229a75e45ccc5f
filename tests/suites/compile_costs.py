"""The cost of compiling a room does not grow by a tenth unnoticed (scripts/compile-costs)."""

import os
import sys

import pytest

from launch import base_environment, run as launch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 1800  # s, for compiling everything once more


def hold(arguments, tally, label, *more):
    if not tally.wants(label):
        return
    result = launch([sys.executable, os.path.join(ROOT, "scripts/compile-costs"), "--build", arguments.build, "--hold", *more],
                    base_environment(), LIMIT)
    if "not compared: " in result.output:
        tally.skip(label, result.output[result.output.index("not compared: "):].strip())
    else:
        tally.record(label, result.ok, result.output, result.seconds)


def test_read(arguments, tally):
    hold(arguments, tally, "compile_costs/what the compilations of each room read")


@pytest.mark.thorough
def test_allocated(arguments, tally):
    hold(arguments, tally, "compile_costs/what the compiler allocates for each room", "--compile")
