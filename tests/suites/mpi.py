"""tests/mpi: every program natively, where it must pass too, and over a carrier that deals operations to all backends
(tests/fixtures/dealer.cpp). The fast tier runs the cases together: natively with one number of ranks, dealt with every number, and once
with handles that are freed early (tests/fixtures/freed_early.hpp). Programs that need a process of their own run once, over the dealer. The thorough tier runs every program natively and over every backend, each
time with every number of ranks. A program that needs more ranks runs with enough. Suites of their own check some programs over every
backend."""

import os
import re
import tempfile
from collections import Counter

import pytest

from launch import DEALER
from mpi_programs import KEEP_HANDLES, OWN_SUITES, Run, by_number, freed_early, lacks_sessions, least_ranks, programs, stand_alone

# The suite fortran runs these.
ELSEWHERE = {"fortran_f08", "fortran_mpif", "fortran_usempi"}
# By a rank to a backend. Of messages only the larger ones count, which may wait for their receives.
LEAST_DEALT = {"collectives": 50, "messages": 5}


def names_of(arguments):
    return [name for name in programs(arguments.build) if name not in OWN_SUITES]


def cases_of(arguments):
    alone = stand_alone(arguments.build, names_of(arguments))
    return [name for name in names_of(arguments) if name not in alone]


def run_all(arguments, tally, backend, names, ranks, variables=None):
    for number, those in by_number(names, ranks).items():
        Run(arguments, tally, lambda name, number=number: f"mpi/{name} {backend or 'native'} {number} ranks", backend, number,
            variables=variables).all(those)


def deal_problems(folder, ranks):
    """Every rank dealt operations to every backend, and all members of a communicator dealt its collectives alike."""
    problems, carried, dealt = [], {rank: Counter() for rank in range(ranks)}, {}
    for name in os.listdir(folder):
        launch, rank = map(int, name.split("-"))
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = file.read()
        for backend, collectives, messages in re.findall(r"^backend (\w+) (\d+) (\d+)$", text, re.M):
            carried[rank] += Counter({f"collectives of {backend}": int(collectives), f"messages of {backend}": int(messages)})
        for context, deal in re.findall(r"^context (\d+) (.*)$", text, re.M):
            dealt.setdefault((launch, context), set()).add(deal)
    problems += [f"rank {rank}: {count} {what}" for rank, counts in carried.items() for what, count in counts.items()
                 if count < LEAST_DEALT[what.split()[0]]]
    problems += [f"communicator {context}: the members dealt {deals}" for (_, context), deals in dealt.items() if len(deals) > 1]
    return problems if all(carried.values()) and len(dealt) > 20 else [*problems, f"{len(dealt)} communicators, {carried}"]


def test_natively(arguments, tally):
    if lacks_sessions(arguments.build):
        tally.skip("mpi/sessions", "this MPI library has none")
    run_all(arguments, tally, None, cases_of(arguments), [3])


def pytest_generate_tests(metafunc):
    if "number" in metafunc.fixturenames:
        metafunc.parametrize("number", metafunc.config.offramp.ranks)


def test_dealt(arguments, tally, number):
    label = f"mpi/operations are dealt to every backend, and alike on all ranks, {number} ranks"
    with tempfile.TemporaryDirectory() as folder:
        names = [name for name in cases_of(arguments) if least_ranks(name) <= number]
        run_all(arguments, tally, DEALER, names, [number], {"DEALER_LOG": folder})
        problems = deal_problems(folder, number) if tally.wants(label) else None
    if problems is not None:
        tally.record(label, not problems, "\n".join(problems))


def test_freed_early(arguments, tally):
    Run(arguments, tally, lambda name: f"mpi/{name} {DEALER}, handles freed early", DEALER, 2,
        freed_early(arguments.build)).all([name for name in cases_of(arguments) if least_ranks(name) <= 2 and name not in KEEP_HANDLES])


def test_stand_alone_dealt(arguments, tally):
    alone = set(stand_alone(arguments.build, names_of(arguments))) - ELSEWHERE
    run_all(arguments, tally, DEALER, sorted(alone | {"soak"}), [3])


@pytest.mark.thorough
def test_products(arguments, tally):
    for backend in [None, *arguments.backends]:
        run_all(arguments, tally, backend, names_of(arguments), arguments.ranks)
