#!/usr/bin/env python3
"""Runs a program again and again, each time with other faults on the modelled wires.

A run is good if it ends well, or with an MPI error for a fault that the hardware's protocol cannot repair. For each failure (wrong, hang,
crash) a script of faults is written that makes it happen again, as short as delta debugging over the recorded faults can find (Zeller and
Hildebrandt, ddmin). Exit codes: 0 all runs were good, 2 the program fails without faults, 3 no fault happened, 4 some runs failed."""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import registry

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GOOD = ("ok", "no fault", "MPI error")
CLASSES = (*GOOD, "wrong", "hang", "crash")
KINDS = ("loss", "duplication", "reordering", "corruption", "delay")  # without outages, which a run does not have
RATES = ("1e-4", "1e-3", "1e-2", "1e-1")
FIRST_RUN = 60  # more seconds, to find the program and its libraries
# Messages of Open MPI, its mpirun, and Hydra about a rank that died of a signal. 9 and 15 end the other ranks.
CRASH = re.compile(r"Process received signal|exited on\ssignal (4|6|7|8|11) | \(signal (4|6|7|8|11)\)\n")
# Open MPI 4's mpirun sometimes reports a rank that ended well as vanished (open-mpi/ompi issue 7833).
VANISHED = re.compile(r"with PID 0 on.*exiting improperly", re.S)


def execute(command, limit):
    """Status, output, whether the limit ended it, and seconds. The whole process group ends with it."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          start_new_session=True) as child:
        try:
            output, late = child.communicate(timeout=limit)[0], False
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, late = child.communicate()[0], True
    return child.returncode, output, late, time.monotonic() - begin


def written(path, lines):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)
    return path


class Campaign:
    """options: as the command line has them."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.each, self.failures = [], []

    def run(self, backend, settings, more_time=0):
        """The class of one run, its output, and its seconds."""
        options = self.options
        command = [os.path.join(options.build, "bin/offramp"), "run", "-n", str(options.ranks), "--backend", backend]
        for setting in ("summary=false", *options.set, *settings):
            command += ["--set", setting]
        command += ["--", *options.program]
        status, output, late, seconds = execute(command, options.time_limit + more_time)
        if VANISHED.search(output):
            status, output, late, seconds = execute(command, options.time_limit + more_time)
        if late:
            result = "hang"
        elif CRASH.search(output) or status < 0 or (status > 128 and status != 128 + signal.SIGTERM):
            result = "crash"
        elif "offramp: rank " in output and " gave up " in output:  # a rank says so once when it gets an MPI error for a fault
            result = "MPI error"
        else:
            result = "ok" if status == 0 and options.expect in output else "wrong"
        return result, output, seconds

    def case(self, seed):
        """The seed chooses backend, kind, and rate: backends change fastest, then kinds, then rates."""
        left, chosen = seed, {}
        for name, values in (("backend", self.options.backend), ("kind", self.options.kinds), ("rate", self.options.rates)):
            left, index = divmod(left, len(values))
            chosen[name] = values[index]
        return {**chosen, "seed": seed}

    def one(self, case):
        record = os.path.join(self.folder, "record")
        if os.path.exists(record):
            os.remove(record)
        kinds = KINDS if case["kind"] == "all" else (case["kind"],)
        settings = [f"faults.seed={case['seed']}", f"faults.record={record}", *(f"faults.{kind}={case['rate']}" for kind in kinds)]
        result, output, seconds = self.run(case["backend"], settings)
        faults = []
        if os.path.exists(record):
            with open(record, encoding="utf-8") as file:
                faults = sorted({line for line in file.read().splitlines() if line})  # both ends may record a fault
        if result == "ok" and not faults:
            result = "no fault"
        self.each.append({**case, "result": result, "faults": len(faults), "seconds": seconds})
        if result not in GOOD:
            script, again = self.shrunk(case, result, faults)
            file = written(os.path.join(self.options.folder, f"faults-{case['backend']}-{case['kind']}-{case['seed']}.txt"), script)
            self.failures.append({**case, "result": result, "recorded": len(faults), "again": again, "script": script, "file": file,
                                  "output": output})

    def shrunk(self, case, result, script):
        """The shortest script found that fails in the same way, and whether the whole script does."""
        left = self.options.shrink_runs

        def fails(lines):
            nonlocal left
            left -= 1
            path = written(os.path.join(self.folder, "script"), lines)
            return self.run(case["backend"], [f"faults.script=@{path}"])[0] == result

        if left == 0 or not fails(script):
            return script, False
        parts = 2
        while len(script) > 1 and left > 0:
            bounds = [len(script) * i // parts for i in range(parts + 1)]
            rests = (script[:begin] + script[end:] for begin, end in zip(bounds, bounds[1:]))
            shorter = next((rest for rest in rests if left > 0 and fails(rest)), None)
            if shorter is not None:
                script, parts = shorter, max(2, parts - 1)
            elif parts < len(script):
                parts *= 2
            else:
                break
            parts = min(parts, max(1, len(script)))
        return script, True

    def answer(self):
        results = [run["result"] for run in self.each]
        return {"runs": len(results), "faults": sum(run["faults"] for run in self.each),
                "longest_s": max((run["seconds"] for run in self.each), default=0), "results": {name: results.count(name) for name in CLASSES},
                "each": self.each, "failures": self.failures}


def print_answer(answer, options):
    print(f"{answer['runs']} runs, {answer['faults']} faults, longest {answer['longest_s']:.1f} s")
    for name, count in answer["results"].items():
        print(f"  {name:<10} {count}")
    for failure in answer["failures"]:
        print(f"\n{failure['backend']} {failure['kind']} {failure['rate']} seed {failure['seed']}: {failure['result']}, script of "
              f"{len(failure['script'])} of {failure['recorded']} faults in {failure['file']}{'' if failure['again'] else ', which alone does not fail again'}")
        settings = [*options.set, f"faults.script=@{failure['file']}"]
        print("  offramp run", "-n", options.ranks, "--backend", failure["backend"], *(f"--set {shlex.quote(each)}" for each in settings), "--",
              shlex.join(options.program))


def main():
    names = lambda text: text.split(",")  # noqa: E731
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--backend", type=names, help="default: all")
    parser.add_argument("--kinds", type=names, default=[*KINDS, "all"])
    parser.add_argument("--rates", type=names, default=list(RATES), help="probabilities; with the kind all that of each kind, at most 0.2")
    parser.add_argument("-n", dest="ranks", type=int, default=2)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run; each further run counts up")
    parser.add_argument("--time-limit", type=float, default=60, help="a run that takes more seconds counts as a hang")
    parser.add_argument("--expect", default="", help="a text that every run without an MPI error prints")
    parser.add_argument("--folder", default=".", help="folder for the scripts of failures")
    parser.add_argument("--shrink-runs", type=int, default=200, help="runs to spend on making one script shorter")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("program", nargs="+", help="behind --")
    options = parser.parse_args()
    options.backend = options.backend or registry.backends(options.build)
    with tempfile.TemporaryDirectory(prefix="offramp-faults-") as folder:
        campaign = Campaign(options, folder)
        for backend in options.backend:
            result, output, _ = campaign.run(backend, [], FIRST_RUN)
            if result != "ok":
                print(f"the program fails over {backend} without any fault ({result}):\n{output}", file=sys.stderr)
                sys.exit(2)
        for seed in range(options.seed, options.seed + options.runs):
            campaign.one(campaign.case(seed))
    answer = campaign.answer()
    if options.json:
        print(json.dumps(answer, indent=1))
    else:
        print_answer(answer, options)
    sys.exit(4 if answer["failures"] else 0 if answer["faults"] else 3)


if __name__ == "__main__":
    main()
