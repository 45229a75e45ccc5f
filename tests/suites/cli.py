"""The offramp command as a user types it."""

import os
import re
import sys

from launch import base_environment, run as launch

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def run(arguments, tally):
    env = base_environment({"OFFRAMP_BUILD": arguments.build})
    for label, script in (("cli/offramp command", "cli_test.py"), ("cli/the documents name every key", "docs_test.py"),
                          ("cli/the bibliography and what cites it", "sources_test.py"),
                          ("cli/manual pages and reference", "manual_test.py"),
                          ("cli/completion in bash, fish and zsh", "completion_test.py"),
                          ("cli/recordings that are not whole, reports and settings of replays", "recording_test.py"),
                          ("cli/pages and pictures in a browser", "pages_test.py"),
                          ("cli/replays with networks and several programs", "network_test.py"),
                          ("cli/what hardware carries, and the whole run", "fair_test.py"),
                          ("cli/advice about a program", "advise_test.py"),
                          ("cli/rows for Python and the notebook", "python_test.py"),
                          ("cli/traces of other tools", "trace_test.py"),
                          ("cli/the fit of the dpu backend", "fit_test.py")):
        if tally.wants(label):
            result = launch([sys.executable, os.path.join(HERE, "cli", script), "-v"], env, 300)
            for test, why in re.findall(r"^(\w+) \(.*\)(?:\n.*)? \.\.\. skipped '(.*)'$", result.output, re.M):
                tally.skip(f"{label}: {test}", why)
            tally.record(label, result.ok, result.output, result.seconds)
