"""tests/mpi: every program natively (it must pass there), then over every backend. Natively with every number of ranks; over
a backend each program has one of them, another one over the next backend. --thorough takes all. A program that needs more
ranks than that has the numbers that are enough."""

from mpi_programs import Run, least_ranks, programs


def run(arguments, tally):
    names = programs(arguments.build)
    enough = {}
    for name in names:
        least = least_ranks(name)
        enough[name] = [ranks for ranks in arguments.ranks if ranks >= least] or [least]
    for number, backend in enumerate([None, *arguments.backends]):
        every = backend is None or arguments.thorough
        chosen = {name: enough[name] if every else [enough[name][(i - number) % len(enough[name])]]
                  for i, name in enumerate(names)}
        for ranks in sorted({ranks for numbers in enough.values() for ranks in numbers}):
            Run(arguments, tally, lambda name, backend=backend, ranks=ranks: f"mpi/{name} {backend or 'native'} {ranks} ranks",
                backend, ranks).all([name for name in names if ranks in chosen[name]])
