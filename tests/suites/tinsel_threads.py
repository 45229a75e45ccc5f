"""Programs for the threads of the tinsel machine: the library's functions, and the example on machines of several sizes."""

import os
import re
import tempfile

from c_library import ROOT, compile_example, missing, only_its_functions
from launch import base_environment, run as launch

LIMIT = 60  # s


def documented():
    """Receivers -> the cycles on the page."""
    with open(os.path.join(ROOT, "docs/backends/tinsel.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (\d+) threads (?:of a|on \d+) board.*?\| (\d+) \| (\d+) \| (\d+) \|$", file.read(), re.M)
    return {int(row[0]): [int(value) for value in row[1:]] for row in rows}


def test_exports(arguments, tally):
    if missing(arguments, "offramp-tinsel"):
        tally.skip("tinsel_threads", missing(arguments, "offramp-tinsel"))
        return
    only_its_functions(arguments, tally, "tinsel_threads", "offramp-tinsel", ["tinsel.h"])


def test_example(arguments, tally):
    if missing(arguments, "offramp-tinsel"):
        return
    with tempfile.TemporaryDirectory() as folder:
        compiled = compile_example(arguments, folder, "tinsel/multicast", "offramp-tinsel")
        tally.record("tinsel_threads/the example compiles", compiled.ok, compiled.output, compiled.seconds)
        if not compiled.ok:
            return
        program = os.path.join(folder, "multicast")
        shown = documented()
        for receivers, size in ((384, []), (1024, ["1", "1", "64"]), (49152, ["6", "8", "64"])):
            result = launch([program, *size], base_environment(), LIMIT)
            cycles = [int(value) for value in re.findall(r"(\d+) cycles$", result.output, re.M)]
            tally.record(f"tinsel_threads/multicast to {receivers} threads takes what the page shows",
                         result.ok and cycles == shown.get(receivers), f"{result.output}shown: {shown.get(receivers)}",
                         result.seconds)
        result = launch([program, "7"], base_environment(), LIMIT)
        tally.record("tinsel_threads/a machine that is too large is refused", not result.ok and "at most" in result.output,
                     result.output, result.seconds)
