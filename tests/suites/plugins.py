"""The example plugin builds against the source tree's headers, and carries a program like a built-in backend."""

import json
import os
import shutil
import tempfile

from launch import base_environment, mpirun, run as launch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.path.join(ROOT, "examples/plugin/wormhole.cpp")
REASON = "a wormhole carries bytes and does not add them"
NO_BARRIER = "this example has no algorithm for it"


def compile_plugin(arguments, folder):
    compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
    includes = [os.path.join(ROOT, "include"), os.path.join(arguments.build, "include")]
    command = [compiler, "-shared", "-fPIC", "-std=c++20", "-Wall", "-Wextra", "-Werror",
               *[f"-I{include}" for include in includes], "-o", os.path.join(folder, "wormhole.so"), SOURCE]
    return launch(command, base_environment(), 120)


def pattern_over(arguments, folder, settings=None):
    report = os.path.join(folder, "report.json")
    if os.path.exists(report):
        os.remove(report)
    variables = {"OFFRAMP_PLUGIN_PATH": folder, "OFFRAMP_REPORT": report, **(settings or {})}
    program = os.path.join(arguments.build, "tests/mpi/fixed_pattern")
    result = mpirun(arguments.build, "wormhole", 2, [program], 60, variables)
    if not os.path.exists(report):
        return result, None
    with open(report, encoding="utf-8") as file:
        return result, json.load(file)


def carried(report, function):
    call = report["calls"][function]
    return call["offloaded"] > 0 and call["declined"] == 0


def carries_a_program(arguments, tally, folder):
    result, report = pattern_over(arguments, folder)
    ok = result.ok and report is not None
    if ok:
        reduce = report["calls"]["MPI_Reduce"]
        ok = ("ok fixed_pattern" in result.output and "offramp: wormhole, 2 ranks" in result.output
              and f"x reduce: {REASON}" in result.output
              and all(carried(report, name) for name in ("MPI_Send", "MPI_Issend", "MPI_Bcast", "MPI_Gather"))
              and reduce["offloaded"] == 0 and reduce["declined"] == reduce["count"] > 0
              and {decline["operation"]: decline["reason"] for decline in report["declines"]}
              == {"reduce": REASON, "barrier": NO_BARRIER}
              and report["modelled_time_ps"] > 0 and report["arrival_order_dependences"] == 0)
    tally.record("plugins/the example carries a program", ok, result.output, result.seconds)
    return report


def its_hardware_shows_in_a_trace(arguments, tally, folder):
    trace = os.path.join(folder, "trace.json")
    result, _ = pattern_over(arguments, folder, {"OFFRAMP_TRACE": trace})
    ok = result.ok and os.path.exists(trace)
    if ok:
        with open(trace, encoding="utf-8") as file:
            ok = '"wormhole.mouth"' in file.read()
    tally.record("plugins/its hardware shows in a trace", ok, result.output, result.seconds)


def its_parameters_count(arguments, tally, folder, before):
    again, same = pattern_over(arguments, folder)
    slower, other = pattern_over(arguments, folder, {"OFFRAMP_WORMHOLE_LATENCY": "1us"})
    ok = again.ok and slower.ok and None not in (before, same, other)
    ok = ok and same["modelled_time_ps"] == before["modelled_time_ps"] < other["modelled_time_ps"]
    tally.record("plugins/its times are reproducible and follow its parameters", ok, again.output + slower.output,
                 again.seconds + slower.seconds)
    wrong, _ = pattern_over(arguments, folder, {"OFFRAMP_WORMHOLE_LATENCY": "-1"})
    said = [line for line in wrong.output.splitlines() if line.startswith("offramp: ")]
    ok = not wrong.ok and len(said) == 1 and "wormhole.latency" in said[0]
    tally.record("plugins/its parameters are checked", ok, wrong.output, wrong.seconds)


def test_the_example(arguments, tally):
    with tempfile.TemporaryDirectory() as folder:
        compiled = compile_plugin(arguments, folder)
        tally.record("plugins/the example compiles", compiled.ok, compiled.output, compiled.seconds)
        if not compiled.ok:
            return
        report = carries_a_program(arguments, tally, folder)
        its_parameters_count(arguments, tally, folder, report)
        its_hardware_shows_in_a_trace(arguments, tally, folder)
