"""tests/mpi: every program natively (it must pass there), then over every backend. Natively with every number of ranks; over
a backend each program has one of them, another one over the next backend. --thorough takes all."""

from mpi_programs import Run, in_turn, programs


def run(arguments, tally):
    names, turns = programs(arguments.build), len(arguments.ranks)
    for number, backend in enumerate([None, *arguments.backends]):
        for turn, ranks in enumerate(arguments.ranks):
            every = backend is None or arguments.thorough
            Run(arguments, tally, lambda name, backend=backend, ranks=ranks: f"mpi/{name} {backend or 'native'} {ranks} ranks",
                backend, ranks).all(names if every else in_turn(names, turn + number, turns))
