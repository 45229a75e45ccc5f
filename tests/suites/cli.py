"""The offramp command as a user types it."""

import os
import sys

from launch import base_environment, run as launch

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(arguments, tally):
    if not tally.wants("cli/offramp command"):
        return
    env = base_environment({"OFFRAMP_BUILD": arguments.build})
    result = launch([sys.executable, os.path.join(HERE, "cli/cli_test.py")], env, 300)
    tally.record("cli/offramp command", result.ok, result.output, result.seconds)
