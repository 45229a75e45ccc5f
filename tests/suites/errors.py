"""Mistakes natively and with Offramp give the same error classes, line by line, and an error that ends the job names the function that the
program called. The fast tier compares the tables over the dealer (tests/fixtures/dealer.cpp) and tries some functions; the thorough tier
does all over every backend."""

import os
import re
import tempfile

import pytest

from launch import DEALER, mpi_of, mpirun

# Program -> the kind of its mistakes, and their least number; over MPICH without those in lists of requests, where Offramp reports more
# than MPICH, as the standard allows.
TABLES = {"errors": ("in messages and collectives", {"openmpi": 100, "mpich": 100}),
          "errors_more": ("with freed handles and in lists of requests", {"openmpi": 140, "mpich": 60}),
          "errors_beside": ("with windows and files", {"openmpi": 110, "mpich": 110})}


def classes(arguments, program, backend):
    """The lines of the table, in the order in which they are printed."""
    with tempfile.TemporaryDirectory() as folder:  # recorded, so that failing calls reach the recorder
        result = mpirun(arguments.build, backend, 2, [os.path.join(arguments.build, "tests/mpi", program)], 60,
                        {"OFFRAMP_SUMMARY": "false", "OFFRAMP_RECORD": os.path.join(folder, "a.rec")})
    rows = [line for line in result.output.splitlines() if line.startswith("class-table ")]
    if mpi_of(arguments.build).family == "mpich":
        rows = [row for row in rows if "(" in row]
    return result, rows


# The native answers are equal, except for MPI_Start, where Open MPI 4.1 raises no error.
RAISING = ["MPI_Bsend", "MPI_Ibsend", "MPI_Start", "MPI_Startall", "MPI_Recv", "MPI_Sendrecv", "MPI_Mrecv", "MPI_Wait",
           "MPI_Test", "MPI_Scatter"]
SOME = ["MPI_Bsend", "MPI_Recv", "MPI_Wait", "MPI_Scatter"]


def named_function(arguments, backend, function):
    """The text of the message with the place of the error. mpirun sometimes loses such messages: several attempts."""
    for _ in range(8):
        result = mpirun(arguments.build, backend, 2, [os.path.join(arguments.build, "tests/mpi/fatal_errors"), function],
                        60)
        if found := re.search(r"An error occurred in (\w+)", result.output):
            return result, found.group(1)
    return result, None


def functions_are_named(arguments, tally, backend, functions):
    label = f"errors/that end the job name the function, {backend}"
    if tally.wants(label):
        seen = {function: named_function(arguments, backend, function) for function in functions}
        wrong = {function: (name, result.output) for function, (result, name) in seen.items() if name != function}
        tally.record(label, not wrong, str(wrong), sum(result.seconds for result, _ in seen.values()))


def tables_are_alike(arguments, tally, carriers):
    for program, (what, enough) in TABLES.items():
        labels = {backend: f"errors/mistakes {what} give the classes they give natively, {backend}" for backend in carriers}
        if not any(tally.wants(label) for label in labels.values()):
            continue
        _, native = classes(arguments, program, None)
        for backend, label in labels.items():
            if not tally.wants(label):
                continue
            result, rows = classes(arguments, program, backend)
            other = [f"natively {a}\nhere     {b}" for a, b in zip(native, rows) if a != b]
            ok = result.ok and len(native) >= enough[mpi_of(arguments.build).family] and len(rows) == len(native) and not other
            tally.record(label, ok, "\n".join([*other, f"{len(native)} and {len(rows)} lines", result.output]),
                         result.seconds)


def test_dealt(arguments, tally):
    functions_are_named(arguments, tally, DEALER, SOME)
    tables_are_alike(arguments, tally, [DEALER])


@pytest.mark.thorough
def test_products(arguments, tally):
    for backend in arguments.backends:
        functions_are_named(arguments, tally, backend, RAISING)
    tables_are_alike(arguments, tally, arguments.backends)
