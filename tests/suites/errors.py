"""The same mistakes natively and over every backend: the same error classes, line by line."""

import os

from launch import mpirun


def classes(arguments, backend):
    result = mpirun(arguments.build, backend, 2, [os.path.join(arguments.build, "tests/mpi/errors")], 60,
                    {"OFFRAMP_SUMMARY": "false"})
    rows = sorted(line for line in result.output.splitlines() if line.startswith("class-table "))
    return result, rows


def run(arguments, tally):
    if not tally.wants("errors/"):
        return
    _, native = classes(arguments, None)
    for backend in arguments.backends:
        result, rows = classes(arguments, backend)
        other = [f"natively {a}\nhere     {b}" for a, b in zip(native, rows) if a != b]
        ok = result.ok and len(native) > 100 and len(rows) == len(native) and not other
        tally.record(f"errors/{len(native)} mistakes give the classes they give natively, {backend}", ok,
                     "\n".join([*other, result.output]), result.seconds)
