"""Runs of a simulator with their costs; SimGrid's SMPI (Debian: libsimgrid-dev) with bench/operations.c; clusters of SimGrid on which
Offramp and SimGrid play the same messages."""

import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
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

CLUSTER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="h" suffix="" radical="0-{last}" speed="1Gf" bw="12.5GBps" lat="{latency}" {more}/>
</platform>
"""
# SimGrid's model CM02: flows, without the factors by which LV08 fits them to TCP.
FLOWS = ("--cfg=network/model:CM02", "--cfg=network/TCP-gamma:0", "--cfg=network/crosstraffic:0")
# A NIC like SMPI's: no framing, and times and bandwidths that are negligible beside the messages.
FREE_NIC = ("framing=1", "pcie=100000", "overhead=0.001", "gap=0.001", "fetch=0", "post=0")


def output_of(command, text=None):
    process = subprocess.run(list(map(str, command)), input=text, capture_output=True, text=True, check=False, timeout=600)
    if process.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}\n{process.stdout}{process.stderr}")
    return process.stdout


def difference(ours, theirs):
    """In percent."""
    return round(100 * (ours / theirs - 1), 1) + 0.0  # no -0.0


def replayed(build, program, platform, settings, sharing="fair", options=()):
    """Microseconds of a program over a `host` with these settings and a platform file's network."""
    text = output_of([build / "bin/offramp", "replay", program, "--backend", "host", "--network", platform, *options, "--set",
                      f"network.sharing={sharing}", *(word for key in settings for word in ("--set", f"host.{key}"))])
    return float(re.search(r"# host: ([\d.]+) us", text)[1])


class NoEnd(Exception):
    """A run took longer than its time limit."""


@dataclass
class Cost:
    wall: float  # s
    cpu: float  # s
    peak: int = 0  # bytes of resident memory
    output: str = ""


def run(command, timeout):
    """Runs a command; its end gives processor time and peak memory."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            status, spent = end_of(process, begin + timeout)
        except BaseException as problem:
            os.killpg(process.pid, signal.SIGKILL)  # also the program that smpirun started
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
