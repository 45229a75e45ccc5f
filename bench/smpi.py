"""Runs of a simulator: what they cost, and SimGrid's SMPI (Debian: libsimgrid-dev) with bench/operations.c."""

import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="hosts" prefix="h" suffix="" radical="0-{last}" speed="1Gf" bw="12.5GBps" lat="{latency}" {more}/>
</platform>
"""


class NoEnd(Exception):
    """A run took longer than its time limit."""


@dataclass
class Cost:
    wall: float  # s
    cpu: float  # s
    peak: int = 0  # bytes of resident memory
    output: str = ""


def run(command, timeout):
    """One run; its processor time and peak memory come with its end."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            status, spent = end_of(process, begin + timeout)
        except BaseException as problem:
            os.killpg(process.pid, signal.SIGKILL)  # smpirun starts the program, which would go on
            process.wait()
            if isinstance(problem, NoEnd):
                raise NoEnd(f"no end after {timeout:g} s: {' '.join(map(str, command))}") from None
            raise
        wall = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode != 0:
        raise SystemExit(f"error: {' '.join(map(str, command))}\n{text}")
    return Cost(wall, spent.ru_utime + spent.ru_stime, spent.ru_maxrss * 1024, text)


def end_of(process, latest):
    while True:
        pid, status, spent = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            return status, spent
        if time.monotonic() > latest:
            raise NoEnd
        time.sleep(0.001)


def median_cost(command, rounds, timeout):
    costs = [run(command, timeout) for _ in range(rounds)]
    return Cost(statistics.median(c.wall for c in costs), statistics.median(c.cpu for c in costs),
                max(c.peak for c in costs), costs[-1].output)


class Smpi:
    @staticmethod
    def installed():
        return shutil.which("smpirun") is not None

    def __init__(self, folder, most_ranks, topology=""):
        self.program = folder / "operations"
        self.hosts = folder / "hosts"
        self.platform = folder / "platform.xml"
        self.platform.write_text(PLATFORM.format(last=most_ranks - 1, latency="150ns" if topology else "500ns", more=topology), encoding="utf-8")
        hosts = list(range(most_ranks))
        if topology:
            random.Random(1).shuffle(hosts)
        self.hosts.write_text("".join(f"h{i}\n" for i in hosts), encoding="utf-8")
        subprocess.run(["smpicc", "-O2", ROOT / "bench/operations.c", "-o", self.program], check=True)

    def command(self, operation, size, ranks, count, group=0, options=()):
        return ["smpirun", "-np", str(ranks), "-platform", self.platform, "-hostfile", self.hosts,
                "--cfg=smpi/simulate-computation:0", "--log=root.thres:error", *options, self.program, operation, str(size),
                str(count), str(group)]
