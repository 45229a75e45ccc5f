"""Replays of recordings, and the comparison of a run with a replay of its recording."""

import json
import os
import subprocess

from launch import base_environment


def replay(build, file, *options):
    """One result for each backend, or a text with the problem."""
    done = subprocess.run([os.path.join(build, "bin/offramp"), "replay", file, "--json", *options], capture_output=True, text=True,
                          check=False, env=base_environment(), timeout=300)
    return json.loads(done.stdout)["results"] if done.returncode == 0 else done.stderr


def picoseconds(nanoseconds):
    """A time of the JSON, which has three decimals, as an integer."""
    return round(1000 * nanoseconds)


def clocks(lane):
    """The end of each rank, in picoseconds."""
    return [rank["modelled_time_ps"] for rank in lane["each_rank"]]


def call_times(calls):
    times = {call: picoseconds(one["modelled_ns"]) for call, one in calls.items()}
    return {call: time for call, time in times.items() if time > 0}


def differences(report, replayed):
    """The differences between the report of a run and a replay of its recording, in picoseconds, as a text; empty without any."""
    if not report["settled"]:
        return "the run was not settled"
    pairs = {"modelled time": (report["modelled_time_ps"], replayed["modelled_time_ps"]),
             "ranks": (clocks(report), clocks(replayed)),
             "calls": (call_times(report["calls"]), call_times(replayed["calls"]))}
    return "".join(f"{what}: the run {run}, its replay {again}\n" for what, (run, again) in pairs.items() if run != again)
