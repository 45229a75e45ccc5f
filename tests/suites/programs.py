"""Real programs that nobody here wrote: the same answers as natively, over every backend."""

import os
import re
import shutil
import tempfile

from launch import mpirun

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HPCC_INPUT = "/usr/share/doc/hpcc/examples/_hpccinf.txt"


def hpcc_answers(text):
    """What does not depend on speed: verdicts, error counts and residuals (to two digits: sums may be ordered anew)."""
    answers = []
    for line in text.splitlines():
        verdict = re.match(r"\s*\|\|Ax-b\|\|.*=\s*([\d.e+-]+)\s*\.+\s*(PASSED|FAILED)", line)
        if verdict:
            answers.append(("HPL", verdict.group(2)))
        summary = re.match(r"\s*(\d+) tests completed and (passed|failed) residual checks", line)
        if summary:
            answers.append((summary.group(2), int(summary.group(1))))
        value = re.match(r"(Success|PTRANS_residual|\w*_Errors|CommWorldProcs)=([\d.e+-]+)$", line)
        if value:
            answers.append((value.group(1), float(value.group(2))))
    return answers


def hpcc(arguments, backend, ranks):
    with tempfile.TemporaryDirectory() as folder:
        with open(HPCC_INPUT, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r"^1000 +Ns", "256         Ns", text, flags=re.M)
        text = re.sub(r"^2 +Ps", f"{1 if ranks == 2 else 2}            Ps", text, flags=re.M)
        with open(os.path.join(folder, "hpccinf.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        result = mpirun(arguments.build, backend, ranks, ["hpcc"], 180, cwd=folder)
        path = os.path.join(folder, "hpccoutf.txt")
        if not os.path.exists(path):
            return result, None
        with open(path, encoding="utf-8", errors="replace") as file:
            answers = hpcc_answers(file.read())
        complete = ("Success", 1.0) in answers and len(answers) >= 6
        return result, answers if complete else None


def netpipe(arguments, backend, ranks):
    with tempfile.TemporaryDirectory() as folder:
        command = ["NPopenmpi", "-i", "-u", "1048576", "-n", "5", "-o", os.path.join(folder, "out")]
        result = mpirun(arguments.build, backend, ranks, command, 120, cwd=folder)
        checks = re.findall(r"(\d+) bytes\s+\d+ times -->  (Integrity check \w+)", result.output)
        return result, checks if len(checks) > 20 else None


def mpi4py_objects(arguments, backend, ranks):
    command = ["/usr/bin/python3", os.path.join(HERE, "programs/objects.py")]
    result = mpirun(arguments.build, backend, ranks, command, 90, {"OFFRAMP_SUMMARY": "false"})
    lines = [line for line in result.output.splitlines() if re.match(r"\d+ \w+ ", line)]
    return result, lines if len(lines) > 20 * ranks else None


# NetPIPE is a program for one pair of processes: with four, this version hangs natively too.
PROGRAMS = [("hpcc", hpcc, (2, 4)), ("netpipe", netpipe, (2,)), ("mpi4py", mpi4py_objects, (2, 4))]


def run(arguments, tally):
    if shutil.which("hpcc") is None or shutil.which("NPopenmpi") is None:
        tally.record("programs/installed", False, "hpcc or netpipe-openmpi is not installed")
        return
    for name, execute, counts in PROGRAMS:
        for ranks in counts:
            native = None
            for backend in [None, *arguments.backends]:
                label = f"programs/{name} {backend or 'native'} {ranks} ranks"
                if not tally.wants(f"programs/{name}"):
                    continue
                result, answers = execute(arguments, backend, ranks)
                if backend is None:
                    native = answers
                ok = result.ok and answers is not None and answers == native
                tally.record(label, ok, f"{result.output}\n{answers}\nnative: {native}", result.seconds)
