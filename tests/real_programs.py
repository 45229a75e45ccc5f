"""Programs and libraries by others: how to run each, and the answers that it must give over every carrier. Each function returns the
result of a run, and the answers or None."""

import argparse
import glob
import os
import re
import shutil
import tempfile

from launch import mpi_of, mpirun

HERE = os.path.dirname(os.path.abspath(__file__))
HPCC_INPUT = "/usr/share/doc/hpcc/examples/_hpccinf.txt"


NETPIPE = {"openmpi": "NPopenmpi", "mpich": "NPmpich2"}
# Debian's folders of tests, for a family of MPI library.
COARRAYS = "/usr/lib/x86_64-linux-gnu/open-coarrays/{}/bin/OpenCoarrays-*-tests"
SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/{}-tests"
NWCHEM = "nwchem.openmpi"


def family(arguments):
    return mpi_of(arguments.build).family


def missing(arguments, name):
    """The reason why a program cannot run over the build's MPI library; empty if it can. Debian has most programs for Open MPI only."""
    if family(arguments) == "openmpi":
        optional = {"petsc": ("petsc-dev", glob.glob(os.path.join(arguments.build, "tests/programs/petsc"))),
                    "nwchem": ("nwchem-openmpi", shutil.which(NWCHEM))}
        return "" if name not in optional or optional[name][1] else f"Debian's package {optional[name][0]} is not installed"
    needed = {"netpipe": shutil.which(NETPIPE["mpich"]), "scalapack": glob.glob(SCALAPACK.format("mpich")),
              "coarrays": glob.glob(COARRAYS.format("mpich")),
              "hdf5": glob.glob(os.path.join(arguments.build, "tests/programs/hdf5")), "mpi4py": glob.glob(python_of(arguments))}
    if name not in needed:
        return "Debian has it for Open MPI alone"
    return "" if needed[name] else "it is not installed for MPICH"


def python_of(arguments):
    """The location of a mpi4py built for the library of a build that is not Open MPI's: MPICC=mpicc.mpich pip install --no-binary mpi4py
    --target BUILD/python mpi4py"""
    return os.path.join(arguments.build, "python")


def with_settings(arguments, settings):
    """Adds these OFFRAMP_* variables to the arguments of a run."""
    return argparse.Namespace(**{**vars(arguments), "settings": settings})


def start(arguments, backend, ranks, command, limit, settings=None, cwd=None):
    settings = {**getattr(arguments, "settings", {}), **(settings or {})}
    variables = {} if family(arguments) == "openmpi" else {"PYTHONPATH": python_of(arguments)}
    return mpirun(arguments.build, backend, ranks, command, limit, settings, cwd=cwd, variables=variables)


def hpcc_answers(text):
    """The output that does not depend on speed: verdicts, error counts, and residuals (to two digits, as sums may have another order)."""
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


def hpcc(arguments, backend, ranks, order=256):
    """order: of the matrices of HPL and PTRANS; the other parts derive their sizes from it."""
    with tempfile.TemporaryDirectory() as folder:
        with open(HPCC_INPUT, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r"^1000 +Ns", f"{order}         Ns", text, flags=re.M)
        text = re.sub(r"^2 +Ps", f"{1 if ranks == 2 else 2}            Ps", text, flags=re.M)
        with open(os.path.join(folder, "hpccinf.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        result = start(arguments, backend, ranks, ["hpcc"], 180, cwd=folder)
        path = os.path.join(folder, "hpccoutf.txt")
        if not os.path.exists(path):
            return result, None
        with open(path, encoding="utf-8", errors="replace") as file:
            answers = hpcc_answers(file.read())
        complete = ("Success", 1.0) in answers and len(answers) >= 6
        return result, answers if complete else None


def netpipe(arguments, backend, ranks):
    with tempfile.TemporaryDirectory() as folder:
        command = [NETPIPE[family(arguments)], "-i", "-u", "1048576", "-n", "5", "-o", os.path.join(folder, "out")]
        result = start(arguments, backend, ranks, command, 120, cwd=folder)
        # It stops at a point that depends on the measured speed.
        checks = re.findall(r"\d+ bytes\s+\d+ times -->  (Integrity check \w+)", result.output)
        return result, sorted(set(checks)) if len(checks) > 20 else None


def mpi4py_objects(arguments, backend, ranks):
    command = ["/usr/bin/python3", os.path.join(HERE, "programs/objects.py")]
    result = start(arguments, backend, ranks, command, 90, {"OFFRAMP_SUMMARY": "false"})
    lines = [line for line in result.output.splitlines() if re.match(r"\d+ \w+ ", line)]
    return result, lines if len(lines) > 20 * ranks else None


def python_program(name, pattern):
    """A program of tests/programs that uses a Python library by others, and its expected line of output."""
    def execute(arguments, backend, ranks):
        command = ["/usr/bin/python3", os.path.join(HERE, "programs", name)]
        result = start(arguments, backend, ranks, command, 90, {"OFFRAMP_SUMMARY": "false"})
        lines = re.findall(pattern, result.output, flags=re.M)
        return result, lines if len(lines) == 1 else None
    return execute


def mumps(arguments, backend, ranks):
    """A sparse system, real and complex. The input comes by standard input, which a shell opens on every rank."""
    answers = []
    for program, entry in (("dsimpletest", "real"), ("zsimpletest", "cmplx")):
        command = ["sh", "-c", f"exec /usr/lib/mumps/{program} < /usr/lib/mumps/input_simpletest_{entry}"]
        result = start(arguments, backend, ranks, command, 60, {"OFFRAMP_SUMMARY": "false"})
        solution = re.search(r"Solution is\s+((?:[^\n]*\n){3})", result.output)
        if not result.ok or solution is None:
            return result, None
        numbers = re.findall(r"-?\d+\.\d+(?:E[+-]\d+)?", solution.group(1))
        answers.append([round(float(number), 6) + 0.0 for number in numbers])
    return result, answers if all(len(numbers) >= 5 for numbers in answers) else None


WATER = """start water
memory total 400 mb
geometry units angstrom noautosym
 O 0.0 0.0 0.117
 H 0.0 0.757 -0.471
 H 0.0 -0.757 -0.471
end
basis
 * library 6-31g*
end
scf
 direct
end
task scf energy
"""


def nwchem(arguments, backend, ranks):
    """The energy of a molecule of water, to six decimals. Global Arrays move the data by one-sided calls (ARMCI-MPI)."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "water.nw"), "w", encoding="utf-8") as file:
            file.write(WATER)
        result = start(arguments, backend, ranks, [NWCHEM, "water.nw"], 180, {"OFFRAMP_SUMMARY": "false"}, cwd=folder)
    energies = re.findall(r"Total SCF energy = +(-\d+\.\d+)", result.output)
    return result, [round(float(energy), 6) for energy in energies] if len(energies) == 1 else None


# Short ones of each kind: reductions, atomics, gets, teams, puts.
COARRAY_TESTS = ("co_reduce_test", "atomics", "get_with_offset_1d", "teams_coarray_get", "coarray_distributed_transpose")


def coarrays(arguments, backend, ranks):
    """OpenCoarrays' own tests, over windows, locks and atomics of the MPI library."""
    verdicts, folder = [], glob.glob(COARRAYS.format(family(arguments)))[0]
    # The last one fails natively over MPICH 4.0.
    for name in COARRAY_TESTS if family(arguments) == "openmpi" else COARRAY_TESTS[:-1]:
        command = [os.path.join(folder, name)]
        result = start(arguments, backend, ranks, command, 60, {"OFFRAMP_SUMMARY": "false"})
        verdicts.append((name, "test passed" in result.output.lower()))
        if not result.ok:
            return result, None
    return result, verdicts if all(passed for _, passed in verdicts) else None


def scalapack(arguments, backend, ranks):
    """ScaLAPACK's own tests of LU and QR factorisations, which read their input from the folder. Each rank writes to a file of its own,
    because mpirun of Open MPI 5.0.7 sometimes reorders long output on a busy machine."""
    counts, inputs = [], SCALAPACK.format(family(arguments))
    for program in ("xdlu", "xdqr"):
        with tempfile.TemporaryDirectory() as folder:
            command = ["sh", "-c", 'exec "$0" > "$1/$$"', os.path.join(inputs, program), folder]
            result = start(arguments, backend, ranks, command, 240, cwd=inputs)
            for name in os.listdir(folder):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    counts += re.findall(r"(\d+) tests completed and (passed|failed) residual checks", file.read())
        if not result.ok:
            return result, None
    passed = sum(int(count) for count, verdict in counts if verdict == "passed")
    failed = sum(int(count) for count, verdict in counts if verdict == "failed")
    return result, ("passed" if failed == 0 and passed > 100 else None)


def grid(side):
    """A square grid in Scotch's format: vertices with their neighbours."""
    lines = []
    edges = 0
    for i in range(side):
        for j in range(side):
            near = [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
            near = [x * side + y for x, y in near if 0 <= x < side and 0 <= y < side]
            edges += len(near)
            lines.append(" ".join(map(str, [len(near), *near])))
    return "\n".join(["0", f"{side * side} {edges}", "0 000", *lines]) + "\n"


def ptscotch(arguments, backend, ranks, side=60, parts=4):
    """The partition depends on the order in which messages arrive, natively too, so the test checks its quality."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "grid.grf"), os.path.join(folder, "parts.map")
        with open(source, "w", encoding="utf-8") as file:
            file.write(grid(side))
        result = start(arguments, backend, ranks, ["dgpart", str(parts), source, target], 120)
        if not result.ok or not os.path.exists(target):
            return result, None
        with open(target, encoding="utf-8") as file:
            rows = [tuple(map(int, line.split())) for line in file.read().splitlines()[1:]]
    part = dict(rows)
    sizes = [sum(1 for p in part.values() if p == k) for k in range(parts)]
    cut = sum(1 for v in range(side * side) for n in (v + 1, v + side)
              if n < side * side and (n % side or n == v + side) and part.get(v) != part.get(n))
    result.output += f"\nsizes {sizes}, {cut} edges cut"
    good = sorted(part) == list(range(side * side)) and min(sizes) > 0.9 * side * side / parts and cut < 3 * side
    return result, ("good" if good else None)


def own_program(name, pattern, with_file=False, words=()):
    """A program of tests/programs that uses a library by others, and its expected line of output."""
    def execute(arguments, backend, ranks):
        with tempfile.TemporaryDirectory() as folder:
            command = [os.path.join(arguments.build, "tests/programs", name)]
            command += [os.path.join(folder, "data")] if with_file else list(words)
            result = start(arguments, backend, ranks, command, 120, {"OFFRAMP_SUMMARY": "false"})
            lines = re.findall(pattern, result.output, flags=re.M)
            return result, lines if len(lines) == 1 else None
    return execute


def fftw(*words):
    """words: rows and columns of the transform, and the number of round trips."""
    return own_program("fftw", r"^fftw spectrum right, back again right$", words=words)


# NetPIPE is a program for one pair of processes: with four, this version hangs natively too.
PROGRAMS = [("hpcc", hpcc, (2, 4)), ("netpipe", netpipe, (2,)), ("mpi4py", mpi4py_objects, (2, 4)),
            ("scalapack", scalapack, (2, 4)), ("ptscotch", ptscotch, (2, 4)),
            ("fftw", fftw(), (2, 4)),
            ("hdf5", own_program("hdf5", r"^hdf5 read \d+ values, 0 wrong$", True), (2, 4)),
            ("mumps", mumps, (2, 4)), ("coarrays", coarrays, (2, 4)),
            ("mpi4py-fft", python_program("transforms.py", r"^transforms of .*: 0 wrong$"), (2, 4)),
            ("mpi4py.futures", python_program("executor.py", r"^executor: 200 of 200 right$"), (2, 4)),
            ("boost", own_program("boost", r"^boost \d+ entries, joined \d+, right$"), (2, 4)),
            ("petsc", own_program("petsc", r"^petsc basic right neighbor right window right$"), (2, 4)),
            ("nwchem", nwchem, (2, 4))]
