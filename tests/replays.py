"""Replays of recordings, and what a run has to have in common with a replay of its own."""

import json
import os
import subprocess

from launch import base_environment


def replay(build, file, *options):
    """One result for each backend; or, as text, what went wrong."""
    done = subprocess.run([os.path.join(build, "bin/offramp"), "replay", file, "--json", *options], capture_output=True, text=True,
                          check=False, env=base_environment(), timeout=300)
    return json.loads(done.stdout)["results"] if done.returncode == 0 else done.stderr


def call_times(calls):
    times = {call: round(one["modelled_ns"] * 1000) for call, one in calls.items()}
    return {call: time for call, time in times.items() if time > 0}


def differences(report, replayed):
    """Between the report of a run and a replay of its recording, in picoseconds: a text, empty without any."""
    if not report["settled"]:
        return "the run was not settled"
    pairs = {"modelled time": (report["modelled_time_ps"], replayed["modelled_time_ps"]),
             "ranks": ([rank["modelled_time_ps"] for rank in report["each_rank"]], replayed["per_rank_ps"]),
             "calls": (call_times(report["calls"]), call_times(replayed["calls"]))}
    return "".join(f"{what}: the run {run}, its replay {again}\n" for what, (run, again) in pairs.items() if run != again)
