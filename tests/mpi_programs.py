"""Runs programs of tests/mpi: the cases together under one MPI_Init, the others one by one."""

import functools
import os
import re
import subprocess

from launch import base_environment, mpirun

LIMIT = 90  # s, of one program
CASE_LIMIT = 8  # s, added for each case of several
HANG_TIMEOUT = "45"  # s, after which a rank prints what it waits for


# The suite errors compares the tables of errors over every backend, and the suite soak checks random traffic.
OWN_SUITES = {"errors_more", "errors_beside", "soak"}


def programs(build):
    """All programs, in C and Fortran, except those for functions that the MPI library lacks."""
    folder = os.path.join(build, "tests/mpi")
    return sorted(name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name))
                  and os.access(os.path.join(folder, name), os.X_OK) and not (lacks_sessions(build) and is_of_sessions(name)))


def is_of_sessions(name):
    return name.startswith("sessions_")


@functools.cache
def lacks_sessions(build):
    """Without sessions in the library, their programs are compiled as empty ones."""
    program = os.path.join(build, "tests/mpi/sessions_unused")
    return "MPI_Session_init" not in subprocess.run(["nm", "-D", program], check=True, capture_output=True, text=True).stdout


@functools.cache
def cases(build):
    """The cases that share an MPI_Init (tests/mpi/cases.h): those without threads, and those with."""
    lists = [subprocess.run([os.path.join(build, "tests/mpi_cases"), which], check=True, capture_output=True, text=True,
                            env=base_environment(), timeout=60).stdout.split() for which in ("--list", "--list-threaded")]
    return lists[0], lists[1]


def stand_alone(build, names):
    """The programs that need a process, and so a launch, of their own."""
    return [name for name in names if name not in sum(cases(build), [])]


def least_ranks(name):
    """The number of ranks that a program needs for all of its checks: its file states it if it is more than one."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi", f"{name}.c")
    if not os.path.exists(path):
        return 1
    with open(path, encoding="utf-8") as file:
        found = re.search(r"^// Ranks: at least (\d+)\.$", file.read(), re.M)
    return int(found.group(1)) if found else 1


def numbers_of(name, ranks):
    """The numbers of ranks, of a list, on which a program checks everything that it can."""
    return [number for number in ranks if number >= least_ranks(name)] or [least_ranks(name)]


def by_number(names, ranks):
    """{number of ranks: the programs that run on it}"""
    numbers = sorted({number for name in names for number in numbers_of(name, ranks)})
    return {number: [name for name in names if number in numbers_of(name, ranks)] for number in numbers}


def in_turn(names, turn, turns):
    """The names whose turn it is: each name has one of the turns."""
    return [name for i, name in enumerate(names) if i % turns == turn % turns]


# Cases with handles that must not be replaced: invalid ones, and a type that an operation compares with its own.
KEEP_HANDLES = {"errors", "persistent_collectives", "reduce_user"}


def freed_early(build):
    """The setting that lets programs free their handles early (tests/fixtures/freed_early.hpp)."""
    return {"LD_PRELOAD": ":".join(os.path.join(build, name) for name in ("tests/libfreed_early.so", "lib/libofframp.so"))}


class Run:
    """Runs programs over one backend with one set of settings, and records the results under label(name). acceptable: a further
    condition on the output of every run. settings and variables: as for mpirun(). build: the location of Offramp, if not that of the
    run. separate: cases run as programs of their own, too."""

    def __init__(self, arguments, tally, label, backend, ranks, settings=None, variables=None, acceptable=lambda output: True,
                 limit=LIMIT, build=None, separate=True):
        self.arguments, self.tally, self.label = arguments, tally, label
        self.backend, self.ranks = backend, ranks
        self.settings = {"OFFRAMP_HANG_TIMEOUT": HANG_TIMEOUT, **(settings or {})}
        self.variables, self.acceptable, self.limit = variables, acceptable, limit
        self.build = build or arguments.build
        self.separate = separate

    def launch(self, command, limit):
        return mpirun(self.build, self.backend, self.ranks, command, limit, self.settings, variables=self.variables)

    def alone(self, name):
        program = os.path.join(self.arguments.build, "tests/mpi", name)
        command = [program] if self.separate or os.path.exists(program) else [os.path.join(self.arguments.build, "tests/mpi_cases"), name]
        result = self.launch(command, self.limit)
        said = re.search(rf"^ok {name}$", result.output, re.M) is not None
        return result.ok and said and self.acceptable(result.output), result

    def record_alone(self, name):
        ok, result = self.alone(name)
        self.tally.record(self.label(name), ok, result.output, result.seconds)

    def together(self, names):
        """A failed case counts as failed, even if it passes by itself. The cases before it have passed, and those after it run one by
        one. If the run as a whole failed, all run one by one."""
        command = [os.path.join(self.arguments.build, "tests/mpi_cases"), *names]
        result = self.launch(command, self.limit + CASE_LIMIT * len(names))
        took = dict(re.findall(r"^took (\w+) ([\d.]+) s$", result.output, re.M))
        started = re.findall(r"^case (\w+)$", result.output, re.M)
        fell = [name for name in started if name not in took][-1:]
        if result.ok and "ok all" in result.output and self.acceptable(result.output):
            fell, good = [], names
        elif fell:
            good = [name for name in names if name in took]
        else:
            good = []
            self.tally.record(self.label("all cases together"), False, result.output, result.seconds)
        for name in names:
            if name in good:
                self.tally.record(self.label(name), True, "", float(took.get(name, 0)))
            elif name in fell:
                self.record_fallen(name, result)
            else:
                self.record_alone(name)

    def record_fallen(self, name, result):
        ok, _ = self.alone(name)
        text = f"{result.output}\nIt failed after other cases; by itself it {'passes' if ok else 'fails too'}."
        self.tally.record(self.label(name), False, text, result.seconds)

    def all(self, names):
        wanted = [name for name in names if self.tally.wants(self.label(name))]
        for group in cases(self.arguments.build):
            shared = [name for name in wanted if name in group]
            if len(shared) > 1:
                self.together(shared)
                wanted = [name for name in wanted if name not in shared]
        for name in wanted:
            self.record_alone(name)
